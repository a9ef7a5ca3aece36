package ledger_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/money"
)

// addFor records a batch whose only columns are the client and the matter of a row.
func (s *suite) addFor(l *ledger.Ledger, id string, clients ...string) []ledger.Row {
	s.Helper()
	ctx := s.Context()
	created, err := l.CreateBatch(ctx, ledger.Batch{
		ID:      id,
		File:    id + ".csv",
		Product: filing.AnnualReport,
		Columns: []string{"Client", "Matter"},
		Fields:  []string{"client", "matter"},
	})
	if err != nil || !created {
		s.Fatalf("CreateBatch: %v, %v", created, err)
	}
	rows := reports(id, len(clients))
	for i, client := range clients {
		rows[i].Number, rows[i].Cells = i+2, fmt.Appendf(nil, `[%q,{"number":"17"}]`, client)
	}
	s.must(l.AddRows(ctx, id, rows))
	s.must(l.OpenBatch(ctx, id))
	return s.rows(l, id)
}

// charges lists the charges of a month, or of all for "", and holds them to the entries.
func (s *suite) charges(l *ledger.Ledger, month string) []ledger.Charge {
	s.Helper()
	all, err := l.Entries().Charges(s.Context(), month, time.UTC)
	s.must(err)
	byRow := make(map[string]money.Cents) // by month and row
	for _, c := range all {
		byRow[fmt.Sprint(c.Month, c.Batch, c.Number)] += c.Cost.Amount
	}
	for e, err := range l.Entries().All(s.Context()) {
		s.must(err)
		if at := e.At.UTC().Format("2006-01"); e.Kind == ledger.Posted && (month == "" || month == at) {
			byRow[fmt.Sprint(at, e.Batch, e.Number)] -= e.Amount
		}
	}
	for row, rest := range byRow {
		if rest != 0 {
			s.Errorf("%s: the charges are %s more than the entries: %+v", row, rest, all)
		}
	}
	return all
}

// Charges are grouped by month, client and matter, whatever the spelling of the client,
// and name the order.
func TestCharges(t *testing.T) {
	onLedger(t, func(s *suite, _ context.Context, l *ledger.Ledger) {
		if months, err := l.Entries().ChargeMonths(s.Context(), time.UTC); err != nil || len(months) > 0 {
			s.Errorf("%q, %v", months, err)
		}
		rows := s.addFor(l, "a", "Quay Group", "Larkspur", "QUAY GROUP", "")
		for _, r := range rows[:3] {
			s.place(l, r)
		}
		s.send(l, rows[3])
		s.answer(l, rows[3], filing.NoAnswer) // uncertain and not charged
		march := s.clock().UTC().Format("2006-01")
		var got []string
		for _, c := range s.charges(l, "") {
			got = append(got, fmt.Sprintf("%s %s %s %d %s %s %s", c.Month, c.Client, c.Matter, c.Number, c.Product,
				c.OrderID, c.Cost))
		}
		var want []string
		for _, i := range []int{1, 0, 2} {
			client := []string{"Quay Group", "Larkspur", "Quay Group"}[i]
			want = append(want, fmt.Sprintf("%s %s 17 %d annual-report order_%d_1_annual-report %s", march, client,
				rows[i].Number, rows[i].ID, money.Cents(cost).Dollars()))
		}
		if !slices.Equal(got, want) {
			s.Errorf("%q, want %q", got, want)
		}
	})
}

// A row of which one item was answered is uncertain, and its charge is listed with the two
// fees, if they add up.
func TestCharges_Uncertain(t *testing.T) {
	onLedger(t, func(s *suite, _ context.Context, l *ledger.Ledger) {
		r := report("comp_1", "2026")
		r.Request.Order.RegisteredAgent = &filing.RegisteredAgentItem{}
		row := s.add(l, "a", r)[0]
		answer := outcome(row, s.send(l, row), filing.Accepted)
		answer.Items = answer.Items[:1]
		answer.Items[0].Cost = money.Cost{Amount: 50_00}
		answer.Items[0].Parts = filing.CostParts{Service: money.Cost{Amount: 20_00}, State: money.Cost{Amount: 30_00}}
		s.must(l.RecordOutcome(s.Context(), answer))
		s.want(l, row, filing.Uncertain, cost-50_00)
		got := s.charges(l, "")
		if len(got) != 1 || got[0].Cost.Amount != 50_00 || got[0].Company != "comp_1" {
			s.Fatalf("%+v", got)
		}
		if service, state, ok := got[0].Fees(); !ok || service != 20_00 || state != 30_00 {
			s.Errorf("%s, %s, %t", service, state, ok)
		}
		got[0].Parts.State.Amount++
		if _, _, ok := got[0].Fees(); ok {
			s.Error("the fees do not add up")
		}
	})
}

