package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

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

	streams := streams{stdin, stdout, stderr}
	for _, c := range commands {
		root.AddCommand(&cobra.Command{
			Use: c.name, Short: c.short, Args: noArguments,
			RunE: func(under *cobra.Command, _ []string) error {
				config, err := settings.load(os.Environ())
				if err != nil {
					return err
				}
				return c.run(under.Context(), config, streams)
			},
		})
	}
	root.AddCommand(&cobra.Command{
		Use: "version", Short: "Print the version", Args: noArguments, // whatever the configuration is
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintln(stdout, "sallyport", version)
			return err
		},
	})
	return root
}

// streams are those of the process. out belongs to the protocol, or to what a
// command is asked to print; logs go to err.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// commands are those that read the configuration. A new one is a line here, and
// a line in main.go's comment.
var commands = []struct {
	name, short string
	run         func(context.Context, Config, streams) error
}{
	{"mcp", "Serve MCP on stdio, with a Chromium of its own", runMCP},
	{"demo", "Show the main job on a small web of its own; you are the person", runDemo},
	{"doctor", "Say what is missing on this machine, and how to mend it", runDoctor},
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
