// Command importer places bulk business filings from spreadsheets: a sheet
// goes in, each filing is placed exactly once, the same sheet comes out
// answered. `importer help` explains it; so does the README.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// The exit codes, stable by promise.
const (
	exitDone        = 0   // every row is placed, exists or was skipped
	exitFailed      = 1   // the command could not do its work
	exitCorrect     = 2   // done, and some rows need correction
	exitStopped     = 3   // stopped with rows still ready: the same command continues
	exitUncertain   = 4   // some rows are uncertain
	exitInterrupted = 130 // interrupted; everything is recorded
)

// status ends the process with a code other than 1. Where it has an error the
// error is printed; where it has none everything was said already.
type status struct {
	code int
	err  error
}

func (s *status) Error() string {
	if s.err == nil {
		return fmt.Sprintf("exit status %d", s.code)
	}
	return s.err.Error()
}

func (s *status) Unwrap() error { return s.err }

// exit is nil for 0, so that a command can return it as it is.
func exit(code int) error {
	if code == exitDone {
		return nil
	}
	return &status{code: code}
}

var errInterrupted = errors.New("interrupted; everything is recorded, and the same command continues")

func main() { os.Exit(run(os.Args[1:])) }

func run(args []string) int {
	// The first Ctrl-C ends things in good order; a second one ends them at
	// once, which is safe too.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)

	app := newApp(os.Stdin, os.Stdout, os.Stderr, os.Getenv)
	root := app.command()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	var s *status
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &s):
		if s.err != nil {
			app.complain(s.err)
		}
		return s.code
	case ctx.Err() != nil:
		app.complain(errInterrupted)
		return exitInterrupted
	default:
		app.complain(err)
		return exitFailed
	}
}
