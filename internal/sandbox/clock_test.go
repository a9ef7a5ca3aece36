package sandbox

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestTheClockMovesAFiling: one step each interval, give or take a quarter, with the
// events that a command brings.
func TestTheClockMovesAFiling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, in := withInbox(t, Config{Advance: time.Minute, DeliveriesAtOnce: 1})
		place(t, s, heldReport)
		time.Sleep(time.Hour)
		synctest.Wait()
		var told []string
		for _, p := range in.take() {
			told = append(told, p.status) // "" is the document
			steps := time.Duration(min(len(told), 2))
			if least := steps * time.Minute * 3 / 4; p.after < least || p.after > least*5/3 {
				t.Errorf("%q was told after %s", p.status, p.after)
			}
		}
		if !slices.Equal(told, []string{pending, filed, ""}) {
			t.Errorf("told %q", told)
		}
		if i := s.Books().Items()[0]; i.Status != filed || i.FilingDate.IsZero() {
			t.Errorf("it stands at %+v", i)
		}
	})
}

func TestClockClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, in := withInbox(t, Config{Advance: time.Minute})
		place(t, s, heldReport)
		s.Close()
		time.Sleep(time.Hour)
		if got := in.take(); len(got) != 0 || s.Books().Items()[0].Status != "submitted" {
			t.Errorf("told %+v", got)
		}
	})
}

func TestTheClockRaisesExceptions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 300
		s, in := withInbox(t, Config{Advance: time.Minute, Exceptions: 0.1, OpeningBalance: 10_000_000_00})
		for i := range n {
			id := fmt.Sprintf("comp_%d", i)
			s.AddCompany(Company{
				ID:             id,
				EntityType:     "LLC",
				FormationState: "DE",
				Agents:         map[string]Agent{"DE": ActiveService},
			})
			place(t, s, `"companyId":"`+id+`",`+report2026)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		in.take()
		var stand []string
		for _, i := range s.Books().Items() {
			switch {
			case i.Status == exception && i.Exception == 482:
				stand = append(stand, i.ID)
			case i.Status != filed || i.Exception != 0:
				t.Errorf("it stands at %+v", i)
			}
		}
		if len(stand) < n/30 || len(stand) > n/5 {
			t.Errorf("%d of %d hit an exception", len(stand), n)
		}
		for i, id := range stand { // a person cures them, to the end or to where the clock goes on
			status := []string{"", pending}[i%2]
			if events, err := s.Advance(t.Context(), id, status); err != nil ||
				strings.Contains(string(events[0].Body), "exception") {
				t.Errorf("cure %s: %s, %v", id, events, err)
			}
		}
		time.Sleep(time.Hour)
		for _, i := range s.Books().Items() {
			if i.Status != filed || i.Exception != 0 {
				t.Errorf("it stands at %+v", i)
			}
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

func TestExceptionsOfAllOrders(t *testing.T) {
	b := newBench(t, Config{})
	b.mustOrder(`"companyId":"comp_bare",` + einOrder + `,` + newAgent + `,` + report2026)
	b.mustOrder(heldReport)
	if r := b.do("POST", "/admin/exception", `{"all":true,"code":482}`); !strings.Contains(string(r.body),
		`"moved":2`) {
		t.Errorf("got %s", r.body)
	}
	if r := b.do("POST", "/admin/exception", `{"all":true}`); !strings.Contains(string(r.body), `"moved":3`) {
		t.Errorf("got %s", r.body)
	}
	if r := b.do("POST", "/admin/advance", `{"all":true,"status":"filed"}`); !strings.Contains(string(r.body),
		`"moved":4`) {
		t.Errorf("got %s", r.body)
	}
}
