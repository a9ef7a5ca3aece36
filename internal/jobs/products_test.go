package jobs_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/sandbox"
)

// Each product and combination costs what the billing rules say, to the cent,
// in the ledger, in its items and in the service's books.
// Source: spec section 4, Billing rules and rules 6 and 8.
func TestWhatEachProductCosts(t *testing.T) {
	t.Parallel()
	f := newFirm(t, servers{}, sandbox.Config{ShuffleItems: true})
	f.service.AddUser(sandbox.User{ID: "user_1"})
	type line = map[filing.Product]money.Cents
	type order = func(i int) *filing.Request
	formed := func(changes ...func(*filing.Order)) order {
		return func(i int) *filing.Request { return of(formation(i), changes...) }
	}
	known := func(changes ...func(*filing.Order)) order {
		return func(i int) *filing.Request { return existing(i, filing.ForeignQualification, changes...) }
	}
	expedite := func(o *filing.Order) { o.Formation.Expedited = true }
	type priced struct {
		name  string
		order order
		lines line
	}
	cases := []priced{
		{"formation, agent ordered", formation,
			line{filing.Formation: priceTier1 + feeFormLLC, filing.RegisteredAgent: priceAgent}},
		{"formation, agent supplied", formed(supply), line{filing.Formation: priceTier1 + feeFormLLC}},
		{"formation of a corporation", func(i int) *filing.Request {
			r := formation(i)
			corporation(r, 4)
			return r
		}, line{filing.Formation: priceTier1 + feeFormCorp, filing.RegisteredAgent: priceAgent}},
		{"formation and EIN", formed(supply, orderEIN),
			line{filing.Formation: priceTier2 + feeFormLLC, filing.EIN: 0}},
		{"formation, EIN and agent", formed(orderEIN),
			line{filing.Formation: priceTier2 + feeFormLLC, filing.EIN: 0, filing.RegisteredAgent: priceAgent}},
		{"formation and annual report", formed(orderReport), line{filing.Formation: priceTier1 + feeFormLLC,
			filing.RegisteredAgent: priceAgent, filing.AnnualReport: priceReport + feeLLC}},
		{"expedited, EIN and agent", formed(expedite, orderEIN),
			line{filing.Formation: priceTier2 + 103_75 + expedited, filing.EIN: 0, filing.RegisteredAgent: priceAgent}},
		{"EIN", known(orderEIN), line{filing.EIN: priceEIN}},
		{"agent", known(orderAgent), line{filing.RegisteredAgent: priceAgent}},
		{"change of agent", agentChange, line{filing.AgentChange: priceAgent}},
		{"qualification, agent ordered", known(orderAgent, qualify),
			line{filing.ForeignQualification: priceFQ + feeFQ, filing.RegisteredAgent: priceAgent}},
		{"qualification, agent supplied", known(qualify, func(o *filing.Order) {
			o.ForeignQualification.RegisteredAgent = supplied("CA")
		}), line{filing.ForeignQualification: priceFQ + feeFQ}},
		{"qualification, agent on file", known(qualify, func(o *filing.Order) { o.FilingState = "TX" }),
			line{filing.ForeignQualification: priceFQ + feeFQ}},
		{"qualification, report, EIN and agent", known(orderAgent, qualify, orderEIN, orderReport),
			line{filing.ForeignQualification: priceFQ + feeFQ, filing.RegisteredAgent: priceAgent,
				filing.EIN: priceEIN, filing.AnnualReport: priceReport + feeLLC}},
	}
	for state, fee := range map[filing.State]money.Cents{"AZ": 85_00, "DE": 185_00, "FL": 195_00, "NV": 550_00,
		"NY": 205_00, "WY": 103_75} {
		in := func(o *filing.Order) { o.FilingState = state }
		cases = append(cases, priced{"expedited in " + string(state), formed(in, supply, expedite),
			line{filing.Formation: priceTier1 + fee + expedited}})
	}
	var all []*filing.Request
	for i, c := range cases {
		all = append(all, c.order(i))
		f.service.AddCompany(sandbox.Company{
			ID:             fmt.Sprintf("comp_%d", i),
			UserID:         "user_1",
			EntityType:     "LLC",
			FormationState: "DE",
			Agents:         map[string]sandbox.Agent{"TX": sandbox.ActiveService},
		})
	}
	f.place("a", all...)
	charged := make(map[string]money.Cents)
	for _, o := range f.service.Books().Orders {
		charged[o.CompanyID] += money.Cents(o.Total)
	}
	for i, r := range f.rows("a") {
		c := cases[i]
		var total money.Cents
		for _, cents := range c.lines {
			total += cents
		}
		if r.Cost.Amount != total || r.Cost.Certainty != certaintyOf(r) || charged[r.Company] != total {
			t.Errorf("%s: the ledger has %s, the books %s, want %s", c.name, r.Cost, charged[r.Company], total)
		}
		if got := costs(r); fmt.Sprint(got) != fmt.Sprint(c.lines) || len(r.Items) != len(c.lines) {
			t.Errorf("%s: %v, want %v", c.name, got, c.lines)
		}
		formed := r.Request.Order.Formation != nil
		if !filing.IsCompanyID(r.Company) || strings.Contains(r.Message, "the new company is "+r.Company) != formed {
			t.Errorf("%s: %q, %s", c.name, r.Company, r.Message)
		}
	}
	f.agree("a")
}

