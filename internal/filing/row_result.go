package filing

import "slices"

// Result is the state of a row.
type Result string

// The states of a row. What each leads to is in Edges.
const (
	Invalid Result = "invalid" // breaks a rule; never sent
	// a repeat within the file, outside --state, or covered by a subscription
	// already bought
	Skipped   Result = "skipped"
	Ready     Result = "ready"     // valid and not sent; also waiting for funds, approval or the service
	Placing   Result = "placing"   // the intent is committed, the answer is not yet recorded
	Placed    Result = "placed"    // the service answered with order ids
	Exists    Result = "exists"    // already there, by an idempotent 409 or by the ledger
	Rejected  Result = "rejected"  // the service refused, and said why
	Uncertain Result = "uncertain" // sent, and no trustworthy answer came
	Canceled  Result = "canceled"  // taken back before it was sent
)

// Results lists every state in the order summaries show them.
var Results = []Result{Placed, Exists, Invalid, Rejected, Uncertain, Ready, Placing, Skipped, Canceled}

// Edge is one permitted transition of a row, and the one reason for it.
type Edge struct {
	From, To Result
	Why      string
	Late     bool // only an answer that arrives after a person's decision does it
}

// Edges is the row's whole life. The diagram in the README is generated from
// it, and the ledger refuses what is not in it.
var Edges = []Edge{
	{Ready, Placing, "the intent and its reservation are committed", false},
	{Ready, Exists, "the ledger already holds the purchase", false},
	{Ready, Skipped, "a subscription bought earlier covers it", false},
	{Ready, Rejected, "a look-up shows that the order cannot be made", false},
	{Ready, Invalid, "the filing service's record is of another company", false},
	{Ready, Canceled, "taken back before it was sent", false},
	{Ready, Uncertain, "a person supposes that it was sent: the ledger was restored", false},
	{Placing, Placed, "the service answered with order ids", false},
	{Placing, Exists, "the service says it is already there", false},
	{Placing, Rejected, "the service refused it", false},
	{Placing, Uncertain, "sent, and no trustworthy answer came", false},
	{Placing, Ready, "not sent, or safe to send again", false},
	{Skipped, Exists, "the subscription that covers it renewed it", false},
	{Rejected, Ready, "retried after a correction", false},
	{Invalid, Ready, "a person confirmed the company, or its record was corrected", false},
	{Canceled, Ready, "wanted after all", false},
	{Uncertain, Placed, "resolved: the order exists", false},
	{Uncertain, Ready, "resolved: the order was never made", false},
	{Placed, Uncertain, "a late answer contradicts the person who marked it as placed", true},
}

// CanBecome reports whether the row may go from r to next.
func (r Result) CanBecome(next Result) bool {
	return slices.ContainsFunc(Edges, func(e Edge) bool { return e.From == r && e.To == next })
}

// Terminal reports whether nothing but a late answer takes a row out of r.
func (r Result) Terminal() bool {
	return !slices.ContainsFunc(Edges, func(e Edge) bool { return e.From == r && !e.Late })
}
