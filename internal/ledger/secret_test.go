package ledger_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/store"
)

// ssn is a number that nothing else in a ledger looks like.
const ssn = "078051120"

// spellings are the ways in which a number could stand somewhere.
func spellings(n string) []string {
	return []string{n, n[:3] + "-" + n[3:5] + "-" + n[5:], n[:3] + " " + n[3:5] + " " + n[5:]}
}

// application is an EIN order for a company, with a Social Security number.
func application(company string) ledger.Row {
	r := report(company, "")
	r.Request.Product = filing.EIN
	r.Request.Order.AnnualReport = nil
	r.Request.Order.EIN = &filing.EINItem{
		BusinessCategory:          "Retail",
		ResponsiblePartySSN:       ssn,
		ResponsiblePartyFirstName: "Grace",
	}
	return r
}

// applicationAndReport may not be sent twice.
func applicationAndReport(company string) ledger.Row {
	r := application(company)
	r.Request.Order.AnnualReport = &filing.AnnualReportItem{FilingYear: "2026"}
	return r
}

// sealed is what lies sealed for a row; "" for nothing.
func (s *suite) sealed(r ledger.Row) string {
	s.Helper()
	var text string
	err := s.sql().QueryRowContext(s.Context(), `SELECT sealed FROM secrets WHERE batch = $1 AND number = $2`, r.Batch,
		r.Number).Scan(&text)
	if !errors.Is(err, sql.ErrNoRows) {
		s.must(err)
	}
	return text
}

// opens checks whether the row's number can still be had.
func (s *suite) opens(l *ledger.Ledger, r ledger.Row, want bool) {
	s.Helper()
	got, err := l.Unseal(s.Context(), r)
	switch {
	case want && (err != nil || got != ssn):
		s.Errorf("row %d is %s: %q, %v", r.ID, s.row(l, r.ID).Result, got, err)
	case !want && !errors.Is(err, store.ErrSealed):
		s.Errorf("row %d is %s: %q, %v, want ErrSealed", r.ID, s.row(l, r.ID).Result, got, err)
	case !want && s.sealed(r) != "":
		s.Errorf("row %d is %s and its number is still in the ledger", r.ID, s.row(l, r.ID).Result)
	}
}

// everyCell visits each value of each table.
func (s *suite) everyCell(visit func(table, column, value string)) {
	s.Helper()
	db := s.sql()
	list := `SELECT name FROM sqlite_master WHERE type = 'table'`
	if s.config.DatabaseURL != "" {
		list = `SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema()`
	}
	var tables []string
	found, err := db.QueryContext(s.Context(), list)
	s.must(err)
	for found.Next() {
		var name string
		s.must(found.Scan(&name))
		tables = append(tables, name)
	}
	s.must(found.Close())
	for _, table := range tables {
		rows, err := db.QueryContext(s.Context(), `SELECT * FROM "`+table+`"`)
		s.must(err)
		columns, err := rows.Columns()
		s.must(err)
		for rows.Next() {
			values := make([]any, len(columns))
			at := make([]any, len(columns))
			for i := range values {
				at[i] = &values[i]
			}
			s.must(rows.Scan(at...))
			for i, v := range values {
				if b, ok := v.([]byte); ok {
					v = string(b)
				}
				visit(table, columns[i], fmt.Sprint(v))
			}
		}
		s.must(rows.Close())
	}
}

// A number is in no column of any table and in no file of the data folder,
// while it waits and after it was used; what is stored of the order lacks it.
func TestSealedAtRest(t *testing.T) { onBothDatabases(t, testSealedAtRest) }

// searchFiles fails the test for a file of the data folder that holds the number. It
// returns how many files and write-ahead logs it has searched.
func (s *suite) searchFiles() (files, logs int) {
	s.must(filepath.WalkDir(s.config.Dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		for _, spelling := range spellings(ssn) {
			if bytes.Contains(content, []byte(spelling)) {
				s.Errorf("the number stands in %s", filepath.Base(path))
			}
		}
		files++
		if strings.HasSuffix(path, "-wal") && len(content) > 0 {
			logs++
		}
		return err
	}))
	return files, logs
}

