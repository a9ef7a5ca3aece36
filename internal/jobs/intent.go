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
	in := ledger.Intent{
		Row:     row.ID,
		Of:      row.InBatch(),
		Tries:   row.Tries,
		Company: companyID,
		Cost:    money.Cost{Amount: row.Cost.Amount - row.Spent.Amount, Certainty: row.Cost.Certainty},
	}
	if companyID == "" && row.Request.CreatesCompany() {
		in.Creating, in.Rest = true, row.Request.Order.Products()
		in.Claims = []ledger.Claim{
			{Product: filing.CompanyRecord, Key: row.Request.Company.Sheet.ForUser(userID).Key()},
		}
		return in
	}
	order, rest := ledger.Sent(row.Left(userID, companyID))
	in.Claims, in.Rest = ledger.ClaimsOf(&order, b.Repetition()), rest
	return in
}
