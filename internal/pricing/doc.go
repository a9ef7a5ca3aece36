// Package pricing is what filings cost: the service's price list, the fees of
// the states, and the quote of an order by the billing rules.
//
// A figure that is not known is never zero: it makes the cost "at least". A figure
// of the built-in table is an estimate: it makes the cost "about". The annual
// report fees of that table are those of package season, beside the due dates.
package pricing
