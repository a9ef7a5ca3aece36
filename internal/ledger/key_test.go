package ledger_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

// One business key, one purchase: of rows that ask for the same in one batch, in
// two and in two processes, all at once, exactly one is let through.
func TestOneKeyOneRow(t *testing.T) {
	onBothDatabases(t, func(s *suite) {
		one, two := s.open(), s.open()
		var rows []ledger.Row
		for _, batch := range []string{"a", "b"} {
			for range 5 {
				rows = append(rows, report("comp_1", "2026"))
			}
			rows = append(rows[:len(rows)-5], s.add(one, batch, rows[len(rows)-5:]...)...)
		}
		var flying sync.WaitGroup
		begun := make([]ledger.Begun, len(rows))
		errs := make([]error, len(rows))
		for i, r := range rows {
			l := one
			if i%2 == 0 {
				l = two
			}
			flying.Go(func() { begun[i], errs[i] = l.Begin(s.Context(), intent(r)) })
		}
		flying.Wait()
		var sent, taken int
		for i := range rows {
			s.must(errs[i])
			switch {
			case begun[i].Attempt == 1:
				sent++
			case len(begun[i].Taken) == 1 && !begun[i].Taken[0].Bought:
				taken++
			}
		}
		if sent != 1 || taken != len(rows)-1 {
			s.Fatalf("%d sent, %d told that it is taken", sent, taken)
		}
	})
}

// A row that waits for another row's purchase goes on when that is decided, not
// before, and finds it bought or free.
func TestWaitingForAKey(t *testing.T) {
	for _, c := range []keyCase{
		{filing.Accepted, true, false},
		{filing.HasItem, true, false},
		{filing.Refused, true, true},
		{filing.NotSent, true, true},
		{filing.NoAnswer, false, false},
	} {
		t.Run(string(c.class), func(t *testing.T) { onBothDatabases(t, c.test) })
	}
}

type keyCase struct {
	class filing.AnswerKind
	wakes bool
	buys  bool // the waiting row may buy then
}

func (c keyCase) test(s *suite) {
	l, other := s.open(), s.open()
	first := s.add(l, "a", report("comp_1", "2026"))[0]
	second := s.add(other, "b", report("comp_1", "2026"))[0]
	s.send(l, first)
	begun := s.begin(other, intent(second))
	if len(begun.Taken) != 1 || begun.Taken[0].Row != first.ID || begun.Taken[0].Bought {
		s.Fatalf("%+v", begun)
	}
	wait := ledger.Deferral{
		Row:     second.ID,
		Next:    filing.Ready,
		Wait:    begun.Taken[0].Claim.Key,
		Message: "waits",
	}
	s.must(other.Defer(s.Context(), wait))
	if begun := s.begin(other, intent(second)); !begun.Lost {
		s.Fatalf("a waiting row: %+v", begun)
	}
	s.waitsBehind(other, "b", true)
	s.answer(l, first, c.class)
	ids, err := other.Backlog().ListSendable(s.Context(), "b", 10)
	if err != nil || (len(ids) == 1) != c.wakes {
		s.Fatalf("sendable: %v, %v", ids, err)
	}
	if !c.wakes {
		// The first row is uncertain: nobody is on the way to decide it.
		s.waitsBehind(other, "b", false)
		s.must(l.Resolutions().MarkPlaced(s.Context(), first.ID, 0, nil, ""))
	}
	// What was decided meanwhile is not waited for.
	s.must(other.Defer(s.Context(), wait))
	begun = s.begin(other, intent(second))
	if c.buys != (begun.Attempt == 1) || !c.buys && (len(begun.Taken) != 1 || !begun.Taken[0].Bought) {
		s.Fatalf("%+v", begun)
	}
}

// A row that waits for a key and is held back waits for no key any more. Released, it waits for
// approval.
func TestReview_OfARowThatWaitsForAKey(t *testing.T) {
	onLedger(t, func(s *suite, ctx context.Context, l *ledger.Ledger) {
		first := s.add(l, "a", report("comp_1", "2026"))[0]
		second := s.add(l, "b", report("comp_1", "2026"))[0]
		s.send(l, first)
		s.must(l.Defer(ctx, ledger.Deferral{Row: second.ID, Next: filing.Ready, Wait: intent(first).Claims[0].Key}))
		s.waitsBehind(l, "b", true)
		for _, r := range []filing.Result{filing.Invalid, filing.Ready} {
			s.must(l.RecordReview(ctx, "b", []ledger.Reviewed{{Row: second.ID, Result: r, Request: second.Request}}))
			s.want(l, second, r, 0)
		}
		if got := s.row(l, second.ID); !strings.Contains(got.Message, "waiting for approval") {
			s.Error(got.Message)
		}
	})
}

