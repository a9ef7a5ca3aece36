package ledger_test

import (
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

// formationOf is a row that forms a company.
func formationOf(name string) ledger.Row {
	return ledger.Row{Result: filing.Ready, Request: &filing.Request{
		Product: filing.Formation, User: filing.UserRef{ID: "user_1"},
		Order: filing.Order{
			UserID:      "user_1",
			FilingState: "DE",
			Formation:   &filing.FormationItem{Company: filing.Company{LegalName: name, EntityType: filing.LLC}},
		},
	}}
}

// A formation that an older version bought, under the key of its day, is still
// known however its name is written now.
func TestOldKeysAreKnown(t *testing.T) {
	onBothDatabases(t, func(s *store) {
		l := s.open()
		const name = "Cafe\u0301 Smith – Jones LLC" // as macOS and Excel write it
		rows := s.add(l, "old", formationOf(name))
		const company = "company|user_1|cafe\u0301 smith – jones llc|DE"
		in := ledger.Intent{Row: rows[0].ID, Claims: []ledger.Claim{
			{Product: filing.Formation, Key: "formation|user_1|cafe\u0301 smith – jones llc|DE"},
			{Product: filing.EIN, Key: "ein|formation|user_1|cafe\u0301 smith – jones llc|DE"},
			{Product: filing.CompanyRecord, Key: company},
		}}
		begun, err := l.Begin(s.Context(), in)
		s.must(err)
		s.must(l.RecordOutcome(s.Context(), ledger.Outcome{
			Row:    rows[0].ID,
			Try:    begun.Try,
			Answer: filing.Answer{Kind: filing.Accepted},
			Items: []ledger.Item{{Product: filing.Formation, OrderID: "order_1"},
				{Product: filing.EIN, OrderID: "order_2"}, {Product: filing.CompanyRecord, OrderID: "comp_1"}},
		}))
		s.must(l.Companies().Remember(s.Context(), company, filing.Company{ID: "comp_1"}))

		// The version after which names are folded as now has not run yet.
		_, err = s.sql().ExecContext(s.Context(), `DELETE FROM goose_db_version WHERE version_id = 17`)
		s.must(err)
		l = s.open()
		later := s.add(l, "new", formationOf("CAFÉ SMITH - JONES LLC"))
		order := later[0].Request.Order
		begun, err = l.Begin(s.Context(), ledger.Intent{Row: later[0].ID, Claims: ledger.ClaimsOf(&order, "")})
		s.must(err)
		if len(begun.Taken) != 1 || !begun.Taken[0].Bought || begun.Taken[0].Row != rows[0].ID {
			s.Errorf("the formation of before is not known: %+v", begun)
		}
		order.EIN = &filing.EINItem{}
		begun, err = l.Begin(s.Context(), ledger.Intent{Row: later[0].ID, Claims: ledger.ClaimsOf(&order, "")})
		s.must(err)
		if len(begun.Taken) != 2 {
			s.Errorf("of the formation and its EIN %d are known", len(begun.Taken))
		}
		key := string(
			filing.NewCompany{LegalName: "Café Smith-Jones, L.L.C.", FormationState: "DE", UserID: "user_1"}.Key())
		known, err := l.Companies().Find(s.Context(), []string{key})
		s.must(err)
		if known[key].ID != "comp_1" {
			s.Errorf("the company of before is not known under %s: %v", key, known)
		}
	})
}
