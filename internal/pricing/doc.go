// Package pricing computes the cost of filings from the price list of the filing service, the fees
// of the states and the billing rules.
//
// An unknown amount is never zero. It makes the cost "at least". An amount from the built-in table
// is an estimate and makes the cost "about". Package season has the annual report fees of that
// table, because it has the due dates too.
package pricing
