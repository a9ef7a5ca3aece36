package ledger_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/ledgertest"
	"github.com/bulkfiling/bulkfiling/internal/store"
)

// restored opens a ledger of 6 rows whose first row is placed, does what lost says, and
// takes the ledger back to before that. No process knows of the lost orders.
func restored(t *testing.T, lost func(s *suite, l *ledger.Ledger, rows []ledger.Row),
	check func(s *suite, l *ledger.Ledger, rows []ledger.Row)) {
	onRestorable(t, func(s *suite, place *ledgertest.Restorable) {
		l := s.open()
		s.must(l.Entries().RecordDeposit(s.Context(), 1_000_000, ""))
		rows := s.add(l, "a", reports("a", 6)...)
		s.place(l, rows[0])
		place.Keep()
		s.await(l)
		lost(s, l, rows)
		s.must(l.Close())
		place.Restore()
		l = s.open()
		s.halted(l)
		check(s, l, rows)
	})
}

// unchecked compares the number of rows to check.
func (s *suite) unchecked(l *ledger.Ledger, want int) []ledger.Row {
	s.Helper()
	rows, err := l.Restores().Unchecked(s.Context())
	if s.must(err); len(rows) != want {
		s.Errorf("%d rows to check, want %d", len(rows), want)
	}
	return rows
}

// endCheck ends the check, and lets orders be sent at once.
func (s *suite) endCheck(l *ledger.Ledger) {
	s.Helper()
	s.must(l.Restores().End(s.Context()))
	s.exec(`UPDATE control SET restart_wait_until = 0`)
}

// During the check nothing is sent and no unchecked row is canceled. The check covers lost
// spreadsheets that are submitted again, canceled rows that are revived, and batches that
// waited for approval.
func TestRestores_End(t *testing.T) {
	restored(t, func(s *suite, l *ledger.Ledger, rows []ledger.Row) {
		s.place(l, rows[1])
		s.place(l, s.add(l, "lost", reports("lost", 2)...)[0])
	}, func(s *suite, l *ledger.Ledger, rows []ledger.Row) {
		ctx := s.Context()
		again := s.add(l, "lost", reports("lost", 2)...)
		_, err := l.CreateBatch(ctx, ledger.Batch{ID: "draft", File: "draft.csv", Product: filing.AnnualReport})
		s.must(err)
		draft := reports("draft", 1)
		draft[0].Number = 2
		s.must(l.AddRows(ctx, "draft", draft))
		s.must(l.PrepareBatch(ctx, "draft"))
		for _, row := range []ledger.Row{rows[1], again[0]} {
			if begun := s.begin(l, intent(s.row(l, row.ID))); begun.Halted.Reason != filing.HaltRestored {
				s.Errorf("row %d is sent: %+v", row.ID, begun)
			}
		}
		s.wantErr(second(l.CancelBatch(ctx, "a")), ledger.ErrUnchecked)
		s.wantErr(l.Restores().End(ctx), ledger.ErrUnchecked)
		state, err := l.Restores().Check(ctx)
		s.must(err)
		all := s.unchecked(l, 5+2+1)
		for _, begun := range s.suppose(l, state.Since, all[:len(all)-1]...) {
			if begun.Attempt == 0 {
				s.Errorf("%+v", begun)
			}
		}
		s.must(l.Restores().MarkChecked(ctx, all[len(all)-1].ID))
		s.unchecked(l, 0)

		s.must(l.Resolutions().MarkPlaced(ctx, rows[1].ID, 0, []string{"order_1"}, "Ana saw it"))
		s.must(l.Resolutions().MarkNotPlaced(ctx, rows[2].ID, 0, "Ana looked"))
		if begun := s.begin(l, intent(s.row(l, rows[2].ID))); begun.Halted.Reason != filing.HaltRestored {
			s.Errorf("a resolved row is sent during the check: %+v", begun)
		}
		s.unchecked(l, 0)
		s.endCheck(l)
		s.place(l, s.row(l, rows[2].ID))
		s.want(l, rows[1], filing.Placed, 0)
		s.want(l, rows[3], filing.Uncertain, cost)
		s.place(l, s.add(l, "free", reports("free", 1)...)[0])
	})
}

