package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"bulkfiling/internal/ledger"
)

func (a *app) rotateSealKeyCommand() *cobra.Command {
	var drop, yes bool
	c := &cobra.Command{
		Use:   "rotate-seal-key",
		Short: "Make a new sealing key, and seal everything in the ledger with it",
		Long: `rotate-seal-key replaces the key that seals Social Security numbers, uploaded
sheets, company lists, corrections, signing secrets and second factors.

Where the key is the file sealing.key of the data folder, it puts a new key on the
first line and seals every value with it. The old key stays on the next line, so
that a backup can still be read; --drop-old removes it, an hour later at the
earliest, and only if no value needs it.

Where the key is given by FILING_SEAL_KEY, first add the new key behind the old one
on every machine, and restart every process: now each opens both. Then put the new
key in front, and restart again. The command then seals every value with the first
key.

Workers and the page may run meanwhile. A command that was interrupted goes on
where it stopped.`,
		Example: "  importer audit rotate-seal-key\n  importer audit rotate-seal-key --drop-old --yes",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.withAnyLedger(c.Context(), func(l *ledger.Ledger) error {
				if drop {
					return a.dropOldSealKeys(c.Context(), l, manner{yes: yes})
				}
				return a.rotateSealKey(c.Context(), l, manner{yes: yes})
			})
		},
	}
	c.Flags().BoolVar(&drop, "drop-old", false, "remove the keys before the present one from the file sealing.key")
	c.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return c
}

func (a *app) rotateSealKey(ctx context.Context, l *ledger.Ledger, m manner) error {
	found, err := l.SealKeys().Check(ctx)
	if err != nil {
		return err
	}
	_, file, err := l.SealKeys().Count()
	if err != nil {
		return err
	}
	if file == "" && found.Old == 0 {
		a.say("Nothing is sealed with an older key. To rotate: add a new key (openssl rand -hex 32) behind the " +
			"present one in FILING_SEAL_KEY on every machine, and restart every process. Then put the new key in " +
			"front, restart again, and give this command once more.")
		return nil
	}
	what := "A new sealing key is to be made, and everything sealed with it:"
	if found.Old > 0 {
		what = "What an older key has sealed is to be sealed with the present one:"
	}
	table := [][]string{{"sealed values", fmt.Sprint(found.Values)}, {"with an older key", fmt.Sprint(found.Old)}}
	if file != "" {
		table = append(table, []string{"key file", file})
	}
	if err := a.agreed(ctx, m, what, table, "Rotate the key?"); err != nil {
		return err
	}
	changing := acting(ctx, "seal-key-rotate", "", "")
	if file != "" && found.Old == 0 {
		if err := l.SealKeys().Add(changing); err != nil {
			return err
		}
	}
	done, closed, err := l.SealKeys().Reseal(changing)
	if err != nil {
		return fmt.Errorf("%w; %s done, and the same command goes on with the others", err,
			plural(done, "value is", "values are"))
	}
	fmt.Fprintf(a.out, "%s with the present key.\n", plural(done, "value was sealed", "values were sealed"))
	a.saySealed(ledger.Sealed{Closed: closed})
	if file != "" {
		a.say("The old key is still in %s. Back the file up, and remove the old key when no backup needs it: "+
			"importer audit rotate-seal-key --drop-old", file)
	}
	return nil
}

func (a *app) dropOldSealKeys(ctx context.Context, l *ledger.Ledger, m manner) error {
	keys, file, err := l.SealKeys().Count()
	switch {
	case err != nil:
		return err
	case file == "":
		return usage("the keys come from FILING_SEAL_KEY: take the old one away there")
	case keys == 1:
		a.say("There is no older key in %s.", file)
		return nil
	}
	if err := a.agreed(
		ctx, m, "The older keys are to be removed. Backups that they sealed cannot be read without them:", [][]string{
			{"key file", file}, {"older keys", fmt.Sprint(keys - 1)},
		}, "Remove them?"); err != nil {
		return err
	}
	switch err := l.SealKeys().DropOld(acting(ctx, "seal-key-drop", "", "")); {
	case errors.Is(err, ledger.ErrSealed):
		return fmt.Errorf("%w; seal them first: importer audit rotate-seal-key", err)
	case err != nil:
		return err
	}
	fmt.Fprintf(a.out, "%s removed.\n", plural(keys-1, "older key was", "older keys were"))
	return nil
}
