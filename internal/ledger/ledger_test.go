package ledger_test

import (
	"context"
	"crypto/rand"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"strings"
	"testing"

	"bulkfiling/internal/filing"
	"bulkfiling/internal/ledger"
	"bulkfiling/internal/money"
)

// onBothDatabases runs one suite on SQLite and, where TEST_DATABASE_URL names a
// server, on PostgreSQL. On CI the server must be there.
func onBothDatabases(t *testing.T, suite func(t *testing.T, open func(...func(*ledger.Config)) *ledger.Ledger)) {
	run := func(name string, base ledger.Config) {
		t.Run(name, func(t *testing.T) {
			suite(t, func(options ...func(*ledger.Config)) *ledger.Ledger {
				c := base
				for _, o := range options {
					o(&c)
				}
				if c.Dir == "" {
					c.Dir = t.TempDir()
				}
				l, err := ledger.Open(t.Context(), c)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { l.Close() })
				return l
			})
		})
	}
	run("SQLite", ledger.Config{Dir: t.TempDir()})
	server := os.Getenv("TEST_DATABASE_URL")
	if server == "" {
		if os.Getenv("CI") != "" {
			t.Fatal("TEST_DATABASE_URL is not set: on CI the PostgreSQL suite must run")
		}
		return
	}
	run("PostgreSQL", ledger.Config{Dir: t.TempDir(), DatabaseURL: newDatabase(t, server)})
}

// newDatabase makes an empty database on the server and drops it after the test.
func newDatabase(t *testing.T, server string) string {
	t.Helper()
	db, err := sql.Open("pgx", server)
	if err != nil {
		t.Fatal(err)
	}
	name := "t" + strings.ToLower(rand.Text())
	if _, err := db.ExecContext(t.Context(), "CREATE DATABASE "+name); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := db.ExecContext(context.Background(), "DROP DATABASE "+name+" WITH (FORCE)"); err != nil {
			t.Error(err)
		}
		db.Close()
	})
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	u.Path = "/" + name
	return u.String()
}

// addBatch records a batch of n annual reports of as many companies.
func addBatch(t *testing.T, l *ledger.Ledger, id string, n int) []ledger.Row {
	t.Helper()
	ctx := t.Context()
	if created, err := l.CreateBatch(ctx, ledger.Batch{ID: id, File: id + ".csv", Product: filing.AnnualReport, Columns: []string{"Company ID"}}); err != nil || !created {
		t.Fatalf("CreateBatch: %v, %v", created, err)
	}
	var rows []ledger.Row
	for i := range n {
		rows = append(rows, ledger.Row{Number: i + 2, Cells: []byte(`["x"]`), Result: filing.Ready, Cost: money.Cost{Amount: 7500}, Request: &filing.Request{
			Product: filing.AnnualReport,
			Company: filing.CompanyRef{Ref: fmt.Sprintf("comp_%s%d", id, i)},
			Order:   filing.Order{FilingState: "DE", AnnualReport: &filing.AnnualReportItem{FilingYear: "2026"}},
		}})
	}
	if err := l.AddRows(ctx, id, rows); err != nil {
		t.Fatal(err)
	}
	if err := l.OpenBatch(ctx, id); err != nil {
		t.Fatal(err)
	}
	rows = rows[:0]
	for r, err := range l.Rows(ctx, id) {
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, r)
	}
	if len(rows) != n {
		t.Fatalf("got %d rows, want %d", len(rows), n)
	}
	return rows
}

func intent(r ledger.Row) ledger.Intent {
	o := r.Request.Order
	o.CompanyID = r.Request.Company.Ref
	return ledger.Intent{Row: r.ID, Cost: r.Cost, Claims: []ledger.Claim{{
		Product: filing.AnnualReport, Key: o.Keys()[filing.AnnualReport], Cover: o.CompanyID + "|DE", Year: 2026,
	}}}
}

