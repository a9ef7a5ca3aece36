package main

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/bulkfiling/bulkfiling/internal/backup"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

func (a *app) backupCommand() *cobra.Command {
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
			return a.withExisting(c.Context(), false, func(l *ledger.Ledger) error {
				file, err := backup.Write(c.Context(), l, args[0])
				if err != nil {
					return err
				}
				fmt.Fprintf(a.out, "Backup written and verified: %s (%s).\n", args[0], describeCopy(file))
				return nil
			})
		},
	}
}

// describeCopy describes the content of a copy of a ledger.
func describeCopy(c ledger.Copy) string {
	return fmt.Sprintf("%s, %s, as of %s", count(c.Rows, "row"), count(c.Purchases, "purchase"), localTimeZone(c.At))
}

func (a *app) restoreCommand() *cobra.Command {
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
		RunE:    func(c *cobra.Command, args []string) error { return a.restore(c.Context(), args[0], yes) },
	}
	c.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return c
}

func (a *app) restore(ctx context.Context, name string, yes bool) error {
	env, err := a.environment()
	if err != nil {
		return err
	}
	if env.DatabaseURL != "" {
		return ledger.ErrServer
	}
	chosen, err := a.chooseLedger(ctx, &env)
	if err != nil {
		return err
	}
	audited := withAudit(ctx, "restore", "", filepath.Base(name))
	kept, err := backup.Restore(audited, name, env.LedgerDir(), func(c ledger.Copy) error {
		if err := c.CheckOwner(env.Owner()); err != nil {
			return err
		}
		a.say("Backup: %s. It replaces the ledger %s (%s).", describeCopy(c), chosen.Name, chosen.Path)
		a.say("Orders placed after the backup are not in it. Nothing is sent until you have checked its rows.")
		return a.ask(ctx, yes, "Restore it?", "Nothing was changed.")
	})
	switch {
	case err != nil && kept != "":
		return fmt.Errorf("%s: %w. A copy of the former ledger is in %s. Run the same command again", name, err, kept)
	case err != nil:
		return fmt.Errorf("%s: %w. Nothing was changed", name, err)
	}
	fmt.Fprintln(a.out, "Restored.")
	if kept != "" {
		fmt.Fprintf(a.out, "The former ledger is kept: %s\n", kept)
	}
	fmt.Fprintln(a.out, "Nothing is sent. Next: importer resolve restored")
	return nil
}

// backUp writes the daily backups of an SQLite ledger.
func (p *page) backUp(ctx context.Context) {
	dir := p.env.BackupDir()
	if dir == "" {
		return
	}
	daily := backup.Daily{
		Ledger: p.ledger,
		Name:   p.env.LedgerName(),
		Dir:    dir,
		Keep:   p.env.Backups.Keep,
		Log:    p.log,
	}
	daily.Run(ctx)
}