// waitsBehind checks that a row of a batch waits for another one, and whether that one
// moves.
func (s *suite) waitsBehind(l *ledger.Ledger, batch string, moves bool) {
	s.Helper()
	f := s.figures(l, batch)
	if waits, err := l.Backlog().WaitsForPlacing(s.Context(), batch); err != nil || waits != moves || f.Behind != 1 {
		s.Errorf("batch %s waits for a row that moves: %t, want %t: %+v, %v", batch, waits, moves, f, err)
	}
}

// A row that waits for an order in doubt keeps a run waiting only where that
// order is the run's own to send again.
func TestWaitingForAnUncertainRow(t *testing.T) {
	onLedger(t, func(s *suite, _ context.Context, l *ledger.Ledger) {
		rows := s.add(l, "a", agentOrder("comp_1"), agentOrder("comp_1"))
		foreign := s.add(l, "b", agentOrder("comp_1"))[0]
		s.send(l, rows[0])
		s.answer(l, rows[0], filing.NoAnswer)
		for _, r := range []ledger.Row{rows[1], foreign} {
			s.must(l.Defer(s.Context(), ledger.Deferral{Row: r.ID, Next: filing.Ready, Wait: intent(r).Claims[0].Key}))
		}
		s.waitsBehind(l, "a", true)
		s.waitsBehind(l, "b", false)
		// Nor where the money for it is gone.
		again := s.row(l, rows[0].ID)
		s.send(l, again)
		s.answer(l, again, filing.NoFunds)
		s.must(l.Entries().RecordDeposit(s.Context(), 1, ""))
		s.must(l.Fleet().AllowProbe(s.Context()))
		dearer := intent(s.row(l, rows[0].ID))
		dearer.Cost.Amount += 2
		if begun := s.begin(l, dearer); !begun.Short {
			s.Fatalf("%+v", begun)
		}
		if f := s.figures(l, "a"); f.Short != 1 {
			s.Errorf("%+v", f)
		}
		s.waitsBehind(l, "a", false)
	})
}

// --again buys the same once more, once: under a key of its own.
func TestAgain(t *testing.T) {
	onLedger(t, func(s *suite, _ context.Context, l *ledger.Ledger) {
		s.place(l, s.add(l, "a", report("comp_1", "2026"))[0])
		rows := s.add(l, "b", report("comp_1", "2026"), report("comp_1", "2026"))
		again := func(r ledger.Row) ledger.Intent {
			in := intent(r)
			in.Claims[0].Key += "|again|b: lost in the mail"
			in.Claims[0].Why = "b: lost in the mail"
			return in
		}
		if begun := s.begin(l, again(rows[0])); begun.Attempt != 1 {
			s.Fatalf("%+v", begun)
		}
		s.answer(l, rows[0], filing.Accepted)
		if begun := s.begin(l, again(rows[1])); len(begun.Taken) != 1 || begun.Taken[0].Row != rows[0].ID {
			s.Fatalf("%+v", begun)
		}
		var why string
		s.must(s.sql().QueryRowContext(s.Context(), `SELECT why FROM purchases WHERE row = $1`, rows[0].ID).Scan(&why))
		if why != "b: lost in the mail" {
			s.Errorf("the reason is not recorded: %q", why)
		}
	})
}

