package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bulkfiling/bulkfiling/internal/config"
	"github.com/bulkfiling/bulkfiling/internal/jobs"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

// openLedger is the ledger of a command, with the environment that chose it.
type openLedger struct {
	*ledger.Ledger
	env config.Environment
}

// onLedger turns a function of the existing ledger and the arguments into a command. Waiting events
// are applied first. No ledger is created.
func onLedger(g *global, do func(context.Context, openLedger, []string) error) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) error {
		return withLedger(c.Context(), g, func(l openLedger) error { return do(c.Context(), l, args) })
	}
}

// onBatch turns a function of a batch, the argument, into a command. Without an argument it is the
// newest batch.
func onBatch(g *global, do func(context.Context, openLedger, ledger.Batch) error) func(*cobra.Command, []string) error {
	return onLedger(g, func(ctx context.Context, l openLedger, args []string) error {
		b, err := l.Batch(ctx, first(args))
		if err != nil {
			return err
		}
		return do(ctx, l, b)
	})
}

// withLedger runs do with the existing ledger, after waiting events are applied.
func withLedger(ctx context.Context, g *global, do func(openLedger) error) error {
	return useLedger(ctx, g, false, withEvents(ctx, do))
}

// withLedgerAsIs runs do with the existing ledger.
func withLedgerAsIs(ctx context.Context, g *global, do func(openLedger) error) error {
	return useLedger(ctx, g, false, do)
}

// withAnyLedger runs do with the ledger of the API key, another existing ledger, or a new one. It
// is for commands that record data without the filing service.
func withAnyLedger(ctx context.Context, g *global, do func(openLedger) error) error {
	return useLedger(ctx, g, true, withEvents(ctx, do))
}

// withEvents applies waiting events before do.
func withEvents(ctx context.Context, do func(openLedger) error) func(openLedger) error {
	return func(l openLedger) error {
		if err := jobs.CatchUp(ctx, l.Ledger); err != nil {
			return err
		}
		return do(l)
	}
}

// useLedger chooses a ledger, names it if there are several, opens it, and runs do. The ledger may be
// new if create is set.
func useLedger(ctx context.Context, g *global, create bool, do func(openLedger) error) error {
	env, err := g.environment()
	if err != nil {
		return err
	}
	choose := env.UseExisting
	if create {
		choose = func() (config.Chosen, error) { return env.ChooseLedger(ctx) }
	}
	chosen, err := choose()
	if err != nil {
		return err
	}
	sayLedger(g.terminal, chosen)
	l, err := env.OpenLedger(ctx)
	if err != nil {
		return err
	}
	err = do(openLedger{l, env})
	return cmp.Or(err, l.Close())
}

// withLedgerToList is withLedger for a command that lists part of the ledger. If no ledger exists,
// it prints the message nothing and succeeds.
func withLedgerToList(ctx context.Context, g *global, nothing string, do func(openLedger) error) error {
	err := withLedger(ctx, g, do)
	if errors.Is(err, config.ErrNoLedger) && g.ledgerName == "" {
		g.terminal.say("%s: %v.", nothing, err)
		return nil
	}
	return err
}

// newListCommand returns a command that lists part of the ledger, as a table or as JSON lines. If no
// ledger exists, it prints the message nothing and succeeds.
func newListCommand(g *global, path, short, nothing, each string,
	run func(ctx context.Context, t *terminal, l *ledger.Ledger, asJSON bool) error) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:     path[strings.LastIndexByte(path, ' ')+1:],
		Short:   short,
		Example: "  importer " + path + "\n  importer " + path + " --json",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return withLedgerToList(c.Context(), g, nothing,
				func(l openLedger) error { return run(c.Context(), g.terminal, l.Ledger, asJSON) })
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON line for each "+each)
	return c
}

// sayLedger prints the name of the chosen ledger if there are several.
func sayLedger(t *terminal, c config.Chosen) {
	if !c.Several {
		return
	}
	text := fmt.Sprintf("Ledger: %s (%s)", c.Name, c.Owner)
	if c.Reason != "" {
		text += ", " + c.Reason
	}
	t.say("%s.", text)
}
