package jobs_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/jobs"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/sandbox"
)

// costs sums the items of a row up by product.
func costs(r ledger.Row) map[filing.Product]money.Cents {
	all := make(map[filing.Product]money.Cents)
	for _, i := range r.Items {
		all[i.Product] += i.Cost.Amount
	}
	return all
}

// of changes a request.
func of(r *filing.Request, change func(*filing.Order)) *filing.Request {
	change(&r.Order)
	return r
}

// existing asks something for a company that the service knows.
func existing(i int, product filing.Product, change func(*filing.Order)) *filing.Request {
	r := report(i)
	r.Product, r.Order.AnnualReport = product, nil
	return of(r, change)
}

func orderAgent(o *filing.Order) { o.RegisteredAgent = &filing.RegisteredAgentItem{} }

// Each product and combination costs what the billing rules say, to the cent,
// in the ledger, in its items and in the service's books.
// Source: spec section 4, Billing rules and rules 6 and 8.
func TestWhatEachProductCosts(t *testing.T) {
	t.Parallel()
	f := newEnvironment(t, servers{}, sandbox.Config{ShuffleItems: true})
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
	l := f.openLedger()
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
	f.add(l, "a", all...)
	if end := f.run(l, "a", patient); end.Reason != jobs.Finished {
		t.Fatalf("%+v", end)
	}
	f.want(l, "a", ledger.Counts{filing.Placed: len(all)})
	charged := make(map[string]money.Cents)
	for _, o := range f.service.Books().Orders {
		charged[o.CompanyID] = money.Cents(o.Total)
	}
	for i, r := range f.rows(l, "a") {
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
	f.checkAgainstBooks(l, "a")
}

// "EIN already exists" and "already requested" are told apart for the reader.
// Nothing is bought, and the row says so.
func TestEINThatIsThere(t *testing.T) {
	t.Parallel()
	f := newEnvironment(t, servers{}, sandbox.Config{})
	f.service.AddUser(sandbox.User{ID: "user_1"})
	f.service.AddCompany(sandbox.Company{ID: "comp_0", UserID: "user_1", EIN: "12-3456789"})
	f.service.AddCompany(sandbox.Company{ID: "comp_1", UserID: "user_1", EINRequested: true})
	f.service.AddCompany(sandbox.Company{ID: "comp_2", UserID: "user_1"})
	l := f.openLedger()
	var all []*filing.Request
	for i := range 3 {
		all = append(all, existing(i, filing.EIN, func(o *filing.Order) { o.EIN = einItem() }))
	}
	all = append(all, existing(2, filing.EIN, func(o *filing.Order) { o.EIN = einItem() }))
	f.add(l, "a", all...)
	f.run(l, "a", patient)
	f.want(l, "a", ledger.Counts{filing.Exists: 3, filing.Placed: 1})
	rows := f.rows(l, "a")
	for i, says := range []string{"EIN already exists for this company", "EIN already requested for this company"} {
		if r := rows[i]; !strings.Contains(r.Message, says) || r.Cost.Amount != 0 ||
			slices.ContainsFunc(r.Items, func(i ledger.Item) bool { return i.OrderID != "" }) {
			t.Errorf("%+v", r)
		}
	}
	if n := f.posts("/v1/orders"); n != 3 {
		t.Errorf("%d orders were sent, want 3", n)
	}
	f.checkAgainstBooks(l, "a")
}

// A 409 for the qualification leaves the agent, which is ordered alone.
func TestAgentOfAQualificationThatIsThere(t *testing.T) {
	t.Parallel()
	f := newEnvironment(t, servers{}, sandbox.Config{})
	f.service.AddUser(sandbox.User{ID: "user_1"})
	f.service.AddCompany(sandbox.Company{
		ID:             "comp_0",
		UserID:         "user_1",
		EntityType:     "LLC",
		FormationState: "DE",
		Qualified:      []string{"CA"},
	})
	f.service.AddCompany(sandbox.Company{
		ID:             "comp_1",
		UserID:         "user_1",
		EntityType:     "LLC",
		FormationState: "DE",
		Qualified:      []string{"CA"},
		EIN:            "12-3456789",
	})
	l := f.openLedger()
	both := func(o *filing.Order) {
		orderAgent(o)
		o.FilingState, o.ForeignQualification = "CA", &filing.QualificationItem{}
	}
	f.add(l, "a", existing(0, filing.ForeignQualification, both),
		of(existing(1, filing.ForeignQualification, both), func(o *filing.Order) { o.EIN = einItem() }))
	f.run(l, "a", patient)
	f.want(l, "a", ledger.Counts{filing.Placed: 2})
	for i, r := range f.rows(l, "a") {
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
	f.checkAgainstBooks(l, "a")
}

// Agent service that the ledger knows to be active is not ordered again, however
// it was bought: by itself, or with the formation of the company.
func TestAgentThatIsActive(t *testing.T) {
	t.Parallel()
	f := newEnvironment(t, servers{}, sandbox.Config{})
	f.service.AddUser(sandbox.User{ID: "user_1"})
	f.service.AddCompany(sandbox.Company{ID: "comp_0", UserID: "user_1", EntityType: "LLC", FormationState: "DE"})
	l := f.openLedger()
	f.add(l, "first", existing(0, filing.RegisteredAgent, orderAgent),
		of(formation(1), func(o *filing.Order) {
			o.FilingState, o.EIN, o.AnnualReport = "DE", einItem(), &filing.AnnualReportItem{FilingYear: "2026"}
		}))
	f.run(l, "first", patient)
	f.want(l, "first", ledger.Counts{filing.Placed: 2})
	formed := f.rows(l, "first")[1].Company

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
		f.add(l, batch, r)
		sent := f.posts("/v1/orders")
		f.run(l, batch, patient)
		got := f.rows(l, batch)[0]
		if got.Result != c.result || got.Result == filing.Placed && got.Cost.Amount != c.cost ||
			(f.posts("/v1/orders") > sent) != (c.result == filing.Placed) {
			t.Errorf("%s: %s for %s, %d sent, want %s for %s: %s", batch, got.Result, got.Cost,
				f.posts("/v1/orders")-sent, c.result, c.cost, got.Message)
		}
	}
	f.checkAgainstBooks(l, "first", "later 0", "later 1", "later 2", "later 3", "later 4", "later 5", "later 6",
		"later 7")
}

// The number travels in the order alone, and is never asked back.
func TestNumberIsSentOnce(t *testing.T) {
	t.Parallel()
	f := newEnvironment(t, servers{}, sandbox.Config{AutoSeed: true})
	l := f.openLedger()
	f.add(l, "a", existing(0, filing.EIN, func(o *filing.Order) { o.EIN = einItem() }),
		of(formation(1), func(o *filing.Order) { o.EIN = einItem() }))
	f.run(l, "a", patient)
	f.want(l, "a", ledger.Counts{filing.Placed: 2})
	for _, o := range f.service.Books().Orders {
		if !strings.Contains(string(o.Raw), `"responsiblePartySsn":"078051120"`) {
			t.Errorf("%s", o.Raw)
		}
	}
	for _, r := range f.rows(l, "a") {
		if _, err := l.Unseal(t.Context(), r); err == nil {
			t.Errorf("row %d keeps its number", r.Number)
		}
	}
}

// A number that cannot be opened any more is asked for again; the order is not
// sent without it.
func TestNumberSealedWithAnotherKey(t *testing.T) {
	t.Parallel()
	f := newEnvironment(t, servers{}, sandbox.Config{AutoSeed: true})
	l := f.openLedger()
	f.add(l, "a", existing(0, filing.EIN, func(o *filing.Order) { o.EIN = einItem() }))
	f.must(l.Close())
	l, err := ledger.Open(t.Context(), ledger.Config{Dir: f.dir, SealKey: strings.Repeat("0e", 32)})
	f.must(err)
	defer l.Close()
	f.run(l, "a", patient)
	f.want(l, "a", ledger.Counts{filing.Rejected: 1})
	if r := f.rows(l, "a")[0]; !strings.Contains(r.Message, "run the sheet with the number again") ||
		f.posts("/v1/orders") != 0 {
		t.Errorf("%+v", r)
	}
}

// The same where an attempt is in doubt already: nobody can send it again, so a
// person decides, and the money stays held.
func TestNumberOfAnUncertainRowSealedWithAnotherKey(t *testing.T) {
	t.Parallel()
	f := newEnvironment(t, servers{}, sandbox.Config{AutoSeed: true})
	l := f.openLedger()
	request := existing(0, filing.EIN, func(o *filing.Order) { o.EIN = einItem() })
	f.add(l, "a", request)
	order := request.Order
	order.CompanyID = request.Company.Ref
	r := f.rows(l, "a")[0]
	begun, err := l.Begin(t.Context(),
		ledger.Intent{
			Row:    r.ID,
			Claims: []ledger.Claim{{Product: filing.EIN, Key: order.Keys()[filing.EIN]}},
			Cost:   money.Cost{Amount: priceEIN},
		})
	f.must(err)
	f.must(l.RecordOutcome(t.Context(), ledger.Outcome{
		Row:        r.ID,
		Try:        begun.Try,
		Answer:     filing.Answer{Kind: filing.NoAnswer},
		Repeatable: true,
	}))
	f.must(l.Close())
	l, err = ledger.Open(t.Context(), ledger.Config{Dir: f.dir, SealKey: strings.Repeat("0e", 32)})
	f.must(err)
	defer l.Close()
	f.run(l, "a", patient)
	f.want(l, "a", ledger.Counts{filing.Uncertain: 1})
	if r := f.rows(l, "a")[0]; !strings.Contains(r.Message, "importer resolve") || r.Reserved != priceEIN ||
		f.posts("/v1/orders") != 0 {
		t.Errorf("%+v", r)
	}
}

// formationsOfAllKinds returns formations of both entity types in several states,
// with each kind of agent.
func formationsOfAllKinds(n int) []*filing.Request {
	var all []*filing.Request
	states := []filing.State{"WY", "DE", "FL", "NV", "NY", "AZ"}
	for i := range n {
		r := formation(i)
		o := &r.Order
		o.FilingState = states[i%len(states)]
		switch i % 4 {
		case 1:
			o.RegisteredAgent, o.Formation.RegisteredAgent = nil, supplied(o.FilingState)
		case 2:
			o.RegisteredAgent, o.Formation.RegisteredAgent = nil, &filing.Agent{
				Type:      filing.Person,
				FirstName: "Ruth",
				LastName:  "Clay",
				Street:    "1 Main St",
				City:      "Dover",
				State:     o.FilingState,
				ZIP:       "19901",
			}
			o.Formation.Expedited = true
		case 3:
			corporation(r, 1+i/4%4)
		}
		o.Formation.Company.Officers = officers(o.Formation.Company.EntityType, 1+i/4%4)
		all = append(all, r)
	}
	return all
}

// wantExisting checks a row that orders what the service had already: nothing was
// bought but the agent, where the row orders one.
func (f *firm) wantExisting(r ledger.Row) {
	f.Helper()
	want := filing.Exists
	if r.Request.Order.RegisteredAgent != nil {
		want = filing.Placed // the agent alone
	}
	if r.Result != want || (want == filing.Placed && (r.Cost.Amount != priceAgent || len(r.Items) != 1)) {
		f.Errorf("row %d is %s for %s, want %s: %s", r.Number, r.Result, r.Cost, want, r.Message)
	}
}

// resolveAll resolves the uncertain rows of a batch as a person does, and runs it
// again, until none is left.
func (f *firm) resolveAll(l *ledger.Ledger, batch string) {
	f.Helper()
	for range 4 {
		uncertain, err := l.UncertainRows(f.Context(), batch)
		f.must(err)
		if len(uncertain) == 0 {
			return
		}
		f.Logf("%d rows are uncertain", len(uncertain))
		f.service.ClearFaults() // the person's own look-ups get answers
		f.resolveByTheBooks(l, uncertain)
		f.run(l, batch, patient)
	}
}

// Hundreds of rows of every product and party, under faults before and after the
// order is made and under kills: every row is right, every cent is, and nothing
// is there twice.
func TestEveryProductUnderFaultsAndKills(t *testing.T) {
	if testing.Short() {
		t.Skip("skipping a long test in short mode")
	}
	t.Parallel()
	const formations, eins, qualifications, bundles = 80, 60, 60, 40
	f := newEnvironment(t, servers{}, sandbox.Config{Latency: 10 * time.Millisecond, Seed: 11, ShuffleItems: true})
	f.service.AddUser(sandbox.User{ID: "user_1"})
	all := formationsOfAllKinds(formations)
	conflicts := make(map[string]bool) // companies of which the service has something already
	// A conflict after an attempt without an answer is taken for our own order,
	// see the table of answers. What the service has from elsewhere is therefore
	// a batch of its own, of which no answer is lost.
	var there []*filing.Request
	add := func(r *filing.Request, company string) {
		if conflicts[company] {
			there = append(there, r)
		} else {
			all = append(all, r)
		}
	}
	for i := range eins {
		c := sandbox.Company{ID: fmt.Sprintf("comp_%d", i), UserID: "user_1", EntityType: "LLC", FormationState: "DE"}
		switch i % 5 {
		case 1:
			c.EIN, conflicts[c.ID] = "12-3456789", true
		case 3:
			c.EINRequested, conflicts[c.ID] = true, true
		}
		f.service.AddCompany(c)
		add(existing(i, filing.EIN, func(o *filing.Order) { o.EIN = einItem() }), c.ID)
	}
	for i := range qualifications {
		n := 1000 + i
		c := sandbox.Company{
			ID:             fmt.Sprintf("comp_%d", n),
			UserID:         "user_1",
			EntityType:     "LLC",
			FormationState: "DE",
			Agents:         map[string]sandbox.Agent{},
		}
		r := existing(n, filing.ForeignQualification,
			func(o *filing.Order) { o.FilingState, o.ForeignQualification = "CA", &filing.QualificationItem{} })
		switch i % 3 {
		case 0:
			c.Agents["CA"] = sandbox.ActiveService
		case 1:
			r.Order.RegisteredAgent = &filing.RegisteredAgentItem{}
		case 2:
			r.Order.ForeignQualification.RegisteredAgent = supplied("CA")
		}
		if i%4 == 3 {
			c.Qualified, conflicts[c.ID] = []string{"CA"}, true
		}
		f.service.AddCompany(c)
		add(r, c.ID)
	}
	for i := range bundles {
		all = append(all, of(formation(1000+i), func(o *filing.Order) { o.EIN = einItem() }))
	}
	for i := range 8 {
		all = append(all, everything(i)...)
	}
	clean := func(_ *http.Request, body []byte) bool {
		var order struct{ CompanyID string }
		return json.Unmarshal(body, &order) == nil && !conflicts[order.CompanyID]
	}
	for _, fault := range append(everyFault(0.008),
		sandbox.Fault{Kind: sandbox.FaultReset, After: true, Endpoint: "POST /companies", Rate: 0.2},
		sandbox.Fault{Kind: sandbox.FaultReset, Endpoint: "POST /companies", Rate: 0.2}) {
		if fault.Endpoint == "" {
			fault.Match = clean
		}
		f.service.Inject(fault)
	}
	l := f.openLedger()
	f.add(l, "a", all...)
	f.add(l, "there", there...)
	f.run(l, "there", patient)
	for _, r := range f.rows(l, "there") {
		f.wantExisting(r)
	}
	for n := range 4 {
		sent := 40 * (n + 1)
		f.killed("a", func() bool {
			left, err := l.Unfinished(t.Context(), "a")
			f.must(err)
			return f.posts("/v1/orders") >= sent || left.Sendable+left.Later+left.Placing == 0
		})
	}
	f.run(l, "a", patient)
	f.resolveAll(l, "a")
	f.want(l, "a", ledger.Counts{filing.Placed: len(all)})
	f.checkAgainstBooks(l, "a", "there")
	books := f.service.Books()
	t.Logf("%d rows, %d orders, %d requests, %v", len(all), len(books.Orders), f.posts("/v1/orders"), books.Faults)
}
