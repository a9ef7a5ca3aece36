// Command importer orders business filings in bulk. It reads a spreadsheet, submits each filing
// exactly once, and writes the results back next to each row.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/bulkfiling/bulkfiling/internal/config"
)

// The exit codes are stable for scripts.
const (
	// exitDone means that the command did its work. Every row is placed, exists, or was skipped.
	exitDone = 0
	// exitFailed means that the command could not do its work.
	exitFailed = 1
	// exitCorrect means done, but some rows need correction.
	exitCorrect = 2
	// exitStopped means stopped with rows still ready, or declined. The same command resumes.
	exitStopped = 3
	// exitUncertain means that some rows are uncertain. It takes precedence over 2 and 3.
	exitUncertain = 4
	// exitInterrupted means interrupted. Everything is recorded.
	exitInterrupted = 130
)

// status ends the process with its exit code. Without an error, it prints nothing.
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

// exit returns the error for an exit code. It returns nil if the code is 0.
func exit(code int) error {
	if code == exitDone {
		return nil
	}
	return &status{code: code}
}

var errInterrupted = errors.New("interrupted; everything is recorded. Run the same command again to resume")

func main() { os.Exit(run(os.Args[1:])) }

func run(args []string) int {
	config.SpendMemory()
	// The first Ctrl-C stops gracefully. A second one ends the process immediately, which is also
	// safe.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)

	app := newApp(os.Stdin, os.Stdout, os.Stderr, os.Getenv)
	// A double click starts the page.
	cobra.MousetrapHelpText = ""
	if app.clickedOn(args) {
		app.clicked, args = true, []string{"serve"}
	}
	root := app.command()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	var s *status
	defer func() {
		if err != nil && ctx.Err() == nil {
			app.waitForClose()
		}
	}()
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &s):
		if s.err != nil {
			app.printError(s.err)
		}
		return s.code
	case ctx.Err() != nil:
		app.printError(errInterrupted)
		return exitInterrupted
	default:
		app.printError(err)
		return exitFailed
	}
}
