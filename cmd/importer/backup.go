package main

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/bulkfiling/bulkfiling/internal/backup"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/store"
)

func newBackupCommand(g *global) *cobra.Command {
	return &cobra.Command{
		Use:   "backup FILE",
		Short: "Copy the ledger to a new file, and verify the copy",
		Long: `backup copies an SQLite ledger to a new file while workers and the page keep running,
and checks the copy like importer audit verify. importer serve writes one every day: see
FILING_BACKUP_DIR. For PostgreSQL use pg_dump.

Social Security numbers, uploads, and signing secrets stay sealed in the file. The key is
not in it: keep a copy of sealing.key or FILING_SEAL_KEY in another place.`,
		Example: "  importer backup /backups/ledger.db",
		Args:    oneFile,
		RunE: func(c *cobra.Command, args []string) error {
			return withLedgerAsIs(c.Context(), g, func(l openLedger) error {
				written, err := backup.Write(c.Context(), l.Ledger, args[0])
				if err == nil {
					g.terminal.print("Backup written and verified: %s (%s).", args[0], copyText(written))
				}
				return err
			})
		},
	}
}

// copyText describes the content of a copy of a ledger.
func copyText(c ledger.Copy) string {
	return fmt.Sprintf("%s, %s, as of %s", count(c.Rows, "row"), count(c.Purchases, "purchase"), localTimeZone(c.At))
}

func newRestoreCommand(g *global) *cobra.Command {
	var yes bool
	c := &cobra.Command{
		Use:   "restore FILE",
		Short: "Replace the ledger with a backup; nothing is sent until you have checked it",
		Long: `restore verifies a backup and puts it in the place of the current ledger, which is kept
in a folder before_restore_… of the data folder. Stop every worker, serve and run first.
For PostgreSQL use pg_restore, then importer resolve restored --since TIME.

Orders that were placed after the backup are not in it. Sent again, they would be bought
twice. So nothing is sent, schedules are paused, and everybody signs in again. Next:
importer resolve restored.`,
		Example: "  importer restore /backups/ledger.db\n  importer resolve restored",
		Args:    oneFile,
		RunE:    func(c *cobra.Command, args []string) error { return runRestore(c.Context(), g, args[0], yes) },
	}
	addYesFlag(c, &yes, "do not ask")
	return c
}

func runRestore(ctx context.Context, g *global, file string, yes bool) error {
	env, err := g.environment()
	if err != nil {
		return err
	}
	if env.DatabaseURL != "" {
		return store.ErrServer
	}
	chosen, err := env.ChooseLedger(ctx)
	if err != nil {
		return err
	}
	t := g.terminal
	audited := withAudit(ctx, "restore", "", filepath.Base(file))
	kept, err := backup.Restore(audited, file, env.LedgerDir(), func(c ledger.Copy) error {
		if err := c.CheckOwner(env.Owner()); err != nil {
			return err
		}
		t.say("Backup: %s. It replaces the ledger %s (%s).", copyText(c), chosen.Name, chosen.Path)
		t.say("Orders placed after the backup are not in it. Nothing is sent until you have checked its rows.")
		return t.ask(ctx, yes, "Restore it?", "Nothing was changed.")
	})
	switch {
	case err != nil && kept != "":
		return fmt.Errorf("%s: %w. A copy of the former ledger is in %s. Run the same command again", file, err, kept)
	case err != nil:
		return fmt.Errorf("%s: %w. Nothing was changed", file, err)
	}
	t.print("Restored.")
	if kept != "" {
		t.print("The former ledger is kept: %s", kept)
	}
	t.print("Nothing is sent. Next: importer resolve restored")
	return nil
}