// "EIN already exists" and "already requested" are told apart for the reader.
// Nothing is bought, and the row says so.
func TestPlacer_ExistingEIN(t *testing.T) {
	t.Parallel()
	f := newFirm(t, servers{}, sandbox.Config{})
	f.know(sandbox.Company{ID: "comp_0", EIN: "12-3456789"})
	f.know(sandbox.Company{ID: "comp_1", EINRequested: true})
	f.know(sandbox.Company{ID: "comp_2"})
	var all []*filing.Request
	for i := range 3 {
		all = append(all, existing(i, filing.EIN, orderEIN))
	}
	all = append(all, existing(2, filing.EIN, orderEIN))
	f.add("a", all...)
	f.run("a")
	f.want("a", ledger.Counts{filing.Exists: 3, filing.Placed: 1})
	rows := f.rows("a")
	for i, says := range []string{"EIN already exists for this company", "EIN already requested for this company"} {
		if r := rows[i]; !strings.Contains(r.Message, says) || r.Cost.Amount != 0 ||
			slices.ContainsFunc(r.Items, func(i ledger.Item) bool { return i.OrderID != "" }) {
			t.Errorf("%+v", r)
		}
	}
	f.wantPosts("/orders", 3)
	f.agree("a")
}

// A 409 for the qualification leaves the agent, which is ordered alone.
func TestPlacer_QualificationWithExistingAgent(t *testing.T) {
	t.Parallel()
	f := newFirm(t, servers{}, sandbox.Config{})
	known := sandbox.Company{
		ID:             "comp_0",
		EntityType:     "LLC",
		FormationState: "DE",
		Agents:         map[string]sandbox.Agent{},
		Qualified:      []string{"CA"},
	}
	f.know(known)
	known.ID, known.EIN = "comp_1", "12-3456789"
	f.know(known)
	f.place("a", existing(0, filing.ForeignQualification, orderAgent, qualify),
		existing(1, filing.ForeignQualification, orderAgent, qualify, orderEIN))
	for i, r := range f.rows("a") {
		if len(r.Items) != 1 || r.Items[0].Product != filing.RegisteredAgent || r.Cost.Amount != priceAgent ||
			len(r.Dropped) != i+1 {
			t.Errorf("%+v", r)
		}
	}
	for _, o := range f.service.Books().Orders {
		if len(o.Items) != 1 || o.Items[0].Product != "registered_agent" || o.Total != priceAgent {
			t.Errorf("%+v", o)
		}
	}
	f.agree("a")
}

