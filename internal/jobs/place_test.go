package jobs_test

import (
	"fmt"
	"maps"
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

const rich = 1_000_000_00

// Every row is placed once, and the books agree to the cent; the same batch
// again buys nothing, and neither does an overlapping one.
func TestPlaceOnce(t *testing.T) {
	onBothTransports(t, func(t *testing.T, on servers) {
		placeOnce(newFirm(t, on, sandbox.Config{OpeningBalance: rich, AutoSeed: true}))
		if on.database != "" {
			return // the second style would find the first one's purchases
		}
		placeOnce(newFirm(t, on, sandbox.Config{
			OpeningBalance: rich,
			AutoSeed:       true,
			OrderTypes:     sandbox.Camel,
			Success:        200,
			ShuffleItems:   true,
			Errors:         sandbox.NestedErrors,
			AutoEntityType: "CORP",
		}))
	})
}

func placeOnce(f *firm) {
	l := f.openLedger()
	finish := func(batch string) {
		f.Helper()
		if end := f.run(l, batch, patient); end.Reason != jobs.Finished {
			f.Fatalf("%+v", end)
		}
	}
	f.add(l, "a", requests(100, report, reportAndAgent, reportWithAgent, agentChange)...)
	finish("a")
	f.want(l, "a", ledger.Counts{filing.Placed: 100})
	f.agree(l, "a")
	for _, r := range f.rows(l, "a") {
		f.wantItems(r)
	}
	posts := len(f.seen("POST", "/v1/orders"))
	finish("a")
	overlapping := requests(104, report, reportAndAgent, reportWithAgent, agentChange)
	slices.Reverse(overlapping)
	f.add(l, "b", overlapping...)
	finish("b")
	f.want(l, "b", ledger.Counts{filing.Placed: 4, filing.Exists: 100})
	f.agree(l, "a", "b")
	if n := len(f.seen("POST", "/v1/orders")) - posts; n != 4 {
		f.Errorf("%d more orders were sent, want 4", n)
	}
	for _, r := range f.rows(l, "b") {
		if r.Result == filing.Exists &&
			(len(r.Items) == 0 || r.Items[0].OrderID == "" || r.Items[0].Cost.Amount != 0) {
			f.Errorf("the answer of a row bought before lacks its orders: %+v", r)
		}
	}
}

// wantItems checks that a placed row has an order for each of its products, of
// one attempt, at a known price.
func (f *firm) wantItems(r ledger.Row) {
	f.Helper()
	products := r.Request.Order.Products()
	if len(r.Items) != len(products) || r.Attempts != 1 || !r.Cost.IsKnown() {
		f.Errorf("%+v", r)
	}
	for _, i := range r.Items {
		if !slices.Contains(products, i.Product) || i.OrderID == "" || i.FilingStatus != "submitted" {
			f.Errorf("%+v", i)
		}
	}
}

// One look-up per user and per company, however many rows name them.
func TestOneLookUpEach(t *testing.T) {
	f := newFirm(t, servers{}, sandbox.Config{OpeningBalance: rich, AutoSeed: true, Latency: 5 * time.Millisecond})
	f.timeout = time.Minute // a busy machine is no lost answer
	l := f.openLedger()
	changes := requests(300, agentChange)
	for i, r := range changes {
		r.User = filing.UserRef{Email: fmt.Sprintf("person%d@example.com", i%4)}
	}
	f.add(l, "changes", changes...)
	var reports []*filing.Request
	for i, state := range filing.States() {
		for _, ref := range []string{"harbor-light", "comp_0"} {
			r := report(0)
			r.Company.Ref, r.Order.FilingState = ref, state
			r.User = filing.UserRef{Email: fmt.Sprintf("person%d@example.com", i%4)}
			reports = append(reports, r)
		}
	}
	f.add(l, "reports", reports...)
	for _, batch := range []string{"changes", "reports"} {
		f.run(l, batch, patient)
		f.want(l, batch, ledger.Counts{filing.Placed: len(f.rows(l, batch))})
	}
	books := f.service.Books()
	if len(books.Lookups) != 6 {
		t.Errorf("%v", books.Lookups)
	}
	for path, n := range books.Lookups {
		if n != 1 {
			t.Errorf("%s was asked for %d times", path, n)
		}
	}
	// A later run remembers.
	f.add(l, "later", requests(310, agentChange)[300:]...)
	f.run(l, "later", patient)
	if len(f.service.Books().Lookups) != 6 {
		t.Errorf("%v", f.service.Books().Lookups)
	}
}

// A company that lacks what the state's fee depends on is completed once, from
// the sheet; where the sheet does not say, the row says what to fill in.
func TestIncompleteCompany(t *testing.T) {
	f := newFirm(t, servers{}, sandbox.Config{OpeningBalance: rich, Latency: 5 * time.Millisecond})
	f.service.AddUser(sandbox.User{ID: "user_1"})
	agents := make(map[string]sandbox.Agent)
	for _, s := range filing.States() {
		agents[string(s)] = sandbox.ActiveService
	}
	f.service.AddCompany(sandbox.Company{ID: "comp_0", UserID: "user_1", Agents: agents})
	f.service.AddCompany(sandbox.Company{ID: "comp_1", UserID: "user_1", EntityType: "LLC", Agents: agents})
	f.service.AddCompany(sandbox.Company{ID: "comp_2", UserID: "user_1", FormationState: "DE", Agents: agents})
	l := f.openLedger()
	var all []*filing.Request
	for _, s := range filing.States()[:20] {
		for i := range 3 {
			r := report(i)
			r.Order.FilingState = s
			r.Company.Sheet = filing.Company{EntityType: filing.Corp, FormationState: "NV"}
			if i == 2 {
				r.Company.Sheet.EntityType = ""
			}
			all = append(all, r)
		}
	}
	f.add(l, "a", all...)
	f.run(l, "a", patient)
	f.want(l, "a", ledger.Counts{filing.Placed: 40, filing.Rejected: 20})
	for _, r := range f.rows(l, "a") {
		if r.Result == filing.Rejected &&
			(r.Request.Company.Ref != "comp_2" || !strings.Contains(r.Message, "Entity Type")) {
			t.Errorf("%s: %s", r.Request.Company.Ref, r.Message)
		}
	}
	if n := len(f.seen("PATCH", "/v1/companies/")); n != 2 {
		t.Errorf("%d completions, want one for each company", n)
	}
	for _, o := range f.service.Books().Orders {
		if fee := o.Items[0].Fee; o.CompanyID == "comp_0" && fee != feeCorp ||
			o.CompanyID == "comp_1" && fee != feeLLC {
			t.Errorf("%s was charged a fee of %d: what the service knew was overwritten, or not completed",
				o.CompanyID, fee)
		}
	}
}

// What one row's sheet does not say is no answer for another row of the company.
func TestIncompleteCompanyOfTwoRows(t *testing.T) {
	f := newFirm(t, servers{}, sandbox.Config{OpeningBalance: rich, Latency: 20 * time.Millisecond})
	f.service.AddUser(sandbox.User{ID: "user_1"})
	f.service.AddCompany(sandbox.Company{
		ID:             "comp_0",
		UserID:         "user_1",
		FormationState: "DE",
		Agents:         map[string]sandbox.Agent{"DE": sandbox.ActiveService, "NV": sandbox.ActiveService},
	})
	l := f.openLedger()
	silent, says := report(0), report(0)
	says.Order.FilingState, says.Company.Sheet.EntityType = "NV", filing.LLC
	f.add(l, "a", silent, says)
	f.run(l, "a", patient)
	rows := f.rows(l, "a")
	if rows[1].Result != filing.Placed {
		t.Errorf("%s: %s", rows[1].Result, rows[1].Message)
	}
}

func TestUsers(t *testing.T) {
	f := newFirm(t, servers{}, sandbox.Config{OpeningBalance: rich, Latency: 5 * time.Millisecond})
	f.service.AddUser(sandbox.User{Email: "bo@example.com", PhoneNumber: "+12125550100"})
	f.service.AddUser(sandbox.User{Email: "taken@example.com", Elsewhere: true})
	all := requests(50, agentChange)
	for i, r := range all {
		f.service.AddCompany(sandbox.Company{
			ID:     r.Company.Ref,
			UserID: "user_x",
			Agents: map[string]sandbox.Agent{"DE": sandbox.OtherAgent},
		})
		r.User = []filing.UserRef{
			{Email: "ana@example.com", Name: "Ana Lima", Phone: "+12125550101"}, // created
			{Email: "bo@example.com"},                                    // there
			{Email: "nobody@example.com"},                                // not there, and no name to create it
			{Email: "cy@example.com", Name: "Cy", Phone: "+12125550100"}, // the phone number is Bo's
			{Email: "taken@example.com", Name: "Di"},                     // the e-mail is another organization's
		}[i%5]
	}
	l := f.openLedger()
	f.add(l, "a", all...)
	f.run(l, "a", patient)
	f.want(l, "a", ledger.Counts{filing.Placed: 20, filing.Rejected: 30})
	for i, r := range f.rows(l, "a") {
		want := []string{"placed", "placed", "User Name", "phone number +12125550100", "the email"}[i%5]
		if !strings.Contains(r.Message, want) {
			t.Errorf("%s: %s", r.Request.User.Email, r.Message)
		}
	}
	created := 0
	for _, q := range f.seen("POST", "/v1/users") {
		if q.status == 201 {
			created++
		}
	}
	if created != 1 {
		t.Errorf("%d users were created", created)
	}
	f.agree(l, "a")
}

// What was bought with another order is left out, and the rest is ordered.
func TestBoughtBeforeIsLeftOut(t *testing.T) {
	f := newFirm(t, servers{}, sandbox.Config{OpeningBalance: rich, AutoSeed: true})
	l := f.openLedger()
	f.add(l, "agents", requests(10, agentChange)...)
	f.run(l, "agents", patient)
	f.add(l, "both", requests(10, reportAndAgent)...)
	f.run(l, "both", patient)
	f.want(l, "both", ledger.Counts{filing.Placed: 10})
	for _, r := range f.rows(l, "both") {
		if len(r.Items) != 1 || r.Items[0].Product != filing.AnnualReport ||
			!strings.Contains(r.Message, "bought before (row ") {
			t.Errorf("%+v", r)
		}
	}
	f.agree(l, "agents", "both")
}

// A 409 for one product: that item exists, the rest is sent without it.
func TestConflictOfOneProduct(t *testing.T) {
	f := newFirm(t, servers{}, sandbox.Config{OpeningBalance: rich})
	f.service.AddUser(sandbox.User{ID: "user_1"})
	l := f.openLedger()
	wages := "2026-01-31"
	ein := &filing.EINItem{
		BusinessCategory:            "Retail",
		BusinessPurpose:             "Selling bread",
		ApplicationReason:           "Banking purposes",
		FirstWagesDate:              &wages,
		ResponsiblePartyFirstName:   "Grace",
		ResponsiblePartyLastName:    "Okafor",
		ResponsiblePartyTitle:       "CEO",
		ResponsiblePartySSN:         "123456789",
		ResponsiblePartyPhoneNumber: "+12125550101",
	}
	all := requests(20, report)
	for i, r := range all {
		c := sandbox.Company{
			ID:             r.Company.Ref,
			UserID:         "user_1",
			EntityType:     "LLC",
			FormationState: "DE",
			Agents:         map[string]sandbox.Agent{"DE": sandbox.ActiveService},
		}
		r.Order.EIN = ein
		switch i % 4 {
		case 1:
			c.EIN = "12-3456789"
		case 2: // nothing is left
			c.EIN = "12-3456789"
			r.Order.AnnualReport = nil
		}
		f.service.AddCompany(c)
	}
	f.add(l, "a", all...)
	f.run(l, "a", patient)
	f.want(l, "a", ledger.Counts{filing.Placed: 15, filing.Exists: 5})
	for i, r := range f.rows(l, "a") {
		if n := []int{2, 1, 0, 2}[i%4]; len(r.Items) != n {
			t.Errorf("%d items: %+v", n, r)
		}
	}
	f.agree(l, "a")
}

// An annual subscription bought in an earlier batch covers the next season.
func TestCoveredBySubscription(t *testing.T) {
	f := newFirm(t, servers{}, sandbox.Config{OpeningBalance: rich, AutoSeed: true})
	l := f.openLedger()
	f.add(l, "season 1", requests(5, report)...)
	f.run(l, "season 1", patient)
	next := requests(10, report)
	for _, r := range next {
		r.Order.AnnualReport.FilingYear = "2027"
	}
	f.add(l, "season 2", next...)
	f.run(l, "season 2", patient)
	f.want(l, "season 2", ledger.Counts{filing.Placed: 5, filing.Skipped: 5})
	f.agree(l, "season 1", "season 2")
}

// After an attempt in doubt a 409 says that its product is there, and nothing
// of the rest: the rest is sent again, so that nothing is taken for ordered
// that is not.
func TestConflictAfterAnUncertainAnswer(t *testing.T) {
	for _, c := range []struct {
		name  string
		after bool // the lost attempt had been taken
	}{
		{"the lost attempt was taken", true},
		{"it was not, and somebody else had asked for the EIN", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newEnvironment(t, servers{}, sandbox.Config{
				Faults: []sandbox.Fault{{Kind: sandbox.FaultReset, After: c.after, Nth: 1}},
			})
			f.service.AddUser(sandbox.User{ID: "user_1"})
			f.service.AddCompany(sandbox.Company{
				ID:             "comp_0",
				UserID:         "user_1",
				EntityType:     "LLC",
				FormationState: "DE",
				EINRequested:   !c.after,
			})
			request := existing(0, filing.EIN, func(o *filing.Order) {
				orderAgent(o)
				o.EIN = einItem()
			})
			l := f.openLedger()
			f.add(l, "a", request)
			f.run(l, "a", patient)
			f.want(l, "a", ledger.Counts{filing.Placed: 1})
			f.must(l.Audit(t.Context()))
			r := f.rows(l, "a")[0]
			if want := map[filing.Product]money.Cents{filing.EIN: priceEIN,
				filing.RegisteredAgent: priceAgent}; !maps.Equal(costs(r), want) ||
				r.Cost.Amount != priceEIN+priceAgent {
				t.Errorf("the row cost %s: %v", r.Cost, costs(r))
			}
			if !strings.Contains(r.Message, "placed") {
				t.Error(r.Message)
			}
			agents := 0
			for _, i := range f.service.Books().Items() {
				if i.Product == "registered_agent" {
					agents++
				}
			}
			if agents == 0 {
				t.Error("the agent was never ordered, and the row says placed")
			}
			if c.after {
				f.checkAgainstBooks(l, "a")
			}
		})
	}
}
