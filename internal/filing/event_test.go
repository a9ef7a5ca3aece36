package filing

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// Source: spec section 6; what it does not show is found under its likely names.
func TestParseEvent(t *testing.T) {
	at := time.Date(2026, 2, 10, 14, 30, 0, 123e6, time.UTC)
	const head = `{"id":"evt_1","type":"filing.status_changed","createdAt":"2026-02-10T14:30:00.123Z","data":`
	status := Event{
		ID:           "evt_1",
		Type:         StatusChanged,
		CreatedAt:    at,
		OrderID:      "order_1",
		OrderType:    "annual_report",
		FilingStatus: "filed",
		FilingDate:   "2026-02-10T14:29:00.000Z",
	}
	with := func(change func(*Event)) Event {
		e := Event{ID: "evt_1", Type: StatusChanged, CreatedAt: at, OrderID: "order_1"}
		change(&e)
		return e
	}
	for _, c := range []struct {
		name, body string
		want       Event
	}{
		{"filed", head + `{"orderId":"order_1","orderType":"annual_report","filingStatus":"filed",` +
			`"filingDate":"2026-02-10T14:29:00.000Z"}}`, status},
		{"another style, and unknown fields",
			head + `{"order_id":"order_1","order_type":"annual_report","filing_status":"filed",` +
				`"filing_date":"2026-02-10T14:29:00.000Z","x":{"y":[1]}},"z":1}`, status},
		{"an exception code", head + `{"orderId":"order_1","exceptionCode":483}}`,
			with(func(e *Event) { e.Exception = 483 })},
		{"as text, with words", head + `{"orderId":"order_1","exceptionCode":"483","message":"SSN rejected"}}`,
			with(func(e *Event) { e.Exception, e.ExceptionNote = 483, "SSN rejected" })},
		{"as an object", head + `{"orderId":"order_1","exception":{"code":487,"message":"agent elsewhere"}}}`,
			with(func(e *Event) { e.Exception, e.ExceptionNote = 487, "agent elsewhere" })},
		{"in a list", head + `{"orderId":"order_1","exceptions":[{"code":463}]}}`,
			with(func(e *Event) { e.Exception = 463 })},
		{"with a letter before it", head + `{"orderId":"order_1","exceptionCode":"E482"}}`,
			with(func(e *Event) { e.Exception = 482 })},
		{"as a float", head + `{"orderId":"order_1","error":{"code":484.0}}}`,
			with(func(e *Event) { e.Exception = 484 })},
		{"without a code", head + `{"orderId":"order_1","filingStatus":"filing_exception","message":"see the state"}}`,
			with(func(e *Event) {
				e.FilingStatus, e.Exception, e.ExceptionNote = "filing_exception", UnnamedException, "see the state"
			})},
		{"absurd", head + `{"orderId":"order_1","exceptionCode":1e30}}`, with(func(e *Event) {})},
		{"a document",
			head + `{"orderId":"order_1","documentType":"ein_letter","documentId":"doc_1","companyId":"comp_1"}}`,
			with(func(e *Event) {
				e.DocumentType, e.DocumentID, e.CompanyID = "ein_letter", "doc_1", "comp_1"
			})},
		{"a document as an object", head +
			`{"orderId":"order_1","document":{"id":"doc_1"},"company":{"id":"comp_1"}}}`,
			with(func(e *Event) { e.DocumentID, e.CompanyID = "doc_1", "comp_1" })},
		{"no data, no time", `{"id":"evt_1","type":"x"}`, Event{ID: "evt_1", Type: "x"}},
		{"data of another kind", `{"id":"evt_1","type":"x","data":[1],"createdAt":7}`, Event{ID: "evt_1", Type: "x"}},
	} {
		if got, err := ParseEvent([]byte(c.body)); err != nil || got != c.want {
			t.Errorf("%s: %v\ngot  %+v\nwant %+v", c.name, err, got, c.want)
		}
	}
	for _, body := range []string{"", "null", "[]", `"x"`, `{}`, `{"id":"evt_1"}`, `{"type":"x"}`,
		`{"id":"","type":"x"}`, `{"id":"a\u0000b","type":"x"}`, `{"id":["evt_1"],"type":"x"}`,
		`{"id":"evt_1","type":"x"}}`, `{"id":"evt_1","type":"x"} ]`, `{"id":"evt_1","type":"x"}{}`,
		`{"id":"` + strings.Repeat("e", 300) + `","type":"x"}`} {
		if e, err := ParseEvent([]byte(body)); !errors.Is(err, ErrEvent) {
			t.Errorf("%.40s: %+v, %v", body, e, err)
		}
	}
}

