package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/approval"
	"github.com/bulkfiling/bulkfiling/internal/audit"
	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/schedule"
)

// by has somebody act under a context.
func (s *suite) by(name string) context.Context {
	return audit.With(s.Context(), audit.Event{By: name, What: "test"})
}

// approvesWaiting approves what rows of a batch wait for.
func (s *suite) approvesWaiting(l *ledger.Ledger, batch, name string, want error) {
	s.Helper()
	looked, err := approval.New(l).CostIncrease(s.Context(), batch)
	s.must(err)
	if err := approval.New(l).ApproveCosts(s.by(name), batch, looked); !errors.Is(err, want) ||
		want == nil && err != nil {
		s.Errorf("%s approves the rows of %s: %v, want %v", name, batch, err, want)
	}
}

// Who made a batch is known also where no second person was needed when it opened:
// the policy may become stricter, and rows may be sent again.
func TestTheMakerOfAnOpenBatchIsNoSecondPerson(t *testing.T) {
	onLedger(t, func(s *suite, ctx context.Context, l *ledger.Ledger) {
		s.approvers(l, "ana", "ben")
		for _, id := range []string{"a", "b"} {
			s.imported(l, id, "Ana")
			s.must(l.OpenBatch(s.by("ana"), id))
			row := s.rows(l, id)[0]
			s.send(l, row)
			s.answer(l, row, filing.Refused)
		}
		s.must(approval.New(l).ChangePolicy(ctx, approval.Policy{Second: true}))
		for id, name := range map[string]string{"a": "pat", "b": "ana"} {
			if n, err := l.RetryBatch(s.by(name), id); err != nil || n != 1 {
				s.Errorf("%d rows, %v", n, err)
			}
		}
		s.sendable(l)
		s.approvesWaiting(l, "a", "ana", approval.ErrSecondPerson)
		s.approvesWaiting(l, "b", "ana", approval.ErrSecondPerson)
		s.approvesWaiting(l, "a", "ben", nil)
		s.approvesWaiting(l, "b", "ben", nil)
		s.sendable(l, s.rows(l, "a")[0], s.rows(l, "b")[0])
	})
}

// heldBack makes a prepared batch of a row that costs 75 dollars, and of rows that
// the record of their company holds back.
func (s *suite) heldBack(l *ledger.Ledger, id, by string, n int) []ledger.Row {
	s.Helper()
	ctx := s.Context()
	_, err := l.CreateBatch(ctx, ledger.Batch{ID: id, File: id + ".csv", Product: filing.AnnualReport, CreatedBy: by})
	s.must(err)
	rows := reports(id, n+1)
	for i := range rows {
		if rows[i].Number = i + 2; i > 0 {
			rows[i].Result, rows[i].Cost = filing.Invalid, money.Cost{}
		}
	}
	s.must(l.AddRows(ctx, id, rows))
	all := s.rows(l, id)
	s.must(l.Quotes().Save(ctx, []ledger.RowQuote{{Row: all[0].ID, Cost: money.Cost{Amount: cost}}}))
	s.must(l.PrepareBatch(ctx, id))
	return all
}

// Rows that were held back when a batch was submitted count once they are ready:
// nobody knows what they cost.
func TestRowsThatWereHeldBackCountOnceTheyAreReady(t *testing.T) {
	onLedger(t, func(s *suite, ctx context.Context, l *ledger.Ledger) {
		s.approvers(l, "ana", "ben")
		s.must(approval.New(l).ChangePolicy(ctx, approval.Policy{Second: true, From: 100_00}))
		for name, release := range map[string]func(id string, held []ledger.Row) error{
			"retry": func(id string, _ []ledger.Row) error {
				n, err := l.RetryBatch(s.by("ana"), id)
				if n != 10 {
					s.Errorf("%d rows", n)
				}
				return err
			},
			"review": func(id string, held []ledger.Row) error {
				var all []ledger.Reviewed
				for _, r := range held {
					all = append(all, ledger.Reviewed{Row: r.ID, Result: filing.Ready})
				}
				return l.RecordReview(s.by("ana"), id, all)
			},
		} {
			rows := s.heldBack(l, name, "ana", 10)
			if waits, err := approval.New(l).Submit(s.by("ana"), approval.Draft{Batch: name}, "plan",
				"ana"); err != nil || waits {
				s.Errorf("%s: waits %v, %v", name, waits, err)
			}
			s.must(release(name, rows[1:]))
			s.sendable(l, rows[0])
			for _, r := range rows[1:] {
				if r := s.row(l, r.ID); r.Result != filing.Ready || r.BlockedOn != "approval" || r.Message == "" {
					s.Errorf("%s: %+v", name, r)
				}
			}
			s.approvesWaiting(l, name, "ana", approval.ErrSecondPerson)
			s.place(l, rows[0])
		}
		// What is known to stay below the amount goes.
		rows := s.heldBack(l, "below", "ana", 0)
		s.must(l.RecordReview(ctx, "below", []ledger.Reviewed{{Row: rows[0].ID, Result: filing.Invalid}}))
		if _, err := approval.New(l).Submit(s.by("ana"), approval.Draft{Batch: "below"}, "plan", "ana"); err != nil {
			s.Error(err)
		}
		if n, err := l.RetryBatch(s.by("ana"), "below"); err != nil || n != 1 {
			s.Errorf("%d rows, %v", n, err)
		}
		s.sendable(l, rows[0])
	})
}

