package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
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
		Args:          noCommand,
		RunE:          missingCommand,
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
	for _, c := range []*cobra.Command{versionCommand(stdout), configCommand(stdout)} {
		c.SetUsageTemplate(usageWithoutSettings)
		root.AddCommand(c)
	}
	return root
}

// usageWithoutSettings is the help of commands that read no configuration.
const usageWithoutSettings = `Usage:
  {{.CommandPath}}{{if .HasAvailableSubCommands}} COMMAND

Commands:{{range .Commands}}
  {{rpad .Name .NamePadding}} {{.Short}}{{end}}{{end}}
`

func versionCommand(stdout io.Writer) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: noArguments, // whatever the configuration is
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintln(stdout, "sallyport", version)
			return err
		},
	}
}

func configCommand(stdout io.Writer) *cobra.Command {
	config := &cobra.Command{Use: "config", Short: "Print an example of the configuration", Args: noCommand, RunE: missingCommand}
	config.SuggestionsMinimumDistance = 2
	config.AddCommand(&cobra.Command{
		Use: "example", Short: "Print a configuration file with every setting and its default", Args: noArguments,
		RunE: func(*cobra.Command, []string) error {
			_, err := stdout.Write(exampleJSON)
			return err
		},
	})
	return config
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

// noCommand and missingCommand are of a command that is only a group of others.
func noCommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return usageError{fmt.Errorf("%q is no command%s", args[0], suggestion(c, args[0]))}
}

func missingCommand(*cobra.Command, []string) error {
	return usageError{errors.New("a command is missing")}
}

// suggestion names the command that may have been meant.
func suggestion(c *cobra.Command, given string) string {
	if near := c.SuggestionsFor(given); len(near) > 0 {
		return "; did you mean " + near[0] + "?"
	}
	return ""
}

func noArguments(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usageError{fmt.Errorf("%q is not expected here%s", args[0], withEquals(c, args[0]))}
	}
	return nil
}

// withEquals is the hint for --browser-headless false: a flag that may stand alone
// takes its value after an equals sign only.
func withEquals(c *cobra.Command, given string) string {
	if _, err := strconv.ParseBool(given); err != nil {
		return ""
	}
	hint, before := "", "; write "
	c.Flags().Visit(func(f *pflag.Flag) {
		if f.NoOptDefVal != "" && f.Value.String() == f.NoOptDefVal {
			hint, before = hint+before+"--"+f.Name+"="+given, " or "
		}
	})
	return hint
}
