package ledger_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/approval"
	"github.com/bulkfiling/bulkfiling/internal/audit"
	"github.com/bulkfiling/bulkfiling/internal/intake"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

// edited changes a draft, as a person does on the page.
func (s *suite) edited(l *ledger.Ledger, id, by, edits string) intake.Upload {
	s.Helper()
	u, err := intake.NewUploads(l).Edit(s.by(by), id, func(intake.Upload) ([]byte, string, error) {
		return []byte(edits), "1 cell", nil
	})
	s.must(err)
	return u
}

// preparedAgain prepares the present version of a draft as another batch.
func (s *suite) preparedAgain(l *ledger.Ledger, u intake.Upload, batch string) intake.Upload {
	s.Helper()
	s.imported(l, batch, u.CreatedBy)
	s.must(intake.NewUploads(l).SetPrepared(s.Context(), u.ID, u.Version, batch, []byte("{}")))
	u, err := intake.NewUploads(l).Find(s.Context(), u.ID)
	s.must(err)
	return u
}

// What was sent back needs the approval that it waited for, also where it is another
// batch by then because it was corrected, and whatever the policy is by then.
func TestACorrectedDraftNeedsTheApprovalItWaitedFor(t *testing.T) {
	onLedger(t, func(s *suite, ctx context.Context, l *ledger.Ledger) {
		s.approvers(l, "ben")
		s.must(approval.New(l).ChangePolicy(ctx, approval.Policy{Second: true}))
		u := s.prepared(l, "first")
		if waits, err := approval.New(l).Submit(ctx, u.Draft(), "plan", "ana"); err != nil || !waits {
			s.Fatal(waits, err)
		}
		s.must(approval.New(l).SendBack(ctx, "first", "ben", "the year is wrong"))
		s.must(approval.New(l).ChangePolicy(ctx, approval.Policy{}))
		u = s.preparedAgain(l, s.edited(l, u.ID, "ana", "another year"), "second")
		s.must(intake.NewUploads(l).DropPrepared(ctx, "first"))
		if waits, err := approval.New(l).Submit(ctx, u.Draft(), "plan 2", "ana"); err != nil || !waits {
			s.Fatal(waits, err)
		}
		s.sendable(l)
		s.wantErr(approve(ctx, l, "second", "plan 2", "ana"), approval.ErrSecondPerson)
		s.must(approve(ctx, l, "second", "plan 2", "ben"))
		s.sendable(l, s.rows(l, "second")[0])
	})
}

// A batch that two drafts share and one of them drops is not recorded as the other's:
// that one has none, and is prepared again.
func TestAPreparedBatchThatIsGone(t *testing.T) {
	onLedger(t, func(s *suite, ctx context.Context, l *ledger.Ledger) {
		one := s.prepared(l, "shared")
		other, err := intake.NewUploads(l).Add(ctx, intake.Upload{File: "same.csv", CreatedBy: "bob"},
			strings.NewReader("a"))
		s.must(err)
		s.edited(l, one.ID, "ana", "another name")
		s.must(intake.NewUploads(l).DropPrepared(ctx, "shared"))
		s.wantErr(intake.NewUploads(l).SetPrepared(ctx, other.ID, other.Version, "shared", []byte("{}")),
			intake.ErrNotPrepared)
		got, err := intake.NewUploads(l).Find(ctx, other.ID)
		if s.must(err); got.Batch != "" || len(got.Quote) > 0 || got.Version != other.Version {
			s.Errorf("%+v", got)
		}
		s.wantErr(intake.NewUploads(l).SetPrepared(ctx, other.ID, other.Version+1, "shared", nil), ledger.ErrStale)
		if got = s.preparedAgain(l, other, "shared"); got.Batch != "shared" || string(got.Quote) != "{}" {
			s.Errorf("%+v", got)
		}
		// What was dropped after it was recorded is taken off a draft that is quoted again.
		s.exec(`DELETE FROM rows WHERE batch = 'shared'`)
		s.exec(`DELETE FROM batches WHERE id = 'shared'`)
		s.wantErr(intake.NewUploads(l).SetPrepared(ctx, got.ID, got.Version, "shared", nil), intake.ErrNotPrepared)
		if got, err = intake.NewUploads(l).Find(ctx, other.ID); err != nil || got.Batch != "" {
			s.Errorf("%+v, %v", got, err)
		}
	})
}

