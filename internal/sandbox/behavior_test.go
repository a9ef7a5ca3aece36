package sandbox

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
)

const both = report2026 + `,` + newAgent

// TestSpoiltSuccess looks at answers of success that do not say what was done.
func TestSpoiltSuccess(t *testing.T) {
	type item struct{ OrderType, OrderID, FilingStatus string }
	type answer struct {
		CompanyID string
		Items     []item
	}
	for _, tt := range []struct {
		kind    Kind
		made    []string // products in the books of the second order
		charged int64    // of both orders
		ok      func(first, second answer) bool
	}{
		{FaultListsFirst, []string{registeredAgent, annualReport}, 2 * (25_00 + 300_00 + 50_00),
			func(_, a answer) bool {
				return len(a.Items) == 1 && a.Items[0].OrderType == registeredAgent && a.Items[0].OrderID != ""
			}},
		{FaultMakesFirst, []string{registeredAgent}, 25_00 + 300_00 + 2*50_00, func(_, a answer) bool {
			return len(a.Items) == 1 && a.Items[0].OrderType == registeredAgent && a.Items[0].OrderID != ""
		}},
		{FaultNoLastID, []string{registeredAgent, annualReport}, 2 * (25_00 + 300_00 + 50_00), func(_, a answer) bool {
			return len(a.Items) == 2 && a.Items[0].OrderID != "" && a.Items[1].OrderID == ""
		}},
		{FaultRepeatedID, []string{registeredAgent, annualReport}, 2 * (25_00 + 300_00 + 50_00),
			func(first, a answer) bool {
				return a.Items[0].OrderID == first.Items[0].OrderID && a.Items[1].OrderID == first.Items[0].OrderID
			}},
		{FaultOtherCompany, []string{registeredAgent, annualReport}, 2 * (25_00 + 300_00 + 50_00),
			func(_, a answer) bool {
				return a.CompanyID != "" && a.CompanyID != "comp_filed"
			}},
		{FaultOddText, []string{registeredAgent, annualReport}, 2 * (25_00 + 300_00 + 50_00), func(_, a answer) bool {
			return strings.Contains(a.Items[0].FilingStatus, "\x00") && a.Items[0].OrderID != ""
		}},
	} {
		t.Run(string(tt.kind), func(t *testing.T) {
			b := newBench(t, Config{Faults: []Fault{{Kind: tt.kind, Nth: 2}}})
			var first, second answer
			b.order(`"companyId":"comp_bare",`+both).decode(t, &first)
			b.order(`"companyId":"comp_filed",`+both).decode(t, &second)
			if len(first.Items) != 2 || !tt.ok(first, second) {
				t.Errorf("answers %+v and %+v", first, second)
			}
			books := b.Books()
			var made []string
			for _, i := range books.Orders[1].Items {
				made = append(made, i.Product)
			}
			if !slices.Equal(made, tt.made) || books.Charged != tt.charged {
				t.Errorf("made %v, charged %d; want %v, %d", made, books.Charged, tt.made, tt.charged)
			}
		})
	}
	t.Run("odd bytes in a refusal", func(t *testing.T) {
		b := newBench(t, Config{Faults: []Fault{{Kind: FaultOddText}}})
		if r := b.order(`"companyId":"comp_none",` + report2026); r.status != 404 || !bytes.Contains(r.body, oddText) {
			t.Errorf("got %d %q", r.status, r.body)
		}
	})
}

// TestBehaviors holds each behavior against the reading that stands without it.
func TestBehaviors(t *testing.T) {
	const held, bare, filed = `"companyId":"comp_held",`, `"companyId":"comp_bare",`, `"companyId":"comp_filed",`
	charged := func(b *bench) any { return b.Books().Charged }
	tried := map[Behavior]bool{EINsExist: true} // by TestEINsExist
	for _, tt := range []struct {
		behavior    Behavior
		do          func(b *bench) any
		without, on any
	}{
		{SlowAgents, func(b *bench) any {
			b.mustOrder(bare + newAgent)
			b.mustOrder(bare + newAgent)
			b.AdvanceAll(t.Context(), "filed")
			b.mustOrder(bare + newAgent)
			return b.Books().Charged
		}, int64(50_00), int64(100_00)},
		{PartialConflicts, func(b *bench) any {
			if r := b.order(filed + einOrder + `,` + newAgent); r.status != http.StatusConflict {
				t.Errorf("got %d", r.status)
			}
			return b.Books().Charged
		}, int64(0), int64(50_00)},
		{Surcharge, func(b *bench) any { b.mustOrder(held + report2026); return b.Books().Charged }, int64(325_00),
			int64(357_50)},
		{PriceRise, func(b *bench) any {
			b.mustOrder(held + report2026)
			var list struct {
				Prices []struct {
					Type            string
					WholesaleAmount json.Number
				}
			}
			b.do("GET", "/v1/organization/prices", "").decode(t, &list)
			for _, p := range list.Prices {
				if p.Type == annualReport {
					return [2]any{b.Books().Charged, p.WholesaleAmount.String()}
				}
			}
			return nil
		}, [2]any{int64(325_00), "25"}, [2]any{int64(327_50), "27.50"}},
		{RefundCanceled, func(b *bench) any {
			b.mustOrder(held + report2026)
			b.AdvanceAll(t.Context(), "canceled")
			return b.Books().Charged
		}, int64(325_00), int64(0)},
		{ChargeWhenFiled, func(b *bench) any {
			b.mustOrder(bare + both)
			before := charged(b)
			b.AdvanceAll(t.Context(), "filed")
			return [2]any{before, charged(b)}
		}, [2]any{int64(375_00), int64(375_00)}, [2]any{int64(50_00), int64(375_00)}},
		{NotFound400, func(b *bench) any { return b.do("GET", "/v1/companies/comp_none", "").status }, 404, 400},
		{DottedIDs, func(b *bench) any {
			b.mustOrder(held + report2026)
			return strings.ContainsAny(b.Books().Items()[0].ID, ".:")
		}, false, true},
		{ExactEmails, func(b *bench) any { return b.do("GET", "/v1/users/Ann@example.com", "").status }, 200, 404},
		{NoReportWithFormation, func(b *bench) any { return b.order(llc() + `,` + report2026).status }, 201, 400},
		{EventDetails, func(b *bench) any {
			b.mustOrder(held + report2026)
			events, err := b.SetSubscription(t.Context(), b.Books().Items()[0].ID, "past_due")
			if err != nil {
				t.Error(err)
			}
			if len(events) == 0 {
				return 0
			}
			var e struct{ Data map[string]any }
			if err := json.Unmarshal(events[0].Body, &e); err != nil {
				t.Error(err)
			}
			return [4]any{e.Data["companyId"], e.Data["filingState"], e.Data["filingYear"],
				e.Data["subscriptionStatus"]}
		}, 0, [4]any{"comp_held", "DE", "2026", "past_due"}},
	} {
		tried[tt.behavior] = true
		t.Run(string(tt.behavior), func(t *testing.T) {
			if got := tt.do(newBench(t, Config{})); got != tt.without {
				t.Errorf("without it: got %v, want %v", got, tt.without)
			}
			if got := tt.do(newBench(t, Config{Behaviors: []Behavior{tt.behavior}})); got != tt.on {
				t.Errorf("with it: got %v, want %v", got, tt.on)
			}
		})
	}
	for _, b := range behaviors {
		if !tried[b] {
			t.Errorf("nothing tries %s", b)
		}
	}
}

