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
	expedite := func(state filing.State, agent bool) func(*filing.Order) {
		return func(o *filing.Order) {
			o.FilingState, o.Formation.Expedited = state, true
			if !agent {
				o.RegisteredAgent, o.Formation.RegisteredAgent = nil, supplied(state)
			}
		}
	}
	cases := []struct {
		name  string
		order func(i int) *filing.Request
		lines line
	}{
		{"formation, agent ordered", formation,
			line{filing.Formation: priceTier1 + feeFormLLC, filing.RegisteredAgent: priceAgent}},
		{"formation, agent supplied", func(i int) *filing.Request {
			return of(formation(i), func(o *filing.Order) {
				o.RegisteredAgent, o.Formation.RegisteredAgent = nil, supplied("WY")
			})
		}, line{filing.Formation: priceTier1 + feeFormLLC}},
		{"formation of a corporation", func(i int) *filing.Request {
			r := formation(i)
			corporation(r, 4)
			return r
		}, line{filing.Formation: priceTier1 + feeFormCorp, filing.RegisteredAgent: priceAgent}},
		{"formation and EIN", func(i int) *filing.Request {
			return of(formation(i), func(o *filing.Order) {
				o.EIN, o.RegisteredAgent, o.Formation.RegisteredAgent = einItem(), nil, supplied("WY")
			})
		}, line{filing.Formation: priceTier2 + feeFormLLC, filing.EIN: 0}},
		{"formation, EIN and agent", func(i int) *filing.Request {
			return of(formation(i), func(o *filing.Order) { o.EIN = einItem() })
		},
			line{filing.Formation: priceTier2 + feeFormLLC, filing.EIN: 0, filing.RegisteredAgent: priceAgent}},
		{"formation and annual report", func(i int) *filing.Request {
			return of(formation(i), func(o *filing.Order) {
				o.AnnualReport = &filing.AnnualReportItem{FilingYear: "2026"}
			})
		}, line{filing.Formation: priceTier1 + feeFormLLC, filing.RegisteredAgent: priceAgent,
			filing.AnnualReport: priceReport + feeLLC}},
		{"another formation and annual report in the state", func(i int) *filing.Request {
			return of(formation(i), func(o *filing.Order) {
				o.AnnualReport = &filing.AnnualReportItem{FilingYear: "2026"}
			})
		}, line{filing.Formation: priceTier1 + feeFormLLC, filing.RegisteredAgent: priceAgent,
			filing.AnnualReport: priceReport + feeLLC}},
		{"expedited, EIN and agent", func(i int) *filing.Request {
			return of(of(formation(i), expedite("WY", true)), func(o *filing.Order) { o.EIN = einItem() })
		}, line{filing.Formation: priceTier2 + 103_75 + expedited, filing.EIN: 0, filing.RegisteredAgent: priceAgent}},
		{"EIN", func(i int) *filing.Request {
			return existing(i, filing.EIN, func(o *filing.Order) { o.EIN = einItem() })
		}, line{filing.EIN: priceEIN}},
		{"agent", func(i int) *filing.Request { return existing(i, filing.RegisteredAgent, orderAgent) },
			line{filing.RegisteredAgent: priceAgent}},
		{"change of agent", agentChange, line{filing.AgentChange: priceAgent}},
		{"qualification, agent ordered", func(i int) *filing.Request {
			return existing(i, filing.ForeignQualification, func(o *filing.Order) {
				orderAgent(o)
				o.FilingState, o.ForeignQualification = "CA", &filing.QualificationItem{}
			})
		}, line{filing.ForeignQualification: priceFQ + feeFQ, filing.RegisteredAgent: priceAgent}},
		{"qualification, agent supplied", func(i int) *filing.Request {
			return existing(i, filing.ForeignQualification, func(o *filing.Order) {
				o.FilingState, o.ForeignQualification = "CA", &filing.QualificationItem{RegisteredAgent: supplied("CA")}
			})
		}, line{filing.ForeignQualification: priceFQ + feeFQ}},
		{"qualification, agent on file", func(i int) *filing.Request {
			return existing(i, filing.ForeignQualification, func(o *filing.Order) {
				o.FilingState, o.ForeignQualification = "TX", &filing.QualificationItem{}
			})
		}, line{filing.ForeignQualification: priceFQ + feeFQ}},
		{"qualification, report, EIN and agent", func(i int) *filing.Request {
			return existing(i, filing.ForeignQualification, func(o *filing.Order) {
				orderAgent(o)
				o.FilingState, o.ForeignQualification = "CA", &filing.QualificationItem{}
				o.EIN, o.AnnualReport = einItem(), &filing.AnnualReportItem{FilingYear: "2026"}
			})
		}, line{filing.ForeignQualification: priceFQ + feeFQ, filing.RegisteredAgent: priceAgent, filing.EIN: priceEIN,
			filing.AnnualReport: priceReport + feeLLC}},
	}
	for state, fee := range map[filing.State]money.Cents{"AZ": 85_00, "DE": 185_00, "FL": 195_00, "NV": 550_00,
		"NY": 205_00, "WY": 103_75} {
		cases = append(cases, struct {
			name  string
			order func(i int) *filing.Request
			lines line
		}{
			"expedited in " + string(state),
			func(i int) *filing.Request { return of(formation(i), expedite(state, false)) },
			line{filing.Formation: priceTier1 + fee + expedited},
		})
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
		charged[o.CompanyID] = money.Cents(o.Total)
	}
	for i, r := range f.rows("a") {
		c := cases[i]
		var total money.Cents
		for _, cents := range c.lines {
			total += cents
		}
		if r.Cost.Amount != total || !r.Cost.IsKnown() || charged[r.Company] != total {
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
func TestEINThatIsThere(t *testing.T) {
	t.Parallel()
	f := newFirm(t, servers{}, sandbox.Config{})
	f.know(sandbox.Company{ID: "comp_0", EIN: "12-3456789"})
	f.know(sandbox.Company{ID: "comp_1", EINRequested: true})
	f.know(sandbox.Company{ID: "comp_2"})
	var all []*filing.Request
	for i := range 3 {
		all = append(all, existing(i, filing.EIN, func(o *filing.Order) { o.EIN = einItem() }))
	}
	all = append(all, existing(2, filing.EIN, func(o *filing.Order) { o.EIN = einItem() }))
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
	f.wantPosts("/v1/orders", 3)
	f.agree("a")
}

// A 409 for the qualification leaves the agent, which is ordered alone.
func TestAgentOfAQualificationThatIsThere(t *testing.T) {
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
	both := func(o *filing.Order) {
		orderAgent(o)
		o.FilingState, o.ForeignQualification = "CA", &filing.QualificationItem{}
	}
	f.add("a", existing(0, filing.ForeignQualification, both),
		of(existing(1, filing.ForeignQualification, both), func(o *filing.Order) { o.EIN = einItem() }))
	f.placeRest("a")
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
func TestAgentThatIsActive(t *testing.T) {
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
	for i, c := range []struct {
		company string
		change  func(*filing.Order)
		result  filing.Result
		cost    money.Cents
	}{
		{"comp_0", orderAgent, filing.Exists, 0},
		{"comp_0", func(o *filing.Order) {
			orderAgent(o)
			o.AnnualReport = &filing.AnnualReportItem{FilingYear: "2026"}
		}, filing.Placed, reported},
		{formed, orderAgent, filing.Exists, 0},
		{formed, func(o *filing.Order) { o.EIN = einItem() }, filing.Exists, 0},
		{formed, func(o *filing.Order) { o.AnnualReport = &filing.AnnualReportItem{FilingYear: "2026"} },
			filing.Exists, 0},
		{formed, func(o *filing.Order) { o.AnnualReport = &filing.AnnualReportItem{FilingYear: "2027"} },
			filing.Skipped, 0},
		{formed, func(o *filing.Order) { orderAgent(o); o.FilingState = "CA" }, filing.Placed, priceAgent},
		{formed, func(o *filing.Order) {
			orderAgent(o)
			o.FilingState, o.ForeignQualification = "CA", &filing.QualificationItem{}
		}, filing.Placed, priceFQ + feeFQ},
	} {
		batch := fmt.Sprint("later ", i)
		r := existing(0, filing.RegisteredAgent, c.change)
		r.Company.Ref = c.company
		f.add(batch, r)
		sent := f.posts("/v1/orders")
		f.run(batch)
		got := f.rows(batch)[0]
		if got.Result != c.result || got.Result == filing.Placed && got.Cost.Amount != c.cost ||
			(f.posts("/v1/orders") > sent) != (c.result == filing.Placed) {
			t.Errorf("%s: %s for %s, %d sent, want %s for %s: %s", batch, got.Result, got.Cost,
				f.posts("/v1/orders")-sent, c.result, c.cost, got.Message)
		}
	}
	f.agree("first", "later 0", "later 1", "later 2", "later 3", "later 4", "later 5", "later 6",
		"later 7")
}

// The number travels in the order alone, and is never asked back.
func TestNumberIsSentOnce(t *testing.T) {
	t.Parallel()
	f := newFirm(t, servers{}, sandbox.Config{AutoSeed: true})
	f.add("a", existing(0, filing.EIN, func(o *filing.Order) { o.EIN = einItem() }),
		of(formation(1), func(o *filing.Order) { o.EIN = einItem() }))
	f.placeRest("a")
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
func TestNumberSealedWithAnotherKey(t *testing.T) {
	for _, uncertain := range []bool{false, true} {
		t.Run(fmt.Sprintf("uncertain: %t", uncertain), func(t *testing.T) {
			t.Parallel()
			f := newFirm(t, servers{}, sandbox.Config{AutoSeed: true})
			request := existing(0, filing.EIN, func(o *filing.Order) { o.EIN = einItem() })
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
			f.wantPosts("/v1/orders", 0)
		})
	}
}
