package web

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/intake"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/report"
	"github.com/bulkfiling/bulkfiling/internal/schedule"
	"github.com/bulkfiling/bulkfiling/internal/season"
	"github.com/bulkfiling/bulkfiling/internal/text"
)

// companyHandler handles the companies, their subscriptions, and the search.
type companyHandler struct{ *Config }

func (h *companyHandler) routes() []route {
	return []route{
		{pattern: "GET /companies", may: viewer, serve: h.companies},
		{pattern: "GET /companies/{key}", may: viewer, serve: h.company},
		{pattern: "GET /renewals", may: viewer, serve: h.renewals},
		{pattern: "POST /companies/{key}/subscription", may: operator, serve: h.setSubscription},
		{pattern: "POST /companies/{key}/renewal", may: operator, serve: h.recordRenewal},
		{pattern: "GET /search", may: viewer, serve: h.search},
	}
}

// companiesPage lists the companies of submitted rows.
type companiesPage struct {
	Companies []ledger.ListedCompany
	Pager     pager
}

const companiesOnPage = 50

func (h *companyHandler) companies(v *request) error {
	companies, err := h.Ledger.Companies().List(v.ctx(), v.query("after"), companiesOnPage+1)
	var p companiesPage
	p.Pager, p.Companies = keyset(v, "after", companies, companiesOnPage,
		func(c ledger.ListedCompany) any { return c.Key }, "")
	return v.show(err, "companies.html", "Companies", p)
}

// companyPage is the page of a company.
type companyPage struct {
	ledger.ListedCompany
	// Record is the filing service's record of the company. Nil if it was not looked up.
	Record        *filing.Company
	Filings       []companyFiling
	Documents     []companyDocument
	Due           []companyDue
	Subscriptions *subscriptions
	// Cut reports whether there are more filings than shown.
	Cut bool
	// Starred reports whether a cost is an estimate.
	Starred bool
	// Partial reports whether a cost lacks its state fee.
	Partial bool
}

// companyFiling is a row of the company.
type companyFiling struct {
	ledger.Row
	File string
	Cost rowCost
	// Year is the filing year of an annual report. Empty for other orders.
	Year string
	Text string
	// Statuses are the filing statuses of its orders.
	Statuses []string
	Stopped  bool
}

type companyDocument struct {
	ledger.Document
	Batch string
}

// companyDue is the next due date of a report of the company.
type companyDue struct {
	State filing.State
	season.Due
}

// filingsOfCompany is the maximum number of filings on the page of a company.
const filingsOfCompany = 200

func (h *companyHandler) company(v *request) error {
	ctx := v.ctx()
	c, err := h.Ledger.Companies().Company(ctx, v.r.PathValue("key"))
	if err != nil {
		return err
	}
	p := &companyPage{ListedCompany: c}
	known, err := h.Ledger.Companies().Find(ctx, []string{c.ID})
	if record, ok := known[c.ID]; ok {
		p.Record = &record
	}
	var rows []ledger.Row
	if err = errors.Join(err, load(&rows)(h.Ledger.Companies().RowsOf(ctx, c.Key, filingsOfCompany+1))); err != nil {
		return err
	}
	rows, p.Cut = firstOf(rows, filingsOfCompany)
	batches, err := h.batchesOf(ctx, rows)
	if err != nil {
		return err
	}
	for n, r := range rows {
		p.add(r, batches[r.Batch])
		if n >= rowsWithDocuments || len(r.Items) == 0 {
			continue
		}
		documents, err := collect(h.Ledger.Documents().OfRow(ctx, r.ID))
		if err != nil {
			return err
		}
		for _, d := range documents {
			p.Documents = append(p.Documents, companyDocument{d, r.Batch})
		}
	}
	p.addDueDates()
	if c.ID != "" {
		p.Subscriptions = subscriptionsOf(p.Filings)
		p.Subscriptions.Renewals, err = h.loadRenewals(v, c.ID)
	}
	return v.show(err, "company.html", c.Name, p)
}

