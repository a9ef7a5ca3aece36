package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/bulkfiling/bulkfiling/internal/config"
	"github.com/bulkfiling/bulkfiling/internal/jobs"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/logs"
	"github.com/bulkfiling/bulkfiling/internal/metrics"
	"github.com/bulkfiling/bulkfiling/internal/text"
)

// app has the terminal and the environment that every command uses.
type app struct {
	in io.Reader
	// out receives results.
	out io.Writer
	// err receives progress, questions, and errors.
	err    io.Writer
	getenv func(string) string
	live   bool
	// ledgerName is the value of --ledger.
	ledgerName string
	// clicked reports whether the program was started by a double click.
	clicked bool
	// env is the environment of the open ledger. It is nil before the ledger is open.
	env   *config.Environment
	paint painter

	// unrecorded are the answers that the worker of this command could not record.
	unrecorded []*jobs.Unrecorded
}

func newApp(in io.Reader, out, err io.Writer, getenv func(string) string) *app {
	a := &app{in: in, out: out, err: err, getenv: getenv}
	a.paint = painter{on: a.terminal(err) && getenv("NO_COLOR") == "" && getenv("TERM") != "dumb"}
	return a
}

// terminal reports whether w is a terminal.
func (a *app) terminal(w any) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// printError prints an error for a person.
func (a *app) printError(err error) {
	if text, ok := explainStorage(err); ok {
		err = errors.New(text)
	} else if isDatabaseDown(err) && ledger.IsOfDatabase(err) {
		err = errors.New(a.explainOutage(err))
	}
	fmt.Fprintf(a.err, "%s %s\n", a.paint.red("importer:"), err)
}

// explainStorage returns the remedy for a ledger that cannot be read or written, in place of the
// database's message.
func explainStorage(err error) (string, bool) {
	text := err.Error()
	has := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(text, w) })
	}
	switch {
	case has("file is not a database", "database disk image is malformed"):
		return "the ledger is damaged, or the file is not a ledger (" + text +
			"). Do not delete it: no other record says what was ordered. Stop every process, then put the latest " +
			"backup in its place: importer restore BACKUP", true
	case has("database or disk is full", "no space left on device"):
		return "the disk is full. Nothing more can be recorded, so nothing more is sent. Free some space, then run " +
			"the same command again (" + text + ")", true
	}
	return "", false
}

// say prints a line to stderr, separate from the results.
func (a *app) say(format string, args ...any) { fmt.Fprintf(a.err, format+"\n", args...) }

// logger writes log lines of a level and above to stderr.
func (a *app) logger(level slog.Level) (*slog.Logger, error) {
	format, err := config.LogFormat(a.getenv, logs.Text)
	return slog.New(logs.NewHandler(a.err, format, level)), err
}

// environment reads the configuration.
func (a *app) environment() (config.Environment, error) {
	e, err := config.Read(a.getenv)
	e.Live, e.Ledger = e.Live || a.live, a.ledgerName
	e.Warn = func(err error) { a.say("WARNING: %s", err) }
	return e, err
}

// usage returns an error about the command line.
func usage(format string, args ...any) error {
	return fmt.Errorf(format+" (see --help)", args...)
}

// painter colors text for a terminal.
type painter struct{ on bool }

