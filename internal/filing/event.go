package filing

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// The types of events. Others are stored and change nothing. Source: spec section 6.
const (
	StatusChanged    = "filing.status_changed"
	DocumentUploaded = "document.uploaded"
)

// EventTypes are those that an endpoint subscribes to.
var EventTypes = []string{StatusChanged, DocumentUploaded}

// FiledStatus is the last status of a filing: no event moves it back. Assumption:
// transitions that the table of section 3 does not list are not shown.
const FiledStatus = "filed"

// IsCanceled reports whether a status says that a filing, or a subscription, was
// canceled. Source: spec section 2, subscriptionStatus; that filingStatus uses
// the same word is an Assumption.
func IsCanceled(status string) bool {
	folded := FoldName(status)
	return folded == "canceled" || folded == "cancelled"
}

// maxEventID bounds an id in an event, which is a key in the ledger.
const maxEventID = 200

// ErrEvent is returned for a body that is not a JSON object with an id and a type.
var ErrEvent = errors.New("not an event")

// Event is a notice of the filing service about an order. Source: spec section 6.
type Event struct {
	ID        string    // evt_<id>; told twice, it is the same event
	Type      string    // an open set
	CreatedAt time.Time // zero where it cannot be read
	OrderID   string    // order_<id>

	OrderType    string // the service's word
	FilingStatus string // an open set: submitted, pending, filed, …
	FilingDate   string // as it was written; when the state accepted the filing
	FilingType   string // change_of_agent for agent changes

	// Assumption: where an exception's code and words stand is not shown in the
	// spec, nor is the id of a document, or whether an event names the company,
	// the state and the year.
	Exception     int    // 0 for none
	ExceptionNote string // the service's words about it
	DocumentID    string // doc_<id>
	DocumentType  string // registered_agent for agent mail
	CompanyID     string // comp_<id>
	FilingState   State
	FilingYear    string

	// Of the subscription that the order established; empty where the event does
	// not speak of it.
	SubscriptionStatus string
}

// Product returns the product of the event's order if its type names one.
func (e Event) Product() (Product, bool) {
	p, ok := ProductOfType(e.OrderType)
	if ok && p == RegisteredAgent && FoldName(e.FilingType) == "changeofagent" {
		p = AgentChange
	}
	return p, ok
}

// The field names that are searched in an event's data, folded, the likelier first.
var eventFields = map[string][]string{
	"order":       {"orderid"},
	"order type":  {"ordertype"},
	"status":      {"filingstatus"},
	"date":        {"filingdate"},
	"filing type": {"filingtype"},
	"exception": {"exceptioncode", "errorcode", "filingexceptioncode", "exception", "filingexception",
		"exceptions", "error", "code"},
	"note":          {"exceptionmessage", "exceptionreason", "message", "reason", "description"},
	"document":      {"documentid", "document"},
	"document type": {"documenttype"},
	"company":       {"companyid", "company"},
	"state":         {"filingstate"},
	"year":          {"filingyear"},
	"subscription":  {"subscriptionstatus"},
}

// ParseEvent reads the body of a delivery. It ignores unknown fields, which stay in
// the body beside the event. It returns ErrEvent.
func ParseEvent(body []byte) (Event, error) {
	var envelope map[string]any
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	if err := dec.Decode(&envelope); err != nil {
		return Event{}, fmt.Errorf("%w: %w", ErrEvent, err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return Event{}, fmt.Errorf("%w: something follows its JSON object", ErrEvent)
	}
	e := Event{ID: word(envelope["id"]), Type: word(envelope["type"])}
	if e.ID == "" || e.Type == "" {
		return Event{}, fmt.Errorf("%w: its id or its type is missing", ErrEvent)
	}
	if len(e.ID) > maxEventID || strings.ContainsFunc(e.ID, unicode.IsControl) {
		return Event{}, fmt.Errorf("%w: %.40q is no id", ErrEvent, e.ID)
	}
	e.CreatedAt, _ = time.Parse(time.RFC3339, word(envelope["createdAt"]))
	data, _ := envelope["data"].(map[string]any)
	folded := make(map[string]any, len(data))
	for _, key := range slices.Backward(slices.Sorted(maps.Keys(data))) { // of two spellings always the same one
		folded[FoldName(key)] = data[key]
	}
	find := func(what string) any {
		for _, name := range eventFields[what] {
			if v, ok := folded[name]; ok {
				return v
			}
		}
		return nil
	}
	e.OrderID, e.OrderType = word(find("order")), word(find("order type"))
	e.FilingStatus, e.FilingDate, e.FilingType = word(find("status")), word(find("date")), word(find("filing type"))
	e.DocumentID, e.DocumentType = word(inner(find("document"), "id")), word(find("document type"))
	e.CompanyID = word(inner(find("company"), "id"))
	e.FilingState, _ = ParseState(word(find("state")))
	e.FilingYear = word(find("year"))
	e.SubscriptionStatus = word(inner(find("subscription"), "status"))
	for _, id := range []*string{&e.OrderID, &e.DocumentID} {
		if len(*id) > maxEventID { // a whole document, perhaps; it stays in the body
			*id = ""
		}
	}
	if !IsCompanyID(e.CompanyID) { // a slug or a name, which cannot be compared
		e.CompanyID = ""
	}
	exception := find("exception")
	if e.Exception = ExceptionCode(codeIn(exception), e.FilingStatus); e.Exception != 0 {
		if object, ok := first(exception).(map[string]any); ok {
			e.ExceptionNote = word(object["message"])
		}
		if e.ExceptionNote == "" {
			e.ExceptionNote = word(find("note"))
		}
	}
	return e, nil
}

// codeIn finds an exception's code in a number, a text around one, an object or
// a list; 0 for none.
func codeIn(v any) int {
	v = inner(first(v), "code")
	digits := strings.TrimFunc(strings.TrimSuffix(word(v), ".0"), func(r rune) bool { return r < '0' || r > '9' })
	code, err := strconv.Atoi(digits)
	if err != nil || code > maxException {
		return 0
	}
	return code
}

// maxException is above every exception code.
const maxException = 99_999

// first returns the first element of a list, and v itself if v is no list.
func first(v any) any {
	if list, ok := v.([]any); ok && len(list) > 0 {
		return list[0]
	}
	return v
}

// inner returns a field of v if v is an object, and else v itself.
func inner(v any, field string) any {
	if object, ok := v.(map[string]any); ok {
		return object[field]
	}
	return v
}

// word returns a text or a number as it was written.
func word(v any) string {
	switch v := v.(type) {
	case string:
		return strings.TrimSpace(v)
	case json.Number:
		return v.String()
	}
	return ""
}
