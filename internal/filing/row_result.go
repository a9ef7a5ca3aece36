package filing

import "slices"

// Result is the state of a row.
type Result string

// The states of a row. Edges has the transitions.
const (
	// Invalid rows break a rule or need a confirmation. They are not sent.
	Invalid Result = "invalid"
	// Skipped rows repeat another row, are excluded, or are covered by a subscription.
	Skipped Result = "skipped"
	// Ready rows are valid and not sent. They may wait for funds, approval or the filing service.
	Ready Result = "ready"
	// Placing rows have a committed intent and no recorded answer.
	Placing Result = "placing"
	// Placed rows were confirmed by the filing service with order IDs.
	Placed Result = "placed"
	// Exists rows were ordered before, by the ledger or by a 409.
	Exists Result = "exists"
	// Rejected rows were refused by the filing service with a reason.
	Rejected Result = "rejected"
	// Uncertain rows were sent, but the filing service did not confirm them.
	Uncertain Result = "uncertain"
	// Canceled rows were canceled before they were sent.
	Canceled Result = "canceled"
)

// Results lists every state in the order summaries show them.
var Results = []Result{Placed, Exists, Invalid, Rejected, Uncertain, Ready, Placing, Skipped, Canceled}

// Edge is a permitted transition of a row and its reason.
type Edge struct {
	From, To Result
	Why      string
	// Late reports whether only an answer after a person's decision causes the transition.
	Late bool
}

// Edges lists all permitted transitions. The diagram in the documentation is
// generated from it, and the ledger refuses any other transition.
var Edges = []Edge{
	{Ready, Placing, "the intent and its reservation are committed", false},
	{Ready, Exists, "the ledger already holds the purchase", false},
	{Ready, Placed, "the ledger already holds the rest of its order", false},
	{Ready, Skipped, "a subscription bought earlier covers it", false},
	{Ready, Rejected, "a lookup shows that the order cannot be made", false},
	{Ready, Invalid, "the filing service's record is of another company", false},
	{Ready, Canceled, "canceled before it was sent", false},
	{Ready, Uncertain, "after a restore of the ledger, a person marked it as possibly sent", false},
	{Placing, Placed, "the filing service confirmed it with order ids", false},
	{Placing, Exists, "the filing service answered that it already exists", false},
	{Placing, Rejected, "the filing service refused it", false},
	{Placing, Uncertain, "sent, but the filing service did not confirm it", false},
	{Placing, Ready, "not sent, or safe to send again", false},
	{Skipped, Exists, "the subscription that covers it renewed it", false},
	{Rejected, Ready, "retried after a correction", false},
	{Invalid, Ready, "a person confirmed the company, or its record was corrected", false},
	{Canceled, Ready, "wanted after all", false},
	{Uncertain, Placed, "resolved: marked as placed", false},
	{Uncertain, Ready, "resolved: marked as not placed", false},
	{Placed, Uncertain, "a late answer contradicts the person who marked it as placed", true},
}

// CanBecome reports whether Edges permits the transition from r to next.
func (r Result) CanBecome(next Result) bool {
	return slices.ContainsFunc(Edges, func(e Edge) bool { return e.From == r && e.To == next })
}

// Leads reports whether a row that its attempts leave in r may now be in next. A request or a decision
// about one is recorded as an attempt, so the transitions from Placing, Uncertain and Placed do not
// count. A request in flight is not recorded yet.
func (r Result) Leads(next Result) bool {
	seen := []Result{r}
	for i := 0; i < len(seen); i++ {
		if from := seen[i]; from == Placing || from == Uncertain || from == Placed {
			continue
		}
		for _, e := range Edges {
			if e.From == seen[i] && !slices.Contains(seen, e.To) {
				seen = append(seen, e.To)
			}
		}
	}
	return slices.Contains(seen, next)
}

// Terminal reports whether only a late answer changes a row that is in r.
func (r Result) Terminal() bool {
	return !slices.ContainsFunc(Edges, func(e Edge) bool { return e.From == r && !e.Late })
}
