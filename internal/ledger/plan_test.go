package ledger_test

import (
	"slices"
	"testing"

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
		const placed, quoted = 250, 2000
		place := func(batch string) func(*ledger.Ledger) {
			return func(l *ledger.Ledger) { s.placeInChunks(l, batch, placed) }
		}
		place("a")(s.open())
		s.readsFew("quoting", quoted, func(l *ledger.Ledger) { s.quoteAll(l, "quoted", quoted) })
		s.readsFew("placing", placed, place("b"))
	})
}

// readsFew fails the test if a step reads more than a few rows of tables and indexes for each of n
// rows.
func (s *suite) readsFew(step string, n int64, do func(*ledger.Ledger)) {
	const most = 100
	before := s.rowsRead()
	l := s.open()
	do(l)
	s.must(l.Close()) // its connections report what they read
	read := (s.rowsRead() - before) / n
	s.Logf("%s reads %d rows of tables and indexes for each row", step, read)
	if read > most {
		s.Errorf("%s reads %d rows for each row, want at most %d", step, read, most)
	}
}

// placeInChunks imports a batch and places its rows.
func (s *suite) placeInChunks(l *ledger.Ledger, batch string, rows int) {
	const chunk = 20
	s.add(l, batch, reports(batch, rows)...)
	for placed := 0; placed < rows; {
		ids, err := l.Backlog().ListSendable(s.Context(), batch, chunk)
		s.must(err)
		ready, err := l.Backlog().LoadSendable(s.Context(), ids)
		s.must(err)
		if len(ready) == 0 {
			s.Fatalf("%d of %d rows are placed, and none is ready", placed, rows)
		}
		for _, r := range ready {
			s.place(l, r)
		}
		placed += len(ready)
	}
}

// quoteAll imports a batch and quotes its rows.
func (s *suite) quoteAll(l *ledger.Ledger, batch string, rows int) {
	ctx := s.Context()
	s.add(l, batch, reports(batch, rows)...)
	s.must(l.Quotes().RefreshStatistics(ctx))
	var counted float64
	s.must(s.sql().QueryRow(`SELECT reltuples FROM pg_class WHERE oid = 'rows'::regclass`).Scan(&counted))
	if counted < float64(rows) {
		s.Errorf("PostgreSQL plans for %.0f rows instead of %d", counted, rows)
	}
	all, err := l.Backlog().ListSendable(ctx, batch, rows)
	s.must(err)
	for ids := range slices.Chunk(all, 1000) {
		var quotes []ledger.RowQuote
		for _, id := range ids {
			quotes = append(quotes, ledger.RowQuote{Row: id, Cost: money.Cost{Amount: 100}})
		}
		s.must(l.Quotes().Save(ctx, quotes))
	}
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
