package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/bulkfiling/bulkfiling/internal/backup"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
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
