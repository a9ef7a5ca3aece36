package sandbox

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/bulkfiling/bulkfiling/internal/goldentest"
)

// orderOf returns the body of an order of testdata/orders.json with changes.
func orderOf(t *testing.T, name string, changes ...string) string {
	return string(goldentest.Object(t, "testdata/orders.json", name, changes...))
}

// TestOrderRules has a line for each way to keep and to break an order rule of section 4.
func TestOrderRules(t *testing.T) {
	goldentest.Lines(t, "testdata/order_rules.txt", func(t *testing.T, fields []string) string {
		b := newBench(t, Config{})
		r := b.do("POST", "/v1/orders", orderOf(t, fields[0], fields[1:]...))
		books, broken := b.Books(), b.Violations()
		if r.status == 201 {
			if len(broken) > 0 || len(books.Orders) != 1 {
				t.Errorf("%q: %d orders, violations %v", fields, len(books.Orders), broken)
			}
			return "201"
		}
		if len(books.Orders) != 0 || books.Charged != 0 || books.Refused[r.status] != 1 {
			t.Errorf("%q: a refused order left %+v", fields, books)
		}
		result := fmt.Sprintf("%d %s", r.status, r.message(t))
		for _, v := range broken {
			result += fmt.Sprintf("; %s: %s", v.Rule, v.Message)
			if v.Hidden {
				result += " (hidden)"
			}
		}
		return result
	})
}

func TestExpeditedStates(t *testing.T) {
	offered := map[string]bool{"AZ": true, "DE": true, "FL": true, "NV": true, "NY": true, "WY": true}
	for _, state := range stateCodes {
		b := newBench(t, Config{})
		body := strings.ReplaceAll(orderBody(llc(`"expedited":false`, `"expedited":true`)), `"filingState":"DE"`,
			`"filingState":"`+state+`"`)
		r := b.do("POST", "/v1/orders",
			strings.Replace(body, `"addressState":"DE"`, `"addressState":"`+state+`"`, 1))
		if (r.status == 201) != offered[state] ||
			r.status != 201 && r.message(t) != "Expedited formation is not available for the selected state and "+
				"entity type" {
			t.Errorf("%s: %d %s", state, r.status, r.body)
		}
	}
}

// TestBilling has a line for each billing rule of section 4.
func TestBilling(t *testing.T) {
	fees := []Fee{
		{formation, "", "", 90_00}, {formation, "DE", "LLC", 110_01}, {formation, "DE", "CORP", 109_00},
		{annualReport, "DE", "LLC", 300_07}, {annualReport, "DE", "", 1}, {foreignQualification, "DE", "", 200_33},
	}
	goldentest.Lines(t, "testdata/billing.txt", func(t *testing.T, fields []string) string {
		b := newBench(t, Config{Fees: fees})
		if r := b.do("POST", "/v1/orders", orderOf(t, fields[1], fields[2:]...)); r.status != 201 {
			t.Fatalf("got %d %s", r.status, r.body)
		}
		books := b.Books()
		var items []string
		var total int64
		for _, i := range books.Orders[0].Items {
			items = append(items, fmt.Sprintf("%s billed as %q: %d + %d + %d cents",
				i.Product, i.BilledAs, i.Price, i.Fee, i.Service))
			total += i.Amount()
		}
		if o := books.Orders[0]; o.Total != total || books.Charged != total || books.Balance != 10_000_00-total {
			t.Errorf("order %d, charged %d, balance %d, items %d", o.Total, books.Charged, books.Balance, total)
		}
		return strings.Join(items, ", ")
	})
	t.Run("wholesale override", func(t *testing.T) {
		prices := DefaultPrices()
		i := slices.IndexFunc(prices, func(p Price) bool { return p.Type == annualReport })
		prices[i].Wholesale = 12_34
		b := newBench(t, Config{Prices: prices, Fees: []Fee{}})
		b.mustOrder(heldReport)
		if got := b.Books().Charged; got != 12_34 {
			t.Errorf("charged %d", got)
		}
		if r := b.do("PUT", "/v1/organization/prices/annual_report", `{"retailAmount":12.33}`); r.status != 400 ||
			!strings.Contains(string(r.body), `"minimumAmount":12.34`) {
			t.Errorf("got %d %s", r.status, r.body)
		}
	})
	t.Run("fee that is not known is 0", func(t *testing.T) {
		b := newBench(t, Config{Fees: []Fee{}})
		b.mustOrder(heldReport)
		if got := b.Books().Charged; got != 25_00 {
			t.Errorf("charged %d", got)
		}
	})
}