// batchesOf returns the batches of rows.
func (h *companyHandler) batchesOf(ctx context.Context, rows []ledger.Row) (map[string]ledger.Batch, error) {
	all := make(map[string]ledger.Batch)
	for _, r := range rows {
		if _, ok := all[r.Batch]; ok {
			continue
		}
		b, err := h.Ledger.Batch(ctx, r.Batch)
		if err != nil {
			return nil, err
		}
		all[r.Batch] = b
	}
	return all, nil
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

// rowsWithDocuments limits the rows whose documents are loaded. Each row takes a query.
const rowsWithDocuments = 50

// addDueDates adds the next due dates of the company's reports: in the state of its formation, and
// in each state with an order for it.
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

// subscriptionStatuses are the statuses of a subscription at the filing service. Source: spec
// section 2, Order item.
var subscriptionStatuses = []string{"active", "canceled", "past_due"}

// renewal is a report that a subscription covers, as pages show it.
type renewal struct {
	schedule.Renewal
	// Needs is the reason why a person should check it. Empty while there is time.
	Needs string
}

// subscriptions are the annual subscriptions of a company.
type subscriptions struct {
	Renewals []renewal
	// Orders are the IDs of the annual reports, each of which opens a subscription.
	Orders   []string
	Statuses []string
}

// subscriptionsOf returns the subscriptions that the filings of a company opened.
func subscriptionsOf(filings []companyFiling) *subscriptions {
	found := &subscriptions{Statuses: subscriptionStatuses}
	for _, f := range filings {
		for _, i := range f.Items {
			if i.Product == filing.AnnualReport && i.OrderID != "" {
				found.Orders = append(found.Orders, i.OrderID)
			}
		}
	}
	return found
}

func (h *companyHandler) loadRenewals(v *request, company string) ([]renewal, error) {
	all, err := schedule.Renewals(v.ctx(), h.Ledger, season.Builtin(), company)
	if err != nil {
		return nil, err
	}
	shown := make([]renewal, len(all))
	for i, r := range all {
		shown[i] = renewal{r, r.Missing(time.Now())}
	}
	return shown, nil
}

// renewalsOnPage is the maximum number of reports on the page of renewals.
const renewalsOnPage = 200

// renewals lists the covered reports that need attention.
func (h *companyHandler) renewals(v *request) error {
	all, err := h.loadRenewals(v, "")
	if err != nil {
		return err
	}
	late := slices.DeleteFunc(slices.Clone(all), func(r renewal) bool { return r.Needs == "" })
	shown, _ := firstOf(late, renewalsOnPage)
	return v.show(nil, "renewals.html", "Renewals", struct {
		Renewals []renewal
		// Waiting counts the renewals that still have time.
		Waiting int
		More    int
	}{shown, len(all) - len(late), len(late) - len(shown)})
}

// setSubscription records the status of a subscription that a person has looked up.
func (h *companyHandler) setSubscription(v *request) error {
	order, status := v.form("order"), v.form("status")
	if !slices.Contains(subscriptionStatuses, status) {
		return badRequest("Choose a status. Nothing was changed.")
	}
	note := cmp.Or(strings.TrimSpace(shortened(v.form("note"), noteLength)), "looked up by a person")
	err := h.Ledger.Subscriptions().SetStatus(v.withAudit("subscription", order, note+": "+status), order, status)
	if errors.Is(err, ledger.ErrNoSubscription) {
		return badRequest("No annual report has the order ID %s. Nothing was changed.", order)
	}
	return v.done(err, companyPath(v.r.PathValue("key"))+"#subscriptions", "The subscription of order %s is %s.", order,
		strings.ReplaceAll(status, "_", " "))
}

// recordRenewal records the order that renews a covered report.
func (h *companyHandler) recordRenewal(v *request) error {
	order := strings.TrimSpace(v.form("order"))
	row, err := strconv.ParseInt(v.form("row"), 10, 64)
	if err != nil || order == "" || len(order) > noteLength {
		return badRequest("Enter the order ID of the renewal. Nothing was changed.")
	}
	err = h.Ledger.Subscriptions().Renew(v.withAudit("renewal", order, ""), row, order)
	switch {
	case errors.Is(err, ledger.ErrNotCovered):
		return badRequest("This report does not wait for a renewal any more. Nothing was changed.")
	case errors.Is(err, ledger.ErrOrderTaken):
		return badRequest("The order %s belongs to another row. Nothing was changed.", order)
	}
	return v.done(err, companyPath(v.r.PathValue("key"))+"#subscriptions", "Order %s is recorded as the renewal.",
		order)
}

// searchPage lists the results of a search by kind.
type searchPage struct {
	Search    string
	Companies []ledger.ListedCompany
	Clients   []string
	Orders    []foundRow
	Batches   []ledger.Batch
	Uploads   []intake.Upload
	// More reports whether there are more companies than shown.
	More bool
}

// foundRow is a row that was found by an order ID.
type foundRow struct {
	ledger.Row
	File, Name, Text string
}

const (
	foundCompanies = 50
	foundOthers    = 20
)

// Nothing reports whether the search found nothing.
func (p *searchPage) Nothing() bool {
	return len(p.Companies)+len(p.Clients)+len(p.Orders)+len(p.Batches)+len(p.Uploads) == 0
}

// search finds companies, clients, orders, batches and uploads.
func (h *companyHandler) search(v *request) error {
	ctx := v.ctx()
	p := &searchPage{Search: v.search("q")}
	if p.Search == "" {
		return v.show(nil, "search.html", "Search", p)
	}
	var batches []ledger.Batch
	var uploads []intake.Upload
	companies := h.Ledger.Companies()
	err := errors.Join(
		load(&p.Companies)(companies.Search(ctx, p.Search, foundCompanies+1)),
		load(&p.Clients)(companies.Clients(ctx, p.Search, foundOthers)),
		load(&p.Orders)(h.findOrders(ctx, p.Search)),
		load(&batches)(h.Ledger.Batches(ctx)),
		load(&uploads)(intake.NewUploads(h.Ledger).List(ctx)))
	if err != nil {
		return err
	}
	p.Companies, p.More = firstOf(p.Companies, foundCompanies)
	f := batchFilter{Search: p.Search}
	for _, b := range batches {
		if b.Open && f.matches(b) && len(p.Batches) < foundOthers {
			p.Batches = append(p.Batches, b)
		}
	}
	for _, u := range uploads {
		if strings.Contains(strings.ToLower(u.File), strings.ToLower(p.Search)) && len(p.Uploads) < foundOthers {
			p.Uploads = append(p.Uploads, u)
		}
	}
	return v.show(nil, "search.html", "Search: "+p.Search, p)
}

// findOrders lists the rows that have the order ID.
func (h *companyHandler) findOrders(ctx context.Context, order string) (all []foundRow, err error) {
	rows, err := h.Ledger.RowsWithOrder(ctx, order)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	var names map[int64]string
	var batches map[string]ledger.Batch
	err = errors.Join(
		load(&names)(h.Ledger.Companies().NamesOf(ctx, rows)),
		load(&batches)(h.batchesOf(ctx, rows)))
	for _, r := range rows {
		all = append(all, foundRow{r, batches[r.Batch].File, names[r.ID], text.Line(report.Message(&r))})
	}
	return all, err
}

// companyPath returns the address of a company's page.
func companyPath(key string) string { return "/companies/" + url.PathEscape(key) }

// clientPath returns the address of a client's batches.
func clientPath(name string) string { return address("/", "client", name) + "#batches" }
