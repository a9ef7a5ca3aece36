package jobs

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

// Unrecorded is an answer of the filing service that is not recorded because the database is
// down. If the process ends, the row becomes uncertain.
type Unrecorded struct {
	Batch   string
	Number  int
	Outcome ledger.Outcome

	// notes are added to the message of the row.
	notes []string
}

// IDs returns the IDs of the orders in the answer, or of the company that it created.
func (u *Unrecorded) IDs() []string {
	ids := orderIDs(u.Outcome.Answer.Items)
	if id := u.Outcome.Answer.CompanyID; id != "" {
		ids = append(ids, "company "+id)
	}
	return ids
}

// explain returns the message of the row for its new state.
func (u *Unrecorded) explain(s filing.RowState) string {
	if u.Outcome.Message != "" {
		return u.Outcome.Message
	}
	message := messageFor(u.Outcome.Answer, s, u.notes)
	for _, i := range u.Outcome.Items {
		if i.Product == "" {
			message += fmt.Sprintf("; the answer names %s (%s), which was not ordered: ask the filing service about it",
				i.OrderID, i.OrderType)
		}
	}
	return message
}

// unrecordedAnswers are the answers that a process is trying to record.
type unrecordedAnswers struct {
	mu  sync.Mutex
	all []*Unrecorded
}

func (a *unrecordedAnswers) add(u *Unrecorded) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.all = append(a.all, u)
}

func (a *unrecordedAnswers) remove(u *Unrecorded) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.all = slices.DeleteFunc(a.all, func(o *Unrecorded) bool { return o == u })
}

// list returns the answers by batch and row.
func (a *unrecordedAnswers) list() []*Unrecorded {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.SortedFunc(slices.Values(a.all), func(a, b *Unrecorded) int {
		return cmp.Or(strings.Compare(a.Batch, b.Batch), cmp.Compare(a.Number, b.Number))
	})
}