func TestMoney(t *testing.T) {
	for _, tt := range []struct {
		in    string
		cents int64
		ok    bool
	}{
		{"103.75", 103_75, true}, {"0.1", 10, true}, {"1e2", 100_00, true}, {"19.99", 19_99, true}, {"-1", -100, true},
		{"0.005", 0, false}, {"1e999999999", 0, false}, {"1e-99", 0, false}, {"99999999999999999999", 0, false},
	} {
		if got, err := parseDollars(tt.in); got != tt.cents || (err == nil) != tt.ok {
			t.Errorf("parse %s: got %d, %v", tt.in, got, err)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		cents := rapid.Int64Range(-1<<50, 1<<50).Draw(t, "cents")
		written, err := json.Marshal(dollars(cents))
		if err != nil {
			t.Fatal(err)
		}
		if back, err := parseDollars(string(written)); err != nil || back != cents {
			t.Fatalf("%d is written %s and read %d, %v", cents, written, back, err)
		}
	})
}

// errorCase is a case of TestErrors.
type errorCase struct {
	name    string
	balance int64
	before  []string // orders that succeed first
	fields  string
	status  int
	message string
}

// TestErrors has a row for each row of section 7.
func TestErrors(t *testing.T) {
	for _, tt := range []errorCase{
		{"402 balance insufficient", 1, nil, heldReport, 402, "Insufficient balance"},
		{"402 a cent short", 324_99, nil, heldReport, 402, "Insufficient balance"},
		{"exact balance", 425_00, nil, heldReport, 201, ""},
		{"nothing owed, nothing left", 425_00, []string{heldReport},
			`"companyId":"comp_held",` + newAgent, 201, ""},
		{"402 is for the whole order", 60_00, nil, `"companyId":"comp_bare",` + newAgent + "," + einOrder, 402,
			"Insufficient balance"},
		{"409 company has an EIN", 0, nil, `"companyId":"comp_filed",` + einOrder, 409,
			"EIN already exists for this company"},
		{"409 EIN was ordered", 0, []string{`"companyId":"comp_bare",` + einOrder},
			`"companyId":"comp_bare",` + einOrder, 409, "EIN already requested for this company"},
		{"409 qualified by an order", 0, []string{`"companyId":"comp_filed","foreignQualification":true`},
			`"companyId":"comp_filed","foreignQualification":true`, 409,
			"Foreign qualification already purchased for this state"},
		{"409 of one product refuses the other", 0, nil, `"companyId":"comp_filed",` + newAgent + "," + einOrder, 409,
			"EIN already exists for this company"},
		{"409 before 402", 1, nil, `"companyId":"comp_filed",` + einOrder, 409, "EIN already exists for this company"},
		{"404 unknown company", 0, nil, `"companyId":"comp_none",` + report2026, 404, "Company not found"},
		{"404 company of another organization", 0, nil, `"companyId":"comp_else",` + report2026, 404,
			"Company not found"},
		{"a second annual report is sold", 0, []string{heldReport},
			heldReport, 201, ""},
		{"a second formation is sold", 0, []string{llc()}, llc(), 201, ""},
	} {
		t.Run(tt.name, tt.run)
	}
}

func TestNestedErrorBody(t *testing.T) {
	b := newBench(t, Config{NestedErrors: true, Invalid: 422})
	if r := b.order(`"companyId":"comp_held"`); r.status != 422 ||
		!strings.HasPrefix(string(r.body), `{"error":{"message":`) {
		t.Errorf("got %d %s", r.status, r.body)
	}
}

func TestCanceledQualificationDoesNotBlock(t *testing.T) {
	b := newBench(t, Config{})
	const fields = `"companyId":"comp_filed","foreignQualification":true`
	first := b.mustOrder(fields)
	if _, err := b.Advance(t.Context(), first.Items[0].OrderID, canceled); err != nil {
		t.Fatal(err)
	}
	b.mustOrder(fields)
	if d := b.Books().Duplicates(); len(d) != 0 {
		t.Errorf("duplicates %v", d)
	}
}

func TestQualifiedBefore(t *testing.T) {
	b := newBench(t, Config{})
	r := b.do("POST", "/v1/orders",
		`{"userId":"user_1","companyId":"comp_filed","filingState":"CA","foreignQualification":true}`)
	if r.status != 409 {
		t.Errorf("got %d %s", r.status, r.body)
	}
}

func (tt errorCase) run(t *testing.T) {
	b := newBench(t, Config{OpeningBalance: tt.balance})
	for _, fields := range tt.before {
		b.mustOrder(fields)
	}
	was := b.Books()
	r := b.order(tt.fields)
	if r.status != tt.status || r.status >= 400 && r.message(t) != tt.message {
		t.Fatalf("got %d %s, want %d %q", r.status, r.body, tt.status, tt.message)
	}
	now := b.Books()
	if r.status >= 400 && (now.Charged != was.Charged || len(now.Orders) != len(was.Orders) ||
		now.Refused[r.status] != 1) {
		t.Errorf("a refused order moved the books: %+v", now)
	}
	if len(b.Violations()) > 0 {
		t.Errorf("not the client's fault: %v", b.Violations())
	}
}

