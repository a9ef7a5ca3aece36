package ledger_test

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// Open orders are listed until there is news. Times are those of filed orders.
func TestOpenOrders(t *testing.T) {
	onBothDatabases(t, func(s *suite) {
		l, ctx := s.open(), s.Context()
		rows := s.add(l, "a", report("comp_1", "2026"), report("comp_2", "2026"), report("comp_3", "2026"),
			report("comp_4", "2026"), agentOrder("comp_5"), report("comp_6", "2026"))
		for i, r := range rows {
			rows[i] = s.place(l, r)
		}
		for i, status := range []string{"filed", "filed", "Canceled"} {
			s.pass(24 * time.Hour)
			s.tell(l, fmt.Sprint("evt", i), orderOf(rows[i]), "annual_report", status, s.clock())
			s.apply(l)
		}
		l = s.open()
		listed := func(batch string, want ...string) {
			s.Helper()
			open, err := l.Attention().ListOpenOrders(ctx, batch, s.clock())
			s.must(err)
			var got []string
			for _, o := range open {
				got = append(got, fmt.Sprintln(o.OrderID, o.State(), o.Product, o.Year(), o.Number))
			}
			if !slices.Equal(got, want) {
				s.Errorf("%q, want %q", got, want)
			}
		}
		fourth := fmt.Sprintln(orderOf(rows[3]), "DE annual-report 2026", rows[3].Number)
		sixth := fmt.Sprintln(orderOf(rows[5]), "DE annual-report 2026", rows[5].Number)
		listed("", fourth, sixth)
		listed("a", fourth, sixth)
		listed("b")
		times, err := l.Attention().ListFilingTimes(ctx)
		s.must(err)
		if len(times) != 2 || times[0].State() != "DE" || times[1].Millis/3600000 != 24 {
			s.Errorf("%+v", times)
		}
		facts, err := l.Attention().FindEventFacts(ctx)
		if s.must(err); facts.Endpoint || s.clock().Sub(facts.Last) > time.Hour {
			s.Errorf("%+v", facts)
		}
		s.tell(l, "evt9", orderOf(rows[3]), "annual_report", "pending", s.clock())
		s.apply(l)
		listed("", sixth)
	})
}
