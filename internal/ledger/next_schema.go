//go:build nextschema

package ledger

import (
	"context"
	"database/sql"

	"github.com/pressly/goose/v3"
)

// A program built with the tag nextschema is the next version of this one: its ledger has
// one migration more. The proof of a rolling upgrade runs both side by side. No release
// has it.
func init() {
	goMigrations = append(goMigrations, goose.NewGoMigration(90001, &goose.GoFunc{
		RunTx: func(ctx context.Context, tx *sql.Tx) error {
			// As each migration does: a statement that places orders waits here.
			for _, statement := range []string{
				`UPDATE control SET id = 1 WHERE id = 1`,
				`ALTER TABLE rows ADD COLUMN next_schema TEXT NOT NULL DEFAULT ''`,
			} {
				if _, err := tx.ExecContext(ctx, statement); err != nil {
					return err
				}
			}
			return nil
		},
	}, nil))
}