func testSealedAtRest(s *suite) {
	l := s.open()
	rows := s.add(l, "a", application("comp_1"), application("comp_2"), applicationAndReport("comp_3"),
		application("comp_4"))
	s.place(l, rows[1])
	s.send(l, rows[2])
	s.answer(l, rows[2], filing.NoAnswer)
	s.send(l, rows[3])
	s.answer(l, rows[3], filing.Refused)

	seen := 0
	s.everyCell(func(table, column, value string) {
		if table == "secrets" && column == "sealed" {
			seen++
		}
		for _, spelling := range spellings(ssn) {
			if strings.Contains(value, spelling) {
				s.Errorf("%s.%s holds the number: %s", table, column, value)
			}
		}
	})
	if seen != 3 {
		s.Errorf("%d sealed numbers, want those of the three rows that are not placed", seen)
	}
	for _, r := range s.rows(l, "a") {
		if e := r.Request.Order.EIN; e == nil || e.ResponsiblePartySSN != "" ||
			e.ResponsiblePartyFirstName != "Grace" {
			s.Errorf("row %d is stored with %+v", r.Number, e)
		}
	}
	files, logs := s.searchFiles()
	if files == 0 || s.config.DatabaseURL == "" && logs == 0 {
		s.Errorf("%d files were searched, among them %d write-ahead logs", files, logs)
	}
}

// The caller's request keeps its number: only what is stored lacks it.
func TestSealingLeavesTheCallersRequest(t *testing.T) {
	onLedger(t, func(s *suite, _ context.Context, l *ledger.Ledger) {
		row := application("comp_1")
		s.add(l, "a", row)
		if row.Request.Order.EIN.ResponsiblePartySSN != ssn {
			s.Error("the caller's number was taken away")
		}
	})
}

// Rows that will never be sent have nothing sealed.
func TestNothingSealedForWhatIsNotSent(t *testing.T) {
	onLedger(t, func(s *suite, _ context.Context, l *ledger.Ledger) {
		invalid, skipped, foreign := application("comp_1"), application("comp_2"), application("comp_3")
		invalid.Result, skipped.Result = filing.Invalid, filing.Skipped
		foreign.Request.Order.EIN.ResponsiblePartySSN, foreign.Request.Order.EIN.ResponsiblePartyIsForeign = "", true
		for _, r := range s.add(l, "a", invalid, skipped, foreign) {
			s.opens(l, r, false)
		}
		if _, err := os.Stat(s.keyFile()); !errors.Is(err, fs.ErrNotExist) {
			s.Errorf("a key was made for nothing: %v", err)
		}
	})
}

func (s *suite) keyFile() string { return filepath.Join(s.config.Dir, "sealing.key") }

