package ledger_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/schedule"
)

// lines lists the selected lines.
func (s *suite) lines(l *ledger.Ledger, q ledger.LineQuery) []ledger.EntryLine {
	s.Helper()
	var all []ledger.EntryLine
	for line, err := range l.Entries().Lines(s.Context(), q) {
		s.must(err)
		all = append(all, line)
	}
	return all
}

// However often an order is tried it is one line, the lines add up to the balance,
// to the cent, and the balance of a line is the same whatever is left out.
//
//nolint:gocognit // the entries of one ledger, asked for in every way
func TestEntryLines(t *testing.T) {
	onLedger(t, func(s *suite, ctx context.Context, l *ledger.Ledger) {
		s.must(l.Entries().RecordDeposit(ctx, 500_01, "wire \"7\" of 100%"))
		rows := s.add(l, "a", reports("a", 4)...)
		for range 3 { // of one order
			s.pass(time.Second)
			s.send(l, rows[0])
			s.answer(l, rows[0], filing.NoFunds)
			s.must(l.Fleet().AllowProbe(ctx))
		}
		s.pass(2 * time.Second)
		s.must(l.Entries().Adjust(ctx, -7, "fee of the bank"))
		s.place(l, rows[0])
		s.send(l, rows[1])
		s.send(l, rows[2])
		s.answer(l, rows[2], filing.Refused)
		s.must(l.Audit(ctx))

		all := s.lines(l, ledger.LineQuery{})
		var got []string
		var sum money.Cents
		for _, e := range all {
			got = append(got, fmt.Sprintf("%s %d %d %d", e.Kind, e.Number, e.Count, e.Amount))
			sum += e.Amount
		}
		want := []string{
			fmt.Sprintf("void %d 2 0", rows[2].Number), fmt.Sprintf("reserve %d 1 %d", rows[1].Number, -cost),
			fmt.Sprintf("post %d 8 %d", rows[0].Number, -cost), "adjustment 0 1 -7", "deposit 0 1 50001",
		}
		if !slices.Equal(got, want) {
			s.Errorf("%q, want %q", got, want)
		}
		book := s.book(l)
		if sum != book.Available() || all[0].Balance != sum {
			s.Errorf("the lines come to %s, the last balance is %s, available %s", sum, all[0].Balance,
				book.Available())
		}
		for i := range all[1:] {
			if all[i].Balance != all[i+1].Balance+all[i].Amount {
				s.Errorf("line %d: %s is not %s plus %s", i, all[i].Balance, all[i+1].Balance, all[i].Amount)
			}
		}
		if all[2].Charged != cost || all[1].Reserved != cost || all[2].Batch != "a" || all[2].Since.After(all[3].At) {
			s.Errorf("%+v", all)
		}
		sums, err := l.Entries().SumLines(ctx, ledger.LineQuery{})
		if err != nil || sums != (ledger.LineSums{Lines: 5, Charged: cost, Reserved: cost, Amount: sum}) {
			s.Errorf("%+v, %v", sums, err)
		}
		s.filterLines(l, all)
		attempts, err := l.Entries().ListOfRows(ctx, []int64{rows[0].ID, rows[1].ID})
		if err != nil || len(attempts[rows[0].ID]) != 8 || len(attempts[rows[1].ID]) != 1 ||
			attempts[rows[0].ID][0].Kind != ledger.Reserve {
			s.Errorf("%+v, %v", attempts, err)
		}
	})
}

// filterLines asks for parts of the lines.
func (s *suite) filterLines(l *ledger.Ledger, all []ledger.EntryLine) {
	s.Helper()
	for what, c := range map[string]struct {
		q    ledger.LineQuery
		want []int // of all
	}{
		"oldest first":     {ledger.LineQuery{Oldest: true, Limit: 2}, []int{4, 3}},
		"a page":           {ledger.LineQuery{Before: all[0].Last, Limit: 2}, []int{1, 2}},
		"the last page":    {ledger.LineQuery{Before: all[3].Last, Limit: 2}, []int{4}},
		"the first day":    {ledger.LineQuery{To: all[4].At.Add(time.Second)}, []int{4}},
		"since the second": {ledger.LineQuery{From: all[3].At}, []int{0, 1, 2, 3}},
		"a kind":           {ledger.LineQuery{Kinds: []ledger.EntryKind{ledger.Posted}}, []int{2}},
		"no kind":          {ledger.LineQuery{Kinds: []ledger.EntryKind{}}, nil},
		"a note":           {ledger.LineQuery{Search: "of 100%"}, []int{4}},
		"no wildcard":      {ledger.LineQuery{Search: "w%e"}, nil},
		"quotes":           {ledger.LineQuery{Search: `' OR TRUE --`}, nil},
	} {
		var want []ledger.EntryLine
		for _, i := range c.want {
			want = append(want, all[i])
		}
		if got := s.lines(l, c.q); !slices.Equal(got, want) {
			s.Errorf("%s: %+v, want %+v", what, got, want)
		}
	}
}

// The firm's time zone is one that exists.
func TestFirmZone(t *testing.T) {
	onLedger(t, func(s *suite, ctx context.Context, l *ledger.Ledger) {
		s.must(schedule.NewRecords(l).SetFirmZone(ctx, "America/Denver"))
		for _, zone := range []string{"", "Local", "Mars", "../etc/passwd"} {
			if err := schedule.NewRecords(l).SetFirmZone(ctx, zone); err == nil {
				s.Errorf("%q is one", zone)
			}
		}
		if zone, err := schedule.NewRecords(l).FirmZone(ctx); err != nil || zone != "America/Denver" {
			s.Errorf("%q, %v", zone, err)
		}
	})
}
