// Package balance is the recorded balance: deposits, reservations, what is
// available, which orders go first when it does not cover all, and the forecast.
//
// It computes and reads nothing. The ledger stores the entries and reservations.
package balance

import (
	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/money"
)

// Balance is the sums of the recorded deposits, adjustments and orders.
type Balance struct {
	HasDeposit  bool // a deposit was recorded; otherwise the funds are unknown
	Deposits    money.Cents
	Adjustments money.Cents
	Posted      money.Cents
	Reserved    money.Cents
	Certainty   money.Certainty // of the least certain cost that is posted or reserved
}

// Available returns what may still be reserved. It means nothing before the first
// recorded deposit.
func (b Balance) Available() money.Cents {
	return b.Deposits + b.Adjustments - b.Posted - b.Reserved
}

// Missing returns how much a cost exceeds what is available; 0 where it does not.
func (b Balance) Missing(cost money.Cents) money.Cents { return max(0, cost-b.Available()) }

// Unsure reports whether a part of what is posted or reserved is not known.
func (b Balance) Unsure() bool { return b.Certainty >= money.Unknown }

// Estimated reports whether a part of what is posted or reserved is an estimate.
func (b Balance) Estimated() bool { return b.Certainty >= money.Estimated }

// Contradicts reports whether the filing service refuses orders for insufficient
// funds while the recorded balance has some. The filing service has no way to
// read its balance, so only a person can say which of the two is right.
func (b Balance) Contradicts(reason filing.Halt) bool {
	return reason == filing.HaltFunds && b.HasDeposit && b.Available() > 0
}
