package web

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/bulkfiling/bulkfiling/internal/billing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/money"
)

var billRoutes = []route{
	{pattern: "GET /bills", may: viewer, serve: (*Site).bills},
	{pattern: "GET /bills/file", may: exporter, serve: (*Site).billFile},
	{pattern: "POST /bills", may: operator, serve: (*Site).makeBills},
	{pattern: "POST /bills/settings", may: operator, serve: (*Site).changeBilling},
	{pattern: "GET /bills/{bill}", may: viewer, serve: (*Site).billPage},
	{pattern: "POST /bills/{bill}/issue", may: operator, serve: (*Site).issueBill},
	{pattern: "POST /bills/{bill}/discard", may: operator, serve: (*Site).discardBill},
	{pattern: "POST /batches/{batch}/client", may: preparer, serve: (*Site).assignClient},
}

// billsPage is what is to be billed, and the bills that there are.
type billsPage struct {
	Filter   billFilter
	Months   []billing.Month
	Clients  []string
	Settings ledger.BillingSettings
	Unbilled []unbilledClient // what the next bills have, by client
	Due      billTotals
	Waiting  int        // filings whose cost is not known for certain
	Held     money.Cost // of those
	Changed  int        // filings that have changed since their draft was made
	Drafts   []billing.Bill
	Issued   []billing.Bill
	Totals   billTotals // of the issued ones that the filter selects
	Older    string
	Formats  []billing.Format
	Error    string // of the settings
}

type billTotals struct {
	Bills, Lines        int
	Service, State, Sum money.Cents
}

// unbilledClient is a client with something to bill.
type unbilledClient struct {
	Client string
	Months []billing.Month
	billTotals
}

// billFilter selects bills.
type billFilter struct {
	Month     billing.Month
	Client    string
	Estimated bool
	key       string
}

// Query is the filter as the end of an address.
func (f billFilter) Query() string {
	ask := url.Values{}
	if f.Month != "" {
		ask.Set("month", string(f.Month))
	}
	if f.Client != "" {
		ask.Set("client", f.Client)
	}
	return ask.Encode()
}

func (f billFilter) options() ledger.BillOptions {
	return ledger.BillOptions{Month: f.Month, Client: f.key, Estimated: f.Estimated}
}

// readBillFilter reads the filter of a page or a form.
func (s *Site) readBillFilter(v *request, ask url.Values) (f billFilter, err error) {
	if month := ask.Get("month"); month != "" {
		if f.Month, err = billing.ParseMonth(month); err != nil {
			return f, errNoPage
		}
	}
	f.Estimated = ask.Get("estimated") == "1"
	if f.Client = strings.TrimSpace(shortened(ask.Get("client"), 200)); f.Client != "" {
		client, err := s.Ledger.Clients().Find(v.ctx(), f.Client)
		if errors.Is(err, ledger.ErrClient) {
			return f, errNoPage
		}
		if err != nil {
			return f, err
		}
		f.key = client.Key
	}
	return f, nil
}

// billsOnPage is how many issued bills a page lists.
const billsOnPage = 100

func (s *Site) bills(v *request) error { return s.showBills(v, http.StatusOK, "") }

func (s *Site) showBills(v *request, status int, wrong string) error {
	ctx, ask := v.ctx(), v.r.URL.Query()
	filter, err := s.readBillFilter(v, ask)
	if err != nil {
		return err
	}
	p := &billsPage{Filter: filter, Formats: billing.Formats(), Error: wrong}
	bills := s.Ledger.Bills()
	if p.Settings, err = bills.Settings(ctx); err != nil {
		return err
	}
	proposed, waiting, err := bills.Propose(ctx, filter.options())
	if err != nil {
		return err
	}
	p.addUnbilled(proposed, waiting)
	if p.Drafts, err = bills.List(ctx,
		ledger.BillQuery{Month: filter.Month, Client: filter.key, Drafts: true}); err != nil {
		return err
	}
	before, _ := strconv.Atoi(ask.Get("before"))
	if p.Issued, err = bills.List(ctx, ledger.BillQuery{
		Month:  filter.Month,
		Client: filter.key,
		Issued: true,
		Newest: true,
		Before: before,
		Limit:  billsOnPage + 1,
	}); err != nil {
		return err
	}
	if len(p.Issued) > billsOnPage {
		p.Issued = p.Issued[:billsOnPage]
		more := filter.Query()
		if more != "" {
			more += "&"
		}
		p.Older = "/bills?" + more + "before=" + strconv.Itoa(p.Issued[billsOnPage-1].Number) + "#issued"
	}
	if err := s.addBillChoices(v, p, waiting); err != nil {
		return err
	}
	return v.showStatus(status, "bills.html", "Bills", p)
}

