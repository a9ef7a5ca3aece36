package filing

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/goldentest"
)

// TestParseEvent reads bodies of events.
func TestParseEvent(t *testing.T) {
	goldentest.Lines(t, "testdata/events.txt", func(t *testing.T, fields []string) string {
		e, err := ParseEvent([]byte(fields[1]))
		if errors.Is(err, ErrEvent) {
			return "refused"
		}
		return fmt.Sprintf("%+v, %v", e, err)
	})
}

func TestEvent_Product(t *testing.T) {
	goldentest.Lines(t, "testdata/event_products.txt", func(t *testing.T, fields []string) string {
		product, known := Event{OrderType: fields[0], FilingType: fields[1]}.Product()
		return fmt.Sprintf("%q, %t", product, known)
	})
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