// Agent service that the ledger knows to be active is not ordered again, however
// it was bought: by itself, or with the formation of the company.
func TestPlacer_ActiveAgent(t *testing.T) {
	t.Parallel()
	f := newFirm(t, servers{}, sandbox.Config{})
	f.service.AddUser(sandbox.User{ID: "user_1"})
	f.service.AddCompany(sandbox.Company{ID: "comp_0", UserID: "user_1", EntityType: "LLC", FormationState: "DE"})
	f.add("first", existing(0, filing.RegisteredAgent, orderAgent),
		of(formation(1), func(o *filing.Order) {
			o.FilingState, o.EIN, o.AnnualReport = "DE", einItem(), &filing.AnnualReportItem{FilingYear: "2026"}
		}))
	f.placeRest("first")
	formed := f.rows("first")[1].Company

	const reported = priceReport + feeLLC
	type change = []func(*filing.Order)
	var batches []string
	for i, c := range []struct {
		company string
		result  filing.Result
		cost    money.Cents
		changes change
	}{
		{"comp_0", filing.Exists, 0, change{orderAgent}},
		{"comp_0", filing.Placed, reported, change{orderAgent, orderReport}},
		{formed, filing.Exists, 0, change{orderAgent}},
		{formed, filing.Exists, 0, change{orderEIN}},
		{formed, filing.Exists, 0, change{orderReport}},
		{formed, filing.Skipped, 0, change{orderReport, func(o *filing.Order) { o.AnnualReport.FilingYear = "2027" }}},
		{formed, filing.Placed, priceAgent, change{orderAgent, func(o *filing.Order) { o.FilingState = "CA" }}},
		{formed, filing.Placed, priceFQ + feeFQ, change{orderAgent, qualify}},
	} {
		batch := fmt.Sprint("later ", i)
		batches = append(batches, batch)
		r := existing(0, filing.RegisteredAgent, c.changes...)
		r.Company.Ref = c.company
		f.add(batch, r)
		sent := f.posts("/orders")
		f.run(batch)
		got := f.rows(batch)[0]
		if got.Result != c.result || got.Result == filing.Placed && got.Cost.Amount != c.cost ||
			(f.posts("/orders") > sent) != (c.result == filing.Placed) {
			t.Errorf("%s: %s for %s, %d sent, want %s for %s: %s", batch, got.Result, got.Cost,
				f.posts("/orders")-sent, c.result, c.cost, got.Message)
		}
	}
	f.agree(append(batches, "first")...)
}

// The number travels in the order alone, and is never asked back.
func TestPlacer_SSNIsSentOnce(t *testing.T) {
	t.Parallel()
	f := newFirm(t, servers{}, sandbox.Config{AutoSeed: true})
	f.place("a", existing(0, filing.EIN, orderEIN), of(formation(1), orderEIN))
	for _, o := range f.service.Books().Orders {
		if !strings.Contains(string(o.Raw), `"responsiblePartySsn":"078051120"`) {
			t.Errorf("%s", o.Raw)
		}
	}
	for _, r := range f.rows("a") {
		if _, err := f.Unseal(t.Context(), r); err == nil {
			t.Errorf("row %d keeps its number", r.Number)
		}
	}
}

// A number that cannot be opened any more is asked for again; the order is not sent
// without it. Where an attempt is uncertain already nobody can send it again: a person
// decides, and the money stays reserved.
func TestPlacer_SSNSealedWithAnotherKey(t *testing.T) {
	for _, uncertain := range []bool{false, true} {
		t.Run(fmt.Sprintf("uncertain: %t", uncertain), func(t *testing.T) {
			t.Parallel()
			f := newFirm(t, servers{}, sandbox.Config{AutoSeed: true})
			request := existing(0, filing.EIN, orderEIN)
			f.add("a", request)
			want, says, reserved := filing.Rejected, "run the sheet with the number again", money.Cents(0)
			if uncertain {
				f.lose(f.begin("a", request.Order, false))
				want, says, reserved = filing.Uncertain, "importer resolve", priceEIN
			}
			f.reopen(func(c *ledger.Config) { c.SealKey = strings.Repeat("0e", 32) })
			f.run("a")
			f.want("a", ledger.Counts{want: 1})
			if r := f.rows("a")[0]; !strings.Contains(r.Message, says) || r.Reserved != reserved {
				t.Errorf("%+v", r)
			}
			f.wantPosts("/orders", 0)
		})
	}
}