func TestOrderAnswer(t *testing.T) {
	b := newBench(t, Config{})
	o := b.mustOrder(`"companyId":"comp_bare",` + newAgent + "," + report2026)
	if o.CompanyID != "comp_bare" || len(o.Items) != 2 {
		t.Fatalf("got %+v", o)
	}
	for i, want := range []string{"registered_agent", "annual_report"} {
		item := o.Items[i]
		if item.OrderType != want || !strings.HasPrefix(item.OrderID, "order_") || item.FilingStatus != "submitted" ||
			item.FilingDate != nil || item.SubscriptionStatus == nil || *item.SubscriptionStatus != "active" {
			t.Errorf("got %+v", item)
		}
	}
	t.Run("styles", func(t *testing.T) {
		b := newBench(t, Config{OrderTypes: Camel, Success: 200})
		r := b.order(heldReport)
		if r.status != 200 || !strings.Contains(string(r.body), `"orderType":"annualReport"`) {
			t.Errorf("got %d %s", r.status, r.body)
		}
		if r := b.do("GET", "/v1/organization/prices", ""); !strings.Contains(string(r.body),
			`"type":"formationTier1"`) {
			t.Errorf("got %s", r.body)
		}
	})
	t.Run("active agent answers its own order", func(t *testing.T) {
		again := b.mustOrder(`"companyId":"comp_bare","registeredAgent":{"isChangeOfAgent":true}`)
		if again.Items[0].OrderID != o.Items[0].OrderID {
			t.Errorf("got %+v, want the order %s", again.Items[0], o.Items[0].OrderID)
		}
		if items := b.Books().Items(); len(items) != 2 {
			t.Errorf("bought %+v", items)
		}
	})
	t.Run("formation makes a company", func(t *testing.T) {
		formed := b.mustOrder(llc(deAgent+",", "") + "," + newAgent + "," + einOrder)
		r := b.do("GET", "/v1/companies/"+formed.CompanyID, "")
		for _, want := range []string{`"legalName":"Blue Heron LLC"`, `"formationState":"DE"`,
			`"fiscalEndMonth":"December"`} {
			if !strings.Contains(string(r.body), want) {
				t.Errorf("%s lacks %s", r.body, want)
			}
		}
		if r := b.order(`"companyId":"` + formed.CompanyID + `",` + einOrder); r.status != 409 {
			t.Errorf("EIN again: %d %s", r.status, r.body)
		}
		b.mustOrder(`"companyId":"` + formed.CompanyID + `",` + report2026)
	})
	t.Run("patch makes a company orderable", func(t *testing.T) {
		b := newBench(t, Config{})
		b.do("PATCH", "/v1/companies/comp_blank", `{"entityType":"CORP","formationState":"NV"}`)
		b.mustOrder(`"companyId":"comp_blank",` + report2026)
	})
}

func TestDuplicates(t *testing.T) {
	b := newBench(t, Config{})
	b.mustOrder(heldReport)
	b.mustOrder(`"companyId":"comp_held",` + edit(report2026, "2026", "2027"))
	if d := b.Books().Duplicates(); len(d) != 0 {
		t.Errorf("two years are two reports: %v", d)
	}
	b.mustOrder(`"companyId":"comp_held",` + newAgent + `,` + report2026)
	b.mustOrder(llc())
	b.mustOrder(llc("Blue Heron", "BLUE  Heron"))
	d := b.Books().Duplicates()
	if len(d) != 2 || d[0].Key != "annual report comp_held DE 2026" || len(d[0].OrderIDs) != 2 ||
		!strings.HasPrefix(d[1].Key, "formation user_1") {
		t.Errorf("got %+v", d)
	}
}

// TestConcurrentOrders: however many ask at once, the balance is never
// overdrawn and the books add up.
func TestConcurrentOrders(t *testing.T) {
	const price, paidFor, asked = 425_00, 25, 80
	b := newBench(t, Config{OpeningBalance: price * paidFor})
	var all sync.WaitGroup
	for range asked {
		all.Go(func() { b.order(heldReport) })
	}
	all.Wait()
	books := b.Books()
	if len(books.Orders) != paidFor || books.Balance != 0 || books.Refused[402] != asked-paidFor ||
		books.Requests["POST /orders"] != asked {
		t.Errorf("%d orders, balance %d, refused %v, requests %v", len(books.Orders), books.Balance, books.Refused,
			books.Requests)
	}
	seen := map[string]bool{}
	for _, i := range books.Items() {
		if seen[i.ID] {
			t.Errorf("order id %s twice", i.ID)
		}
		seen[i.ID] = true
	}
}
