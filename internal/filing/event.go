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

// EventTypes are the types that an endpoint subscribes to.
var EventTypes = []string{StatusChanged, DocumentUploaded}

// FiledStatus is the last status of a filing. Assumption: no event moves a filing back from it, since
// the table of section 3 lists no such transition.
const FiledStatus = "filed"

// IsCanceled reports whether the status is the status of a canceled filing or subscription. Source:
// spec section 2, subscriptionStatus. Assumption: filingStatus uses the same word.
func IsCanceled(status string) bool {
	folded := FoldName(status)
	return folded == "canceled" || folded == "cancelled"
}

// maxEventID limits the length of IDs in an event, which are keys in the ledger.
const maxEventID = 200

// ErrEvent is returned for a body that is not a JSON object with an id and a type.
var ErrEvent = errors.New("not an event")

// Event is a report of the filing service about an order. Events with the same ID are the same
// event. Type and FilingStatus are open sets. Source: spec section 6.
type Event struct {
	ID   string
	Type string
	// CreatedAt is zero if it cannot be read.
	CreatedAt time.Time
	OrderID   string

	OrderType    string
	FilingStatus string
	// FilingDate is the text of the date on which the state accepted the filing.
	FilingDate string
	// FilingType is change_of_agent for agent changes.
	FilingType string

	// Exception is the code of an exception, zero without one.
	// Assumption: the spec does not show the fields of exceptions and documents, nor whether an
	// event names the company, the state and the year.
	Exception     int
	ExceptionNote string
	DocumentID    string
	// DocumentType is registered_agent for mail to the agent.
	DocumentType string
	CompanyID    string
	FilingState  State
	FilingYear   string

	// SubscriptionStatus is the status of the subscription that the order opened, if the event
	// reports it.
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

// eventFields are the folded field names that are searched in the data of an event, the likelier
// first.
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

// ParseEvent reads the body of a delivery and ignores unknown fields. It returns ErrEvent for an
// invalid body.
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
	// Of two spellings of a field, the same one is used each time.
	for _, key := range slices.Backward(slices.Sorted(maps.Keys(data))) {
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
		// The value may be a whole document.
		if len(*id) > maxEventID {
			*id = ""
		}
	}
	// A slug or a name cannot be compared.
	if !IsCompanyID(e.CompanyID) {
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

// codeIn returns the code of an exception from a number, a text with a number, an object or a list.
// It returns 0 without one.
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
