package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/pressly/goose/v3"

	"github.com/bulkfiling/bulkfiling/internal/filing"
)

// refolding adds to every formation and company that is on record the key that
// its name folds to now, beside the key of the day it was bought: a name that
// was folded by an older version is still known. Nothing is removed, so rows
// that wait for an old key are woken by it.
var refolding = goose.NewGoMigration(17, &goose.GoFunc{RunTx: refold}, nil)

// goMigrations are the migrations that are not SQL files.
var goMigrations = []*goose.Migration{refolding}

func refold(ctx context.Context, tx *sql.Tx) error {
	type purchase struct {
		key, product, cover, why string
		row, year, at, bought    int64
		name                     string
	}
	// What was bought goes before what is only claimed, should two be one now.
	rows, err := tx.QueryContext(ctx,
		`SELECT p.key, p.row, p.product, p.cover, p.year, p.why, p.at, p.bought, r.request
			FROM purchases p JOIN rows r ON r.id = p.row
			WHERE p.key LIKE 'formation|%' OR p.key LIKE 'company|%' OR p.key LIKE '%|formation|%'
			ORDER BY p.bought DESC, p.at, p.key`)
	all, err := collect(rows, err, func(scan func(...any) error) (purchase, error) {
		var p purchase
		var request string
		if err := scan(&p.key, &p.row, &p.product, &p.cover, &p.year, &p.why, &p.at, &p.bought, &request); err != nil {
			return p, err
		}
		var r filing.Request
		if request != "" {
			if err := json.Unmarshal([]byte(request), &r); err != nil {
				return p, fmt.Errorf("read the request of row %d: %w", p.row, err)
			}
		}
		p.name = r.LegalName()
		return p, nil
	})
	if err != nil {
		return fmt.Errorf("read the keys of names: %w", err)
	}
	for _, p := range all {
		key, changed := refolded(p.key, p.name)
		if !changed {
			continue
		}
		_, err := tx.ExecContext(
			ctx, `INSERT INTO purchases (key, row, product, cover, year, why, at, bought)
				VALUES ($1,$2,$3,$4,$5,$6,$7,$8) ON CONFLICT (key) DO NOTHING`,
			key, p.row, p.product, p.cover, p.year, p.why, p.at, p.bought)
		if err != nil {
			return fmt.Errorf("add the key %s: %w", key, err)
		}
		// The company that was created is found under its key.
		if _, err := tx.ExecContext(ctx,
			`INSERT INTO companies (ref, record, at)
				SELECT $1, record, at FROM companies
				WHERE ref = $2 ON CONFLICT (ref) DO NOTHING`, key, p.key); err != nil {
			return fmt.Errorf("add the company %s: %w", key, err)
		}
	}
	return nil
}

// refolded is a key with the name in it folded as names are now. A key holds a
// name behind the word formation or company and the user.
func refolded(key, name string) (string, bool) {
	parts := strings.Split(key, "|")
	for i := range parts {
		if parts[i] != string(filing.Formation) && parts[i] != string(filing.CompanyRecord) || i+2 >= len(parts) {
			continue
		}
		if name == "" {
			name = parts[i+2]
		}
		folded := filing.FoldLegalName(name)
		if folded == parts[i+2] {
			return key, false
		}
		parts[i+2] = folded
		return strings.Join(parts, "|"), true
	}
	return key, false
}
