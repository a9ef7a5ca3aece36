package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"bulkfiling/internal/config"
	"bulkfiling/internal/filingapi"
	"bulkfiling/internal/jobs"
	"bulkfiling/internal/ledger"
)

// withLedger runs a command over a ledger that is there. It creates none.
func (a *app) withLedger(ctx context.Context, do func(*ledger.Ledger) error) error {
	env, err := a.environment()
	if err != nil {
		return err
	}
	chosen, err := env.UseExisting()
	if err != nil {
		return a.mentionOlderLedger(err, &env)
	}
	a.sayLedger(chosen)
	if older := env.OlderLedger(); older != "" {
		a.say("A ledger of an earlier version is in %s. It is not read: FILING_DATA_DIR=%s reads it.", older, older)
	}
	return a.useLedger(ctx, env, do)
}

// withLedgerToList is withLedger for a command that lists what there is: where there is no
// ledger there is nothing, which nothing says.
func (a *app) withLedgerToList(ctx context.Context, nothing string, do func(*ledger.Ledger) error) error {
	err := a.withLedger(ctx, do)
	if errors.Is(err, config.ErrNoLedger) && a.ledger == "" {
		a.say("%s: %v.", nothing, err)
		return nil
	}
	return err
}

// withAnyLedger runs a command that keeps something in the ledger and needs no
// service: over the ledger of the key, or one that is there, or a new one.
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
	return a.useLedger(ctx, env, do)
}

// recognizeWithin is how long a command that sends nothing waits for the filing
// service to say whose the key is.
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
				"%w. There are ledgers already, and which one the API key belongs to only the filing service knows: "+
					"name it with --ledger NAME", err)
		}
	}
	if nothing {
		return env.UseUnassigned(ctx)
	}
	return chosen, nil
}

// withLedgerUnchanged is withLedger for a command that must change nothing: not even what is
// to be settled by itself.
func (a *app) withLedgerUnchanged(ctx context.Context, do func(*ledger.Ledger) error) error {
	env, err := a.environment()
	if err != nil {
		return err
	}
	chosen, err := env.UseExisting()
	if err != nil {
		return a.mentionOlderLedger(err, &env)
	}
	a.sayLedger(chosen)
	l, err := env.OpenLedger(ctx)
	if err != nil {
		return err
	}
	err = do(l)
	if closing := l.Close(); err == nil {
		err = closing
	}
	return err
}

// useLedger opens the ledger that was chosen for as long as do works with it.
func (a *app) useLedger(ctx context.Context, env config.Environment, do func(*ledger.Ledger) error) error {
	l, err := env.OpenLedger(ctx)
	if err != nil {
		return err
	}
	a.env = &env
	settled, err := jobs.CatchUp(ctx, l)
	a.saySettled(settled)
	if err == nil {
		err = do(l)
	}
	if closing := l.Close(); err == nil {
		err = closing
	}
	return err
}

// mentionOlderLedger adds to an error that the ledger of an earlier version is near.
func (a *app) mentionOlderLedger(err error, env *config.Environment) error {
	if older := env.OlderLedger(); older != "" && errors.Is(err, config.ErrNoLedger) {
		return fmt.Errorf(
			"%w. An earlier version kept its ledger in %s: FILING_DATA_DIR=%s reads it, and importer run says how "+
				"to take it over", err, older, older)
	}
	return err
}

// sayLedger says which ledger is used, where that is not the only answer.
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

// recognize chooses the ledger of the key's organization, with patience. Where
// the filing service cannot be asked the file is still recorded, in a ledger
// from which nothing is sent, and the ending says why.
func (r *filingRun) recognizeKey(ctx context.Context) (jobs.Outcome, error) {
	var chosen config.Chosen
	const question = "the organization of the API key"
	ending, err := r.askUntilAnswered(ctx, question, func(ctx context.Context) (err error) {
		chosen, err = r.env.Recognize(ctx, r.client, filepath.Dir(r.path))
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

// unrecognized is the ending of a run whose key no organization was found to
// belong to. That the key is refused is kept, for whoever looks at the batch.
func (r *filingRun) recordUnrecognized(ctx context.Context) jobs.Outcome {
	if r.recognized.Reason == jobs.KeyRefused {
		if err := r.ledger.Fleet().KeyRefused(context.WithoutCancel(ctx), r.recognized.Halted.Note); err != nil {
			r.say("It could not be recorded that the key is refused: %v", err)
		}
	}
	return r.recognized
}
