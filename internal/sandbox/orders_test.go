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
	name, fields string
	status       int
	rule, want   string // of the refusal
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
		{"4.1 a product is sent", `"companyId":"comp_held"`, 400, "4.1", "no product"},
		{"4.1 companyId for an annual report", report2026 + `,` + newAgent, 400, "4.1", "companyId is required"},
		{"4.1 companyId for an EIN", einOrder, 400, "4.1", "companyId is required"},
		{"4.1 companyId for an agent", newAgent, 400, "4.1", "companyId is required"},
		{"4.1 no companyId for a formation", held + llc(), 400, "4.1", "omitted"},
		{"4.2 LLC", llc(), 201, "", ""},
		{"4.2 LLC of managers", llc(`"MEMBER"`, `"MANAGER"`), 201, "", ""},
		{"4.2 LLC without structureType", llc(`"structureType":"MEMBER",`, ``), 400, "4.2",
			"structureType is required"},
		{"4.2 LLC of an unknown structure", llc(`"MEMBER"`, `"PARTNER"`), 400, "2 shape",
			"structureType must be one of"},
		{"4.2 LLC with taxElection", llc(`"structureType"`, `"taxElection":"C Corporation","structureType"`), 400,
			"4.2", "for a CORP"},
		{"4.2 CORP", corp(), 201, "", ""},
		{"4.2 CORP without taxElection", corp(`,"taxElection":"S Corporation"`, ``), 400, "4.2",
			"taxElection is required"},
		{"4.2 CORP with structureType", corp(`"taxElection"`, `"structureType":"MEMBER","taxElection"`), 400, "4.2",
			"for an LLC"},
		{"4.2 another entity type", llc(`"LLC","structureType"`, `"LP","structureType"`), 400, "2 shape",
			"one of LLC, CORP"},
		{"2 fiscal year end", corp(`"taxElection"`, `"fiscalEndMonth":"June","taxElection"`), 201, "", ""},
		{"2 fiscal year end by number", corp(`"taxElection"`, `"fiscalEndMonth":"06","taxElection"`), 400, "2 shape",
			"fiscalEndMonth"},
		{"2 excluded ein", llc(`"legalName"`, `"ein":"12-3456789","legalName"`), 400, "2 formation company",
			"excluded"},
		{"2 excluded tradeName", llc(`"legalName"`, `"tradeName":"x","legalName"`), 400, "2 formation company",
			"excluded"},
		{"2 excluded formationDate", llc(`"legalName"`, `"formationDate":"2026-01-01","legalName"`), 400,
			"2 formation company", "excluded"},
		{"2 excluded formationState", llc(`"legalName"`, `"formationState":"DE","legalName"`), 400,
			"2 formation company", "excluded"},
		{"2 no mailing address", llc(`"mailingAddress":`+address+`,`, ``), 400, "2 shape",
			"mailingAddress is required"},
		{"4.3 no officers", llc(member, ``), 400, "4.3", "at least one officer"},
		{"4.3 no primary", llc(`"isPrimary":true`, `"isPrimary":false`), 400, "4.3", "exactly one"},
		{"4.3 two primaries", llc(member, member+`,`+member), 400, "4.3", "exactly one"},
		{"4.3 two officers", llc(member, member+`,`+edit(member, `"isPrimary":true,`, ``, "Member", "Manager")), 201,
			"", ""},
		{"4.3 no address", llc(`"isPrimary":true,"address":`+address, `"isPrimary":true`), 400, "2 shape",
			"address is required"},
		{"4.3 CORP title of an LLC", llc(`"Member"`, `"President"`), 400, "4.3", "title of a LLC must be one of"},
		{"4.3 LLC title of a CORP", corp(`"President"`, `"Member"`), 400, "4.3", "title of a CORP must be one of"},
		{"4.3 LLC of a manager only", llc(`"Member"`, `"Manager"`), 400, "4.3", "Member or Managing Member"},
		{"4.3 managing member", llc(`"Member"`, `"Managing Member"`), 201, "", ""},
		{"4.3 company officer", llc(`"type":"PERSON","firstName":"Ann","lastName":"Lee","title"`,
			`"type":"COMPANY","companyName":"Holder LLC","title"`), 201, "", ""},
		{"4.3 company officer without name", llc(`"type":"PERSON","firstName":"Ann","lastName":"Lee","title"`,
			`"type":"COMPANY","title"`), 400, "2 shape", "companyName is required"},
		{"4.3 person with a company name", llc(`"firstName":"Ann"`, `"companyName":"X","firstName":"Ann"`), 400,
			"2 shape", "not used"},
		{"4.4 agent ordered", llc(deAgent+`,`, ``) + `,` + newAgent, 201, "", ""},
		{"4.4 no agent", llc(deAgent+`,`, ``), 400, "4.4", "needs a registered agent"},
		{"4.4 agent ordered and supplied", llc() + `,` + newAgent, 400, "4.4", "not both"},
		{"4.4 agent of another state", llc(deAgent, nvAgent), 400, "4.4", "must equal filingState"},
		{"4.4 agent without address", llc(`"addressCity":"Dover",`, ``), 400, "2 shape", "addressCity is required"},
		{"4.5 ten names", llc(`"company"`, names(10)), 201, "", ""},
		{"4.5 eleven names", llc(`"company"`, names(11)), 400, "4.5", "more than 10"},
		{"4.5 names beside company", llc(`"legalName"`, `"alternativeNames":["a"],"legalName"`), 400, "2 shape",
			"not a field"},
		{"4.5 empty name", llc(`"company"`, `"alternativeNames":[""],"company"`), 400, "2 shape",
			"alternativeNames[0]"},
		{"4.6 expedited", llc(`"expedited":false`, `"expedited":true`), 201, "", ""},
		{"4.6 expedited CORP", corp(`"expedited":false`, `"expedited":true`), 400, "4.6", expeditedRefused},
		{"4.7 EIN", bare + einOrder, 201, "", ""},
		{"4.7 EIN with a formation", llc() + `,` + einOrder, 201, "", ""},
		{"4.7 unknown reason", bare + edit(einOrder, "Banking purposes", "Fun"), 400, "4.7", "applicationReason"},
		{"4.7 missing question", bare + edit(einOrder, `"fileForm720":false,`, ``), 400, "4.7",
			"fileForm720 is required"},
		{"4.7 missing date key", bare + edit(einOrder, `,"firstWagesDate":null`, ``), 400, "4.7",
			"firstWagesDate is required"},
		{"4.7 fraction of an employee", bare + edit(einOrder, `"otherEmployeesCount":0`, `"otherEmployeesCount":0.5`),
			400, "4.7", "whole number"},
		{"4.7 W2 with employees", bare + w2(0, 1, `"2026-02-01"`), 201, "", ""},
		{"4.7 W2 on a farm", bare + w2(1, 0, `"2026-02-01"`), 201, "", ""},
		{"4.7 W2 without employees", bare + w2(0, 0, `"2026-02-01"`), 400, "4.7", "sum to at least 1"},
		{"4.7 W2 without date", bare + w2(0, 1, `null`), 400, "4.7", "firstWagesDate is required"},
		{"4.7 date that is none", bare + w2(0, 1, `"2026-02-30"`), 400, "4.7", "YYYY-MM-DD"},
		{"4.7 SSN with dashes", bare + edit(einOrder, "123456789", "123-45-6789"), 400, "4.7", "9 digits"},
		{"4.7 SSN of 8 digits", bare + edit(einOrder, "123456789", "12345678"), 400, "4.7", "9 digits"},
		{"4.7 ITIN", bare + edit(einOrder, "123456789", "912345678"), 201, "", ""},
		{"4.7 no SSN", bare + edit(einOrder, `"responsiblePartySsn":"123456789",`, ``), 400, "4.7",
			"responsiblePartySsn is required"},
		{"4.7 foreign party", bare + edit(einOrder, einParty, foreignParty), 201, "", ""},
		{"4.7 foreign party with SSN",
			bare + edit(einOrder, einParty, foreignParty+`,"responsiblePartySsn":"123456789"`), 400, "4.7", "omitted"},
		{"4.7 foreign phone of a US party", bare + edit(einOrder, "3025550100", "+4930123456"), 400, "4.7",
			"US number"},
		{"4.7 US phone in E.164", bare + edit(einOrder, "3025550100", "+13025550100"), 201, "", ""},
		{"4.8 new appointment", bare + newAgent, 201, "", ""},
		{"4.8 change of agent", bare + edit(newAgent, "false", "true"), 201, "", ""},
		{"4.8 isChangeOfAgent is required", bare + `"registeredAgent":{}`, 400, "4.8", "isChangeOfAgent is required"},
		{"4.8 address of the service", bare + edit(newAgent, `"is`, `"addressState":"DE","is`), 400, "4.8",
			"addressState is not a field"},
		{"4.8 change with a formation", llc(deAgent+`,`, ``) + `,` + edit(newAgent, "false", "true"), 400, "4.8",
			"always new"},
		{"4.9 agent on record", held + report2026, 201, "", ""},
		{"4.9 agent ordered", bare + newAgent + `,` + report2026, 201, "", ""},
		{"4.9 agent supplied", bare + edit(report2026, `"2026"`, `"2026",`+deAgent), 201, "", ""},
		{"4.9 no agent", bare + report2026, 400, "4.9", "on record"},
		{"4.9 agent of another", filed + report2026, 400, "4.9", "on record"},
		{"4.9 agent of another state", bare + edit(report2026, `"2026"`, `"2026",`+nvAgent), 400, "4.9",
			"must equal filingState"},
		{"4.9 year of two digits", held + edit(report2026, "2026", "26"), 400, "4.9", "four digits"},
		{"4.9 year is required", held + `"annualReport":{}`, 400, "4.9", "filingYear is required"},
		{"4.9 company not complete", blank + report2026, 400, "4.9", "entityType and formationState"},
		{"4.10 agent ordered", bare + newAgent + `,"foreignQualification":true`, 201, "", ""},
		{"4.10 agent supplied", bare + `"foreignQualification":{` + deAgent + `}`, 201, "", ""},
		{"4.10 agent on file", filed + `"foreignQualification":true`, 201, "", ""},
		{"4.10 no agent", bare + `"foreignQualification":true`, 400, "4.10", "needs a registered agent"},
		{"4.10 agent of another state", bare + `"foreignQualification":{` + nvAgent + `}`, 400, "4.10",
			"must equal filingState"},
		{"4.10 object without agent", filed + `"foreignQualification":{}`, 400, "4.10", "registeredAgent is required"},
		{"4.10 false", filed + report2026 + `,"foreignQualification":false`, 400, "4.10", "not false"},
		{"4.10 a string", filed + `"foreignQualification":"true"`, 400, "2 shape", "must be an object"},
		{"4.10 with a formation", llc() + `,"foreignQualification":true`, 400, "4.10", "cannot be combined"},
		{"4.10 no company", newAgent + `,"foreignQualification":true`, 400, "4.10", "requires companyId"},
		{"4.10 company not complete", blank + `"foreignQualification":true`, 400, "4.10",
			"entityType and formationState"},
	} {
		t.Run(tt.name, tt.run)
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
	b := newBench(t, Config{})
	r := b.order(tt.fields)
	if r.status != tt.status {
		t.Fatalf("got %d %s, want %d", r.status, r.body, tt.status)
	}
	books := b.Books()
	if tt.status == 201 {
		if v := b.Violations(); len(v) > 0 || len(books.Orders) != 1 {
			t.Errorf("%d orders, violations %v", len(books.Orders), v)
		}
		return
	}
	if !strings.Contains(r.message(t), tt.want) {
		t.Errorf("message %q lacks %q", r.message(t), tt.want)
	}
	if !slices.ContainsFunc(b.Violations(),
		func(v Violation) bool { return v.Rule == tt.rule && strings.Contains(v.Message, tt.want) }) {
		t.Errorf("rule %s is not among %v", tt.rule, b.Violations())
	}
	if len(books.Orders) != 0 || books.Charged != 0 || books.Refused[tt.status] != 1 {
		t.Errorf("a refused order left %+v", books)
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
		{"annual report", orderBody(`"companyId":"comp_held",` + report2026),
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
		prices[i].Override = 12_34
		b := newBench(t, Config{Prices: prices, Fees: []Fee{}})
		b.mustOrder(`"companyId":"comp_held",` + report2026)
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
		b.mustOrder(`"companyId":"comp_held",` + report2026)
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
		{"402 balance insufficient", 1, nil, `"companyId":"comp_held",` + report2026, 402, "Insufficient balance"},
		{"402 a cent short", 324_99, nil, `"companyId":"comp_held",` + report2026, 402, "Insufficient balance"},
		{"exact balance", 325_00, nil, `"companyId":"comp_held",` + report2026, 201, ""},
		{"nothing owed, nothing left", 325_00, []string{`"companyId":"comp_held",` + report2026},
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
		{"a second annual report is sold", 0, []string{`"companyId":"comp_held",` + report2026},
			`"companyId":"comp_held",` + report2026, 201, ""},
		{"a second formation is sold", 0, []string{llc()}, llc(), 201, ""},
	} {
		t.Run(tt.name, tt.run)
	}
}

func TestNestedErrorBody(t *testing.T) {
	b := newBench(t, Config{Errors: NestedErrors, Invalid: 422})
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
		r := b.order(`"companyId":"comp_held",` + report2026)
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
	b.mustOrder(`"companyId":"comp_held",` + report2026)
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
	const price, paidFor, asked = 325_00, 25, 80
	b := newBench(t, Config{OpeningBalance: price * paidFor})
	var all sync.WaitGroup
	for range asked {
		all.Go(func() { b.order(`"companyId":"comp_held",` + report2026) })
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
