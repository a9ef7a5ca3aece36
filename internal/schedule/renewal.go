package schedule

import (
	"cmp"
	"context"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/season"
)

// renewalNotice is how long before its due date the renewal of a covered report is expected.
const renewalNotice = 30 * 24 * time.Hour

// Renewal is a report that was not ordered because a subscription covers it, and that the filing
// service has not reported yet.
type Renewal struct {
	ledger.Covered
	// Name is the company's legal name, empty if unknown.
	Name string
	Due  season.Due
}

// Missing returns why a person should look at the renewal. It is empty if time is left. A
// report without a known due date is missing from the first day of its year.
func (r Renewal) Missing(now time.Time) string {
	soon := season.DateOf(now.Add(renewalNotice))
	switch {
	case r.By.Lapsed != "":
		return "not covered any more: " + r.By.Lapsed
	case r.Due.Verdict == season.Dated && !soon.Before(r.Due.Date):
		return "due " + r.Due.When() + ", and no renewal is reported"
	case r.Due.Verdict == season.AskState && r.Year <= now.Year():
		return "no renewal is reported, and the due date is not known"
	}
	return ""
}

// Renewals lists the reports that subscriptions cover and whose renewal the filing
// service has not reported yet. An empty company means all.
func Renewals(ctx context.Context, l *ledger.Ledger, rules *season.Rules, company string) ([]Renewal, error) {
	covered, err := l.Subscriptions().Covered(ctx, company)
	if err != nil || len(covered) == 0 {
		return nil, err
	}
	ids := make([]int64, len(covered))
	refs := make([]string, len(covered))
	for i, c := range covered {
		ids[i], refs[i] = c.Row, c.CompanyID
	}
	rows, err := l.RowsByID(ctx, ids)
	if err != nil {
		return nil, err
	}
	known, err := l.Companies().Find(ctx, refs)
	if err != nil {
		return nil, err
	}
	all := make([]Renewal, len(covered))
	for i, c := range covered {
		company, sheet := known[c.CompanyID], filing.Company{}
		if row := rows[c.Row]; row.Request != nil {
			sheet = row.Request.Company.Sheet
		}
		r := Renewal{Covered: c, Name: cmp.Or(sheet.LegalName, company.LegalName)}
		r.Due, _ = rules.Due(season.FactsOf(c.State, company, sheet), c.Year)
		all[i] = r
	}
	return all, nil
}