// An edit makes a new version without what was prepared of the old one, names who made
// it, and seals it. One that fails, and one of a submitted sheet, change nothing.
func TestEditMakesANewVersion(t *testing.T) {
	onLedger(t, func(s *suite, ctx context.Context, l *ledger.Ledger) {
		u := s.prepared(l, "a")
		was := s.edited(l, u.ID, "bob", "987-65-4321")
		if was.Version != u.Version+1 || was.Batch != "a" || len(was.Edits) != 0 {
			s.Errorf("it was %+v", was)
		}
		now, err := intake.NewUploads(l).Find(ctx, u.ID)
		if s.must(err); now.Version != u.Version+1 || now.Batch != "" || len(now.Quote) != 0 ||
			string(now.Edits) != "987-65-4321" || now.Hash != u.Hash {
			s.Errorf("%+v", now)
		}
		if _, err := l.Batch(ctx, "a"); err != nil {
			s.Errorf("the batch is dropped before DropPrepared: %v", err)
		}
		if n := s.count(`SELECT COUNT(*) FROM uploads WHERE edits LIKE '%987-65-4321%'`); n != 0 {
			s.Error("the edits are not sealed")
		}
		events, err := l.AuditLog().List(ctx, audit.Query{By: "bob"})
		if s.must(err); len(events) != 1 || !strings.Contains(events[0].Note, "1 cell") {
			s.Errorf("%+v", events)
		}
		failed := errors.New("it does not fit")
		_, err = intake.NewUploads(l).Edit(s.by("eve"), u.ID, func(intake.Upload) ([]byte, string, error) {
			return []byte("other"), "", failed
		})
		s.wantErr(err, failed)
		if again, err := intake.NewUploads(l).Find(ctx, u.ID); err != nil || again.Version != now.Version ||
			!bytes.Equal(again.Edits, now.Edits) {
			s.Errorf("%+v, %v", again, err)
		}
		_, err = intake.NewUploads(l).Edit(ctx, "none", func(intake.Upload) ([]byte, string, error) {
			s.Error("there is nothing to edit")
			return nil, "", nil
		})
		s.wantErr(err, ledger.ErrNotFound)
	})
}

// Who edits a draft takes part in what is submitted of it.
func TestEditTakesPart(t *testing.T) {
	onLedger(t, func(s *suite, ctx context.Context, l *ledger.Ledger) {
		s.approvers(l, "ben", "cat")
		s.must(approval.New(l).ChangePolicy(ctx, approval.Policy{Second: true}))
		u := s.prepared(l, "a")
		u = s.preparedAgain(l, s.edited(l, u.ID, "ben", "another name"), "b")
		if waits, err := approval.New(l).Submit(ctx, u.Draft(), "plan", "ana"); err != nil || !waits {
			s.Fatal(waits, err)
		}
		_, err := intake.NewUploads(l).Edit(s.by("ben"), u.ID, func(intake.Upload) ([]byte, string, error) {
			s.Error("it waits for approval")
			return nil, "", nil
		})
		s.wantErr(err, ledger.ErrStale)
		s.wantErr(approve(ctx, l, "b", "plan", "ben"), approval.ErrSecondPerson)
		s.must(approve(ctx, l, "b", "plan", "cat"))
	})
}

// People who edit different cells of a draft at the same time lose nothing: each edit
// is made on what the ones before it left, and no version is given twice.
func TestEditsAtTheSameTimeAreMergedByCell(t *testing.T) {
	onBothDatabases(t, func(s *suite) {
		const people, cells = 6, 5
		ledgers := []*ledger.Ledger{s.open(), s.open()}
		u := s.prepared(ledgers[0], "a")
		var all sync.WaitGroup
		versions := make(chan int, people*cells)
		for person := range people {
			all.Go(func() {
				for n := range cells {
					now, err := intake.NewUploads(ledgers[person%len(ledgers)]).Edit(s.Context(), u.ID,
						setCell(fmt.Sprint(person, " ", n), "x"))
					if err != nil {
						s.Error(err)
					}
					versions <- now.Version
				}
			})
		}
		all.Wait()
		close(versions)
		seen := make(map[int]bool)
		for v := range versions {
			seen[v] = true
		}
		now, err := intake.NewUploads(ledgers[1]).Find(s.Context(), u.ID)
		if s.must(err); len(seen) != people*cells || now.Version != u.Version+people*cells {
			s.Errorf("%d versions, and it is %d", len(seen), now.Version)
		}
		if got := cellsOf(s, now.Edits); len(got) != people*cells {
			s.Errorf("%d of %d edits are there: %v", len(got), people*cells, got)
		}
	})
}

// setCell is an edit of one cell; "" clears it.
func setCell(cell, value string) func(intake.Upload) ([]byte, string, error) {
	return func(u intake.Upload) ([]byte, string, error) {
		cells := make(map[string]string)
		if len(u.Edits) > 0 {
			if err := json.Unmarshal(u.Edits, &cells); err != nil {
				return nil, "", err
			}
		}
		cells[cell] = value
		if value == "" {
			delete(cells, cell)
		}
		edits, err := json.Marshal(cells)
		return edits, "set " + cell, err
	}
}

func cellsOf(s *suite, edits []byte) map[string]string {
	s.Helper()
	cells := make(map[string]string)
	if len(edits) > 0 {
		s.must(json.Unmarshal(edits, &cells))
	}
	return cells
}
