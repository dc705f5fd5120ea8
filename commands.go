package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

// version is set by the Makefile.
var version = "dev"

func newCommand(stdin io.Reader, stdout, stderr io.Writer) *cobra.Command {
	root := &cobra.Command{
		Use:           "sallyport",
		Short:         "A browser for agents with two gates, and a person who opens them",
		Version:       version,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return usageError{fmt.Errorf("%q is no command%s", args[0], suggestion(c, args[0]))}
		},
		RunE: func(*cobra.Command, []string) error {
			return usageError{errors.New("a command is missing")}
		},
	}
	root.SuggestionsMinimumDistance = 2
	root.SetVersionTemplate("sallyport {{.Version}}\n")
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	root.CompletionOptions.DisableDefaultCmd = true
	settings := addSettings(root.PersistentFlags())
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{settings.explainFlag(err)} })

	configured := func(f func(*cobra.Command, Config) error) func(*cobra.Command, []string) error {
		return func(c *cobra.Command, _ []string) error {
			config, err := settings.load(environ())
			if err != nil {
				return err
			}
			return f(c, config)
		}
	}
	root.AddCommand(
		&cobra.Command{
			Use: "mcp", Short: "Serve MCP on stdio, with a Chromium of its own", Args: noArguments,
			RunE: configured(func(c *cobra.Command, config Config) error {
				return runMCP(c.Context(), config, stdin, stdout, stderr)
			}),
		},
		&cobra.Command{
			Use: "demo", Short: "Show the main job on a small web of its own; you are the person", Args: noArguments,
			RunE: configured(func(c *cobra.Command, config Config) error {
				return runDemo(c.Context(), config, stdout, stderr)
			}),
		},
		&cobra.Command{
			Use: "doctor", Short: "Say what is missing on this machine, and how to mend it", Args: noArguments,
			RunE: configured(func(c *cobra.Command, config Config) error {
				return runDoctor(c.Context(), config, stdout)
			}),
		},
		&cobra.Command{
			Use: "version", Short: "Print the version", Args: noArguments,
			RunE: func(*cobra.Command, []string) error {
				_, err := fmt.Fprintln(stdout, "sallyport", version)
				return err
			},
		},
	)
	return root
}

// suggestion names the command that may have been meant.
func suggestion(c *cobra.Command, given string) string {
	if near := c.SuggestionsFor(given); len(near) > 0 {
		return "; did you mean " + near[0] + "?"
	}
	return ""
}

func noArguments(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usageError{fmt.Errorf("%q is not expected here", args[0])}
	}
	return nil
}
