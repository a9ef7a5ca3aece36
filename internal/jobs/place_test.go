package jobs_test

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/sandbox"
)

// Every row is placed once, and the books agree to the cent; the same batch
// again buys nothing, and neither does an overlapping one.
func TestPlaceOnce(t *testing.T) {
	onBothTransports(t, func(t *testing.T, on servers) {
		placeOnce(newFirm(t, on, sandbox.Config{AutoSeed: true}))
		if on.database != "" {
			return // the second style would find the first one's purchases
		}
		placeOnce(newFirm(t, on, sandbox.Config{
			AutoSeed:       true,
			OrderTypes:     sandbox.Camel,
			Success:        200,
			ShuffleItems:   true,
			NestedErrors:   true,
			AutoEntityType: "CORP",
		}))
	})
}

func placeOnce(f *firm) {
	f.place("a", requests(100, report, reportAndAgent, reportWithAgent, agentChange)...)
	f.agree("a")
	for _, r := range f.rows("a") {
		f.wantItems(r)
	}
	posts := f.posts("/orders")
	f.finish("a")
	overlapping := requests(104, report, reportAndAgent, reportWithAgent, agentChange)
	slices.Reverse(overlapping)
	f.add("b", overlapping...)
	f.finish("b")
	f.want("b", ledger.Counts{filing.Placed: 4, filing.Exists: 100})
	f.agree("a", "b")
	if n := f.posts("/orders") - posts; n != 4 {
		f.Errorf("%d more orders were sent, want 4", n)
	}
	for _, r := range f.rows("b") {
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
	if len(r.Items) != len(products) || r.Attempts != 1 || r.Cost.Certainty != certaintyOf(r) {
		f.Errorf("%+v", r)
	}
	for _, i := range r.Items {
		if !slices.Contains(products, i.Product) || i.OrderID == "" || i.FilingStatus != "submitted" {
			f.Errorf("%+v", i)
		}
	}
}

// changesOfOtherAgents requests n changes of agent, each of a company that has an agent of another
// service.
func (f *firm) changesOfOtherAgents(n int) []*filing.Request {
	all := requests(n, agentChange)
	for _, r := range all {
		f.service.AddCompany(sandbox.Company{
			ID:     r.Company.Ref,
			UserID: "user_x",
			Agents: map[string]sandbox.Agent{"DE": sandbox.OtherAgent},
		})
	}
	return all
}

func TestUsers(t *testing.T) {
	f := newFirm(t, servers{}, sandbox.Config{Latency: 5 * time.Millisecond})
	f.service.AddUser(sandbox.User{Email: "bo@example.com", PhoneNumber: "+12125550100"})
	f.service.AddUser(sandbox.User{Email: "taken@example.com", Elsewhere: true})
	all := f.changesOfOtherAgents(50)
	for i, r := range all {
		r.User = []filing.UserRef{
			{Email: "ana@example.com", Name: "Ana Lima", Phone: "+12125550101"}, // created
			{Email: "bo@example.com"},                                    // there
			{Email: "nobody@example.com"},                                // not there, and no name to create it
			{Email: "cy@example.com", Name: "Cy", Phone: "+12125550100"}, // the phone number is Bo's
			{Email: "taken@example.com", Name: "Di"},                     // the e-mail is another organization's
		}[i%5]
	}
	f.add("a", all...)
	f.run("a")
	f.want("a", ledger.Counts{filing.Placed: 20, filing.Rejected: 30})
	for i, r := range f.rows("a") {
		want := []string{"placed", "placed", "User Name", "phone number +12125550100", "the email"}[i%5]
		if !strings.Contains(r.Message, want) {
			t.Errorf("%s: %s", r.Request.User.Email, r.Message)
		}
	}
	if u, err := f.client().User(t.Context(), "ana@example.com"); err != nil || u.FullName != "Ana Lima" {
		t.Errorf("%+v, %v", u, err)
	}
	if n := f.service.Books().Lookups["/v1/users/bo@example.com"]; n != 1 {
		t.Errorf("one user was asked for %d times", n)
	}
	f.agree("a")
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
			f := newFirm(t, servers{}, sandbox.Config{
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
			f.place("a", request)
			f.must(f.Audit(t.Context()))
			r := f.rows("a")[0]
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
				f.agree("a")
			}
		})
	}
}

// answering returns a firm whose service gives one answer to every order.
func answering(t *testing.T, items string) *firm {
	f := newFirm(t, servers{}, sandbox.Config{AutoSeed: true})
	mux := http.NewServeMux()
	mux.Handle("/", f.service.Handler())
	mux.HandleFunc("POST /v1/orders", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"companyId":"comp_1","items":[%s]}`, items)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	f.url = server.URL + "/v1"
	return f
}

// Items are those of the product that the service names, and what was not ordered is said.
func TestItemsMatchByProduct(t *testing.T) {
	const report1, agent2 = `{"orderType":"annual_report","orderId":"order_1"}`,
		`{"orderType":"registered_agent","orderId":"order_2"}`
	for name, c := range map[string]struct {
		items string
		want  filing.Result
		says  string
	}{
		"another product": {agent2, filing.Uncertain, "order_2 (registered_agent), which was not ordered"},
		"two reports": {report1 + `,{"orderType":"annual_report","orderId":"order_3"}`, filing.Placed,
			"order_3 (annual_report), which was not ordered"},
		"one order twice": {report1 + "," + report1, filing.Placed, "placed"},
		"one more": {report1 + "," + agent2, filing.Placed,
			"order_2 (registered_agent), which was not ordered"},
		"a type that is not listed": {`{"orderType":"yearly_thing","orderId":"order_1"}`, filing.Placed, "placed"},
	} {
		t.Run(name, func(t *testing.T) {
			f := answering(t, c.items)
			f.add("a", report(1))
			f.finish("a")
			row := f.rows("a")[0]
			if row.Result != c.want || !strings.Contains(row.Message, c.says) {
				t.Errorf("%s: %s", row.Result, row.Message)
			}
			ids := make(map[string]bool)
			for _, i := range row.Items {
				if i.Product == filing.AnnualReport && i.OrderID != "order_1" || ids[i.OrderID] {
					t.Errorf("%+v", i)
				}
				ids[i.OrderID] = true
			}
		})
	}
}