func TestEINsExist(t *testing.T) {
	b := newBench(t, Config{AutoSeed: true, Behaviors: []Behavior{EINsExist},
		Faults: []Fault{{Kind: FaultReset, After: true, Nth: 1}}})
	_, _ = b.raw(orderBody(`"companyId":"comp_new",` + einOrder))
	r := b.order(`"companyId":"comp_new",` + einOrder)
	if r.status != http.StatusConflict || r.message(t) != "EIN already exists for this company" ||
		len(b.Books().Orders) != 0 {
		t.Errorf("got %d %s", r.status, r.body)
	}
	b.SetBehavior(EINsExist, false)
	b.mustOrder(`"companyId":"comp_newer",` + einOrder)
	if err := b.SetEIN("comp_newer", "12-3456789"); err != nil {
		t.Error(err)
	}
	if r := b.order(`"companyId":"comp_newer",` + einOrder); r.message(t) != "EIN already exists for this company" {
		t.Errorf("got %s", r.body)
	}
}

// TestRenewal looks at a report that the service makes by itself, for the year
// after the newest.
func TestRenewal(t *testing.T) {
	b := newBench(t, Config{})
	b.mustOrder(`"companyId":"comp_held",` + report2026)
	bought := b.Books().Items()[0]
	for _, year := range []string{"2027", "2028"} {
		item, events, err := b.Renew(t.Context(), bought.ID)
		if err != nil || item.Year != year || item.Status != pending || item.ID == bought.ID || len(events) != 1 ||
			events[0].OrderID != item.ID {
			t.Errorf("got %+v, %v, %v", item, events, err)
		}
	}
	books := b.Books()
	if books.Charged != 3*325_00 || len(books.Duplicates()) != 0 || !books.Orders[1].Renewal {
		t.Errorf("books %+v", books)
	}
	if _, err := b.SetSubscription(t.Context(), bought.ID, "canceled"); err != nil {
		t.Error(err)
	}
	if _, _, err := b.Renew(t.Context(), bought.ID); err == nil {
		t.Error("a canceled subscription renews")
	}
}

// TestBehaviorControls tries the controls, each by what it changes.
func TestBehaviorControls(t *testing.T) {
	b := newBench(t, Config{})
	b.mustOrder(`"companyId":"comp_held",` + report2026)
	for _, tt := range []struct {
		path, body string
		status     int
		want       string
	}{
		{"behavior", `{"behavior": "slow-agents"}`, 200, `"slow-agents"`},
		{"behavior", `{"behavior": "slow-agents", "off": true}`, 200, `"behaviors":[]`},
		{"behavior", `{"behavior": "kindness"}`, 400, "must be one of slow-agents"},
		{"ein", `{"companyId": "comp_bare", "ein": "12-3456789"}`, 200, "12-3456789"},
		{"ein", `{"companyId": "comp_none", "ein": "12-3456789"}`, 404, "no such company"},
		{"renew", `{"all": true}`, 200, `"moved":1`},
		{"subscription", `{"all": true, "status": "past_due"}`, 200, `"moved":1`},
		{"subscription", `{"all": true, "status": "lapsed"}`, 400, "must be one of active"},
		{"renew", `{"all": true}`, 200, `"moved":0`},
		{"renew", `{"orderId": "order_none"}`, 404, "no such order"},
	} {
		r := b.do("POST", "/admin/"+tt.path, tt.body)
		if r.status != tt.status || !strings.Contains(string(r.body), tt.want) {
			t.Errorf("%s %s: got %d %s, want %d with %s", tt.path, tt.body, r.status, r.body, tt.status, tt.want)
		}
	}
	if got := b.Companies()[0]; got.ID != "comp_bare" || got.EIN != "12-3456789" {
		t.Errorf("got %+v", got)
	}
}
