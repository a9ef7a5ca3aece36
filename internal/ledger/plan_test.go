package ledger_test

import "testing"

// What PostgreSQL reads to place a row does not grow with the rows: a plan that was made
// while the tables were small would read them whole for each group, until somebody
// makes statistics.
func TestPlacingReadsOnlyWhatItTouches(t *testing.T) {
	onBothDatabases(t, func(s *suite) {
		if s.config.DatabaseURL == "" {
			return // SQLite's plans do not depend on how many rows there are
		}
		const rows, chunk, most = 250, 20, 100
		place := func(batch string) float64 {
			before := s.rowsRead()
			l, ctx := s.open(), s.Context()
			s.add(l, batch, reports(batch, rows)...)
			for placed := 0; placed < rows; {
				ids, err := l.Backlog().ListSendable(ctx, "", chunk)
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
			s.must(l.Close()) // its connections report what they read
			return float64(s.rowsRead()-before) / rows
		}
		place("a")
		if read := place("b"); read > most {
			s.Errorf("%.0f rows of tables and indexes were read for each row, want at most %d", read, most)
		} else {
			s.Logf("%.0f rows of tables and indexes were read for each row", read)
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