// addBillChoices adds the months and clients to choose from, and the totals.
func (s *Site) addBillChoices(v *request, p *billsPage, waiting []billing.Waiting) error {
	all, err := s.Ledger.Bills().List(v.ctx(), ledger.BillQuery{})
	if err != nil {
		return err
	}
	for _, b := range all {
		p.addChoice(b.Month, b.Client)
		if b.Issued() && (p.Filter.Month == "" || b.Month == p.Filter.Month) &&
			(p.Filter.key == "" || b.ClientKey == p.Filter.key) {
			p.Totals.Bills++
			p.Totals.Lines += b.LineCount
			p.Totals.Sum += b.Total
		}
	}
	for _, u := range p.Unbilled {
		for _, month := range u.Months {
			p.addChoice(month, u.Client)
		}
	}
	for _, w := range waiting {
		p.addChoice(w.Month, w.Client.Name)
	}
	slices.Sort(p.Months)
	slices.Reverse(p.Months)
	slices.Sort(p.Clients)
	return nil
}

func (p *billsPage) addChoice(month billing.Month, client string) {
	if !slices.Contains(p.Months, month) {
		p.Months = append(p.Months, month)
	}
	if len(p.Clients) < listedClients && !slices.Contains(p.Clients, client) {
		p.Clients = append(p.Clients, client)
	}
}

// addUnbilled adds up what the next bills have, by client.
func (p *billsPage) addUnbilled(proposed []billing.Bill, waiting []billing.Waiting) {
	at := make(map[string]int)
	for i := range proposed {
		b := &proposed[i]
		n, ok := at[b.ClientKey]
		if !ok {
			n = len(p.Unbilled)
			at[b.ClientKey] = n
			p.Unbilled = append(p.Unbilled, unbilledClient{Client: b.Client})
		}
		u := &p.Unbilled[n]
		if !slices.Contains(u.Months, b.Month) {
			u.Months = append(u.Months, b.Month)
		}
		u.Bills++
		u.Lines += len(b.Lines)
		u.Service += b.Fees(billing.ServiceFee)
		u.State += b.Fees(billing.StateFee) + b.Fees(billing.Filing)
		u.Sum += b.Total
		p.Due.Bills++
		p.Due.Lines += len(b.Lines)
		p.Due.Sum += b.Total
	}
	slices.SortFunc(p.Unbilled, func(a, b unbilledClient) int { return strings.Compare(a.Client, b.Client) })
	for _, w := range waiting {
		in := (p.Filter.Month == "" || w.Month == p.Filter.Month) && (p.Filter.key == "" || w.ClientKey == p.Filter.key)
		switch {
		case !in:
		case w.Because == billing.WaitsForCost:
			p.Waiting++
			p.Held, _ = p.Held.Plus(w.Cost)
		case w.Because == billing.WaitsForDraft:
			p.Changed++
		}
	}
}

