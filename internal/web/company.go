package web

import (
	"cmp"
	"slices"
	"strings"
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
	Search    string
	Companies []ledger.ListedCompany
	More      string // the next page; "" at the end
	First     string // the first page; "" on it
	Cut       bool   // more companies match than are shown
}

const companiesOnPage = 50

func (s *Site) companies(v *request) error {
	ask := v.r.URL.Query()
	p := &companiesPage{Search: strings.TrimSpace(shortened(ask.Get("q"), 200))}
	var err error
	companies, after := s.Ledger.Companies(), ask.Get("after")
	if p.Search != "" {
		if p.Companies, err = companies.Search(v.ctx(), p.Search, companiesOnPage+1); err != nil {
			return err
		}
	} else if p.Companies, err = companies.List(v.ctx(), after, companiesOnPage+1); err != nil {
		return err
	}
	if len(p.Companies) > companiesOnPage {
		p.Companies = p.Companies[:companiesOnPage]
		if p.Cut = p.Search != ""; !p.Cut {
			p.More = "/companies?after=" + strings.TrimPrefix(companyPath(p.Companies[companiesOnPage-1].Key),
				"/companies/")
		}
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
	Agents        []companyAgent
	Filings       []companyFiling
	Documents     []companyDocument
	Events        []companyEvent
	Due           []companyDue
	Subscriptions *subscriptions
	Years         []companyYear
	Cut           bool // there are more filings than are shown
	Starred       bool // a cost is an estimate
	Partial       bool // a state fee is missing from a cost
}

// companyAgent is an agent that an order of the company appoints.
type companyAgent struct {
	State filing.State
	What  string
	Row   ledger.Row
}

// companyFiling is a row of the company.
type companyFiling struct {
	ledger.Row
	File     string
	Year     string // the filing year, where there is one
	Text     string
	Statuses []string // of its orders
	Stopped  bool
}

type companyDocument struct {
	ledger.Document
	Batch string
}

type companyEvent struct {
	rowEvent
	Batch  string
	Number int
}

// companyDue is when a report of the company is due next.
type companyDue struct {
	State filing.State
	season.Due
}

type companyYear struct {
	Year   int
	Orders int
	Cost   money.Cost
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
	if p.Cut = len(rows) > filingsOfCompany; p.Cut {
		rows = rows[:filingsOfCompany]
	}
	files := make(map[string]ledger.Batch)
	for _, r := range rows {
		if _, ok := files[r.Batch]; !ok {
			if files[r.Batch], err = s.Ledger.Batch(ctx, r.Batch); err != nil {
				return err
			}
		}
		p.add(r, files[r.Batch])
		if err := s.addUpdates(v, p, r); err != nil {
			return err
		}
	}
	slices.SortFunc(p.Events, func(a, b companyEvent) int { return b.ReceivedAt.Compare(a.ReceivedAt) })
	slices.SortFunc(p.Years, func(a, b companyYear) int { return cmp.Compare(b.Year, a.Year) })
	p.addDueDates()
	if c.ID != "" {
		if p.Subscriptions, err = s.loadSubscriptions(v, c.ID, p.Filings); err != nil {
			return err
		}
	}
	return v.show("company.html", c.Name, p)
}

// add adds a row to the filings, the agents and the costs by year.
func (p *companyPage) add(r ledger.Row, b ledger.Batch) {
	f := companyFiling{Row: r, File: b.File, Text: text.Line(report.Message(&r))}
	if r.Request != nil && r.Request.Order.AnnualReport != nil {
		f.Year = r.Request.Order.AnnualReport.FilingYear
	}
	for _, i := range r.Items {
		f.Stopped = f.Stopped || filing.IsException(i.Exception, i.FilingStatus)
		if i.FilingStatus != "" && !slices.Contains(f.Statuses, i.FilingStatus) {
			f.Statuses = append(f.Statuses, i.FilingStatus)
		}
		if i.Product == filing.RegisteredAgent || i.Product == filing.AgentChange {
			a := companyAgent{What: i.Product.Title(), Row: r}
			if r.Request != nil {
				a.State = r.Request.Order.FilingState
			}
			p.Agents = append(p.Agents, a)
		}
	}
	p.Filings = append(p.Filings, f)
	p.Starred = p.Starred || r.Cost.Certainty == money.Estimated
	p.Partial = p.Partial || r.Cost.IsUnknown()
	if r.Result != filing.Placed {
		return
	}
	year := r.UpdatedAt.UTC().Year()
	at := slices.IndexFunc(p.Years, func(y companyYear) bool { return y.Year == year })
	if at < 0 {
		at = len(p.Years)
		p.Years = append(p.Years, companyYear{Year: year})
	}
	y := &p.Years[at]
	y.Orders++
	if sum, err := y.Cost.Plus(r.Spent); err == nil {
		y.Cost = sum
	}
}

// updatesOfCompany is for how many rows of a company events and documents are loaded:
// each row is two queries.
const updatesOfCompany = 50

// addUpdates adds the documents and the events of a row.
func (s *Site) addUpdates(v *request, p *companyPage, r ledger.Row) error {
	if len(p.Filings) > updatesOfCompany || len(r.Items) == 0 {
		return nil
	}
	for d, err := range s.Ledger.Documents().OfRow(v.ctx(), r.ID) {
		if err != nil {
			return err
		}
		p.Documents = append(p.Documents, companyDocument{d, r.Batch})
	}
	events, err := s.Ledger.Events().ListOf(v.ctx(), r.ID)
	if err != nil {
		return err
	}
	for _, e := range events {
		p.Events = append(p.Events, companyEvent{rowEvent{Event: e}, r.Batch, r.Number})
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
