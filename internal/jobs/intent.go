package jobs

import (
	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/money"
)

// IntentFor returns the intent (the write-ahead record) with which a row would be sent now. It
// orders the row's items without the dropped ones. If companyID is empty and the row describes a
// company, it creates the company.
func IntentFor(row ledger.Row, b ledger.Batch, userID, companyID string) ledger.Intent {
	var in ledger.Intent
	if companyID == "" && row.Request.CreatesCompany() {
		in = creationIntent(&row, userID)
	} else {
		order, rest := ledger.Sent(row.Left(userID, companyID))
		in = orderIntent(&row, &order, b.Repetition())
		in.Rest = rest
	}
	in.Cost = money.Cost{Amount: row.Cost.Amount - row.Spent.Amount, Certainty: row.Cost.Certainty}
	return in
}

// orderIntent returns the intent of an order, without its cost and the products of later orders.
func orderIntent(row *ledger.Row, order *filing.Order, repetition string) ledger.Intent {
	return ledger.Intent{
		Row:     row.ID,
		Of:      row.InBatch(),
		Tries:   row.Tries,
		Company: order.CompanyID,
		Claims:  ledger.ClaimsOf(order, repetition),
	}
}

// creationIntent returns the intent to create the company that a row describes.
func creationIntent(row *ledger.Row, userID string) ledger.Intent {
	key := row.Request.Company.Sheet.ForUser(userID).Key()
	return ledger.Intent{
		Row:      row.ID,
		Of:       row.InBatch(),
		Tries:    row.Tries,
		Claims:   []ledger.Claim{{Product: filing.CompanyRecord, Key: key}},
		Creating: true,
		Rest:     row.Request.Order.Products(),
	}
}
