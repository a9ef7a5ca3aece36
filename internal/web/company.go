package web

import (
	"cmp"
	"slices"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/report"
	"github.com/bulkfiling/bulkfiling/internal/season"
	"github.com/bulkfiling/bulkfiling/internal/text"
)

var companyRoutes = []route{
	{pattern: "GET /companies", may: viewer, serve: (*Site).companies},
	{pattern: "GET /companies/{key}", may: viewer, serve: (*Site).company},
}

// companiesPage lists the companies of submitted rows.
type companiesPage struct {
	Companies []ledger.ListedCompany
	More      string // the next page; "" at the end
	First     string // the first page; "" on it
}

const companiesOnPage = 50

func (s *Site) companies(v *request) error {
	after := v.r.URL.Query().Get("after")
	companies, err := s.Ledger.Companies().List(v.ctx(), after, companiesOnPage+1)
	if err != nil {
		return err
	}
	p := new(companiesPage)
	var more bool
	if p.Companies, more = firstOf(companies, companiesOnPage); more {
		p.More = address("/companies", "after", companies[companiesOnPage-1].Key)
	}
	if after != "" {
		p.First = "/companies"
	}
	return v.show("companies.html", "Companies", p)
}

// companyPage is the page of a company.
type companyPage struct {
	ledger.ListedCompany
	Record        *filing.Company // at the filing service; nil where it was not looked up
	Filings       []companyFiling
	Documents     []companyDocument
	Due           []companyDue
	Subscriptions *subscriptions
	Cut           bool // there are more filings than are shown
	Starred       bool // a cost is an estimate
	Partial       bool // a state fee is missing from a cost
}

// companyFiling is a row of the company.
type companyFiling struct {
	ledger.Row
	File     string
	Cost     rowCost
	Year     string // the filing year, where there is one
	Text     string
	Statuses []string // of its orders
	Stopped  bool
}

type companyDocument struct {
	ledger.Document
	Batch string
}

// companyDue is when a report of the company is due next.
type companyDue struct {
	State filing.State
	season.Due
}

// filingsOfCompany is how many filings of a company its page shows.
const filingsOfCompany = 200

func (s *Site) company(v *request) error {
	ctx := v.ctx()
	c, err := s.Ledger.Companies().Company(ctx, v.r.PathValue("key"))
	if err != nil {
		return err
	}
	p := &companyPage{ListedCompany: c}
	if c.ID != "" {
		known, err := s.Ledger.Companies().Find(ctx, []string{c.ID})
		if err != nil {
			return err
		}
		if record, ok := known[c.ID]; ok {
			p.Record = &record
		}
	}
	rows, err := s.Ledger.RowsOfCompany(ctx, c.Key, filingsOfCompany+1)
	if err != nil {
		return err
	}
	rows, p.Cut = firstOf(rows, filingsOfCompany)
	files := make(map[string]ledger.Batch)
	for _, r := range rows {
		if _, ok := files[r.Batch]; !ok {
			if files[r.Batch], err = s.Ledger.Batch(ctx, r.Batch); err != nil {
				return err
			}
		}
		p.add(r, files[r.Batch])
		if err := s.addDocuments(v, p, r); err != nil {
			return err
		}
	}
	p.addDueDates()
	if c.ID != "" {
		if p.Subscriptions, err = s.loadSubscriptions(v, c.ID, p.Filings); err != nil {
			return err
		}
	}
	return v.show("company.html", c.Name, p)
}

// add adds a row to the filings.
func (p *companyPage) add(r ledger.Row, b ledger.Batch) {
	f := companyFiling{Row: r, Cost: costOf(r), File: b.File, Text: text.Line(report.Message(&r))}
	if r.Request != nil && r.Request.Order.AnnualReport != nil {
		f.Year = r.Request.Order.AnnualReport.FilingYear
	}
	for _, i := range r.Items {
		f.Stopped = f.Stopped || i.Exception != 0
		if i.FilingStatus != "" && !slices.Contains(f.Statuses, i.FilingStatus) {
			f.Statuses = append(f.Statuses, i.FilingStatus)
		}
	}
	p.Filings = append(p.Filings, f)
	p.Starred = p.Starred || f.Cost.Certainty == money.Estimated
	p.Partial = p.Partial || f.Cost.IsUnknown()
}

// rowsWithDocuments is for how many rows of a company documents are loaded: each row
// is a query.
const rowsWithDocuments = 50

// addDocuments adds the documents of a row.
func (s *Site) addDocuments(v *request, p *companyPage, r ledger.Row) error {
	if len(p.Filings) > rowsWithDocuments || len(r.Items) == 0 {
		return nil
	}
	for d, err := range s.Ledger.Documents().OfRow(v.ctx(), r.ID) {
		if err != nil {
			return err
		}
		p.Documents = append(p.Documents, companyDocument{d, r.Batch})
	}
	return nil
}

// addDueDates adds when the reports of the company are due next: in the state of its
// formation, and in each state in which an order for it was filed.
func (p *companyPage) addDueDates() {
	company := filing.Company{}
	if p.Record != nil {
		company = *p.Record
	}
	states := []filing.State{company.FormationState}
	for _, f := range p.Filings {
		if f.Request == nil {
			continue
		}
		states = append(states, f.Request.Order.FilingState)
		sheet := f.Request.Company.Sheet
		company.EntityType = cmp.Or(company.EntityType, sheet.EntityType)
		company.FormationState = cmp.Or(company.FormationState, sheet.FormationState)
		company.FormationDate = cmp.Or(company.FormationDate, sheet.FormationDate)
	}
	slices.Sort(states)
	today := season.DateOf(time.Now())
	for _, state := range slices.Compact(states) {
		if state == "" {
			continue
		}
		facts := season.FactsOf(state, company)
		d, _ := season.Builtin().Next(facts, today)
		p.Due = append(p.Due, companyDue{State: state, Due: d})
	}
}
