package ledger_test

import (
	"context"
	"slices"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/money"
)

// What PostgreSQL reads for a row must not grow with the rows of the ledger. Its plans depend on
// statistics, which are outdated after an import, and it keeps them.
func TestPostgresReadsOnlyWhatItTouches(t *testing.T) {
	onBothDatabases(t, func(s *suite) {
		if s.config.DatabaseURL == "" {
			return // SQLite's plans do not depend on how many rows there are
		}
		const rows, other, chunk, most = 250, 2000, 20, 100
		// read returns the rows of tables and indexes that are read for each of n rows.
		read := func(n int64, do func(l *ledger.Ledger, ctx context.Context)) int64 {
			before := s.rowsRead()
			l := s.open()
			do(l, s.Context())
			s.must(l.Close()) // its connections report what they read
			return (s.rowsRead() - before) / n
		}
		place := func(batch string) int64 {
			return read(rows, func(l *ledger.Ledger, ctx context.Context) {
				s.add(l, batch, reports(batch, rows)...)
				for placed := 0; placed < rows; {
					ids, err := l.Backlog().ListSendable(ctx, batch, chunk)
					s.must(err)
					ready, err := l.Backlog().LoadSendable(ctx, ids)
					s.must(err)
					if len(ready) == 0 {
						s.Fatalf("%d of %d rows are placed, and none is ready", placed, rows)
					}
					for _, r := range ready {
						s.place(l, r)
					}
					placed += len(ready)
				}
			})
		}
		place("a")
		for _, step := range []struct {
			name string
			read int64
		}{
			{"quoting", read(other, func(l *ledger.Ledger, ctx context.Context) {
				added := reports("other", other)
				for i := range added {
					added[i].Number = i + 2
				}
				_, err := l.CreateBatch(ctx, ledger.Batch{ID: "other", File: "other.csv", Product: filing.AnnualReport})
				s.must(err)
				s.must(l.AddRows(ctx, "other", added))
				s.must(l.PrepareBatch(ctx, "other"))
				s.must(l.Quotes().Begin(ctx))
				var counted float64
				s.must(s.sql().QueryRow(`SELECT reltuples FROM pg_class WHERE oid = 'rows'::regclass`).Scan(&counted))
				if counted < other {
					s.Errorf("PostgreSQL plans for %.0f rows instead of %d", counted, other)
				}
				s.must(l.OpenBatch(ctx, "other"))
				all, err := l.Backlog().ListSendable(ctx, "other", other)
				s.must(err)
				for ids := range slices.Chunk(all, 1000) {
					var quotes []ledger.RowQuote
					for _, id := range ids {
						quotes = append(quotes, ledger.RowQuote{Row: id, Cost: money.Cost{Amount: 100}})
					}
					s.must(l.Quotes().Save(ctx, quotes))
				}
			})},
			{"placing", place("b")},
		} {
			s.Logf("%s reads %d rows of tables and indexes for each row", step.name, step.read)
			if step.read > most {
				s.Errorf("%s reads %d rows of tables and indexes for each row, want at most %d", step.name, step.read, most)
			}
		}
	})
}

// rowsRead is how many rows PostgreSQL has read of the tables of placing, and of their
// indexes.
func (s *suite) rowsRead() (n int64) {
	s.must(s.sql().QueryRow(`SELECT COALESCE(SUM(seq_tup_read), 0) +
			(SELECT COALESCE(SUM(idx_tup_read), 0) FROM pg_stat_user_indexes
				WHERE relname IN ('rows', 'items', 'purchases', 'attempts', 'entries'))
		FROM pg_stat_user_tables WHERE relname IN ('rows', 'items', 'purchases', 'attempts', 'entries')`).Scan(&n))
	return n
}
