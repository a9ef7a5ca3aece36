package store

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/pressly/goose/v3"
)

// Migrations has the migrations of the schema. The first file has the schema of the first release,
// and each later change has a further file. Both databases run the same files. See dialect.words.
//
//go:embed migrations/*.sql
var Migrations embed.FS

// provider returns the migrations for a database.
func (d Dialect) provider(db *sql.DB, options ...goose.ProviderOption) (*goose.Provider, error) {
	files, err := Migrations.ReadDir("migrations")
	if err != nil {
		return nil, fmt.Errorf("read the migrations: %w", err)
	}
	var all []*goose.Migration
	for _, f := range files {
		version, err := goose.NumericComponent(f.Name())
		if err != nil {
			return nil, fmt.Errorf("read the migrations: %w", err)
		}
		text, err := Migrations.ReadFile("migrations/" + f.Name())
		if err != nil {
			return nil, fmt.Errorf("read the migrations: %w", err)
		}
		statements := strings.NewReplacer(d.words...).Replace(string(text))
		run := func(ctx context.Context, tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, statements)
			return err
		}
		all = append(all, goose.NewGoMigration(version, &goose.GoFunc{RunTx: run}, nil))
	}
	p, err := goose.NewProvider(d.goose, db, nil,
		append(options, goose.WithGoMigrations(all...), goose.WithDisableGlobalRegistry(true))...)
	return p, Wrap("read the migrations", err)
}

// ErrNewer is returned for a ledger that a newer version of the program has prepared. This version
// does not know the rules of the newer one.
var ErrNewer = errors.New("the ledger was prepared by a newer version")

// RefuseNewer returns ErrNewer if the schema is above the highest migration that this program knows.
// By is the program that wrote the tables.
func (db *DB) RefuseNewer(schema int64, by string) error {
	if schema <= db.schema {
		return nil
	}
	return newer(schema, db.schema, by)
}

// newer returns an error with the version that prepared the ledger and the next step for the user.
func newer(schema, known int64, by string) error {
	if by == "" {
		by = "a later version"
	}
	return fmt.Errorf(
		"%w: %s wrote its tables (schema %d), and this program knows schema %d at most; use that version or a newer "+
			"one (back to this one: restore the backup from before the update)", ErrNewer, by, schema, known)
}

// refuseUnknown returns an error if the ledger has a migration that this program lacks.
func (db *DB) refuseUnknown(ctx context.Context, p *goose.Provider) error {
	var known []int64
	for _, s := range p.ListSources() {
		known = append(known, s.Version)
	}
	db.schema = slices.Max(known)
	there := `SELECT COUNT(*) FROM sqlite_master WHERE name = 'goose_db_version'`
	if db.Dialect.IsServer {
		there = `SELECT COUNT(*) FROM pg_tables WHERE schemaname = current_schema() AND tablename = 'goose_db_version'`
	}
	var n int
	if err := db.write.QueryRowContext(ctx, there).Scan(&n); err != nil || n == 0 {
		return Wrap("look for the ledger's tables", err)
	}
	var unknown int64
	rows, err := db.write.QueryContext(ctx, `SELECT version_id FROM goose_db_version ORDER BY version_id`)
	err = Each(rows, err, func(scan func(...any) error) error {
		var version int64
		err := scan(&version)
		if version > 0 && !slices.Contains(known, version) {
			unknown = version
		}
		return err
	})
	if err != nil || unknown == 0 {
		return Wrap("read which version prepared the ledger", err)
	}
	var by string
	// The table may have another shape in a newer version.
	_ = db.write.QueryRowContext(ctx, `SELECT written_by FROM control`).Scan(&by)
	return newer(unknown, db.schema, by)
}

// sign records the program that prepared the tables.
func (db *DB) sign(ctx context.Context) error {
	_, err := db.write.ExecContext(ctx,
		`UPDATE control SET schema_version = $1, written_by = $2 WHERE schema_version < $1`, db.schema, program())
	return Wrap("note which version prepared the ledger", err)
}

// program returns the version of this program, or an empty string if it was built without one.
func program() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return ""
	}
	return "version " + info.Main.Version
}
