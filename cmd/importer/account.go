package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bulkfiling/bulkfiling/internal/config"
	"github.com/bulkfiling/bulkfiling/internal/filingapi"
	"github.com/bulkfiling/bulkfiling/internal/jobs"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

// withLedger runs do with the existing ledger, after it has applied waiting events. It creates no
// ledger.
func (a *app) withLedger(ctx context.Context, do func(*ledger.Ledger) error) error {
	return a.withExisting(ctx, true, do)
}

// onLedger turns a function of the existing ledger and the arguments into a command.
func (a *app) onLedger(do func(context.Context, *ledger.Ledger, []string) error) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) error {
		return a.withLedger(c.Context(), func(l *ledger.Ledger) error { return do(c.Context(), l, args) })
	}
}

// listCommand returns a command that lists part of the ledger, as a table or as JSON lines. If no
// ledger exists, it prints the message nothing and succeeds.
func (a *app) listCommand(path, short, nothing, each string,
	do func(ctx context.Context, l *ledger.Ledger, asJSON bool) error) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:     path[strings.LastIndexByte(path, ' ')+1:],
		Short:   short,
		Example: "  importer " + path + "\n  importer " + path + " --json",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.withLedgerToList(c.Context(), nothing,
				func(l *ledger.Ledger) error { return do(c.Context(), l, asJSON) })
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON line for each "+each)
	return c
}

// withExisting is withLedger for a command that applies events, or must not change the ledger.
func (a *app) withExisting(ctx context.Context, applyEvents bool, do func(*ledger.Ledger) error) error {
	env, err := a.environment()
	if err != nil {
		return err
	}
	chosen, err := env.UseExisting()
	if err != nil {
		return err
	}
	a.sayLedger(chosen)
	return a.useLedger(ctx, &env, applyEvents, do)
}

// withLedgerToList is withLedger for a command that lists part of the ledger. If no ledger exists,
// it prints the message nothing and succeeds.
func (a *app) withLedgerToList(ctx context.Context, nothing string, do func(*ledger.Ledger) error) error {
	err := a.withLedger(ctx, do)
	if errors.Is(err, config.ErrNoLedger) && a.ledgerName == "" {
		a.say("%s: %v.", nothing, err)
		return nil
	}
	return err
}

// withAnyLedger runs do with the ledger of the API key, another existing ledger, or a new one. It
// is for commands that record data without the filing service.
func (a *app) withAnyLedger(ctx context.Context, do func(*ledger.Ledger) error) error {
	env, err := a.environment()
	if err != nil {
		return err
	}
	chosen, err := a.chooseLedger(ctx, &env)
	if err != nil {
		return err
	}
	a.sayLedger(chosen)
	return a.useLedger(ctx, &env, true, do)
}

// recognizeWithin is the time that a command without orders waits for the filing service to report
// the organization of the key.
const recognizeWithin = 10 * time.Second

func (a *app) chooseLedger(ctx context.Context, env *config.Environment) (config.Chosen, error) {
	chosen, err := env.UseExisting()
	if !chosen.Several && err == nil || err != nil && !errors.Is(err, config.ErrNoLedger) {
		return chosen, err
	}
	nothing := err != nil
	if client, why := env.Client(); why == nil {
		defer client.Close()
		asking, stop := context.WithTimeout(ctx, recognizeWithin)
		defer stop()
		recognized, err := env.Recognize(asking, client)
		if _, unanswered := errors.AsType[*filingapi.Error](err); !unanswered || ctx.Err() != nil {
			return recognized, err
		}
		if !nothing && env.Ledger == "" {
			return chosen, fmt.Errorf(
				"%w. There are several ledgers, and only the filing service knows which one belongs to the API key. "+
					"Name the ledger with --ledger NAME", err)
		}
	}
	if nothing {
		return env.UseUnassigned(ctx)
	}
	return chosen, nil
}

// useLedger opens the chosen ledger and runs do.
func (a *app) useLedger(ctx context.Context, env *config.Environment, applyEvents bool,
	do func(*ledger.Ledger) error) error {
	l, err := env.OpenLedger(ctx)
	if err != nil {
		return err
	}
	a.env = env
	if applyEvents {
		err = jobs.CatchUp(ctx, l)
	}
	if err == nil {
		err = do(l)
	}
	return cmp.Or(err, l.Close())
}

// sayLedger prints the name of the chosen ledger if there are several.
func (a *app) sayLedger(c config.Chosen) {
	if !c.Several {
		return
	}
	text := fmt.Sprintf("Ledger: %s (%s)", c.Name, c.Owner)
	if c.Reason != "" {
		text += ", " + c.Reason
	}
	a.say("%s.", text)
}

// recognizeKey chooses the ledger of the key's organization. If the filing service does not
// respond, the file is still recorded, in a ledger from which nothing is sent, and the outcome has
// the reason.
func (r *filingRun) recognizeKey(ctx context.Context) (jobs.RunResult, error) {
	var chosen config.Chosen
	const question = "the organization of the API key"
	ending, err := r.askUntilAnswered(ctx, question, func(ctx context.Context) (err error) {
		chosen, err = r.env.Recognize(ctx, r.client)
		return err
	})
	if err != nil {
		return ending, err
	}
	if ending.Reason != jobs.Finished {
		_, err := r.env.UseUnassigned(context.WithoutCancel(ctx))
		return ending, err
	}
	r.sayLedger(chosen)
	if chosen.Path != "" {
		r.newLedgerNote = fmt.Sprintf("A new ledger begins in %s (%s). It does not have orders that were placed "+
			"elsewhere.", chosen.Path, chosen.Owner)
	}
	return ending, nil
}

// recordUnrecognized returns the outcome of a run whose key has no recognized
// organization. It records a rejected key for the status of the batch.
func (r *filingRun) recordUnrecognized(ctx context.Context) jobs.RunResult {
	if r.recognized.Reason == jobs.KeyRefused {
		if err := r.ledger.Fleet().RecordKeyRefused(context.WithoutCancel(ctx), r.recognized.Halted.Note); err != nil {
			r.say("The rejected API key could not be recorded: %v", err)
		}
	}
	return r.recognized
}
