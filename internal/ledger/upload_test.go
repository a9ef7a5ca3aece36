package ledger_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/approval"
	"github.com/bulkfiling/bulkfiling/internal/audit"
	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/intake"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

func TestUploads(t *testing.T) { onBothDatabases(t, testUploads) }

func testUploads(s *suite) {
	l, ctx := s.open(), s.Context()
	content := make([]byte, 3<<20+17)
	rand.Read(content)
	copy(content, "secret 123-45-6789")
	u, err := intake.NewUploads(l).Add(ctx, intake.Upload{
		File:      "a.csv",
		Options:   []byte(`{"state":"DE"}`),
		Edits:     []byte("987-65-4321"),
		CreatedBy: "ana",
	}, bytes.NewReader(content))
	if s.must(err); u.Size != int64(len(content)) || len(u.Hash) != 64 {
		s.Errorf("%+v", u)
	}
	got, err := intake.NewUploads(l).LoadContent(ctx, u.ID)
	if s.must(err); !bytes.Equal(got, content) {
		s.Error("the content came back changed")
	}
	if u, err = intake.NewUploads(l).Find(ctx, u.ID); err != nil || string(u.Edits) != "987-65-4321" ||
		string(u.Options) != `{"state":"DE"}` || u.Version != 1 {
		s.Errorf("%+v %v", u, err)
	}
	u.Options = []byte("{}")
	s.must(intake.NewUploads(l).Change(ctx, u))
	s.wantErr(intake.NewUploads(l).Change(ctx, u), ledger.ErrStale)
	s.wantErr(intake.NewUploads(l).SetPrepared(ctx, u.ID, 1, "b", nil), ledger.ErrStale)
	empty, err := intake.NewUploads(l).Add(ctx, intake.Upload{File: "empty.csv"}, strings.NewReader(""))
	s.must(err)
	if got, err := intake.NewUploads(l).LoadContent(ctx, empty.ID); err != nil || len(got) != 0 {
		s.Error(got, err)
	}
	if all, err := intake.NewUploads(l).List(ctx); err != nil || len(all) != 2 {
		s.Error(all, err)
	}
	if n, size, err := intake.NewUploads(l).Count(ctx, "ana"); n != 1 || size != int64(len(content)) || err != nil {
		s.Error(n, size, err)
	}
	s.must(intake.NewUploads(l).Delete(ctx, u.ID))
	for _, err := range []error{intake.NewUploads(l).Delete(ctx, u.ID), second(intake.NewUploads(l).Find(ctx, u.ID)),
		second(intake.NewUploads(l).LoadContent(ctx, u.ID))} {
		if !is(err, ledger.ErrNotFound) {
			s.Error(err)
		}
	}
	s.pass(48 * time.Hour)
	if n, err := intake.NewUploads(l).Prune(ctx, 72*time.Hour); err != nil || n != 0 {
		s.Error(n, err)
	}
	if n, err := intake.NewUploads(l).Prune(ctx, 24*time.Hour); err != nil || n != 1 {
		s.Error(n, err)
	}
}

// A sheet whose batch was opened by a command is not kept for a month.
func TestPruneUploadsOfOpenBatches(t *testing.T) {
	onLedger(t, func(s *suite, ctx context.Context, l *ledger.Ledger) {
		keep := func(batch string, prepared bool) {
			u, err := intake.NewUploads(l).Add(ctx, intake.Upload{File: batch + ".csv"}, strings.NewReader("a"))
			s.must(err)
			_, err = l.CreateBatch(ctx, ledger.Batch{ID: batch, File: batch + ".csv", Product: filing.AnnualReport})
			s.must(err)
			s.must(intake.NewUploads(l).SetPrepared(ctx, u.ID, 1, batch, nil))
			if prepared {
				s.must(l.PrepareBatch(ctx, batch))
			} else {
				s.must(l.OpenBatch(ctx, batch))
			}
		}
		keep("waits", true)
		keep("opened", false)
		for _, want := range []int{0, 1, 0} { // at once, after a day, and once more
			if n, err := intake.NewUploads(l).Prune(ctx, 72*time.Hour); err != nil || n != want {
				s.Errorf("%d sheets forgotten, want %d (%v)", n, want, err)
			}
			s.pass(25 * time.Hour)
		}
		if all, err := intake.NewUploads(l).List(ctx); err != nil || len(all) != 1 || all[0].Batch != "waits" {
			s.Error(all, err)
		}
		if b, err := l.Batch(ctx, "opened"); err != nil || !b.Open {
			s.Error(b, err)
		}
	})
}

