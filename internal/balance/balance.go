// Package balance computes the recorded balance, the available funds, the priority of orders if the
// funds are insufficient, and the forecast.
//
// It does no I/O. The ledger stores the deposits, entries and reservations.
package balance

import (
	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/money"
)

// Balance has the sums of the recorded deposits, adjustments and orders.
type Balance struct {
	// HasDeposit reports whether a deposit was recorded. Otherwise the funds are unknown.
	HasDeposit  bool
	Deposits    money.Cents
	Adjustments money.Cents
	Posted      money.Cents
	Reserved    money.Cents
	// Certainty is the lowest certainty of the posted and reserved costs.
	Certainty money.Certainty
}

// Available returns the amount that can still be reserved. It is meaningless before the first
// recorded deposit.
func (b Balance) Available() money.Cents {
	return b.Deposits + b.Adjustments - b.Posted - b.Reserved
}

// Missing returns how much a cost exceeds the available funds, zero if it does not.
func (b Balance) Missing(cost money.Cents) money.Cents { return max(0, cost-b.Available()) }

// Unsure reports whether a part of the posted or reserved costs is unknown.
func (b Balance) Unsure() bool { return b.Certainty >= money.Unknown }

// Estimated reports whether a part of the posted or reserved costs is an estimate or unknown.
func (b Balance) Estimated() bool { return b.Certainty >= money.Estimated }

// Contradicts reports whether the filing service rejects orders for insufficient funds although the
// recorded balance has some. The filing service has no endpoint for its balance, so only a person
// can determine which of the two is right.
func (b Balance) Contradicts(reason filing.Halt) bool {
	return reason == filing.HaltFunds && b.HasDeposit && b.Available() > 0
}