// A row that was held back at the time of the backup may have been confirmed and ordered since.
func TestRestores_EndWithHeldBackRows(t *testing.T) {
	onRestorable(t, func(s *suite, place *ledgertest.Restorable) {
		ctx, l := s.Context(), s.open()
		row := s.add(l, "a", report("comp_1", "2026"))[0]
		review := func(as filing.Result) {
			s.Helper()
			s.must(l.RecordReview(ctx, "a", []ledger.Reviewed{{Row: row.ID, Result: as, Message: "another name"}}))
		}
		review(filing.Invalid)
		place.Keep()
		s.await(l)
		review(filing.Ready)
		s.must(l.Close())
		place.Restore()
		l = s.open()
		s.halted(l)
		s.unchecked(l, 0)
		s.wantErr(l.Restores().End(ctx), ledger.ErrHeldBack)
		held, err := l.Restores().HeldBack(ctx)
		if s.must(err); len(held) != 1 || held[0].ID != row.ID {
			s.Errorf("%+v", held)
		}
		review(filing.Ready)
		s.wantErr(l.Restores().End(ctx), ledger.ErrUnchecked)
		s.must(l.Restores().MarkChecked(ctx, row.ID))
		s.endCheck(l)
	})
}

// The creation of a company is uncertain in the restored ledger. The company exists, so
// its order may have been sent as well.
func TestRestores_EndAfterCreation(t *testing.T) {
	onRestorable(t, func(s *suite, place *ledgertest.Restorable) {
		ctx, l := s.Context(), s.open()
		forming := report("", "2026")
		forming.Request.Company.Sheet.LegalName = "One"
		row := s.add(l, "a", forming)[0]
		in := creationOf(row)
		out := createdBy(in, s.begin(l, in).Attempt)
		out.Answer.Kind = filing.NoAnswer
		s.must(l.RecordOutcome(ctx, out))
		place.Keep()
		s.await(l)
		s.must(l.Entries().RecordDeposit(ctx, 1, ""))
		s.must(l.Close())
		place.Restore()
		l = s.open()
		s.halted(l)
		s.wantErr(l.Restores().End(ctx), ledger.ErrUncertainCompany)
		s.must(l.Resolutions().MarkCreated(ctx, row.ID, 0, filing.Company{ID: "comp_1"}, "Ana saw it"))
		s.wantErr(l.Restores().End(ctx), ledger.ErrUnchecked)
		s.unchecked(l, 1)
	})
}

// A row that was checked is checked again if the ledger goes back in time once more.
func TestRestores_Twice(t *testing.T) {
	onRestorable(t, func(s *suite, place *ledgertest.Restorable) {
		l := s.open()
		rows := s.add(l, "a", reports("a", 2)...)
		place.Keep()
		s.await(l)
		s.place(l, rows[0])
		s.must(l.Close())
		place.Restore()
		l = s.open()
		s.halted(l)
		s.must(l.Restores().MarkChecked(s.Context(), rows[0].ID, rows[1].ID))
		s.endCheck(l)
		s.place(l, rows[1])
		place.Restore()
		s.await(l)
		s.halted(l)
		s.unchecked(l, 1) // rows[0]: this process has written rows[1] back
	})
}

// A person begins the check of a ledger that nobody saw going back in time.
func TestRestores_Begin(t *testing.T) {
	onLedger(t, func(s *suite, ctx context.Context, l *ledger.Ledger) {
		rows := s.add(l, "a", reports("a", 2)...)
		since := s.clock().Add(-time.Hour)
		s.must(l.Restores().Begin(ctx, since))
		state, err := l.Restores().Check(ctx)
		if s.must(err); !state.Since.Equal(since) || state.Halted.Reason != filing.HaltRestored {
			s.Errorf("%+v", state)
		}
		s.unchecked(l, 2)
		s.must(l.Restores().Begin(ctx, s.clock()))
		if again, err := l.Restores().Check(ctx); err != nil || !again.Since.Equal(since) {
			s.Errorf("it begins again at %s, %v", again.Since, err)
		}
		if begun := s.begin(l, intent(rows[0])); begun.Halted.Reason != filing.HaltRestored {
			s.Errorf("%+v", begun)
		}
		s.must(l.Restores().EndUnsent(ctx))
		s.place(l, rows[0])
		if state, err := l.Restores().Check(ctx); err != nil || state.Halted.Reason != filing.NoHalt {
			s.Errorf("%+v, %v", state, err)
		}
	})
}

// The clock was ahead when rows were checked. They are checked again nevertheless.
func TestRestores_ClockSetBack(t *testing.T) {
	onLedger(t, func(s *suite, ctx context.Context, l *ledger.Ledger) {
		rows := s.add(l, "a", reports("a", 2)...)
		s.must(l.Restores().Begin(ctx, s.clock()))
		s.must(l.Restores().MarkChecked(ctx, rows[0].ID, rows[1].ID))
		s.endCheck(l)
		s.exec(`UPDATE rows SET checked_at = checked_at + 3600000`)
		s.must(l.Restores().Begin(ctx, s.clock()))
		s.unchecked(l, 2)
		s.must(l.Restores().MarkChecked(ctx, rows[0].ID, rows[1].ID))
		s.unchecked(l, 0)
		s.endCheck(l)
	})
}