func outcome(r ledger.Row, try int, class filing.Class, s filing.Standing) ledger.Outcome {
	a := filing.Answer{Class: class, Message: "said the service"}
	return ledger.Outcome{Row: r.ID, Try: try, Answer: a, Verdict: filing.Decide(a, s), Cost: r.Cost,
		Items: []ledger.Item{{Product: filing.AnnualReport, OrderType: "annual_report", OrderID: fmt.Sprintf("order_%d", r.ID), Cost: r.Cost}}}
}

func TestPlacedOnce(t *testing.T) {
	onBothDatabases(t, func(t *testing.T, open func(...func(*ledger.Config)) *ledger.Ledger) {
		l, ctx := open(), t.Context()
		if err := l.Deposit(ctx, 100000, "opening"); err != nil {
			t.Fatal(err)
		}
		row := addBatch(t, l, "a", 1)[0]
		begun, err := l.Begin(ctx, intent(row))
		if err != nil || begun.Try != 1 {
			t.Fatalf("Begin: %+v, %v", begun, err)
		}
		if again, err := l.Begin(ctx, intent(row)); err != nil || !again.Lost {
			t.Fatalf("second Begin: %+v, %v", again, err)
		}
		if err := l.Settle(ctx, outcome(row, 1, filing.Accepted, filing.Standing{})); err != nil {
			t.Fatal(err)
		}
		got, err := l.Row(ctx, row.ID)
		if err != nil || got.Result != filing.Placed || len(got.Items) != 1 || got.Attempts != 1 {
			t.Fatalf("row: %+v, %v", got, err)
		}
		book, err := l.Book(ctx)
		if err != nil || book.Posted != 7500 || book.Reserved != 0 || book.Available() != 92500 {
			t.Fatalf("book: %+v, %v", book, err)
		}
		if err := l.Audit(ctx); err != nil {
			t.Fatal(err)
		}
	})
}

func BenchmarkTransitions(b *testing.B) {
	for _, server := range []string{"", os.Getenv("TEST_DATABASE_URL")} {
		name := "SQLite"
		if server != "" {
			name = "PostgreSQL"
		}
		b.Run(name, func(b *testing.B) {
			t := &testing.T{}
			_ = t
			url := server
			l, err := ledger.Open(b.Context(), ledger.Config{Dir: b.TempDir(), DatabaseURL: url})
			if err != nil {
				b.Fatal(err)
			}
			defer l.Close()
			benchmarkTransitions(b, l)
		})
	}
}

func benchmarkTransitions(b *testing.B, l *ledger.Ledger) {
	ctx := b.Context()
	id := rand.Text()
	if _, err := l.CreateBatch(ctx, ledger.Batch{ID: id, Product: filing.AnnualReport}); err != nil {
		b.Fatal(err)
	}
	rows := make([]ledger.Row, b.N)
	for i := range rows {
		rows[i] = ledger.Row{Number: i + 2, Cells: []byte(`["x"]`), Result: filing.Ready, Cost: money.Cost{Amount: 7500}, Request: &filing.Request{
			Company: filing.CompanyRef{Ref: fmt.Sprintf("comp_%s%d", id, i)},
			Order:   filing.Order{FilingState: "DE", AnnualReport: &filing.AnnualReportItem{FilingYear: "2026"}}}}
	}
	if err := l.AddRows(ctx, id, rows); err != nil {
		b.Fatal(err)
	}
	if err := l.OpenBatch(ctx, id); err != nil {
		b.Fatal(err)
	}
	rows = rows[:0]
	for r := range l.Rows(ctx, id) {
		rows = append(rows, r)
	}
	work := make(chan ledger.Row)
	b.ResetTimer()
	done := make(chan error)
	for range 64 {
		go func() {
			var err error
			for r := range work {
				begun, e := l.Begin(ctx, intent(r))
				if e != nil || begun.Try == 0 {
					err = fmt.Errorf("%+v %w", begun, e)
				}
				if e := l.Settle(ctx, outcome(r, begun.Try, filing.Accepted, filing.Standing{})); e != nil {
					err = e
				}
			}
			done <- err
		}()
	}
	for _, r := range rows {
		work <- r
	}
	close(work)
	for range 64 {
		if err := <-done; err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}
