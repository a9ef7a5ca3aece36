// Command importer orders business filings in bulk. It reads a spreadsheet, submits each filing
// exactly once, and writes the results back next to each row.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/bulkfiling/bulkfiling/internal/config"
	"github.com/bulkfiling/bulkfiling/internal/metrics"
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

	g := newGlobal(os.Stdin, os.Stdout, os.Stderr, os.Getenv)
	// A double click starts the page.
	cobra.MousetrapHelpText = ""
	if clickedOn(args) {
		g.clicked, args = true, []string{"serve"}
	}
	root := newRootCommand(g)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	code := exitFailed
	if s, ended := errors.AsType[*status](err); ended {
		code, err = s.code, s.err
	} else if err == nil {
		code = exitDone
	} else if ctx.Err() != nil {
		code, err = exitInterrupted, errInterrupted
	}
	if lost := g.terminal.lost; err == nil && lost != nil {
		code, err = exitFailed, fmt.Errorf("print the results: %w", lost)
	}
	if err != nil {
		g.terminal.printError(err)
	}
	if code != exitDone && ctx.Err() == nil && g.clicked {
		waitForClose(g.terminal)
	}
	return code
}

// newRootCommand returns the root command with all others.
func newRootCommand(g *global) *cobra.Command {
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
	root.SetIn(g.terminal.in)
	root.SetOut(g.terminal.out)
	root.SetErr(g.terminal.err)
	root.PersistentFlags().BoolVar(&g.live, "live", false, "allow a live API key: real filings, real money")
	root.PersistentFlags().StringVar(&g.ledgerName, "ledger", "",
		"the name of the ledger to use (default: the ledger of the API key's organization)")
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usage("%w", err) })
	for _, group := range []struct {
		id, title string
		commands  []*cobra.Command
	}{
		{"daily", "Every day:", []*cobra.Command{newSetupCommand(g), newTemplateCommand(g), newCheckCommand(g),
			newRunCommand(g)}},
		{"batch", "A batch:", []*cobra.Command{newBatchesCommand(g), newStatusCommand(g), newResultsCommand(g),
			newPauseCommand(g), newResumeCommand(g), newCancelCommand(g), newRetryCommand(g), newResolveCommand(g)}},
		{"schedules", "Schedules and workers:", []*cobra.Command{newScheduleCommand(g), newSubmitCommand(g),
			newApproveCommand(g)}},
		{"events", "After orders are placed:", []*cobra.Command{newServeCommand(g), newDocumentsCommand(g),
			newWebhooksCommand(g)}},
		{"money", "Money:", []*cobra.Command{newBalanceCommand(g), newDepositCommand(g), newChargesCommand(g)}},
		{"people", "People:", []*cobra.Command{newAccountsCommand(g), newAuditCommand(g)}},
		{"ledger", "The ledger:", []*cobra.Command{newBackupCommand(g), newRestoreCommand(g)}},
		{"try", "Filing service and sandbox:", []*cobra.Command{newAPICommand(g), newDemoCommand(g),
			newSandboxCommand(g), newVersionCommand(g)}},
	} {
		root.AddGroup(&cobra.Group{ID: group.id, Title: group.title})
		for _, c := range group.commands {
			c.GroupID = group.id
			root.AddCommand(c)
		}
	}
	addHelp(root)
	return root
}

// exitMeanings are the exit codes, in the order of a help text.
var exitMeanings = []struct {
	code    int
	meaning string
}{
	{exitDone, "success; of a batch: every row is placed, exists, or was skipped"},
	{exitFailed, "the command failed"},
	{exitCorrect, "done, but some rows need correction"},
	{exitStopped, "stopped or declined; rerun to resume"},
	{exitUncertain, "some rows are uncertain; to resolve them: importer resolve"},
	{exitInterrupted, "interrupted; everything is recorded"},
}

// addHelp adds the exit codes to the help of the root command, and the topic of the environment
// variables.
func addHelp(root *cobra.Command) {
	var codes strings.Builder
	for _, exit := range exitMeanings {
		fmt.Fprintf(&codes, "  %-4d %s\n", exit.code, exit.meaning)
	}
	root.SetHelpTemplate(root.HelpTemplate() + "{{if not .HasParent}}\nExit status:\n" + codes.String() + "{{end}}")
	root.AddCommand(&cobra.Command{
		Use:   "environment",
		Short: "Help about the environment variables",
		Long: "Environment variables win over the settings file of importer setup.\n\n" +
			config.Help(config.Variable{Name: "NO_COLOR", Meaning: "any value turns colors off"}),
	})
}

func newVersionCommand(g *global) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version, the commit, and the platform",
		Example: "  importer version",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			g.terminal.print("importer %s", metrics.ReadBuild())
			return nil
		},
	}
}