// The check does not end while a spreadsheet is being submitted or a creation is in flight.
func TestRestores_EndMeanwhile(t *testing.T) {
	onBothDatabases(t, func(s *suite) {
		ctx, l, other := s.Context(), s.open(), s.open()
		forming := report("", "2026")
		forming.Request.Company.Sheet.LegalName = "One"
		row := s.add(l, "a", forming)[0]
		in := creationOf(row)
		out := createdBy(in, s.begin(l, in).Attempt)
		s.must(l.Restores().Begin(ctx, s.clock()))
		s.wantErr(other.Restores().End(ctx), ledger.ErrUncertainCompany)
		s.must(l.RecordOutcome(ctx, out))
		s.must(l.Restores().MarkChecked(ctx, row.ID))
		_, err := l.CreateBatch(ctx, ledger.Batch{ID: "late", File: "late.csv", Product: filing.AnnualReport})
		s.must(err)
		s.must(l.AddRows(ctx, "late", reports("late", 1)))
		s.wantErr(other.Restores().End(ctx), ledger.ErrImporting)
		s.must(l.OpenBatch(ctx, "late"))
		s.wantErr(other.Restores().End(ctx), ledger.ErrUnchecked)
	})
}

// An event of an order whose row is lost is offered for that row when its spreadsheet is
// submitted again and its rows are marked as uncertain.
func TestRestores_EventsOfLostRows(t *testing.T) {
	restored(t, func(s *suite, l *ledger.Ledger, _ []ledger.Row) {
		s.place(l, s.add(l, "lost", reports("lost", 2)...)[0])
	}, func(s *suite, l *ledger.Ledger, _ []ledger.Row) {
		at := time.Now()
		s.tell(l, "evt_1", "order_lost", "annual_report", "submitted", at, "companyId", "comp_lost0",
			"filingState", "DE")
		again := s.add(l, "lost", reports("lost", 2)...)
		s.suppose(l, at.Add(-time.Hour), s.row(l, again[0].ID), s.row(l, again[1].ID))
		s.apply(l)
		offered, _, err := l.Resolutions().Evidence(s.Context(), []int64{again[0].ID, again[1].ID})
		if s.must(err); len(offered[again[0].ID]) != 1 || len(offered[again[1].ID]) != 0 {
			s.Errorf("%+v", offered)
		}
	})
}

// Copies of an SQLite ledger are complete, are verified, and are put back halted.
func TestReplace(t *testing.T) {
	s := &suite{T: t, config: ledger.Config{Dir: t.TempDir()}}
	ctx, l := s.Context(), s.open()
	rows := s.add(l, "a", reports("a", 2)...)
	s.place(l, rows[0])
	file := t.TempDir() + "/copy.db"
	s.must(l.CopyTo(ctx, file))
	if c, err := ledger.VerifyCopy(ctx, file); err != nil || c.Rows != 2 || c.Purchases != 1 || c.At.IsZero() {
		t.Errorf("%+v, %v", c, err)
	}
	s.place(l, rows[1])
	if _, err := ledger.Replace(ctx, s.config.Dir, file); !errors.Is(err, store.ErrInUse) {
		t.Errorf("an open ledger is replaced: %v", err)
	}
	s.must(l.Close())
	kept, err := ledger.Replace(ctx, s.config.Dir, file)
	s.must(err)
	if c, err := ledger.VerifyCopy(ctx, kept+"/ledger.db"); err != nil || c.Purchases != 2 {
		t.Errorf("the kept ledger: %+v, %v", c, err)
	}
	l = s.open()
	if h, err := l.Fleet().Halt(ctx); err != nil || h.Reason != filing.HaltRestored ||
		!strings.Contains(h.Note, "restored from a backup of") {
		t.Errorf("%+v, %v", h, err)
	}
	s.unchecked(l, 1)
	s.suppose(l, time.Now().Add(-time.Hour), s.row(l, rows[1].ID))
	s.unchecked(l, 0)
	s.must(l.Restores().End(ctx))
	s.must(l.Audit(ctx))
}

// A file that is no complete ledger is refused.
func TestVerifyCopy_Refuses(t *testing.T) {
	s := &suite{T: t, config: ledger.Config{Dir: t.TempDir()}}
	s.must(s.open().Close())
	for what, spoil := range map[string]string{
		"a newer schema":  `INSERT INTO goose_db_version (version_id, is_applied) VALUES (999, 1)`,
		"a missing table": `DROP TABLE purchases`,
	} {
		l := s.open()
		spoilt := &suite{T: t, config: ledger.Config{Dir: t.TempDir()}}
		file := spoilt.config.Dir + "/ledger.db"
		s.must(l.CopyTo(s.Context(), file))
		s.must(l.Close())
		spoilt.exec(spoil)
		if _, err := ledger.VerifyCopy(s.Context(), file); !errors.Is(err, store.ErrCopy) &&
			!errors.Is(err, store.ErrNewer) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
