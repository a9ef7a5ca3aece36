package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/reconcile"
)

// StatementFile is the file of a statement, and how it is read.
type StatementFile struct {
	Hash, Name string
	Content    []byte
	Options    reconcile.Options
	KeptBy     string
}

// keptFor is how long the file of a statement that was not reconciled is kept.
const keptFor = 24 * time.Hour

// KeepFile keeps the file of a statement: until it is reconciled, and as evidence from
// then on. The same file again changes how it is read.
func (l Statements) KeepFile(ctx context.Context, f StatementFile) error {
	options, err := json.Marshal(f.Options)
	if err != nil {
		return fmt.Errorf("keep the statement %s: %w", f.Name, err)
	}
	err = l.change(withoutAudit(ctx), func(tx *sql.Tx, _ *control) error {
		now := l.now()
		_, err := tx.ExecContext(ctx, `DELETE FROM statement_files
			WHERE kept_at < $1 AND NOT EXISTS (SELECT 1 FROM statements s WHERE s.hash = statement_files.hash)`,
			toMillis(now.Add(-keptFor)))
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `INSERT INTO statement_files (hash, file, content, options, kept_at, kept_by)
			VALUES ($1,$2,$3,$4,$5,$6) ON CONFLICT (hash) DO UPDATE
			SET options = excluded.options, kept_at = excluded.kept_at`,
			f.Hash, f.Name, f.Content, string(options), toMillis(now), f.KeptBy)
		return err
	})
	return wrap("keep the statement "+f.Name, err)
}

// FindFile finds the file of a statement by its hash. It returns ErrNotFound.
func (l Statements) FindFile(ctx context.Context, hash string) (StatementFile, error) {
	f := StatementFile{Hash: hash}
	var options []byte
	err := l.read.QueryRowContext(ctx, `SELECT file, content, options, kept_by FROM statement_files WHERE hash = $1`,
		hash).
		Scan(&f.Name, &f.Content, &options, &f.KeptBy)
	if errors.Is(err, sql.ErrNoRows) {
		return f, ErrNotFound
	}
	if err == nil {
		err = json.Unmarshal(options, &f.Options)
	}
	return f, wrap("find the file of a statement", err)
}

// ReconciledStatement is a statement that was reconciled.
type ReconciledStatement struct {
	Hash, File string
	From, To   time.Time
	Complete   bool
	Lines      int
	Counts     map[string]int // of its lines, by reconcile.Group
	Missing    int
	Adjusted   money.Cents
	Closing    reconcile.Balance
	Rest       money.Cents // what was left unexplained
	At         time.Time
	By         string
}

// ListStatements lists the statements that were reconciled, the newest first.
func (l Statements) ListStatements(ctx context.Context, limit int) ([]ReconciledStatement, error) {
	rows, err := l.read.QueryContext(ctx, `SELECT s.hash, s.file, s.from_at, s.to_at, s.complete, s.missing, s.closing,
			s.closing_known, s.rest, s.reconciled_at, s.reconciled_by,
			COALESCE((SELECT CAST(SUM(a.amount) AS BIGINT) FROM statement_adjustments a WHERE a.statement = s.hash), 0)
		FROM statements s ORDER BY s.reconciled_at DESC, s.hash LIMIT $1`, limit)
	at := make(map[string]int)
	all, err := collect(rows, err, func(scan func(...any) error) (ReconciledStatement, error) {
		s := ReconciledStatement{Counts: make(map[string]int)}
		var from, to, reconciled int64
		var complete, known int
		err := scan(&s.Hash, &s.File, &from, &to, &complete, &s.Missing, &s.Closing.Amount, &known, &s.Rest,
			&reconciled, &s.By,
			&s.Adjusted)
		s.From, s.To, s.At = statementTime(from), statementTime(to), fromMillis(reconciled)
		s.Complete, s.Closing.Known = complete != 0, known != 0
		at[s.Hash] = len(at)
		return s, err
	})
	if err != nil || len(all) == 0 {
		return nil, wrap("list the statements", err)
	}
	hashes := make([]string, len(all))
	for i := range all {
		hashes[i] = all[i].Hash
	}
	in, args := among(l.dialect, hashes)
	counts, err := l.read.QueryContext(ctx,
		`SELECT statement, part, COUNT(*) FROM statement_lines WHERE statement `+in+` GROUP BY statement, part`,
		args...)
	err = each(counts, err, func(scan func(...any) error) error {
		var hash string
		var group reconcile.Group
		var n int
		err := scan(&hash, &group, &n)
		s := &all[at[hash]]
		s.Counts[string(group)], s.Lines = n, s.Lines+n
		return err
	})
	return all, wrap("count the lines of statements", err)
}

// RecordedAdjustment is an entry of the balance that a statement led to.
type RecordedAdjustment struct {
	Reason reconcile.Reason
	Amount money.Cents
	Note   string
	At     time.Time
}

// ListAdjustments lists the entries that a statement led to, in their order.
func (l Statements) ListAdjustments(ctx context.Context, hash string, limit int) ([]RecordedAdjustment, error) {
	rows, err := l.read.QueryContext(ctx,
		`SELECT reason, amount, note, at FROM statement_adjustments WHERE statement = $1 AND amount <> 0
			ORDER BY seq LIMIT $2`, hash, limit)
	all, err := collect(rows, err, func(scan func(...any) error) (RecordedAdjustment, error) {
		var a RecordedAdjustment
		var at int64
		err := scan(&a.Reason, &a.Amount, &a.Note, &at)
		a.At = fromMillis(at)
		return a, err
	})
	return all, wrap("list the adjustments of a statement", err)
}
