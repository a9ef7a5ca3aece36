package sandbox

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// TestTheClockMovesAFiling: one step each interval, with the events that a command brings,
// until the service is closed.
func TestTheClockMovesAFiling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, in := withInbox(t, Config{Advance: time.Minute})
		place(t, s, heldReport)
		time.Sleep(time.Minute + time.Second)
		if told := in.take(); len(told) != 1 || told[0].status != pending {
			t.Errorf("told %+v", told)
		}
		s.Close()
		time.Sleep(time.Hour)
		if told := in.take(); len(told) != 0 || s.Books().Items()[0].Status != pending {
			t.Errorf("told %+v", told)
		}
	})
}

// exceptionCase is a case of TestExceptionCodes.
type exceptionCase struct {
	name, fields string
	own          []int // of these one is chosen when no code is given
}

// TestExceptionCodes: what a product can hit. Source: spec section 7.
func TestExceptionCodes(t *testing.T) {
	for _, tt := range []exceptionCase{
		{"formation", llc(), []int{463, 464, 465}},
		{"annual report", heldReport, []int{482}},
		{"EIN", `"companyId":"comp_bare",` + einOrder, []int{483, 484}},
		{"foreign qualification", `"companyId":"comp_filed","foreignQualification":true`, []int{487}},
		{"change of agent", `"companyId":"comp_bare","registeredAgent":{"isChangeOfAgent":true}`, nil},
	} {
		t.Run(tt.name, tt.run)
	}
}

func (tt exceptionCase) run(t *testing.T) {
	b := newBench(t, Config{})
	id := b.mustOrder(tt.fields).Items[0].OrderID
	for _, code := range []int{463, 464, 465, 482, 483, 484, 487} {
		_, err := b.Raise(t.Context(), id, code)
		if slices.Contains(tt.own, code) != (err == nil) || err != nil && !errors.Is(err, ErrNoException) {
			t.Errorf("%d: %v", code, err)
		}
	}
	if _, err := b.Raise(t.Context(), id, 499); err != nil {
		t.Errorf("a code that the spec does not name: %v", err)
	}
	_, err := b.Raise(t.Context(), id, 0)
	if got := b.Books().Items()[0].Exception; len(tt.own) == 0 && !errors.Is(err, ErrNoException) ||
		len(tt.own) > 0 && !slices.Contains(tt.own, got) {
		t.Errorf("by itself: %d, %v", got, err)
	}
	if _, err := b.Advance(t.Context(), id, filed); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Raise(t.Context(), id, 0); !errors.Is(err, ErrAtEnd) {
		t.Errorf("filed, and yet %v", err)
	}
}