// A row that waits for a second person goes on waiting, whatever answer to its
// older attempt comes late, and whatever comes after that.
func TestNoLateAnswerApprovesARow(t *testing.T) {
	classes := []filing.AnswerKind{filing.NotSent, filing.Accepted, filing.Unreadable, filing.NoAnswer,
		filing.ServerError,
		filing.Busy,
		filing.NoFunds, filing.KeyRefused, filing.HasItem, filing.Refused}
	onLedger(t, func(s *suite, _ context.Context, l *ledger.Ledger) {
		s.approvers(l, "ana")
		for i, first := range classes {
			for j, second := range classes {
				s.must(approval.New(l).ChangePolicy(s.Context(), approval.Policy{}))
				row := s.add(l, fmt.Sprintf("b%d-%d", i, j), report(fmt.Sprintf("comp_%d_%d", i, j), "2026"))[0]
				attempt := s.send(l, row)
				sent := s.row(l, row.ID)
				s.answer(l, row, filing.NoAnswer)
				s.must(approval.New(l).ChangePolicy(s.Context(), approval.Policy{Second: true}))
				s.must(l.Resolutions().MarkNotPlaced(s.by("pat"), row.ID, 0, "not on the dashboard"))
				if r := s.want(l, row, filing.Ready, 0); r.BlockedOn != "approval" {
					s.Fatalf("%+v", r)
				}
				for _, class := range []filing.AnswerKind{first, second} {
					s.must(l.RecordOutcome(s.Context(), outcome(sent, attempt, class)))
					if r := s.row(l, row.ID); r.Result == filing.Ready && r.BlockedOn != "approval" {
						s.Errorf("%s then %s: after %s it is ready, and waits for %q", first, second, class,
							r.BlockedOn)
					}
				}
			}
		}
		s.must(l.Audit(s.Context()))
	})
}

// The person who gave a season a company list takes part in what is made from it, also
// where someone else brings it back, or the season was removed meanwhile.
func TestTheMakerOfACompanyListTakesPart(t *testing.T) {
	onBothDatabases(t, func(s *suite) {
		s.config.SealKey = strings.Repeat("0a", 32) // company lists over a shared database want a given one
		ctx, l := s.Context(), s.open()
		s.approvers(l, "ana", "bob", "cid")
		s.must(approval.New(l).ChangePolicy(ctx, approval.Policy{Second: true}))
		keep := func(name, content string) string {
			s.Helper()
			hash, err := schedule.NewRecords(l).AddCompanyList(ctx,
				schedule.ListFile{File: "roster.csv", Content: []byte(content), CreatedBy: name})
			s.must(err)
			return hash
		}
		add := func(season, hash, name string) {
			s.Helper()
			added, err := schedule.NewRecords(l).Add(s.by(name),
				schedule.Schedule{Name: season, CompanyList: hash, CreatedBy: name})
			if s.must(err); !added {
				s.Errorf("%s is there", season)
			}
		}
		fires := func(season, hash string) {
			s.Helper()
			s.imported(l, season, "")
			s.exec(`INSERT INTO schedule_runs (id, schedule, due, company_list, missed, owner, began_at, state,
				batch) VALUES ('` +
				season + `', '` + season + `', 1, '` + hash + `', 0, '', 1, 'done', '` + season + `')`)
			s.must(l.OpenBatch(ctx, season))
			for _, name := range []string{"ana", "bob"} {
				s.wantErr(approve(ctx, l, season, "", name), approval.ErrSecondPerson)
			}
			s.must(approve(ctx, l, season, "", "cid"))
		}
		hers, his := keep("ana", "hers"), keep("bob", "his")
		add("changed", hers, "ana")
		for i, hash := range []string{his, hers} {
			s.must(schedule.NewRecords(l).Change(s.by("bob"),
				schedule.Schedule{Name: "changed", CompanyList: hash, Version: i + 1}))
		}
		fires("changed", hers)
		add("removed", hers, "ana")
		s.must(schedule.NewRecords(l).Remove(s.by("bob"), "removed"))
		add("removed", keep("bob", "hers"), "bob")
		fires("removed", hers)
	})
}

