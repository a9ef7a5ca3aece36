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

	"github.com/bulkfiling/bulkfiling/internal/audit"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

// edited changes a draft, as a person does on the page.
func (s *suite) edited(l *ledger.Ledger, id, by, edits string) ledger.Upload {
	s.Helper()
	u, err := l.Uploads().Edit(s.by(by), id, func(ledger.Upload) ([]byte, string, error) {
		return []byte(edits), "1 cell", nil
	})
	s.must(err)
	return u
}

// preparedAgain prepares the present version of a draft as another batch.
func (s *suite) preparedAgain(l *ledger.Ledger, u ledger.Upload, batch string) ledger.Upload {
	s.Helper()
	s.imported(l, batch, u.CreatedBy)
	s.must(l.Uploads().SetPrepared(s.Context(), u.ID, u.Version, batch, []byte("{}")))
	u, err := l.Uploads().Find(s.Context(), u.ID)
	s.must(err)
	return u
}

// What was sent back needs the approval that it waited for, also where it is another
// batch by then because it was corrected, and whatever the policy is by then.
func TestACorrectedDraftNeedsTheApprovalItWaitedFor(t *testing.T) {
	onLedger(t, func(s *suite, ctx context.Context, l *ledger.Ledger) {
		s.approvers(l, "ben")
		s.must(l.Approvals().ChangePolicy(ctx, ledger.Policy{Second: true}))
		u := s.prepared(l, "first")
		if waits, err := l.Approvals().Submit(ctx, u, "plan", "ana"); err != nil || !waits {
			s.Fatal(waits, err)
		}
		s.must(l.Approvals().SendBack(ctx, "first", "ben", "the year is wrong"))
		s.must(l.Approvals().ChangePolicy(ctx, ledger.Policy{}))
		u = s.preparedAgain(l, s.edited(l, u.ID, "ana", "another year"), "second")
		s.must(l.Uploads().DropPrepared(ctx, "first"))
		if waits, err := l.Approvals().Submit(ctx, u, "plan 2", "ana"); err != nil || !waits {
			s.Fatal(waits, err)
		}
		s.sendable(l)
		s.wantErr(l.Approvals().Approve(ctx, "second", "plan 2", "ana"), ledger.ErrSecondPerson)
		s.must(l.Approvals().Approve(ctx, "second", "plan 2", "ben"))
		s.sendable(l, s.rows(l, "second")[0])
	})
}

// A batch that two drafts share and one of them drops is not recorded as the other's:
// that one has none, and is prepared again.
func TestAPreparedBatchThatIsGone(t *testing.T) {
	onLedger(t, func(s *suite, ctx context.Context, l *ledger.Ledger) {
		one := s.prepared(l, "shared")
		other, err := l.Uploads().Add(ctx, ledger.Upload{File: "same.csv", CreatedBy: "bob"}, strings.NewReader("a"))
		s.must(err)
		s.edited(l, one.ID, "ana", "another name")
		s.must(l.Uploads().DropPrepared(ctx, "shared"))
		s.wantErr(l.Uploads().SetPrepared(ctx, other.ID, other.Version, "shared", []byte("{}")), ledger.ErrNotPrepared)
		got, err := l.Uploads().Find(ctx, other.ID)
		if s.must(err); got.Batch != "" || len(got.Quote) > 0 || got.Version != other.Version {
			s.Errorf("%+v", got)
		}
		s.wantErr(l.Uploads().SetPrepared(ctx, other.ID, other.Version+1, "shared", nil), ledger.ErrStale)
		if got = s.preparedAgain(l, other, "shared"); got.Batch != "shared" || string(got.Quote) != "{}" {
			s.Errorf("%+v", got)
		}
		// What was dropped after it was recorded is taken off a draft that is quoted again.
		s.exec(`DELETE FROM rows WHERE batch = 'shared'`)
		s.exec(`DELETE FROM batches WHERE id = 'shared'`)
		s.wantErr(l.Uploads().SetPrepared(ctx, got.ID, got.Version, "shared", nil), ledger.ErrNotPrepared)
		if got, err = l.Uploads().Find(ctx, other.ID); err != nil || got.Batch != "" {
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
		now, err := l.Uploads().Find(ctx, u.ID)
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
		_, err = l.Uploads().Edit(s.by("eve"), u.ID, func(ledger.Upload) ([]byte, string, error) {
			return []byte("other"), "", failed
		})
		s.wantErr(err, failed)
		if again, err := l.Uploads().Find(ctx, u.ID); err != nil || again.Version != now.Version ||
			!bytes.Equal(again.Edits, now.Edits) {
			s.Errorf("%+v, %v", again, err)
		}
		_, err = l.Uploads().Edit(ctx, "none", func(ledger.Upload) ([]byte, string, error) {
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
		s.must(l.Approvals().ChangePolicy(ctx, ledger.Policy{Second: true}))
		u := s.prepared(l, "a")
		u = s.preparedAgain(l, s.edited(l, u.ID, "ben", "another name"), "b")
		if waits, err := l.Approvals().Submit(ctx, u, "plan", "ana"); err != nil || !waits {
			s.Fatal(waits, err)
		}
		_, err := l.Uploads().Edit(s.by("ben"), u.ID, func(ledger.Upload) ([]byte, string, error) {
			s.Error("it waits for approval")
			return nil, "", nil
		})
		s.wantErr(err, ledger.ErrStale)
		s.wantErr(l.Approvals().Approve(ctx, "b", "plan", "ben"), ledger.ErrSecondPerson)
		s.must(l.Approvals().Approve(ctx, "b", "plan", "cat"))
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
					now, err := ledgers[person%len(ledgers)].Uploads().Edit(s.Context(), u.ID,
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
		now, err := ledgers[1].Uploads().Find(s.Context(), u.ID)
		if s.must(err); len(seen) != people*cells || now.Version != u.Version+people*cells {
			s.Errorf("%d versions, and it is %d", len(seen), now.Version)
		}
		if got := cellsOf(s, now.Edits); len(got) != people*cells {
			s.Errorf("%d of %d edits are there: %v", len(got), people*cells, got)
		}
	})
}

// setCell is an edit of one cell; "" clears it.
func setCell(cell, value string) func(ledger.Upload) ([]byte, string, error) {
	return func(u ledger.Upload) ([]byte, string, error) {
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

// The edits of a draft are bounded.
func TestEditsAreBounded(t *testing.T) {
	onBothDatabases(t, func(s *suite) {
		const limit = 1000
		l, ctx := s.open(), s.Context()
		l.LimitEdits(limit)
		u := s.prepared(l, "a")
		large := func(size int) error {
			_, err := l.Uploads().Edit(ctx, u.ID, func(ledger.Upload) ([]byte, string, error) {
				return bytes.Repeat([]byte("x"), size), "", nil
			})
			return err
		}
		s.must(large(limit))
		s.wantErr(large(limit+1), ledger.ErrTooLarge)
		now, err := l.Uploads().Find(ctx, u.ID)
		if s.must(err); len(now.Edits) != limit || now.Version != u.Version+1 {
			s.Errorf("%d bytes in version %d", len(now.Edits), now.Version)
		}
		now.Edits = bytes.Repeat([]byte("x"), limit+1)
		s.wantErr(l.Uploads().Change(ctx, now), ledger.ErrTooLarge)
	})
}