// makeBills makes drafts or issues bills of what is not billed.
func (s *Site) makeBills(v *request) error {
	filter, err := s.readBillFilter(v, v.r.PostForm)
	if err != nil {
		return err
	}
	issue := v.r.PostForm.Get("what") == "issue"
	what := "bill-draft"
	if issue {
		what = "bill"
	}
	made, _, err := s.Ledger.Bills().Create(v.withAudit(what, string(filter.Month), filter.Client),
		filter.options(), issue)
	if errors.Is(err, ledger.ErrDone) {
		err = nil
	}
	if err != nil {
		return err
	}
	var total money.Cents
	for _, b := range made {
		total += b.Total
	}
	switch {
	case len(made) == 0:
		v.flash("note", "There was nothing left to bill.")
	case issue:
		v.flash("ok", "%s issued, %s. Download them for your accounting program below.", count(len(made), "bill"),
			total.Dollars())
	default:
		v.flash("ok", "%s made, %s. Nothing is final until you issue them.", count(len(made), "draft"), total.Dollars())
	}
	return v.redirect(strings.TrimSuffix("/bills?"+billFilter{Month: filter.Month, Client: filter.Client}.Query(), "?"))
}

// billPage shows a bill with its lines.
func (s *Site) billPage(v *request) error {
	b, err := s.Ledger.Bills().Bill(v.ctx(), v.r.PathValue("bill"))
	if err != nil {
		return err
	}
	return v.show("bill.html", b.Name()+" for "+b.Client, &b)
}

func (s *Site) issueBill(v *request) error {
	id := v.r.PathValue("bill")
	b, err := s.Ledger.Bills().Issue(v.withAudit("bill-issue", id, ""), id)
	switch {
	case errors.Is(err, ledger.ErrDone), errors.Is(err, ledger.ErrIssued):
		v.flash("note", "The bill is issued already.")
	case err != nil:
		return err
	default:
		v.flash("ok", "%s issued to %s, %s.", b.Name(), legible(b.To()), b.Total.Dollars())
	}
	return v.redirect("/bills/" + id)
}

func (s *Site) discardBill(v *request) error {
	id := v.r.PathValue("bill")
	err := s.Ledger.Bills().Discard(v.withAudit("bill-discard", id, ""), id)
	switch {
	case errors.Is(err, ledger.ErrIssued):
		v.flash("bad", "The bill is issued and cannot be discarded.")
		return v.redirect("/bills/" + id)
	case errors.Is(err, ledger.ErrDone):
	case err != nil:
		return err
	default:
		v.flash("ok", "The draft is discarded. Its filings are not billed.")
	}
	return v.redirect("/bills")
}

// changeBilling changes how bills are made from now on.
func (s *Site) changeBilling(v *request) error {
	settings, err := s.Ledger.Bills().Settings(v.ctx())
	if err != nil {
		return err
	}
	if settings.Rule, err = billing.ParseRule(v.r.PostForm.Get("rule")); err != nil {
		return s.showBills(v, http.StatusUnprocessableEntity,
			"Enter none, retail, a percentage such as 15%, or an amount such as 25.00.")
	}
	settings.Estimated = v.r.PostForm.Get("estimated") == "1"
	if settings.Terms, err = strconv.Atoi(v.r.PostForm.Get("terms")); err != nil || settings.Terms < 0 ||
		settings.Terms > 365 {
		return s.showBills(v, http.StatusUnprocessableEntity, "Enter a number of days from 0 to 365.")
	}
	err = s.Ledger.Bills().SetSettings(v.withAudit("bill-settings", "", settings.Words()), settings)
	if err != nil && !errors.Is(err, ledger.ErrDone) {
		return err
	}
	v.flash("ok", "Saved. The change applies to bills that are not made yet.")
	return v.redirect("/bills")
}

// billFile gives the issued bills of a month or a client as a file.
func (s *Site) billFile(v *request) error {
	ask := v.r.URL.Query()
	filter, err := s.readBillFilter(v, ask)
	if err != nil {
		return err
	}
	format, err := billing.ParseFormat(ask.Get("format"))
	if err != nil {
		return errNoPage
	}
	bills, err := s.Ledger.Bills().List(v.ctx(), ledger.BillQuery{
		Month:  filter.Month,
		Client: filter.key,
		Issued: true,
		Lines:  true,
	})
	if err != nil {
		return err
	}
	settings, err := s.Ledger.Bills().Settings(v.ctx())
	if err != nil {
		return err
	}
	if err := s.recordDownload(v, string(filter.Month), "bills, "+string(format)); err != nil {
		return err
	}
	name := "bills"
	if filter.Month != "" {
		name += "-" + string(filter.Month)
	}
	if format != billing.XLSX && format != billing.CSV {
		name += "." + string(format)
	}
	if format == billing.XLSX {
		return v.download(name+format.Ending(), func(path string) error { return billing.WriteXLSX(path, bills) })
	}
	files, err := format.Files(bills, settings.Accounts)
	if err != nil {
		return err
	}
	if len(files) > 1 {
		return v.download(name+".zip",
			func(path string) error { return writeParts(path, name, format.Ending(), files) })
	}
	return v.download(name+format.Ending(), func(path string) error { return os.WriteFile(path, files[0], 0o600) })
}