func TestProductOfAnEvent(t *testing.T) {
	for _, c := range []struct {
		orderType, filingType string
		want                  Product
	}{
		{"annual_report", "", AnnualReport}, {"annualReport", "", AnnualReport}, {"ANNUAL-REPORT", "", AnnualReport},
		{"EIN", "", EIN}, {"foreignQualification", "", ForeignQualification}, {"change_of_agent", "", AgentChange},
		{"formation", "", Formation},
		{"registered_agent", "", RegisteredAgent}, {"registered_agent", "change_of_agent", AgentChange},
		{"registeredAgent", "changeOfAgent", AgentChange},
		{"", "", ""}, {"tea", "", ""},
	} {
		if p, known := (Event{OrderType: c.orderType, FilingType: c.filingType}).Product(); p != c.want ||
			known != (c.want != "") {
			t.Errorf("%+v: %q %v", c, p, known)
		}
	}
}

// Every code of the spec has a meaning and something to do; an unknown one is
// shown as it came. Source: spec section 7.
func TestExceptions(t *testing.T) {
	for code, product := range map[int]Product{463: Formation, 464: Formation, 465: Formation, 482: AnnualReport,
		483: EIN, 484: EIN, 487: ForeignQualification} {
		e, known := ExceptionOf(code)
		if !known || e.Product != product || e.Meaning == "" || e.Advice == "" || len(e.Fields) == 0 {
			t.Errorf("%d: %+v", code, e)
		}
	}
	for _, code := range []int{462, 466, 485, 999} {
		if e, known := ExceptionOf(code); known {
			t.Errorf("%d: %+v", code, e)
		}
	}
	if text := ExceptionText(999, "who knows"); !strings.Contains(text, "999") ||
		!strings.Contains(text, "who knows") || !strings.Contains(text, "dashboard") {
		t.Error(text)
	}
}

// FuzzParseEvent: no signed body brings the reader down, and what it takes for
// an event has what the store needs.
func FuzzParseEvent(f *testing.F) {
	for _, body := range []string{
		"", "null", "[]", `"x"`, "{}", `{"id":1,"type":2}`, `{"id":"evt_1","type":"t","data":null}`,
		`{"id":"evt_1","type":"t"}{}`, `{"id":"evt_\u0000","type":"t"}`,
		`{"id":"` + strings.Repeat("é", 300) + `","type":"t"}`,
		`{"id":"evt_1","type":"filing.status_changed","data":{"exception":{"code":482,"message":"cure it"},` +
			`"company":{"id":"comp_1"},"document":{"id":"doc_1"}}}`,
		`{"id":"evt_1","type":"t","data":{"exceptionCode":1e999,"filingStatus":[],"orderId":{"orderId":1}}}`,
		strings.Repeat(`{"data":`, 200),
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		e, err := ParseEvent(body)
		switch {
		case err != nil && !errors.Is(err, ErrEvent):
			t.Errorf("%v", err)
		case err == nil && (e.ID == "" || e.Type == "" || len(e.ID) > 200):
			t.Errorf("%+v", e)
		}
		if again, errAgain := ParseEvent(body); again != e || (err == nil) != (errAgain == nil) {
			t.Errorf("%+v, then %+v", e, again)
		}
	})
}