// The key lies in a file that only its owner can read, and one that others can
// read is refused with the remedy.
func TestKeyFile(t *testing.T) {
	onLedger(t, func(s *suite, _ context.Context, l *ledger.Ledger) {
		row := s.add(l, "a", application("comp_1"))[0]
		info, err := os.Stat(s.keyFile())
		s.must(err)
		if info.Mode().Perm() != 0o600 {
			s.Errorf("the key file has the mode %o", info.Mode().Perm())
		}
		key, err := os.ReadFile(s.keyFile())
		s.must(err)
		if key := strings.TrimSpace(string(key)); len(key) != 64 || strings.Trim(key, "0123456789abcdef") != "" {
			s.Errorf("the key is %d bytes", len(key))
		}
		left, err := filepath.Glob(s.keyFile() + ".*")
		if err != nil || len(left) > 0 {
			s.Errorf("left beside the key: %v, %v", left, err)
		}
		for _, mode := range []fs.FileMode{0o640, 0o604, 0o622} {
			s.must(os.Chmod(s.keyFile(), mode))
			later := s.open()
			if _, err := later.Unseal(s.Context(), row); err == nil || !strings.Contains(err.Error(), "chmod 600") ||
				strings.Contains(err.Error(), strings.TrimSpace(string(key))) {
				s.Errorf("mode %o: %v", mode, err)
			}
			if _, err := later.CreateBatch(s.Context(),
				ledger.Batch{ID: fmt.Sprint(mode), Product: filing.EIN}); err != nil {
				s.Fatal(err)
			}
			if err := later.AddRows(s.Context(), fmt.Sprint(mode), []ledger.Row{application("comp_2")}); err == nil ||
				!strings.Contains(err.Error(), "chmod 600") {
				s.Errorf("mode %o: sealed all the same: %v", mode, err)
			}
		}
		s.must(os.Chmod(s.keyFile(), 0o600))
		s.opens(s.open(), row, true)
	})
}

// A file that is no key is not taken for one, and its content is not repeated.
func TestBrokenKey(t *testing.T) {
	for name, key := range map[string]string{"short": "abcdef", "not hexadecimal": strings.Repeat("xy", 32),
		"empty file": " \n", "too long": strings.Repeat("ab", 33)} {
		t.Run(name, func(t *testing.T) {
			onBothDatabases(t, func(s *suite) {
				s.must(os.WriteFile(s.keyFile(), []byte(key), 0o600))
				l := s.open()
				_, err := l.CreateBatch(s.Context(), ledger.Batch{ID: "a", Product: filing.EIN})
				s.must(err)
				err = l.AddRows(s.Context(), "a", []ledger.Row{application("comp_1")})
				if err == nil || !strings.Contains(err.Error(), "64 hexadecimal digits") ||
					strings.TrimSpace(key) != "" && strings.Contains(err.Error(), key) {
					s.Error(err)
				}
				if s.sealed(ledger.Row{Batch: "a"}) != "" {
					s.Error("a row was stored without its number")
				}
			})
		})
	}
}

// Processes that begin at the same moment agree on one key.
func TestOneKeyForAllProcesses(t *testing.T) {
	onBothDatabases(t, func(s *suite) {
		ctx := s.Context()
		var together sync.WaitGroup
		begin := make(chan struct{})
		ledgers := make([]*ledger.Ledger, 6)
		for i := range ledgers {
			l := s.open()
			ledgers[i] = l
			_, err := l.CreateBatch(ctx, ledger.Batch{ID: fmt.Sprint(i), Product: filing.EIN})
			s.must(err)
			together.Go(func() {
				<-begin
				row := application(fmt.Sprintf("comp_%d", i))
				row.Number = 2
				if err := errors.Join(l.AddRows(ctx, fmt.Sprint(i), []ledger.Row{row}),
					l.OpenBatch(ctx, fmt.Sprint(i))); err != nil {
					s.Error(err)
				}
			})
		}
		close(begin)
		together.Wait()
		for _, l := range ledgers {
			for i := range ledgers {
				s.opens(l, s.rows(l, fmt.Sprint(i))[0], true)
			}
		}
		left, err := filepath.Glob(s.keyFile() + ".*")
		if err != nil || len(left) > 0 {
			s.Errorf("left beside the key: %v, %v", left, err)
		}
	})
}

// A fleet's key comes from the environment: no file is made, every process with
// it opens what another sealed, and no process without it does.
func TestKeyFromTheEnvironment(t *testing.T) {
	onBothDatabases(t, func(s *suite) {
		s.config.SealKey = strings.Repeat("0f", 32)
		row := s.add(s.open(), "a", application("comp_1"))[0]
		if _, err := os.Stat(s.keyFile()); !errors.Is(err, fs.ErrNotExist) {
			s.Errorf("a key file was made: %v", err)
		}
		s.opens(s.open(), row, true)
		for _, other := range []string{strings.Repeat("0e", 32), ""} {
			s.config.SealKey = other
			if got, err := s.open().Unseal(s.Context(), row); !errors.Is(err, store.ErrSealed) || got != "" {
				s.Errorf("another key: %q, %v", got, err)
			}
		}
	})
}