// An order that turns out not to be placed is charged in its month, and taken back in the
// month in which that was learned.
func TestCharges_AdjustedInAnotherMonth(t *testing.T) {
	onLedger(t, func(s *suite, _ context.Context, l *ledger.Ledger) {
		row := s.addFor(l, "a", "Quay")[0]
		s.send(l, row)
		s.answer(l, row, filing.NoAnswer)
		s.must(l.Resolutions().MarkPlaced(s.Context(), row.ID, 1, []string{"order_x"}, "seen"))
		first := s.clock().UTC().Format("2006-01")
		s.pass(40 * 24 * time.Hour)
		second := s.clock().UTC().Format("2006-01")
		s.must(l.RecordOutcome(s.Context(), outcome(row, 1, filing.Refused)))
		s.want(l, row, filing.Uncertain, cost)
		got := s.charges(l, "")
		if len(got) != 2 || got[0].Month != first || got[0].Cost.Amount != cost || got[1].Month != second ||
			got[1].Cost.Amount != -cost || got[1].Product != "" || got[1].Client != "Quay" {
			s.Errorf("%+v", got)
		}
		for _, month := range []string{first, second} {
			if got := s.charges(l, month); len(got) != 1 || got[0].Month != month {
				s.Errorf("%s: %+v", month, got)
			}
		}
		months, err := l.Entries().ChargeMonths(s.Context(), time.UTC)
		if err != nil || months[0] != second || months[len(months)-1] != first {
			s.Errorf("%q, %v", months, err)
		}
		if _, err := l.Entries().Charges(s.Context(), "March", time.UTC); err == nil {
			s.Error("March is a month")
		}
	})
}

// For any history of orders, answers and decisions, the charges of each row and month add
// up to its entries.
func TestChargesAddUpToTheEntries(t *testing.T) {
	if testing.Short() {
		t.Skip("skipping a long test in short mode")
	}
	onLedger(t, func(s *suite, _ context.Context, l *ledger.Ledger) {
		batch := 0
		rapid.Check(s.T, func(t *rapid.T) {
			batch++
			id := fmt.Sprintf("h%d", batch)
			rows := s.addFor(l, id, rapid.SliceOfN(rapid.SampledFrom([]string{"Quay", "Larkspur", ""}), 1, 5).Draw(t,
				"clients")...)
			for range rapid.IntRange(1, 12).Draw(t, "steps") {
				s.stepOfCharges(t, l, id, rows)
			}
			s.charges(l, "")
			s.charges(l, s.clock().UTC().Format("2006-01"))
			if s.Failed() {
				t.Fatal("see above")
			}
		})
	})
}

// stepOfCharges does something to a row.
func (s *suite) stepOfCharges(t *rapid.T, l *ledger.Ledger, id string, rows []ledger.Row) {
	r := s.row(l, rapid.SampledFrom(rows).Draw(t, "row").ID)
	switch step := rapid.SampledFrom([]string{"send", "answer", "decide", "wait"}).Draw(t, "step"); {
	case step == "send" && r.Result == filing.Ready:
		s.begin(l, intent(r))
	case step == "answer" && (r.Result == filing.Placing || r.LastAttempt > 0 && r.Result == filing.Placed):
		class := rapid.SampledFrom([]filing.AnswerKind{filing.Accepted, filing.NoAnswer,
			filing.Refused}).Draw(t, "answer")
		s.must(l.RecordOutcome(s.Context(), outcome(r, r.LastAttempt, class)))
	case step == "decide" && r.Result == filing.Uncertain:
		order := fmt.Sprintf("order_%d_%s", r.ID, id)
		s.must(l.Resolutions().MarkPlaced(s.Context(), r.ID, r.LastAttempt, []string{order}, "seen"))
	case step == "wait":
		s.pass(10 * 24 * time.Hour)
		s.must(l.Fleet().SetHold(s.Context(), "")) // renews the lease
	}
}
