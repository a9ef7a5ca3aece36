package ledger_test

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/bulkfiling/bulkfiling/internal/billing"
	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/money"
)

// addFor records a batch whose only column is the client of a row.
func (s *store) addFor(l *ledger.Ledger, id string, clients ...string) []ledger.Row {
	s.Helper()
	ctx := s.Context()
	created, err := l.CreateBatch(ctx, ledger.Batch{
		ID:      id,
		File:    id + ".csv",
		Product: filing.AnnualReport,
		Columns: []string{"Client"},
		Fields:  []string{"client"},
	})
	if err != nil || !created {
		s.Fatalf("CreateBatch: %v, %v", created, err)
	}
	rows := reports(id, len(clients))
	for i, client := range clients {
		rows[i].Number, rows[i].Cells = i+2, fmt.Appendf(nil, "[%q]", client)
	}
	s.must(l.AddRows(ctx, id, rows))
	s.must(l.OpenBatch(ctx, id))
	return s.rows(l, id)
}

// bill issues bills for all that is not billed.
func (s *store) bill(l *ledger.Ledger, o ledger.BillOptions) (bills []billing.Bill, waiting []billing.Waiting) {
	s.Helper()
	bills, waiting, err := l.Bills().Create(s.Context(), o, true)
	s.must(err)
	return bills, waiting
}

// billed sums what the lines of all bills pass on.
func (s *store) billed(l *ledger.Ledger) (cost money.Cents) {
	s.Helper()
	bills, err := l.Bills().List(s.Context(), ledger.BillQuery{Lines: true})
	s.must(err)
	for _, b := range bills {
		cost += b.Cost()
	}
	return cost
}

func TestBillEachPurchaseOnce(t *testing.T) { onBothDatabases(t, testBillEachPurchaseOnce) }

func testBillEachPurchaseOnce(s *store) {
	l := s.open()
	rows := s.addFor(l, "a", "Quay Group", "Larkspur", "QUAY GROUP", "")
	for _, r := range rows {
		s.place(l, r)
	}
	bills, waiting := s.bill(l, ledger.BillOptions{})
	if len(bills) != 3 || len(waiting) != 0 {
		s.Fatalf("%d bills, %d waiting", len(bills), len(waiting))
	}
	var got []string
	for _, b := range bills {
		got = append(got, fmt.Sprintf("%s %s %s %s %d", b.Name(), b.Client, b.Month, b.Total, len(b.Lines)))
	}
	want := "INV-00001 comp_a3 2026-03 75.00 1\nINV-00002 Larkspur 2026-03 75.00 1\nINV-00003 Quay Group " +
		"2026-03 150.00 2"
	if text := strings.Join(got, "\n"); text != want {
		s.Errorf("got\n%s\nwant\n%s", text, want)
	}
	if again, _ := s.bill(l, ledger.BillOptions{}); len(again) != 0 {
		s.Errorf("billed again: %+v", again)
	}
	stored, err := l.Bills().Bill(s.Context(), bills[2].ID)
	s.must(err)
	if stored.Total != stored.Sum() || len(stored.Lines) != 2 || stored.Due != "2026-03-31" {
		s.Errorf("stored is %+v", stored)
	}
	if err := l.Bills().Discard(s.Context(), bills[0].ID); !errors.Is(err, ledger.ErrIssued) {
		s.Errorf("an issued bill is discarded: %v", err)
	}
	if _, err := l.Bills().Issue(s.Context(), bills[0].ID); !errors.Is(err, ledger.ErrIssued) {
		s.Errorf("an issued bill is issued again: %v", err)
	}
}

// However many processes bill at once, each purchase is billed by one of them, and
// numbers have no gaps.
func TestBillAtOnce(t *testing.T) { onBothDatabases(t, testBillAtOnce) }