// writeParts writes an archive of the files that a receiver takes one after the other.
func writeParts(path, name, ending string, files [][]byte) error {
	var archive bytes.Buffer
	w := zip.NewWriter(&archive)
	for i, content := range files {
		part, err := w.Create(fmt.Sprintf("%s-%d%s", name, i+1, ending))
		if err != nil {
			return err
		}
		if _, err := part.Write(content); err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	return os.WriteFile(path, archive.Bytes(), 0o600)
}

// assignClient says whom rows of a batch are billed to: one row, or all that a filter
// selects.
func (s *Site) assignClient(v *request) error {
	b, err := s.findBatch(v)
	if err != nil {
		return err
	}
	form := v.r.PostForm
	c := billing.Client{
		Name:      form.Get("client"),
		Matter:    form.Get("matter"),
		BillTo:    form.Get("bill-to"),
		Reference: form.Get("reference"),
	}
	back, note := "/batches/"+b.ID+"#rows", "rows"
	var rows []int64
	if number := form.Get("row"); number != "" {
		n, err := strconv.Atoi(number)
		if err != nil {
			return errForm
		}
		row, err := s.Ledger.RowNumbered(v.ctx(), b.ID, n)
		if err != nil {
			return err
		}
		rows = []int64{row.ID}
		back, note = fmt.Sprintf("/batches/%s/rows/%d#billing", b.ID, n), fmt.Sprintf("row %d", n)
	} else if rows, err = s.filteredRows(v, b, form.Get("show"), form.Get("q")); err != nil {
		return err
	}
	if c == (billing.Client{}) {
		v.flash("bad", "Nothing changed. Enter a client, a matter, who gets the bill, or a reference.")
		return v.redirect(back)
	}
	changed, err := s.Ledger.Clients().Assign(v.withAudit("client", b.ID,
		strings.TrimSpace(fmt.Sprintf("%s: %s %s %s %s", note, c.Name, c.Matter, c.BillTo, c.Reference))), rows, c)
	switch {
	case errors.Is(err, ledger.ErrDone):
	case errors.Is(err, ledger.ErrBilled):
		v.flash("bad", "Nothing changed: a bill has each of these rows already.")
	case errors.Is(err, ledger.ErrClient):
		v.flash("bad", "Nothing changed. Enter 1 to 200 characters in each field.")
	case err != nil:
		return err
	case changed < len(rows):
		v.flash("ok", "%s changed. %s on a bill and stay as they are.", count(changed, "row"),
			isAre(len(rows)-changed, "row"))
	default:
		v.flash("ok", "%s changed.", count(changed, "row"))
	}
	return v.redirect(back)
}

// filteredRows are the rows of a batch that a list of it shows.
func (s *Site) filteredRows(v *request, b ledger.Batch, show, search string) (ids []int64, err error) {
	at := slices.IndexFunc(shows, func(one struct {
		name, title string
		query       ledger.RowQuery
	}) bool {
		return one.name == show
	})
	if at < 0 {
		return nil, errForm
	}
	q := shows[at].query
	q.Batch, q.Search, q.Uncounted, q.Limit = b.ID, shortened(search, 200), true, 1000
	for {
		rows, _, err := s.Ledger.ListRows(v.ctx(), q)
		if err != nil || len(rows) == 0 {
			return ids, err
		}
		for _, r := range rows {
			ids = append(ids, r.ID)
		}
		q.After = rows[len(rows)-1].Number
	}
}