// A subscription bought earlier covers later years, of other batches, while it
// is not canceled.
func TestCovers(t *testing.T) {
	onLedger(t, func(s *suite, _ context.Context, l *ledger.Ledger) {
		rows := s.add(l, "a", report("comp_1", "2026"), report("comp_1", "2027"), report("comp_2", "2026"))
		s.place(l, rows[0])
		s.place(l, rows[1]) // two years of one file are both meant
		s.send(l, rows[2])  // may cover what comes later

		next := s.add(l, "b", report("comp_1", "2028"), report("comp_1", "2025"), report("comp_2", "2027"),
			report("comp_3", "2027"))
		covered := s.begin(l, intent(next[0]))
		if len(covered.Taken) != 1 || !covered.Taken[0].Covers || !covered.Taken[0].Bought {
			s.Fatalf("a later year: %+v", covered)
		}
		for _, r := range []ledger.Row{next[1], next[3]} { // of another year or company
			s.place(l, r)
		}
		waits := s.begin(l, intent(next[2]))
		if len(waits.Taken) != 1 || !waits.Taken[0].Covers || waits.Taken[0].Bought ||
			waits.Taken[0].Key != intent(rows[2]).Claims[0].Key {
			s.Errorf("the year before is out: %+v", waits)
		}
		s.answer(l, rows[2], filing.Refused)
		s.send(l, next[2])
		why := intent(next[0])
		why.Claims[0].Why = "asked for"
		s.must(l.Defer(s.Context(), ledger.Deferral{Row: next[0].ID, Next: filing.Skipped, Message: "covered"}))
		last := s.add(l, "c", report("comp_1", "2028"))[0]
		in := intent(last)
		in.Claims[0].Why = "asked for"
		if begun := s.begin(l, in); begun.Attempt != 1 {
			s.Errorf("with a reason: %+v", begun)
		}
		s.answer(l, last, filing.Refused)
		s.exec(`UPDATE items SET subscription_status = 'canceled'`)
		after := s.add(l, "d", report("comp_1", "2029"))[0]
		if begun := s.begin(l, intent(after)); begun.Attempt != 1 {
			s.Errorf("after the subscription was canceled: %+v", begun)
		}
	})
}

func TestCompaniesAreRemembered(t *testing.T) {
	onLedger(t, func(s *suite, ctx context.Context, l *ledger.Ledger) {
		s.must(l.Companies().Remember(ctx, "acme", filing.Company{ID: "comp_1"}))
		s.must(l.Companies().Remember(ctx, "acme", filing.Company{ID: "comp_1", EntityType: filing.LLC}))
		s.must(l.Companies().RememberUser(ctx, "ana@example.com", filing.User{ID: "user_1"}))
		var flying sync.WaitGroup
		for range 20 { // one reference many times in one group
			flying.Go(func() { l.Companies().RememberUser(ctx, "bo@example.com", filing.User{ID: "user_2"}) })
		}
		flying.Wait()
		other := s.open()
		companies, err := other.Companies().Find(ctx, []string{"acme", "none"})
		if err != nil || len(companies) != 1 || companies["acme"].EntityType != filing.LLC {
			s.Errorf("%+v, %v", companies, err)
		}
		users, err := other.Companies().FindUsers(ctx, []string{"ana@example.com", "bo@example.com", "acme"})
		if err != nil || len(users) != 2 || users["bo@example.com"].ID != "user_2" {
			s.Errorf("%+v, %v", users, err)
		}
		if none, err := other.Companies().FindUsers(ctx, nil); err != nil || len(none) != 0 {
			s.Error(none, err)
		}
		many := make([]string, 70_000) // more than a statement takes arguments
		for i := range many {
			many[i] = fmt.Sprint("none", i)
		}
		if companies, err = other.Companies().Find(ctx, append(many, "acme")); err != nil || len(companies) != 1 {
			s.Errorf("%+v, %v", companies, err)
		}
	})
}

// A company is called as its sheet calls it, or else as the service does.
func TestCompanyNames(t *testing.T) {
	onLedger(t, func(s *suite, ctx context.Context, l *ledger.Ledger) {
		s.must(l.Companies().Remember(ctx, "acme", filing.Company{ID: "comp_1", LegalName: "Acme LLC"}))
		s.must(l.Companies().Remember(ctx, "comp_2", filing.Company{ID: "comp_2", LegalName: "Bay LLC"}))
		formed := filing.Request{
			Order: filing.Order{Formation: &filing.FormationItem{Company: filing.Company{LegalName: "Tern LLC"}}},
		}
		names, err := l.Companies().NamesOf(ctx, []ledger.Row{
			{ID: 1, Company: "comp_1", Request: &filing.Request{Company: filing.CompanyRef{Ref: "acme"}}},
			{
				ID: 2,
				Request: &filing.Request{
					Company: filing.CompanyRef{Ref: "acme", Sheet: filing.Company{LegalName: "Acme of the Sheet LLC"}},
				},
			},
			{ID: 3, Company: "comp_2"}, {ID: 4, Request: &formed}, {ID: 5, Company: "comp_9"}, {ID: 6},
		})
		want := map[int64]string{1: "Acme LLC", 2: "Acme of the Sheet LLC", 3: "Bay LLC", 4: "Tern LLC"}
		if err != nil {
			s.Fatal(err)
		}
		for id := range int64(7) {
			if names[id] != want[id] {
				s.Errorf("row %d is called %q, want %q", id, names[id], want[id])
			}
		}
	})
}
