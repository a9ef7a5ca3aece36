package jobs

import (
	"context"
	"testing"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/ledgertest"
)

// slowRecord answers for a company only when it is told to.
type slowRecord struct {
	Service
	asked, answer chan struct{}
	updates       int
}

func (s *slowRecord) Company(context.Context, string) (filing.Company, error) {
	s.asked <- struct{}{}
	<-s.answer
	return filing.Company{ID: "comp_1"}, nil
}

func (s *slowRecord) UpdateCompany(_ context.Context, id string, c filing.Company) (filing.Company, error) {
	s.updates++
	c.ID = id
	return c, nil
}

func newTestResolver(t *testing.T) (*resolver, *slowRecord) {
	t.Helper()
	l, err := ledger.Open(t.Context(), ledger.Config{Dir: ledgertest.Dir(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	s := &slowRecord{asked: make(chan struct{}, 2), answer: make(chan struct{})}
	return newResolver(s, l, 4, unlimited{}, &sendState{}, time.Now), s
}

// An answer about a company that left before the company was completed does not
// undo what was learned since.
func TestOldAnswerAboutACompletedCompany(t *testing.T) {
	d, s := newTestResolver(t)
	ref := filing.CompanyRef{Ref: "comp_1", Sheet: filing.Company{EntityType: filing.Corp, FormationState: "NV"}}
	late := make(chan error)
	go func() {
		_, err := d.findCompany(t.Context(), "comp_1")
		late <- err
	}()
	<-s.asked
	if _, err := d.completeFacts(t.Context(), ref, filing.Company{ID: "comp_1"}); err != nil {
		t.Fatal(err)
	}
	close(s.answer)
	if err := <-late; err != nil {
		t.Fatal(err)
	}
	known, _ := d.knownCompany("comp_1")
	if c, err := d.completeFacts(t.Context(), ref, known); err != nil || !hasFacts(c) || s.updates != 1 {
		t.Errorf("completed %d times, known as %+v: %v", s.updates, c, err)
	}
}