// Nobody approves a batch before it is submitted.
func TestABatchIsApprovedOnceItIsOpen(t *testing.T) {
	onLedger(t, func(s *suite, ctx context.Context, l *ledger.Ledger) {
		s.approvers(l, "ben")
		s.imported(l, "a", "ana")
		s.must(approval.New(l).Request(s.by("ana"), "a", "plan"))
		s.wantErr(approve(ctx, l, "a", "plan", "ben"), approval.ErrNotOpen)
		s.must(l.OpenBatch(s.by("ana"), "a"))
		s.must(approve(ctx, l, "a", "plan", "ben"))
	})
}

// A batch that opened while nobody had to approve it goes on under a stricter policy.
// What a row of it costs more, and what is sent again, waits with its reason for a
// second person, and goes when they approve it; the other rows go meanwhile.
func TestAStricterPolicyStopsNoOpenBatch(t *testing.T) {
	onLedger(t, func(s *suite, ctx context.Context, l *ledger.Ledger) {
		s.approvers(l, "ana", "ben")
		rows := s.quoted(l, "a", cost, cost, cost)
		s.exec(`INSERT INTO contributors (object, person, part) VALUES ('a', 'ana', 'upload')`)
		s.send(l, rows[1])
		s.answer(l, rows[1], filing.Refused)
		s.must(approval.New(l).ChangePolicy(ctx, approval.Policy{Second: true}))
		s.waitsAt(l, rows[0], cost+1)
		if n, err := l.RetryBatch(s.by("ana"), "a"); err != nil || n != 1 {
			s.Errorf("%d rows, %v", n, err)
		}
		for _, r := range rows[:2] {
			if r = s.row(l, r.ID); r.BlockedOn != "approval" || !strings.Contains(r.Message, "waiting for approval") {
				s.Errorf("row %d waits for %q: %s", r.Number, r.BlockedOn, r.Message)
			}
			if begun := s.begin(l, intent(r)); begun.Attempt != 0 {
				s.Errorf("row %d is sent before it is approved", r.Number)
			}
		}
		if f := s.figures(l, "a"); f.Increased != 2 || f.Counts[filing.Ready] != 3 {
			s.Errorf("%+v", f)
		}
		s.sendable(l, rows[2])
		s.place(l, rows[2])
		s.approvesWaiting(l, "a", "ana", approval.ErrSecondPerson)
		s.approvesWaiting(l, "a", "ben", nil)
		s.sendable(l, rows[0], rows[1])
		for _, r := range rows[:2] {
			s.place(l, s.row(l, r.ID))
		}
	})
}

// No row of a batch that is not submitted is sent, whatever task names it.
// The rows of a batch that is not sent are not listed, not read and not begun.
func TestBatchNotSent(t *testing.T) {
	onLedger(t, func(s *suite, ctx context.Context, l *ledger.Ledger) {
		s.imported(l, "a", "ana")
		row := s.rows(l, "a")[0]
		listed := func() int {
			ids, err := l.Backlog().ListSendable(ctx, "a", 1)
			rows, errRows := l.Backlog().LoadSendable(ctx, []int64{row.ID})
			more, errMore := l.Backlog().HasReady(ctx, "a")
			s.must(errors.Join(err, errRows, errMore))
			if more {
				return len(ids) + len(rows) + 1
			}
			return len(ids) + len(rows)
		}
		notSent := func(why string) {
			s.Helper()
			if n := listed(); n != 0 {
				s.Errorf("%s: listed in %d of 3 ways", why, n)
			}
			if begun := s.begin(l, intent(row)); !begun.Lost {
				s.Errorf("%s: %+v", why, begun)
			}
		}
		notSent("not open")
		s.must(l.OpenBatch(ctx, "a"))
		for _, change := range [][2]string{{"paused = 1", "paused = 0"}, {"canceled = 1", "canceled = 0"},
			{"approval = 'wanted'", "approval = ''"}} {
			s.exec(`UPDATE batches SET ` + change[0])
			notSent(change[0])
			s.exec(`UPDATE batches SET ` + change[1])
		}
		if n := listed(); n != 3 {
			s.Errorf("open: listed in %d of 3 ways", n)
		}
		s.place(l, row)
	})
}
