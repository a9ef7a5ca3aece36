package filing_test

import (
	"fmt"

	"github.com/bulkfiling/bulkfiling/internal/filing"
)

func ExampleFoldLegalName() {
	for _, name := range []string{
		"Smith & Sons, L.L.C.",
		"SMITH AND SONS LIMITED LIABILITY COMPANY",
		"Smith & Sons, Inc.",
		"Smith and Sons Incorporated",
	} {
		fmt.Printf("%s: %s\n", name, filing.FoldLegalName(name))
	}
	// Output:
	// Smith & Sons, L.L.C.: smith and sons llc
	// SMITH AND SONS LIMITED LIABILITY COMPANY: smith and sons llc
	// Smith & Sons, Inc.: smith and sons inc
	// Smith and Sons Incorporated: smith and sons inc
}

func ExampleFold() {
	limits := filing.AttemptLimits{Wanted: []filing.Product{filing.AnnualReport}}
	sent := filing.Attempt{Number: 1, Products: limits.Wanted, Kind: filing.NoAnswer}
	state := filing.Fold([]filing.Attempt{sent}, limits)
	fmt.Println(state.Result)

	// A person marks it as not placed, and the answer arrives after all.
	sent.Decision, sent.DecidedOver = filing.DecidedNotPlaced, filing.NoAnswer
	late := sent
	late.Kind = filing.Accepted
	late.Purchases = []filing.Purchase{{Product: filing.AnnualReport, OrderID: "order_1"}}
	attempt, _ := sent.Merge(late)
	state = filing.Fold([]filing.Attempt{attempt}, limits)
	fmt.Println(state.Result, state.Bought[0].OrderID)
	// Output:
	// uncertain
	// placed order_1
}
