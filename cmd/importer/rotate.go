package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

func (a *app) rotateSealKeyCommand() *cobra.Command {
	var drop, yes bool
	c := &cobra.Command{
		Use:   "rotate-seal-key",
		Short: "Create a new sealing key and seal all values again",
		Long: `rotate-seal-key replaces the key that seals Social Security numbers, uploads,
company lists, corrections, signing secrets, and second factors.

If the key is in the file sealing.key of the data folder, a new key becomes its
first line, and every value is sealed with it. The old key stays on the next line
so that backups can still be read. --drop-old removes it after at least an hour, if
no value needs it.

If the key comes from FILING_SEAL_KEY, first add the new key after the old one on
every machine and restart every process. Then put the new key first and restart
again. This command then seals every value with the first key.

Workers and the page can keep running. After an interruption, run the command
again.`,
		Example: "  importer audit rotate-seal-key\n  importer audit rotate-seal-key --drop-old --yes",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.withAnyLedger(c.Context(), func(l *ledger.Ledger) error {
				if drop {
					return a.dropOldSealKeys(c.Context(), l, outputFlags{yes: yes})
				}
				return a.rotateSealKey(c.Context(), l, outputFlags{yes: yes})
			})
		},
	}
	c.Flags().BoolVar(&drop, "drop-old", false, "remove the older keys from the file sealing.key")
	c.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return c
}

func (a *app) rotateSealKey(ctx context.Context, l *ledger.Ledger, o outputFlags) error {
	found, err := l.SealKeys().Check(ctx)
	if err != nil {
		return err
	}
	_, file, err := l.SealKeys().Count()
	if err != nil {
		return err
	}
	if file == "" && found.Old == 0 {
		a.say("Nothing is sealed with an older key. To rotate: add a new key (openssl rand -hex 32) after the " +
			"current one in FILING_SEAL_KEY on every machine, and restart every process. Then put the new key " +
			"first, restart again, and run this command again.")
		return nil
	}
	what := "This creates a new sealing key and seals all values with it:"
	if found.Old > 0 {
		what = "This seals values of an older key with the current key:"
	}
	table := [][]string{{"sealed values", fmt.Sprint(found.Values)}, {"with an older key", fmt.Sprint(found.Old)}}
	if file != "" {
		table = append(table, []string{"key file", file})
	}
	if err := a.confirmChange(ctx, o, what, table, "Rotate the key?"); err != nil {
		return err
	}
	changing := withAudit(ctx, "seal-key-rotate", "", "")
	if file != "" && found.Old == 0 {
		if err := l.SealKeys().Add(changing); err != nil {
			return err
		}
	}
	done, closed, err := l.SealKeys().Reseal(changing)
	if err != nil {
		return fmt.Errorf("%w. %s done. Run the same command again to continue", err,
			countOf(done, "value is", "values are"))
	}
	fmt.Fprintf(a.out, "%s with the current key.\n", countOf(done, "value was sealed", "values were sealed"))
	a.saySealed(ledger.Sealed{Closed: closed})
	if file != "" {
		a.say("The old key is still in %s. Back up the file. When no backup needs the old key, remove it: "+
			"importer audit rotate-seal-key --drop-old", file)
	}
	return nil
}

func (a *app) dropOldSealKeys(ctx context.Context, l *ledger.Ledger, o outputFlags) error {
	keys, file, err := l.SealKeys().Count()
	switch {
	case err != nil:
		return err
	case file == "":
		return usage("the keys come from FILING_SEAL_KEY: remove the old one there")
	case keys == 1:
		a.say("%s has no older key.", file)
		return nil
	}
	if err := a.confirmChange(
		ctx, o, "This removes the older keys. Backups sealed with them cannot be read without them:", [][]string{
			{"key file", file}, {"older keys", fmt.Sprint(keys - 1)},
		}, "Remove them?"); err != nil {
		return err
	}
	switch err := l.SealKeys().DropOld(withAudit(ctx, "seal-key-drop", "", "")); {
	case errors.Is(err, ledger.ErrSealed):
		return fmt.Errorf("%w. To seal them first: importer audit rotate-seal-key", err)
	case err != nil:
		return err
	}
	fmt.Fprintf(a.out, "%s removed.\n", countOf(keys-1, "older key was", "older keys were"))
	return nil
}