// A sealed number belongs to its row: moved to another it does not open, and
// neither does one that was touched.
func TestSealedToItsRow(t *testing.T) {
	for name, spoil := range map[string]string{
		"another row": `UPDATE secrets
			SET sealed = (SELECT sealed FROM secrets WHERE batch = 'a' AND number = 3)
			WHERE batch = 'a' AND number = 2`,
		"another batch": `UPDATE secrets
			SET sealed = (SELECT sealed FROM secrets WHERE batch = 'b' AND number = 2)
			WHERE batch = 'a' AND number = 2`,
		"touched":     `UPDATE secrets SET sealed = 'AAAA' || substr(sealed, 5) WHERE batch = 'a' AND number = 2`,
		"cut short":   `UPDATE secrets SET sealed = substr(sealed, 1, 8) WHERE batch = 'a' AND number = 2`,
		"no encoding": `UPDATE secrets SET sealed = '!' WHERE batch = 'a' AND number = 2`,
		"empty":       `UPDATE secrets SET sealed = '' WHERE batch = 'a' AND number = 2`,
	} {
		t.Run(name, func(t *testing.T) {
			onLedger(t, func(s *suite, _ context.Context, l *ledger.Ledger) {
				rows := s.add(l, "a", application("comp_1"), application("comp_2"))
				s.add(l, "b", application("comp_3"))
				s.exec(spoil)
				if got, err := l.Unseal(s.Context(), rows[0]); !errors.Is(err, store.ErrSealed) || got != "" {
					s.Errorf("%q, %v, want ErrSealed", got, err)
				}
				s.opens(l, rows[1], true)
			})
		})
	}
}

// The same number sealed twice does not look the same: nobody can tell from the
// ledger which rows share a responsible party.
func TestSealedNumbersDoNotCompare(t *testing.T) {
	onLedger(t, func(s *suite, _ context.Context, l *ledger.Ledger) {
		rows := s.add(l, "a", application("comp_1"), application("comp_2"))
		if one, two := s.sealed(rows[0]), s.sealed(rows[1]); one == two || one == "" {
			s.Errorf("%q, %q", one, two)
		}
	})
}