func (p painter) color(code, s string) string {
	if !p.on {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

func (p painter) red(s string) string    { return p.color("31", s) }
func (p painter) green(s string) string  { return p.color("32", s) }
func (p painter) yellow(s string) string { return p.color("33", s) }
func (p painter) bold(s string) string   { return p.color("1", s) }
func (p painter) dim(s string) string    { return p.color("2", s) }

// command returns the root command with all others.
func (a *app) command() *cobra.Command {
	root := &cobra.Command{
		Use:   "importer",
		Short: "Order business filings in bulk from a spreadsheet",
		Long: `importer reads a spreadsheet of companies (XLSX or CSV), checks every row, shows
the cost, submits each filing exactly once, and writes the results back next to
each row.

You can run any command again safely. It resumes where it stopped.`,
		Example: `  importer demo                                   a complete run on a sandbox; no account needed
  importer setup                                  enter the filing service's address and API key
  importer template annual-report                 an empty spreadsheet with drop-downs
  importer check companies.xlsx                   list every error by cell; nothing is sent
  importer run companies.xlsx                     check, show the cost, ask, order, write results
  importer serve                                  do the same on a page in the browser`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Version:       metrics.ReadBuild().String(),
	}
	root.SetVersionTemplate("importer {{.Version}}\n")
	root.SetIn(a.in)
	root.SetOut(a.out)
	root.SetErr(a.err)
	root.PersistentFlags().BoolVar(&a.live, "live", false, "allow a live API key: real filings, real money")
	root.PersistentFlags().StringVar(&a.ledgerName, "ledger", "",
		"the name of the ledger to use (default: the ledger of the API key's organization)")
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return usage("%w", err)
	})
	root.AddGroup(&cobra.Group{ID: "daily", Title: "Every day:"}, &cobra.Group{ID: "batch", Title: "A batch:"},
		&cobra.Group{ID: "season", Title: "Schedules and workers:"},
		&cobra.Group{ID: "events", Title: "After orders are placed:"}, &cobra.Group{ID: "money", Title: "Money:"},
		&cobra.Group{ID: "people", Title: "People:"}, &cobra.Group{ID: "ledger", Title: "The ledger:"},
		&cobra.Group{ID: "try", Title: "Filing service and sandbox:"})
	add := func(group string, commands ...*cobra.Command) {
		for _, c := range commands {
			c.GroupID = group
			root.AddCommand(c)
		}
	}
	add("daily", a.setupCommand(), a.templateCommand(), a.checkCommand(), a.runCommand())
	add("batch", a.batchesCommand(), a.statusCommand(), a.resultsCommand(), a.pauseCommand(), a.resumeCommand(),
		a.cancelCommand(), a.retryCommand(), a.resolveCommand())
	add("season", a.scheduleCommands(), a.submitCommand(), a.approveCommand())
	add("events", a.serveCommand(), a.documentsCommand(), a.webhooksCommand())
	add("money", a.balanceCommand(), a.depositCommand(), a.chargesCommand())
	add("people", a.accountsCommand(), a.auditCommand())
	add("ledger", a.backupCommand(), a.restoreCommand())
	add("try", a.apiCommand(), a.demoCommand(), a.sandboxCommand(), a.versionCommand())
	setHelp(root)
	return root
}

// takes returns the argument check of a command with n arguments.
func takes(n int, what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) != n {
			return usage("%s takes %s", c.CommandPath(), what)
		}
		return nil
	}
}

// one returns the argument check of a command with one argument.
func one(what string) cobra.PositionalArgs { return takes(1, "one "+what) }

var (
	oneFile  = one("file")
	oneBatch = one("batch: its ID or the beginning of it; importer batches lists them")
)

// atMostOne is the argument check of commands with a batch or no argument.
func atMostOne(c *cobra.Command, args []string) error {
	if len(args) > 1 {
		return usage("%s takes one batch", c.CommandPath())
	}
	return nil
}

func first(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}

// count and countOf format a number and its noun.
var count, countOf = text.Count, text.CountOf

// errDeclined is the error for a question that was not answered with yes. Nothing has changed, and
// the same command asks again.
var errDeclined = exit(exitStopped)

// confirm asks a yes-or-no question and returns nil for yes. Any other answer and Ctrl-C change
// nothing. otherwise is the text for this case.
func (a *app) confirm(ctx context.Context, question, otherwise string) error {
	if !a.terminal(a.in) {
		return errors.New("stdin is not a terminal; use --yes to skip the prompt")
	}
	// A person who types before the question appears has not read it.
	if err := dropTyped(a.in.(*os.File)); err != nil {
		return fmt.Errorf("discard what was typed before the question: %w", err)
	}
	fmt.Fprintf(a.err, "%s [y/N] ", question)
	answer, err := readTyped(ctx, func() (word string, err error) {
		_, err = fmt.Fscanln(a.in, &word)
		return word, err
	})
	if err == nil {
		switch strings.ToLower(answer) {
		case "y", "yes":
			return nil
		}
	}
	if ctx.Err() != nil {
		a.say("\n%s", otherwise)
		return ctx.Err()
	}
	a.say("%s Run the same command again to be asked again.", otherwise)
	return errDeclined
}

// ask is confirm for a command with --yes.
func (a *app) ask(ctx context.Context, yes bool, question, otherwise string) error {
	if yes {
		return nil
	}
	return a.confirm(ctx, question, otherwise)
}

// readTyped returns the input of a person from read, or the error of ctx as soon as it ends. A read
// of a terminal cannot be interrupted, so it is then abandoned.
func readTyped[T any](ctx context.Context, read func() (T, error)) (T, error) {
	type input struct {
		value T
		err   error
	}
	done := make(chan input, 1)
	go func() {
		value, err := read()
		done <- input{value, err}
	}()
	var none T
	select {
	case <-ctx.Done():
		return none, ctx.Err()
	case got := <-done:
		if ctx.Err() != nil {
			return none, ctx.Err()
		}
		return got.value, got.err
	}
}
