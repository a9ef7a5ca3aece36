package sandbox

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

// orderRuleCase is a case of TestOrderRules.
type orderRuleCase struct {
	fields     string
	rule, want string // of the refusal; empty if there is none
}

// TestOrderRules has a row for each way to keep and to break an order rule of section 4.
func TestOrderRules(t *testing.T) {
	names := func(n int) string {
		return `"alternativeNames":[` + strings.TrimSuffix(strings.Repeat(`"Heron LLC",`, n), ",") + `],"company"`
	}
	w2 := func(farm, other int, date string) string {
		return edit(einOrder, einIdle, fmt.Sprintf(
			`"isW2Expected":true,"agricultureEmployeesCount":%d,"otherEmployeesCount":%d,"firstWagesDate":%s`, farm,
			other, date))
	}
	const held, bare = `"companyId":"comp_held",`, `"companyId":"comp_bare",`
	const filed, blank = `"companyId":"comp_filed",`, `"companyId":"comp_blank",`
	foreignParty := `"responsiblePartyIsForeign":true,"responsiblePartyPhoneNumber":"+4930123456"`
	for _, tt := range []orderRuleCase{
		{llc(), "", ""},
		{llc(`"MEMBER"`, `"MANAGER"`), "", ""},
		{corp(), "", ""},
		{corp(`"taxElection"`, `"fiscalEndMonth":"June","taxElection"`), "", ""},
		{llc(member, member+`,`+edit(member, `"isPrimary":true,`, ``, "Member", "Manager")), "", ""},
		{llc(`"Member"`, `"Managing Member"`), "", ""},
		{llc(`"type":"PERSON","firstName":"Ann","lastName":"Lee","title"`,
			`"type":"COMPANY","companyName":"Holder LLC","title"`), "", ""},
		{llc(deAgent+`,`, ``) + `,` + newAgent, "", ""},
		{llc(`"company"`, names(10)), "", ""},
		{llc(`"expedited":false`, `"expedited":true`), "", ""},
		{bare + einOrder, "", ""},
		{llc() + `,` + einOrder, "", ""},
		{bare + w2(0, 1, `"2026-02-01"`), "", ""},
		{bare + w2(1, 0, `"2026-02-01"`), "", ""},
		{bare + edit(einOrder, "123456789", "912345678"), "", ""},
		{bare + edit(einOrder, einParty, foreignParty), "", ""},
		{bare + edit(einOrder, "3025550100", "+13025550100"), "", ""},
		{bare + newAgent, "", ""},
		{bare + edit(newAgent, "false", "true"), "", ""},
		{held + report2026, "", ""},
		{bare + newAgent + `,` + report2026, "", ""},
		{bare + edit(report2026, `"2026"`, `"2026",`+deAgent), "", ""},
		{bare + newAgent + `,"foreignQualification":true`, "", ""},
		{bare + `"foreignQualification":{` + deAgent + `}`, "", ""},
		{filed + `"foreignQualification":true`, "", ""},

		{`"companyId":"comp_held"`, "4.1", "no product"},
		{report2026 + `,` + newAgent, "4.1", "companyId is required"},
		{einOrder, "4.1", "companyId is required"},
		{newAgent, "4.1", "companyId is required"},
		{held + llc(), "4.1", "omitted"},
		{llc(`"structureType":"MEMBER",`, ``), "4.2", "structureType is required"},
		{llc(`"MEMBER"`, `"PARTNER"`), "2 shape", "structureType must be one of"},
		{llc(`"structureType"`, `"taxElection":"C Corporation","structureType"`), "4.2", "for a CORP"},
		{corp(`,"taxElection":"S Corporation"`, ``), "4.2", "taxElection is required"},
		{corp(`"taxElection"`, `"structureType":"MEMBER","taxElection"`), "4.2", "for an LLC"},
		{llc(`"LLC","structureType"`, `"LP","structureType"`), "2 shape", "one of LLC, CORP"},
		{corp(`"taxElection"`, `"fiscalEndMonth":"06","taxElection"`), "2 shape", "fiscalEndMonth"},
		{llc(`"legalName"`, `"ein":"12-3456789","legalName"`), "2 formation company", "excluded"},
		{llc(`"legalName"`, `"tradeName":"x","legalName"`), "2 formation company", "excluded"},
		{llc(`"legalName"`, `"formationDate":"2026-01-01","legalName"`), "2 formation company", "excluded"},
		{llc(`"legalName"`, `"formationState":"DE","legalName"`), "2 formation company", "excluded"},
		{llc(`"mailingAddress":`+address+`,`, ``), "2 shape", "mailingAddress is required"},
		{llc(member, ``), "4.3", "at least one officer"},
		{llc(`"isPrimary":true`, `"isPrimary":false`), "4.3", "exactly one"},
		{llc(member, member+`,`+member), "4.3", "exactly one"},
		{llc(`"isPrimary":true,"address":`+address, `"isPrimary":true`), "2 shape", "address is required"},
		{llc(`"Member"`, `"President"`), "4.3", "title of a LLC must be one of"},
		{corp(`"President"`, `"Member"`), "4.3", "title of a CORP must be one of"},
		{llc(`"Member"`, `"Manager"`), "4.3", "Member or Managing Member"},
		{llc(`"type":"PERSON","firstName":"Ann","lastName":"Lee","title"`, `"type":"COMPANY","title"`), "2 shape",
			"companyName is required"},
		{llc(`"firstName":"Ann"`, `"companyName":"X","firstName":"Ann"`), "2 shape", "not used"},
		{llc(deAgent+`,`, ``), "4.4", "needs a registered agent"},
		{llc() + `,` + newAgent, "4.4", "not both"},
		{llc(deAgent, nvAgent), "4.4", "must equal filingState"},
		{llc(`"addressCity":"Dover",`, ``), "2 shape", "addressCity is required"},
		{llc(`"company"`, names(11)), "4.5", "more than 10"},
		{llc(`"legalName"`, `"alternativeNames":["a"],"legalName"`), "2 shape", "not a field"},
		{llc(`"company"`, `"alternativeNames":[""],"company"`), "2 shape", "alternativeNames[0]"},
		{corp(`"expedited":false`, `"expedited":true`), "4.6", expeditedRefused},
		{bare + edit(einOrder, "Banking purposes", "Fun"), "4.7", "applicationReason"},
		{bare + edit(einOrder, `"fileForm720":false,`, ``), "4.7", "fileForm720 is required"},
		{bare + edit(einOrder, `,"firstWagesDate":null`, ``), "4.7", "firstWagesDate is required"},
		{bare + edit(einOrder, `"otherEmployeesCount":0`, `"otherEmployeesCount":0.5`), "4.7", "whole number"},
		{bare + w2(0, 0, `"2026-02-01"`), "4.7", "sum to at least 1"},
		{bare + w2(0, 1, `null`), "4.7", "firstWagesDate is required"},
		{bare + w2(0, 1, `"2026-02-30"`), "4.7", "YYYY-MM-DD"},
		{bare + edit(einOrder, "123456789", "123-45-6789"), "4.7", "9 digits"},
		{bare + edit(einOrder, "123456789", "12345678"), "4.7", "9 digits"},
		{bare + edit(einOrder, `"responsiblePartySsn":"123456789",`, ``), "4.7", "responsiblePartySsn is required"},
		{bare + edit(einOrder, einParty, foreignParty+`,"responsiblePartySsn":"123456789"`), "4.7", "omitted"},
		{bare + edit(einOrder, "3025550100", "+4930123456"), "4.7", "US number"},
		{bare + `"registeredAgent":{}`, "4.8", "isChangeOfAgent is required"},
		{bare + edit(newAgent, `"is`, `"addressState":"DE","is`), "4.8", "addressState is not a field"},
		{llc(deAgent+`,`, ``) + `,` + edit(newAgent, "false", "true"), "4.8", "always new"},
		{bare + report2026, "4.9", "on record"},
		{filed + report2026, "4.9", "on record"},
		{bare + edit(report2026, `"2026"`, `"2026",`+nvAgent), "4.9", "must equal filingState"},
		{held + edit(report2026, "2026", "26"), "4.9", "four digits"},
		{held + `"annualReport":{}`, "4.9", "filingYear is required"},
		{blank + report2026, "4.9", "entityType and formationState"},
		{bare + `"foreignQualification":true`, "4.10", "needs a registered agent"},
		{bare + `"foreignQualification":{` + nvAgent + `}`, "4.10", "must equal filingState"},
		{filed + `"foreignQualification":{}`, "4.10", "registeredAgent is required"},
		{filed + report2026 + `,"foreignQualification":false`, "4.10", "not false"},
		{filed + `"foreignQualification":"true"`, "2 shape", "must be an object"},
		{llc() + `,"foreignQualification":true`, "4.10", "cannot be combined"},
		{newAgent + `,"foreignQualification":true`, "4.10", "requires companyId"},
		{blank + `"foreignQualification":true`, "4.10", "entityType and formationState"},
	} {
		tt.run(t)
	}
	t.Run("what only the service knows is marked", func(t *testing.T) {
		b := newBench(t, Config{})
		b.order(bare + report2026)
		b.order(blank + report2026)
		if v := b.Violations(); len(v) != 2 || !v[0].Hidden || v[1].Hidden {
			t.Errorf("got %+v", v)
		}
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

func (tt orderRuleCase) run(t *testing.T) {
	t.Helper()
	b := newBench(t, Config{})
	r := b.order(tt.fields)
	books := b.Books()
	if tt.rule == "" {
		if v := b.Violations(); r.status != 201 || len(v) > 0 || len(books.Orders) != 1 {
			t.Errorf("%s: got %d %s, %d orders, violations %v", tt.fields, r.status, r.body, len(books.Orders), v)
		}
		return
	}
	if r.status != 400 || !strings.Contains(r.message(t), tt.want) {
		t.Errorf("%s: got %d %s, want %q", tt.fields, r.status, r.body, tt.want)
	}
	if !slices.ContainsFunc(b.Violations(),
		func(v Violation) bool { return v.Rule == tt.rule && strings.Contains(v.Message, tt.want) }) {
		t.Errorf("%s: rule %s is not among %v", tt.fields, tt.rule, b.Violations())
	}
	if len(books.Orders) != 0 || books.Charged != 0 || books.Refused[400] != 1 {
		t.Errorf("%s: a refused order left %+v", tt.fields, books)
	}
}

// TestBilling has a row for each billing rule of section 4; amounts in cents.
func TestBilling(t *testing.T) {
	fees := []Fee{
		{formation, "", "", 90_00}, {formation, "DE", "LLC", 110_01}, {formation, "DE", "CORP", 109_00},
		{annualReport, "DE", "LLC", 300_07}, {annualReport, "DE", "", 1}, {foreignQualification, "DE", "", 200_33},
	}
	wyoming := func(s string) string {
		return strings.NewReplacer(`"filingState":"DE"`, `"filingState":"WY"`, `"addressState":"DE"`,
			`"addressState":"WY"`).Replace(s)
	}
	type line struct {
		product, billedAs   string
		price, fee, service int64
	}
	for _, tt := range []struct {
		name, body string
		want       []line
	}{
		{"formation alone", orderBody(llc()), []line{{formation, "formation_tier_1", 75_00, 110_01, 0}}},
		{"formation of a CORP", orderBody(corp()), []line{{formation, "formation_tier_1", 75_00, 109_00, 0}}},
		{"formation and EIN", orderBody(llc() + "," + einOrder),
			[]line{{formation, "formation_tier_2", 105_00, 110_01, 0}, {ein, "", 0, 0, 0}}},
		{"formation and agent", orderBody(llc(deAgent+",", "") + "," + newAgent),
			[]line{{formation, "formation_tier_1", 75_00, 110_01, 0}, {registeredAgent, registeredAgent, 50_00, 0, 0}}},
		{"expedited formation", orderBody(llc(`"expedited":false`, `"expedited":true`)),
			[]line{{formation, "formation_tier_1", 75_00, 185_00, 50_00}}},
		{"expedited formation to the cent", wyoming(orderBody(llc(`"expedited":false`, `"expedited":true`))),
			[]line{{formation, "formation_tier_1", 75_00, 103_75, 50_00}}},
		{"formation in another state", wyoming(orderBody(llc())),
			[]line{{formation, "formation_tier_1", 75_00, 90_00, 0}}},
		{"standalone EIN", orderBody(`"companyId":"comp_bare",` + einOrder), []line{{ein, ein, 40_00, 0, 0}}},
		{"agent", orderBody(`"companyId":"comp_bare",` + newAgent),
			[]line{{registeredAgent, registeredAgent, 50_00, 0, 0}}},
		{"agent that is active", orderBody(`"companyId":"comp_held",` + newAgent),
			[]line{{registeredAgent, "", 0, 0, 0}}},
		{"annual report", orderBody(heldReport),
			[]line{{annualReport, annualReport, 25_00, 300_07, 0}}},
		{"annual report and active agent", orderBody(`"companyId":"comp_held",` + newAgent + "," + report2026),
			[]line{{registeredAgent, "", 0, 0, 0}, {annualReport, annualReport, 25_00, 300_07, 0}}},
		{"foreign qualification", orderBody(`"companyId":"comp_filed","foreignQualification":true`),
			[]line{{foreignQualification, foreignQualification, 60_00, 200_33, 0}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, Config{Fees: fees})
			if r := b.do("POST", "/v1/orders", tt.body); r.status != 201 {
				t.Fatalf("got %d %s", r.status, r.body)
			}
			books := b.Books()
			var got []line
			var total int64
			for _, i := range books.Orders[0].Items {
				got = append(got, line{i.Product, i.BilledAs, i.Price, i.Fee, i.Service})
				total += i.Amount()
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
			if o := books.Orders[0]; o.Total != total || books.Charged != total || books.Balance != 10_000_00-total {
				t.Errorf("order %d, charged %d, balance %d, items %d", o.Total, books.Charged, books.Balance, total)
			}
		})
	}
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
