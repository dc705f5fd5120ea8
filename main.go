// Sallyport is a browser for agents with two gates: every top-level document
// that an agent, or a page acting for it, tries to load must pass a local
// intercepting proxy and Chromium's DevTools Fetch layer, and both must tell the
// same story. What may pass is what a person approved, in the browser, in this
// session.
//
//	sallyport mcp      MCP server on stdio, with a Chromium of its own
//	sallyport demo     the main job on a small web of its own, with you at the window
//	sallyport doctor   says what is missing on this machine, and how to mend it
//	sallyport config   prints an example of the configuration
//	sallyport version  prints the version
//
// Settings come from --config FILE, then SALLYPORT_... variables, then flags;
// `sallyport config example` prints them all. Nothing skips the person's approval.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	// A client that went away is an error of the next write, which ends the
	// session in order; without this, it would kill the process.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // nobody reads: one is kept, the rest are dropped
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		<-ctx.Done()
		stop() // a second signal ends the process at once
	}()
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// usageError is a command line that makes no sense.
type usageError struct{ error }

// run returns the exit code.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	command := newCommand(stdin, stdout, stderr)
	command.SetArgs(args)
	err := command.ExecuteContext(ctx)
	var usage usageError
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errUnwell):
		return 1
	case errors.As(err, &usage):
		fmt.Fprintf(stderr, "sallyport: %v; run: sallyport --help\n", err)
		return 2
	}
	fmt.Fprintf(stderr, "sallyport: %v\n", err)
	return 1
}