// Numbers live as long as their order is not decided, by whatever way it is.
func TestErasedOnceDecided(t *testing.T) {
	settled := func(class filing.AnswerKind) func(*suite, *ledger.Ledger, ledger.Row) {
		return func(s *suite, l *ledger.Ledger, r ledger.Row) {
			s.send(l, r)
			s.answer(l, r, class)
		}
	}
	aside := func(next filing.Result) func(*suite, *ledger.Ledger, ledger.Row) {
		return func(s *suite, l *ledger.Ledger, r ledger.Row) {
			s.must(l.Defer(s.Context(), ledger.Deferral{Row: r.ID, Next: next, Message: "said the ledger"}))
		}
	}
	for _, c := range []struct {
		name   string
		order  func(company string) ledger.Row
		way    func(*suite, *ledger.Ledger, ledger.Row)
		result filing.Result
		kept   bool
	}{
		{"waits", application, func(*suite, *ledger.Ledger, ledger.Row) {}, filing.Ready, true},
		{"under way", application, func(s *suite, l *ledger.Ledger, r ledger.Row) { s.send(l, r) },
			filing.Placing, true},
		{"placed", application, settled(filing.Accepted), filing.Placed, false},
		{"a 409", application, settled(filing.HasItem), filing.Exists, false},
		{"skipped", application, aside(filing.Skipped), filing.Skipped, false},
		{"refused", application, settled(filing.Refused), filing.Rejected, true},
		{"in doubt, to be sent again", application, settled(filing.NoAnswer), filing.Ready, true},
		{"uncertain", applicationAndReport, settled(filing.NoAnswer), filing.Uncertain, true},
		{"resolved as placed", applicationAndReport, func(s *suite, l *ledger.Ledger, r ledger.Row) {
			settled(filing.NoAnswer)(s, l, r)
			s.must(l.Resolutions().MarkPlaced(s.Context(), r.ID, 0, []string{"order_1"}, "seen"))
		}, filing.Ready, true}, // the EIN is ordered next
		{"a late answer", applicationAndReport, func(s *suite, l *ledger.Ledger, r ledger.Row) {
			settled(filing.NoAnswer)(s, l, r)
			s.answer(l, r, filing.Accepted)
			s.place(l, s.want(l, r, filing.Ready, 0))
		}, filing.Placed, false},
		{"one item is there, the rest is sent", applicationAndReport, func(s *suite, l *ledger.Ledger, r ledger.Row) {
			s.send(l, r)
			o := outcome(s.row(l, r.ID), 1, filing.HasItem)
			o.Answer.Has, o.Items[0].Product = filing.AnnualReport, filing.AnnualReport
			s.must(l.RecordOutcome(s.Context(), o))
		}, filing.Ready, true},
		{"canceled", application, func(s *suite, l *ledger.Ledger, r ledger.Row) {
			n, err := l.CancelBatch(s.Context(), r.Batch)
			if err != nil || n == 0 {
				s.Errorf("%d, %v", n, err)
			}
		}, filing.Canceled, false},
		{"canceled in doubt", application, func(s *suite, l *ledger.Ledger, r ledger.Row) {
			settled(filing.NoAnswer)(s, l, r)
			_, err := l.CancelBatch(s.Context(), r.Batch)
			s.must(err)
		}, filing.Uncertain, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			onLedger(t, func(s *suite, _ context.Context, l *ledger.Ledger) {
				r := s.add(l, "a", c.order("comp_1"))[0]
				bystander := s.add(l, "b", application("comp_2"))[0]
				c.way(s, l, r)
				if got := s.row(l, r.ID).Result; got != c.result {
					s.Fatalf("it is %s, want %s", got, c.result)
				}
				s.opens(l, r, c.kept)
				s.opens(l, bystander, true)
			})
		})
	}
}

// An import that a crash cut short leaves no number behind.
func TestSecretsOfARestartedImport(t *testing.T) {
	onBothDatabases(t, func(s *suite) {
		ctx, first := s.Context(), s.open()
		batch := ledger.Batch{ID: "a", Product: filing.EIN}
		_, err := first.CreateBatch(ctx, batch)
		s.must(err)
		one, two := application("comp_1"), application("comp_2")
		one.Number, two.Number = 2, 3
		s.must(first.AddRows(ctx, "a", []ledger.Row{one, two}))
		s.must(first.Close())
		l := s.open()
		created, err := l.CreateBatch(ctx, batch)
		if err != nil || !created {
			s.Fatal(created, err)
		}
		s.must(l.AddRows(ctx, "a", []ledger.Row{one}))
		s.must(l.OpenBatch(ctx, "a"))
		s.opens(l, s.rows(l, "a")[0], true)
		s.opens(l, ledger.Row{Batch: "a", Number: 3}, false)
	})
}

// A closed ledger opens nothing, and says so without a number.
func TestUnsealOfAClosedLedger(t *testing.T) {
	s := &suite{T: t, config: ledger.Config{Dir: t.TempDir()}}
	l, err := ledger.Open(t.Context(), s.config)
	s.must(err)
	row := s.add(l, "a", application("comp_1"))[0]
	s.must(l.Close())
	if got, err := l.Unseal(context.Background(), row); err == nil || got != "" || errors.Is(err, store.ErrSealed) {
		t.Errorf("%q, %v", got, err)
	}
}