func second[T any](_ T, err error) error { return err }

// An upload that breaks off leaves nothing.
func TestAnUploadThatBreaksOff(t *testing.T) {
	onLedger(t, func(s *suite, ctx context.Context, l *ledger.Ledger) {
		broken := errors.New("broken")
		if _, err := intake.NewUploads(l).Add(ctx, intake.Upload{File: "a.csv"},
			io.MultiReader(bytes.NewReader(make([]byte, 2<<20)), failing{broken})); !errors.Is(err, broken) {
			s.Error(err)
		}
		var left int
		s.must(s.sql().QueryRowContext(ctx, `SELECT COUNT(*) FROM upload_parts`).Scan(&left))
		if left != 0 {
			s.Errorf("%d parts are left", left)
		}
	})
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// A prepared batch outlives its process, is found by the same import again, is
// handed in once, and only what was never opened is dropped.
func TestPreparedBatches(t *testing.T) { onBothDatabases(t, testPreparedBatches) }

func testPreparedBatches(s *suite) {
	ctx := s.Context()
	a, b := s.open(), s.open()
	made := func(l *ledger.Ledger, id string) {
		if created, err := l.CreateBatch(ctx, ledger.Batch{ID: id, File: "a.csv"}); err != nil || !created {
			s.Fatal(created, err)
		}
		s.must(l.AddRows(ctx, id, []ledger.Row{
			{Number: 2, Cells: []byte("[]"), Result: filing.Ready, Request: report("comp_"+id, "2026").Request},
		}))
		s.must(l.PrepareBatch(ctx, id))
	}
	made(a, "b1")
	if created, err := b.CreateBatch(ctx, ledger.Batch{ID: "b1"}); err != nil || created {
		s.Error(created, err)
	}
	s.wantErr(a.AddRows(ctx, "b1", nil), ledger.ErrImport)
	if got, err := b.Batch(ctx, "b1"); err != nil || got.Open || !got.Prepared || got.Rows != 1 {
		s.Errorf("%+v %v", got, err)
	}
	s.sendable(b)
	s.must(a.Close())
	s.pass(time.Hour)
	if waits, err := approval.New(b).Submit(ctx, approval.Draft{Batch: "b1"}, "plan", "ana"); waits || err != nil {
		s.Error(waits, err)
	}
	s.wantErr(second(approval.New(b).Submit(ctx, approval.Draft{Batch: "b1"}, "plan", "bob")), approval.ErrSubmitted)
	got, err := b.Batch(ctx, "b1")
	if s.must(err); !got.Open || got.Approval.State != ledger.ApprovalGiven || got.Approval.By != "ana" ||
		got.Approval.AskedBy != "ana" {
		s.Errorf("%+v", got.Approval)
	}
	if ids, err := b.Backlog().ListSendable(ctx, "", 10); err != nil || len(ids) != 1 {
		s.Error(ids, err)
	}

	made(b, "b2")
	u, err := intake.NewUploads(b).Add(ctx, intake.Upload{File: "a.csv"}, strings.NewReader("x"))
	s.must(err)
	s.must(intake.NewUploads(b).SetPrepared(ctx, u.ID, 1, "b2", []byte("{}")))
	u.Batch = "b2"
	s.must(intake.NewUploads(b).Change(ctx, u))
	s.wantErr(second(b.Batch(ctx, "b2")), ledger.ErrNotFound)
	made(b, "b3")
	s.must(intake.NewUploads(b).SetPrepared(ctx, u.ID, 2, "b3", nil))
	s.must(b.OpenBatch(ctx, "b3"))
	s.must(intake.NewUploads(b).Delete(ctx, u.ID))
	if _, err := b.Batch(ctx, "b3"); err != nil {
		s.Error(err)
	}
}

// Where a second person is wanted, nobody approves what they handed in, and of
// two who approve at once one does.
func TestASecondPerson(t *testing.T) {
	onLedger(t, func(s *suite, ctx context.Context, l *ledger.Ledger) {
		s.must(approval.New(l).ChangePolicy(ctx, approval.Policy{Second: true}))
		s.approvers(l, "ana", "bob", "eve")
		_, err := l.CreateBatch(ctx, ledger.Batch{ID: "b1", File: "a.csv"})
		s.must(err)
		s.wantErr(second(approval.New(l).Submit(ctx, approval.Draft{Batch: "b1"}, "plan", "ana")), ledger.ErrImport)
		s.must(l.AddRows(ctx, "b1", []ledger.Row{
			{Number: 2, Cells: []byte("[]"), Result: filing.Ready, Request: report("comp_1", "2026").Request},
		}))
		s.must(l.PrepareBatch(ctx, "b1"))
		if waits, err := approval.New(l).Submit(ctx, approval.Draft{Batch: "b1"}, "plan", "ana"); !waits || err != nil {
			s.Error(waits, err)
		}
		s.sendable(l)
		s.wantErr(approve(ctx, l, "b1", "plan", "ana"), approval.ErrSecondPerson)
		s.wantErr(approve(ctx, l, "b1", "other", "bob"), approval.ErrChanged)
		var both sync.WaitGroup
		errs := make([]error, 2)
		for i, by := range []string{"bob", "eve"} {
			both.Go(func() { errs[i] = approve(ctx, l, "b1", "plan", by) })
		}
		both.Wait()
		if (errs[0] == nil) == (errs[1] == nil) || !errors.Is(errors.Join(errs...), approval.ErrNoApprovalNeeded) {
			s.Error(errs)
		}
	})
}

// Where the firm wants a second person, the person who first asked for the approval
// of a batch is not the one to give it, however often its plan changes.
func TestASecondPersonForASchedule(t *testing.T) {
	onLedger(t, func(s *suite, ctx context.Context, l *ledger.Ledger) {
		s.must(approval.New(l).ChangePolicy(ctx, approval.Policy{Second: true}))
		s.approvers(l, "ana", "bob")
		for _, id := range []string{"b1", "b2"} {
			_, err := l.CreateBatch(ctx, ledger.Batch{ID: id, File: "a.csv"})
			s.must(err)
		}
		as := func(name string) context.Context {
			return audit.With(ctx, audit.Event{By: name, What: "schedule-run"})
		}
		s.must(approval.New(l).Request(as("ana"), "b1", "one"))
		s.must(l.OpenBatch(ctx, "b1"))
		s.must(approval.New(l).Request(as("bob"), "b1", "two"))
		s.wantErr(approve(ctx, l, "b1", "two", "ana"), approval.ErrSecondPerson)
		s.must(approve(ctx, l, "b1", "two", "bob"))
		s.must(approval.New(l).Request(ctx, "b2", "one")) // by its schedule: nobody has handed it in
		s.must(l.OpenBatch(ctx, "b2"))
		s.must(approve(ctx, l, "b2", "one", "ana"))
	})
}

func TestListRows(t *testing.T) { onBothDatabases(t, testListRows) }

func testListRows(s *suite) {
	l, ctx := s.open(), s.Context()
	_, err := l.CreateBatch(ctx, ledger.Batch{ID: "b1", File: "a.csv"})
	s.must(err)
	cells := []string{`["<script>alert(1)</script>",2026]`, `["100% \"Real\" _ GmbH"]`, `["שלום LLC"]`,
		`["Plain Inc"]`, `["plain too"]`}
	results := []filing.Result{filing.Ready, filing.Invalid, filing.Skipped, filing.Ready, filing.Ready}
	for i := range cells {
		row := ledger.Row{Number: i + 2, Cells: []byte(cells[i]), Result: results[i]}
		if row.Result == filing.Ready {
			row.Request = report("comp_"+string(rune('a'+i)), "2026").Request
		}
		if i == 1 {
			row.Faults = []ledger.Fault{{Rule: "x", Message: "is wrong"}}
		}
		s.must(l.AddRows(ctx, "b1", []ledger.Row{row}))
	}
	s.must(l.OpenBatch(ctx, "b1"))
	for _, c := range []struct {
		name string
		q    ledger.RowQuery
		want []int
	}{
		{"all", ledger.RowQuery{}, []int{2, 3, 4, 5, 6}},
		{"of one result", ledger.RowQuery{Results: []filing.Result{filing.Invalid}}, []int{3}},
		{"of several results", ledger.RowQuery{Results: []filing.Result{filing.Invalid, filing.Ready}},
			[]int{2, 3, 5, 6}},
		{"of a result that is none", ledger.RowQuery{Results: []filing.Result{"' OR 1=1 --"}}, nil},
		{"faulty", ledger.RowQuery{Faulty: true}, []int{3}},
		{"with markup", ledger.RowQuery{Search: "<SCRIPT>"}, []int{2}},
		{"with wildcards", ledger.RowQuery{Search: "100% "}, []int{3}},
		{"a wildcard alone", ledger.RowQuery{Search: "_"}, []int{3}},
		{"with quotes", ledger.RowQuery{Search: `"real"`}, []int{3}},
		{"from right to left", ledger.RowQuery{Search: "שלום"}, []int{4}},
		{"in any case", ledger.RowQuery{Search: "PLAIN"}, []int{5, 6}},
		{"by number", ledger.RowQuery{Search: "4"}, []int{4}},
		{"nothing", ledger.RowQuery{Search: "zzz"}, nil},
		{"exceptions", ledger.RowQuery{Exceptions: true}, nil},
		{"bought before", ledger.RowQuery{Before: true}, nil},
	} {
		c.q.Batch = "b1"
		var numbers []int
		for c.q.Limit = 2; ; {
			rows, total, err := l.ListRows(ctx, c.q)
			if s.must(err); total != len(c.want) {
				s.Errorf("%s: %d in all, want %d", c.name, total, len(c.want))
			}
			for _, r := range rows {
				numbers = append(numbers, r.Number)
				c.q.After = r.Number
			}
			if len(rows) < c.q.Limit {
				break
			}
		}
		if !slices.Equal(numbers, c.want) {
			s.Errorf("%s: rows %v, want %v", c.name, numbers, c.want)
		}
	}
	if r, err := l.RowNumbered(ctx, "b1", 4); err != nil || r.Number != 4 {
		s.Error(r, err)
	}
	s.wantErr(second(l.RowNumbered(ctx, "b1", 40)), ledger.ErrNotFound)
}

// prepared makes an upload with its prepared batch of one ready row.
func (s *suite) prepared(l *ledger.Ledger, batch string) intake.Upload {
	s.Helper()
	ctx := s.Context()
	u, err := intake.NewUploads(l).Add(ctx, intake.Upload{File: batch + ".csv", CreatedBy: "ana"},
		strings.NewReader("x"))
	s.must(err)
	_, err = l.CreateBatch(ctx, ledger.Batch{ID: batch, File: u.File, Product: filing.AnnualReport})
	s.must(err)
	s.must(l.AddRows(ctx, batch, []ledger.Row{
		{Number: 2, Cells: []byte("[]"), Result: filing.Ready, Request: report("comp_"+batch, "2026").Request},
	}))
	s.must(l.PrepareBatch(ctx, batch))
	s.must(intake.NewUploads(l).SetPrepared(ctx, u.ID, u.Version, batch, []byte("{}")))
	u, err = intake.NewUploads(l).Find(ctx, u.ID)
	s.must(err)
	return u
}

// A batch is submitted only as the spreadsheet is now: a change that was saved since
// it was looked at is kept, and none of the old rows is bought.
func TestSubmitRefusesAChangedUpload(t *testing.T) {
	edit := func(s *suite, l *ledger.Ledger, u intake.Upload) error {
		_, err := intake.NewUploads(l).Edit(s.Context(), u.ID, func(intake.Upload) ([]byte, string, error) {
			return []byte("another name"), "", nil
		})
		return err
	}
	for name, change := range map[string]func(*suite, *ledger.Ledger, intake.Upload) error{
		"edited": edit,
		"edited and its batch dropped": func(s *suite, l *ledger.Ledger, u intake.Upload) error {
			return errors.Join(edit(s, l, u), intake.NewUploads(l).DropPrepared(s.Context(), u.Batch))
		},
		"read in another way": func(s *suite, l *ledger.Ledger, u intake.Upload) error {
			u.Edits = []byte("another name")
			return intake.NewUploads(l).Change(s.Context(), u)
		},
		"deleted": func(s *suite, l *ledger.Ledger, u intake.Upload) error {
			return intake.NewUploads(l).Delete(s.Context(), u.ID)
		},
	} {
		t.Run(name, func(t *testing.T) {
			onLedger(t, func(s *suite, _ context.Context, l *ledger.Ledger) {
				s.approvers(l, "bob")
				for _, second := range []bool{false, true} {
					s.must(approval.New(l).ChangePolicy(s.Context(), approval.Policy{Second: second}))
					u := s.prepared(l, fmt.Sprint("second person ", second))
					s.must(change(s, l, u))
					s.refusedAsStale(l, u, name == "deleted")
				}
				s.sendable(l)
			})
		})
	}
}

// refusedAsStale expects that an upload which was changed is not submitted, and that the
// change is kept.
func (s *suite) refusedAsStale(l *ledger.Ledger, u intake.Upload, deleted bool) {
	s.Helper()
	ctx := s.Context()
	s.wantErr(second(approval.New(l).Submit(ctx, u.Draft(), "plan", "ana")), ledger.ErrStale)
	if b, err := l.Batch(ctx, u.Batch); err == nil && b.Open || err != nil && !is(err, ledger.ErrNotFound) {
		s.Errorf("the batch is open: %v, %v", b.Open, err)
	}
	now, err := intake.NewUploads(l).Find(ctx, u.ID)
	if deleted {
		s.wantErr(err, ledger.ErrNotFound)
	} else if err != nil || string(now.Edits) != "another name" {
		s.Errorf("the change is lost: %+v, %v", now, err)
	}
}

// As it is, an upload is submitted, once. Its draft is kept where it may be sent back.
func TestSubmitKeepsADraftToSendBack(t *testing.T) {
	onLedger(t, func(s *suite, ctx context.Context, l *ledger.Ledger) {
		s.approvers(l, "bob")
		for _, needed := range []bool{false, true} {
			s.must(approval.New(l).ChangePolicy(ctx, approval.Policy{Second: needed}))
			u := s.prepared(l, fmt.Sprint("second person ", needed))
			if waits, err := approval.New(l).Submit(ctx, u.Draft(), "plan", "ana"); err != nil || waits != needed {
				s.Errorf("waits %v, %v", waits, err)
			}
			for range 2 {
				if _, err := intake.NewUploads(l).Find(ctx, u.ID); needed != (err == nil) {
					s.Errorf("a second person approves: %v, the draft: %v", needed, err)
				}
				s.wantErr(second(approval.New(l).Submit(ctx, u.Draft(), "plan", "ana")), approval.ErrSubmitted)
			}
		}
		if ids, err := l.Backlog().ListSendable(ctx, "", 10); err != nil || len(ids) != 1 {
			s.Error(ids, err)
		}
	})
}

// A spreadsheet is not deleted while its batch waits for approval: once that is given
// its orders are placed.
func TestDeleteRefusesAWaitingUpload(t *testing.T) {
	onLedger(t, func(s *suite, ctx context.Context, l *ledger.Ledger) {
		s.approvers(l, "bob")
		s.must(approval.New(l).ChangePolicy(ctx, approval.Policy{Second: true}))
		submitted := func(batch string) intake.Upload {
			u := s.prepared(l, batch)
			if waits, err := approval.New(l).Submit(ctx, u.Draft(), "plan", "ana"); err != nil || !waits {
				s.Error(waits, err)
			}
			s.wantErr(intake.NewUploads(l).Delete(ctx, u.ID), approval.ErrSubmitted)
			if can, err := approval.New(l).CanSendBack(ctx, batch); err != nil || !can {
				s.Errorf("the draft is gone: %v, %v", can, err)
			}
			return u
		}
		u := submitted("canceled")
		_, err := l.CancelBatch(ctx, u.Batch)
		s.must(err)
		s.must(intake.NewUploads(l).Delete(ctx, u.ID))
		u = submitted("sent back")
		s.must(approval.New(l).SendBack(ctx, u.Batch, "bob", "not yet"))
		s.must(intake.NewUploads(l).Delete(ctx, u.ID))
		s.wantErr(second(l.Batch(ctx, u.Batch)), ledger.ErrNotFound)
		u = submitted("approved")
		s.must(approve(ctx, l, u.Batch, "plan", "bob"))
		s.wantErr(intake.NewUploads(l).Delete(ctx, u.ID), ledger.ErrNotFound)
		if ids, err := l.Backlog().ListSendable(ctx, "", 10); err != nil || len(ids) != 1 {
			s.Error(ids, err)
		}
	})
}

// A batch whose rows were corrected by another one is not sent back: its draft does
// not have the corrections, and they would be lost with its rows.
func TestSendBackRefusesACorrectedBatch(t *testing.T) {
	onLedger(t, func(s *suite, ctx context.Context, l *ledger.Ledger) {
		s.approvers(l, "bob")
		s.must(approval.New(l).ChangePolicy(ctx, approval.Policy{Second: true}))
		u := s.prepared(l, "whole")
		if _, err := approval.New(l).Submit(ctx, u.Draft(), "plan", "ana"); err != nil {
			s.Error(err)
		}
		if can, err := approval.New(l).CanSendBack(ctx, "whole"); err != nil || !can {
			s.Errorf("%v, %v", can, err)
		}
		_, err := l.CreateBatch(ctx, ledger.Batch{ID: "fixes", File: "whole.xlsx", Product: filing.AnnualReport,
			Corrects: "whole"})
		s.must(err)
		s.must(l.AddRows(ctx, "fixes", []ledger.Row{fix(2, 2, "comp_right", filing.Ready)}))
		refused := func(when string) {
			s.Helper()
			s.wantErr(approval.New(l).SendBack(ctx, "whole", "bob", "not yet"), approval.ErrCorrected)
			if can, err := approval.New(l).CanSendBack(ctx, "whole"); err != nil || can {
				s.Errorf("%s: %v, %v", when, can, err)
			}
		}
		refused("while the corrections are made")
		s.must(approval.New(l).Request(ctx, "fixes", "fixed"))
		s.must(l.OpenBatch(ctx, "fixes"))
		refused("while the corrections wait")
		s.must(approve(ctx, l, "fixes", "fixed", "bob"))
		refused("once they are applied")
		if rows := s.resultsOf(l, "whole"); len(rows) != 1 || string(rows[2].Cells) != `["comp_right"]` {
			s.Errorf("%+v", rows)
		}
	})
}
