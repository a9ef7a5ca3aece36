package sandbox

import (
	"fmt"
	"strings"
)

// Action is a control of a running sandbox: POST /admin/NAME with a JSON object.
type Action struct {
	Name string
	Help string
	Keys []Key
	do   func(*Service, *call) (any, error)
}

// Key is a field of an action's object. The example has the type of the field.
type Key struct {
	Name    string
	Example any
}

// Usage is the action with an example of each key.
func (a Action) Usage() string {
	words := []string{a.Name}
	for _, k := range a.Keys {
		words = append(words, fmt.Sprintf("%s=%v", k.Name, k.Example))
	}
	return strings.Join(words, " ")
}

var (
	orderOrAll = []Key{{"orderId", "order_4be8"}, {"all", true}}
	faultLimit = []Key{{"rate", 0.05}, {"times", 3}, {"forSeconds", 10}}
)

// Actions are the controls of a running sandbox.
var Actions = []Action{
	{"advance", "Advance filings one step, or to a status", append(orderOrAll, Key{"status", "filed"}),
		(*Service).adminAdvance},
	{"exception", "Give filings an exception (463 to 465, 482, 483, 484 or 487); advance resolves it",
		append(orderOrAll, Key{"code", 482}), (*Service).adminException},
	{"renew", "Place the next annual report of a subscription", orderOrAll, (*Service).adminRenew},
	{"subscription", "Set the status of a subscription: active, canceled or past_due",
		append(orderOrAll, Key{"status", "past_due"}), (*Service).adminSubscription},
	{"mail", "Deliver registered agent mail", []Key{{"orderId", "order_4be8"}}, (*Service).adminMail},
	{"redeliver", "Deliver events again, with the same bytes and ID",
		[]Key{{"eventId", "evt_9c01"}, {"all", true}, {"reverse", true}, {"twice", true}}, (*Service).adminRedeliver},
	{"test-delivery", "Send a test event to every endpoint", nil, (*Service).adminTestDelivery},
	{"deposit", "Add dollars to the prepaid balance", []Key{{"amount", 250.5}}, (*Service).adminDeposit},
	{"ein", "Set the EIN of a company, or remove it", []Key{{"companyId", "comp_1"}, {"ein", "12-3456789"}},
		(*Service).adminEIN},
	{"fault", "Add a fault of answers", append([]Key{{"kind", "status"}, {"status", 503}, {"after", true},
		{"endpoint", "POST /orders"}, {"companyId", "comp_1"}, {"nth", 3}, {"retryAfterSeconds", 2},
		{"retryDate", true}}, faultLimit...), (*Service).adminAddFault},
	{"faults", "List the faults of answers", nil, (*Service).adminListFaults},
	{"clear-faults", "Remove the faults of answers", nil, (*Service).adminClearFaults},
	{"webhook-fault", "Add a fault of deliveries", append([]Key{{"kind", "duplicate"}}, faultLimit...),
		(*Service).adminAddWebhookFault},
	{"webhook-faults", "List the faults of deliveries", nil, (*Service).adminListWebhookFaults},
	{"clear-webhook-faults", "Remove the faults of deliveries", nil, (*Service).adminClearWebhookFaults},
	{"behavior", "Switch a behavior of the filing service on, or off",
		[]Key{{"behavior", "slow-agents"}, {"off", true}}, (*Service).adminBehavior},
	{"behaviors", "List the behaviors that are on", nil, (*Service).adminListBehaviors},
	{"down", "Stop the filing service (503 or refuse), or restart it (up)", []Key{{"mode", "503"}, {"seconds", 30}},
		(*Service).adminDown},
}
