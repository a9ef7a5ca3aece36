package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"os"

	"github.com/spf13/cobra"

	"github.com/bulkfiling/bulkfiling/internal/audit"
	"github.com/bulkfiling/bulkfiling/internal/config"
	"github.com/bulkfiling/bulkfiling/internal/logs"
)

// global has the environment and the options of every command.
type global struct {
	terminal *terminal
	getenv   func(string) string
	// live is --live.
	live bool
	// ledgerName is --ledger.
	ledgerName string
	// clicked reports whether the program was started by a double click.
	clicked bool
}

func newGlobal(in io.Reader, out, err io.Writer, getenv func(string) string) *global {
	return &global{terminal: newTerminal(in, out, err, getenv), getenv: getenv}
}

// logger writes log lines of a level and above to stderr.
func (g *global) logger(level slog.Level) (*slog.Logger, error) {
	format, err := config.LogFormat(g.getenv, logs.Text)
	return slog.New(logs.NewHandler(g.terminal.err, format, level)), err
}

// environment reads the configuration.
func (g *global) environment() (config.Environment, error) {
	e, err := config.Read(g.getenv)
	e.Live, e.Ledger = e.Live || g.live, g.ledgerName
	e.Warn = func(err error) { g.terminal.say("WARNING: %s", err) }
	return e, err
}

// usage returns an error about the command line.
func usage(format string, args ...any) error {
	return fmt.Errorf(format+" (see --help)", args...)
}

// takes returns the argument check of a command with a minimum and a maximum of arguments.
func takes(least, most int, what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) < least || len(args) > most {
			return usage("%s takes %s", c.CommandPath(), what)
		}
		return nil
	}
}

// one returns the argument check of a command with one argument.
func one(what string) cobra.PositionalArgs { return takes(1, 1, "one "+what) }

var (
	oneFile  = one("file")
	oneBatch = one("batch: its ID or the beginning of it; importer batches lists them")
	// atMostOne is for a batch or no argument.
	atMostOne = takes(0, 1, "one batch")
)

func first(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}

// newGroupCommand returns a command that only has subcommands.
func newGroupCommand(use, short, long, example string, members ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{
		Use:     use,
		Short:   short,
		Long:    long,
		Example: example,

		Annotations: map[string]string{"group": ""},
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usage("unknown command %q for %q", args[0], c.CommandPath())
			}
			return nil
		},
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(members...)
	return c
}

// addYesFlag adds the flag of a command that asks.
func addYesFlag(c *cobra.Command, yes *bool, usage string) {
	c.Flags().BoolVarP(yes, "yes", "y", false, usage)
}

// webAddress parses an http or https address. what describes the flag or variable for errors.
func webAddress(name, text, what string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.User != nil || u.Scheme != "https" && u.Scheme != "http" {
		return nil, usage("%s must be %s", name, what)
	}
	return u, nil
}

// withAudit returns a context whose first change of the ledger records an audit event of the
// current user. Reads before the change use another context.
func withAudit(ctx context.Context, what, of, note string) context.Context {
	// host is empty if it is unknown.
	host, _ := os.Hostname()
	return audit.AtTerminal(audit.With(ctx, audit.Event{
		By:   currentUser(),
		From: host,
		What: what,
		Of:   of,
		Note: note,
	}), currentUser())
}