func testBillAtOnce(s *store) {
	l := s.open()
	clients := make([]string, 120)
	for i := range clients {
		clients[i] = fmt.Sprintf("Client %d", i%40)
	}
	for _, r := range s.addFor(l, "a", clients...) {
		s.place(l, r)
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	var made []billing.Bill
	for n := range 4 {
		process := s.open()
		wg.Go(func() {
			o := ledger.BillOptions{}
			if n%2 == 1 {
				o.Client = billing.ClientKeyOf("Client 7") // one of them bills a part
			}
			bills, _, err := process.Bills().Create(s.Context(), o, n != 2)
			if err != nil {
				s.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			made = append(made, bills...)
		})
	}
	wg.Wait()
	var lines int
	for _, b := range made {
		lines += len(b.Lines)
	}
	drafts, err := l.Bills().List(s.Context(), ledger.BillQuery{Drafts: true})
	s.must(err)
	for _, b := range drafts {
		_, err := l.Bills().Issue(s.Context(), b.ID)
		s.must(err)
	}
	all, err := l.Bills().List(s.Context(), ledger.BillQuery{Issued: true})
	s.must(err)
	for i, b := range all {
		if b.Number != i+1 {
			s.Fatalf("bill %d has the number %d", i+1, b.Number)
		}
	}
	if lines != 120 || s.billed(l) != 120*cost {
		s.Errorf("%d lines, %s billed", lines, s.billed(l))
	}
}

// What becomes uncertain again, is refunded, or costs something else is corrected by
// the next bills, and comes back where it is placed again.
func TestBillCorrections(t *testing.T) { onBothDatabases(t, testBillCorrections) }

func testBillCorrections(s *store) {
	l := s.open()
	ctx := s.Context()
	rows := s.addFor(l, "a", "Quay", "Quay")
	first := s.place(l, rows[0])
	s.send(l, rows[1])
	late := s.answer(l, rows[1], filing.NoAnswer)
	s.must(l.Resolutions().MarkPlaced(ctx, late.ID, late.Tries, []string{"order_x"}, "seen"))
	bills, _ := s.bill(l, ledger.BillOptions{})
	if len(bills) != 1 || bills[0].Total != 2*cost {
		s.Fatalf("bills %+v", bills)
	}
	s.pass(40 * 24 * time.Hour)
	// The answer arrives after all: nothing was ordered.
	s.must(l.RecordOutcome(ctx, outcome(s.row(l, late.ID), late.Tries, filing.Refused)))
	if got := s.row(l, late.ID).Result; got != filing.Uncertain {
		s.Fatalf("the row is %s", got)
	}
	s.must(l.Bills().RecordCost(ctx, billing.Key{Row: first.ID, Product: filing.AnnualReport}, 70_00, "statement"))
	credits, _ := s.bill(l, ledger.BillOptions{})
	if len(credits) != 1 || !credits[0].Credit || credits[0].Total != -cost-5_00 || credits[0].Month != "2026-04" {
		s.Fatalf("credits %+v", credits)
	}
	if again, _ := s.bill(l, ledger.BillOptions{}); len(again) != 0 {
		s.Errorf("credited again: %+v", again)
	}
	now := s.row(l, late.ID)
	s.must(l.Resolutions().MarkPlaced(ctx, late.ID, now.Tries, []string{"order_x"}, "seen again"))
	if more, _ := s.bill(l, ledger.BillOptions{}); len(more) != 1 || more[0].Credit || more[0].Total != cost {
		s.Errorf("after it is placed again: %+v", more)
	}
	if got := s.billed(l); got != 70_00+cost {
		s.Errorf("%s is billed", got)
	}
}

func TestBillDrafts(t *testing.T) { onBothDatabases(t, testBillDrafts) }

func testBillDrafts(s *store) {
	l := s.open()
	ctx := s.Context()
	for _, r := range s.addFor(l, "a", "Quay", "Larkspur") {
		s.place(l, r)
	}
	drafts, _, err := l.Bills().Create(ctx, ledger.BillOptions{}, false)
	s.must(err)
	if len(drafts) != 2 || drafts[0].Issued() {
		s.Fatalf("drafts %+v", drafts)
	}
	if bills, _ := s.bill(l, ledger.BillOptions{}); len(bills) != 0 {
		s.Errorf("what is in a draft is billed: %+v", bills)
	}
	s.must(l.Bills().Discard(ctx, drafts[0].ID))
	if _, err := l.Bills().Bill(ctx, drafts[0].ID); !errors.Is(err, ledger.ErrNotFound) {
		s.Errorf("the discarded draft is there: %v", err)
	}
	bills, _ := s.bill(l, ledger.BillOptions{})
	if len(bills) != 1 || bills[0].Client != "Larkspur" || bills[0].Number != 1 {
		s.Errorf("bills %+v", bills)
	}
	issued, err := l.Bills().Issue(ctx, drafts[1].ID)
	s.must(err)
	if issued.Number != 2 {
		s.Errorf("the draft got the number %d", issued.Number)
	}
}

// A filing that changes after its draft was made has no credit before the draft is issued:
// a draft that is discarded then would leave a credit for nothing.
func TestBillDraftThatChanges(t *testing.T) { onBothDatabases(t, testBillDraftThatChanges) }

func testBillDraftThatChanges(s *store) {
	l := s.open()
	ctx := s.Context()
	rows := s.addFor(l, "a", "Quay", "Larkspur")
	for _, r := range rows {
		s.place(l, r)
	}
	drafts, _, err := l.Bills().Create(ctx, ledger.BillOptions{}, false)
	s.must(err)
	for _, r := range rows {
		key := billing.Key{Row: r.ID, Product: filing.AnnualReport}
		s.must(l.Bills().RecordCost(ctx, key, 50_00, "the statement"))
	}
	bills, waiting := s.bill(l, ledger.BillOptions{})
	if len(bills) != 0 || len(waiting) != 2 || waiting[0].Because != billing.WaitsForDraft {
		s.Fatalf("bills %+v, waiting %+v", bills, waiting)
	}
	s.must(l.Bills().Discard(ctx, drafts[0].ID)) // of Larkspur
	_, err = l.Bills().Issue(ctx, drafts[1].ID)
	s.must(err)
	bills, waiting = s.bill(l, ledger.BillOptions{})
	if len(bills) != 2 || len(waiting) != 0 || bills[0].Credit || bills[0].Total != 50_00 || !bills[1].Credit ||
		bills[1].Total != -25_00 {
		s.Errorf("bills %+v, waiting %+v", bills, waiting)
	}
	s.must(l.Audit(ctx))
}

// The audit names what somebody has changed in the tables of bills.
func TestAuditOfBills(t *testing.T) { onBothDatabases(t, testAuditOfBills) }

func testAuditOfBills(s *store) {
	l := s.open()
	for _, r := range s.addFor(l, "a", "Quay", "Larkspur") {
		s.place(l, r)
	}
	s.bill(l, ledger.BillOptions{})
	for _, c := range []struct{ change, undo, want string }{
		{`UPDATE bill_lines SET amount = amount + 1 WHERE position = 1`,
			`UPDATE bill_lines SET amount = amount - 1 WHERE position = 1`, "its total is not the sum of its lines"},
		{`UPDATE bill_lines SET row = row + 1000`, `UPDATE bill_lines SET row = row - 1000`, "is not in the ledger"},
		{`UPDATE bills SET number = 5 WHERE number = 2`, `UPDATE bills SET number = 2 WHERE number = 5`, "have a gap"},
		{`UPDATE bill_lines SET revision = 2`, `UPDATE bill_lines SET revision = 0`, "nothing that it corrects"},
	} {
		s.exec(c.change)
		if err := l.Audit(s.Context()); err == nil || !strings.Contains(err.Error(), c.want) {
			s.Errorf("after %s: %v", c.change, err)
		}
		s.exec(c.undo)
	}
}

// For any history of orders, answers, decisions, statements and bills, what all bills
// pass on and what is not billed add up to what was posted, corrected by what is known
// from elsewhere.
func TestBillsAddUpToWhatWasPosted(t *testing.T) {
	if testing.Short() {
		t.Skip("skipping a long test in short mode")
	}
	onBothDatabases(t, testBillsAddUpToWhatWasPosted)
}

func testBillsAddUpToWhatWasPosted(s *store) {
	l := s.open()
	ctx := s.Context()
	batch := 0
	rapid.Check(s.T, func(t *rapid.T) {
		batch++
		id := fmt.Sprintf("h%d", batch)
		rows := s.addFor(l, id, rapid.SliceOfN(rapid.SampledFrom([]string{"Quay", "Larkspur", ""}), 1, 5).Draw(t,
			"clients")...)
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			s.stepOfBills(t, l, id, rows)
		}
		var truth money.Cents
		purchases, err := l.Bills().Purchases(ctx, s.allRows(l))
		s.must(err)
		var recorded money.Cents
		for _, c := range purchases {
			if c.Purchase != nil {
				recorded += c.Purchase.Cost.Amount
			}
		}
		truth = s.book(l).Posted + s.corrections(l)
		if recorded != truth {
			t.Fatalf("the purchases cost %s, and %s was posted and corrected", recorded, truth)
		}
		proposed, waiting, err := l.Bills().Propose(ctx, ledger.BillOptions{})
		s.must(err)
		sum := s.billed(l)
		for _, b := range proposed {
			sum += b.Cost()
		}
		for _, w := range waiting {
			sum += w.Cost.Amount
		}
		if sum != truth {
			t.Fatalf("billed and unbilled are %s, and %s was posted", sum, truth)
		}
	})
}

// stepOfBills does something to a row or to bills.
func (s *store) stepOfBills(t *rapid.T, l *ledger.Ledger, id string, rows []ledger.Row) {
	ctx := s.Context()
	r := s.row(l, rapid.SampledFrom(rows).Draw(t, "row").ID)
	key := billing.Key{Row: r.ID, Product: filing.AnnualReport}
	switch step := rapid.SampledFrom([]string{"send", "answer", "decide", "cost", "statement", "bill", "draft",
		"discard", "wait"}).Draw(t, "step"); {
	case step == "send" && r.Result == filing.Ready:
		s.begin(l, intent(r))
	case step == "answer" && (r.Result == filing.Placing || r.Tries > 0 && r.Result == filing.Placed):
		class := rapid.SampledFrom([]filing.AnswerKind{filing.Accepted, filing.NoAnswer,
			filing.Refused}).Draw(t, "answer")
		s.must(l.RecordOutcome(ctx, outcome(r, r.Tries, class)))
	case step == "decide" && r.Result == filing.Uncertain:
		s.must(l.Resolutions().MarkPlaced(ctx, r.ID, r.Tries, []string{fmt.Sprintf("order_%d_%s", r.ID, id)},
			"seen"))
	case step == "cost":
		s.must(l.Bills().RecordCost(ctx, key, money.Cents(rapid.IntRange(0, 200_00).Draw(t, "cost")),
			"a person"))
	case step == "bill", step == "draft":
		_, _, err := l.Bills().Create(ctx, ledger.BillOptions{}, step == "bill")
		s.must(err)
	case step == "discard":
		drafts, err := l.Bills().List(ctx, ledger.BillQuery{Drafts: true})
		s.must(err)
		if len(drafts) > 0 {
			s.must(l.Bills().Discard(ctx, rapid.SampledFrom(drafts).Draw(t, "draft").ID))
		}
	case step == "wait":
		s.pass(10 * time.Second)
	}
}

// allRows are the ids of all rows.
func (s *store) allRows(l *ledger.Ledger) (ids []int64) {
	s.Helper()
	batches, err := l.Batches(s.Context())
	s.must(err)
	for _, b := range batches {
		for _, r := range s.rows(l, b.ID) {
			ids = append(ids, r.ID)
		}
	}
	return ids
}

// corrections are what true costs differ from what was posted, read beside the ledger.
func (s *store) corrections(l *ledger.Ledger) (sum money.Cents) {
	s.Helper()
	rows, err := s.sql().QueryContext(s.Context(), `SELECT c.cost - r.spent FROM purchase_costs c
		JOIN rows r ON r.id = c.row WHERE r.spent <> 0`)
	s.must(err)
	defer rows.Close()
	for rows.Next() {
		var difference money.Cents
		s.must(rows.Scan(&difference))
		sum += difference
	}
	s.must(rows.Err())
	return sum
}

// A statement says what each order of a row was charged; where it says so for the row
// alone, the difference belongs to the estimate.
func TestBillAfterAStatement(t *testing.T) { onBothDatabases(t, testBillAfterAStatement) }

func testBillAfterAStatement(s *store) {
	l := s.open()
	rows := s.addFor(l, "a", "Quay", "Quay")
	for i := range rows {
		r := s.row(l, rows[i].ID)
		r.Request.Order.RegisteredAgent = &filing.RegisteredAgentItem{}
		try := s.send(l, r)
		out := outcome(r, try, filing.Accepted)
		out.Items[0].Cost = money.Cost{Amount: 60_00, Certainty: money.Estimated}
		out.Items[1] = ledger.Item{
			Product:   filing.RegisteredAgent,
			OrderType: "registered_agent",
			OrderID:   fmt.Sprintf("agent_%d", r.ID),
			Cost:      money.Cost{Amount: 15_00},
		}
		out.Items = out.Items[:2]
		s.must(l.RecordOutcome(s.Context(), out))
	}
	if _, waiting := s.bill(l, ledger.BillOptions{}); len(waiting) != 2 {
		s.Fatalf("%d wait", len(waiting))
	}
	s.exec(`INSERT INTO statements (hash, file, sheet, from_at, to_at, complete, opening, opening_known, closing,
			closing_known, missing, rest, proof, reconciled_at, reconciled_by)
		VALUES ('h', 'march.csv', '', 0, 0, 1, 0, 0, 0, 0, 0, 0, '{}', 1, 'ana')`)
	line := func(number int, row int64, order string, amount money.Cents) {
		s.exec(`INSERT INTO statement_lines (statement, number, cell, at, kind, amount, order_id, company_id,
				company, state,
				product, year, text, part, note, row, entry, counts)
			VALUES ('h', $1, '', 1, 'charge', $2, $3, '', '', '', '', '', '', 'agree', '', $4, 0, 1)`, number,
			-int64(amount),
			order, row)
	}
	adjust := func(seq int, row int64, amount money.Cents) {
		s.exec(`INSERT INTO statement_adjustments (statement, seq, number, row, reason, amount, entry, note, at)
			VALUES ('h', $1, 0, $2, 'amount', $3, 0, '', 1)`, seq, row, int64(amount))
	}
	report := s.row(l, rows[0].ID).Items[0].OrderID
	line(1, rows[0].ID, report, 71_00)
	line(2, rows[0].ID, fmt.Sprintf("agent_%d", rows[0].ID), 14_00)
	adjust(1, rows[0].ID, -10_00) // 85.00 in place of 75.00
	line(3, rows[1].ID, "", 70_00)
	adjust(2, rows[1].ID, 5_00)
	if _, waiting := s.bill(l, ledger.BillOptions{}); len(waiting) != 0 {
		s.Fatalf("%+v waits", waiting)
	}
	costs := make(map[string]money.Cents)
	bills, err := l.Bills().List(s.Context(), ledger.BillQuery{Lines: true})
	s.must(err)
	for _, b := range bills {
		for _, bl := range b.Lines {
			costs[fmt.Sprint(bl.Number, " ", bl.Purchase.Product)] += bl.Cost
		}
	}
	want := map[string]money.Cents{"2 annual-report": 71_00, "2 registered-agent": 14_00, "3 annual-report": 55_00,
		"3 registered-agent": 15_00}
	if !maps.Equal(costs, want) {
		s.Errorf("billed %v, want %v", costs, want)
	}
}
