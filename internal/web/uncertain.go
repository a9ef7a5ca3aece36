package web

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/filingapi"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/report"
	"github.com/bulkfiling/bulkfiling/internal/resolve"
)

var uncertainRoutes = []route{
	{pattern: "GET /uncertain", may: viewer, serve: (*Site).uncertain},
	{pattern: "GET /uncertain/rows/{row}", may: viewer, serve: (*Site).showUncertainRow},
	{pattern: "POST /uncertain/rows/{row}", may: operator, serve: (*Site).resolveRow},
	{pattern: "POST /uncertain/rows/{row}/link", may: operator, serve: (*Site).dashboard},
	{pattern: "POST /uncertain/batches/{batch}/check", may: operator, serve: ofBatch((*Site).checkDecisions)},
	{pattern: "POST /uncertain/batches/{batch}/resolve", may: operator, serve: ofBatch((*Site).resolveRows)},
}

// uncertainPage lists the rows that only a person can resolve.
type uncertainPage struct {
	Batch    *ledger.Batch // nil for all
	Rows     []*uncertainRow
	One      bool // the page is of one row
	Total    int
	Reserved money.Cents
	Tabs     tabs
	// Bulk are the rows of the batch that can be resolved at once.
	Bulk  []*resolve.UncertainOrder
	From  int
	To    int
	First string
	Next  string
	Back  string // this page

}

// uncertainRow is an uncertain order as the page shows it, with its forms.
type uncertainRow struct {
	*resolve.UncertainOrder
	File  string // of its batch
	Items []item
	Form  decisionForm // the values of the form, and their errors
	Back  string       // the page to go back to
	Open  bool         // its forms are open
}

// Sendings lists the last attempts that reached the filing service, or may have.
func (d *uncertainRow) Sendings() []ledger.Attempt {
	sent := d.Sent()
	return sent[max(0, len(sent)-sendingsNamed):]
}

// Earlier counts the attempts that Sendings leaves out.
func (d *uncertainRow) Earlier() int { return max(0, len(d.Sent())-sendingsNamed) }

// Field names the field for the order id of a product, for a row that ordered
// several things.
func (d *uncertainRow) Field(p filing.Product) string {
	if len(d.Items) < 2 {
		return ""
	}
	return d.Items[max(slices.Index(d.Products(), p), 0)].Field
}

// confirmation names what speaks against a decision: the form that confirms it
// confirms this, and nothing that was reported since.
func confirmation(objections []string) string {
	if len(objections) == 0 {
		return ""
	}
	return fingerprint(strings.Join(objections, "\n"))
}

func fingerprint(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

// item is a part of what the row ordered, and the field for its order id.
type item struct {
	Product filing.Product
	Field   string
	Value   string
	Error   string
}

// decisionForm is a decision about a row, as it was typed.
type decisionForm struct {
	Verdict      resolve.Verdict
	Company      string
	OrderError   string
	CompanyError string
	Objections   []string // to what was typed
}

const (
	uncertainOnPage = 20
	sendingsNamed   = 3 // the last
)

func (s *Site) uncertain(v *request) error {
	ctx, ask := v.ctx(), v.r.URL.Query()
	p := &uncertainPage{Back: v.r.URL.RequestURI()}
	id := ""
	if ask.Get("batch") != "" {
		b, err := s.Ledger.Batch(ctx, ask.Get("batch"))
		if err != nil {
			return err
		}
		p.Batch, id = &b, b.ID
	}
	after, _ := strconv.ParseInt(ask.Get("after"), 10, 64)
	from, _ := strconv.Atoi(ask.Get("from")) // rows before this page, only shown
	all, total, err := resolve.ListUncertainPage(ctx, s.Ledger, id, after, uncertainOnPage)
	if err != nil {
		return err
	}
	if len(all) == 0 && after > 0 { // the rest was just resolved
		return v.redirect(uncertainPath(id, 0, 0))
	}
	p.Total, p.From, p.To = total, min(from+1, total), min(from+len(all), total)
	if after > 0 {
		p.First = uncertainPath(id, 0, 0)
	}
	if n := len(all); n == uncertainOnPage && from+n < total {
		p.Next = uncertainPath(id, all[n-1].Row.ID, from+n)
	}
	batches, err := s.Ledger.UncertainBatches(ctx)
	if err != nil {
		return err
	}
	p.countByBatch(batches, id)
	if p.Rows, err = s.uncertainRows(v, all); err != nil {
		return err
	}
	for _, d := range p.Rows {
		d.Back = p.Back
	}
	if p.Batch != nil && total > 1 && v.may(ledger.Operator) {
		if p.Bulk, _, err = resolve.ListUncertainPage(ctx, s.Ledger, id, 0, maxDecisions); err != nil {
			return err
		}
	}
	return v.show("uncertain.html", "Uncertain rows", p)
}

// countByBatch counts the uncertain rows of each batch.
func (p *uncertainPage) countByBatch(batches []ledger.UncertainBatch, id string) {
	all := 0
	p.Tabs.Label = "Uncertain rows by spreadsheet"
	for _, b := range batches {
		all += b.Rows
		if id == "" || b.Batch == id {
			p.Reserved += b.Reserved
		}
		p.Tabs.Tabs = append(p.Tabs.Tabs,
			tab{
				Path:    uncertainPath(b.Batch, 0, 0),
				Name:    shortened(legible(b.File), 40),
				Count:   b.Rows,
				Current: b.Batch == id,
			})
	}
	p.Tabs.Tabs = append([]tab{{Path: "/uncertain", Name: "All", Count: all, Current: id == ""}}, p.Tabs.Tabs...)
}

func uncertainPath(batch string, after int64, from int) string {
	ask := make(url.Values)
	if batch != "" {
		ask.Set("batch", batch)
	}
	if after > 0 {
		ask.Set("after", strconv.FormatInt(after, 10))
		ask.Set("from", strconv.Itoa(from))
	}
	if len(ask) == 0 {
		return "/uncertain"
	}
	return "/uncertain?" + ask.Encode()
}

// resolver returns a service that resolves rows in the name of the reader.
func (v *request) resolver() *resolve.Service {
	return &resolve.Service{Ledger: v.site.Ledger, Client: v.site.Service, By: v.who() + " on the page"}
}

// uncertainRows adds to uncertain orders what the page shows beside them.
func (s *Site) uncertainRows(v *request, orders []*resolve.UncertainOrder) ([]*uncertainRow, error) {
	files := make(map[string]string)
	rows := make([]*uncertainRow, len(orders))
	for i, o := range orders {
		batch := o.Row.Batch
		if _, known := files[batch]; !known {
			b, err := s.Ledger.Batch(v.ctx(), batch)
			if err != nil {
				return nil, err
			}
			files[batch] = b.File
		}
		d := &uncertainRow{UncertainOrder: o, File: files[batch], Back: uncertainPath(batch, 0, 0)}
		if o.TakesOrderIDs() {
			for n, p := range o.Products() {
				d.Items = append(d.Items, item{Product: p, Field: "order-" + strconv.Itoa(n)})
			}
		}
		rows[i] = d
	}
	return rows, nil
}

// findUncertain finds the row that the address names; the second result is nil
// where the row is not uncertain.
func (s *Site) findUncertain(v *request) (ledger.Row, *uncertainRow, error) {
	id, err := strconv.ParseInt(v.r.PathValue("row"), 10, 64)
	if err != nil {
		return ledger.Row{}, nil, errNoPage
	}
	row, err := s.Ledger.Row(v.ctx(), id)
	if err != nil || row.Result != filing.Uncertain {
		return row, nil, err
	}
	all, _, err := resolve.ListUncertainPage(v.ctx(), s.Ledger, row.Batch, id-1, 1)
	if err != nil || len(all) == 0 || all[0].Row.ID != id { // just resolved
		return row, nil, err
	}
	rows, err := s.uncertainRows(v, all)
	if err != nil {
		return row, nil, err
	}
	return rows[0].Row, rows[0], nil
}

// showUncertainRow shows one uncertain row. An order that the address names is filled
// in where it belongs.
func (s *Site) showUncertainRow(v *request) error {
	row, d, err := s.findUncertain(v)
	if err != nil {
		return err
	}
	if d == nil {
		return v.redirect(fmt.Sprintf("/batches/%s/rows/%d", row.Batch, row.Number))
	}
	ask := v.r.URL.Query()
	for i := range d.Items {
		d.Items[i].Value = shortened(ask.Get(d.Items[i].Field), 200)
	}
	d.Form.Company = shortened(ask.Get("company"), 200)
	return s.showOneUncertain(v, http.StatusOK, d)
}

func (s *Site) showOneUncertain(v *request, status int, d *uncertainRow) error {
	d.Open = true
	return v.showStatus(status, "uncertain.html", fmt.Sprintf("Row %d is uncertain", d.Row.Number),
		&uncertainPage{Rows: []*uncertainRow{d}, One: true, Total: 1})
}

// errOtherRow answers a form for a row that the ledger lost when it went back in time.
// Another row may have its id now.
var errOtherRow = &httpError{http.StatusConflict, "The ledger has changed since this page was opened",
	"This form no longer matches the row. Nothing was saved. Reopen Uncertain and check the row."}

// formOf returns errOtherRow unless the form was made for the row.
func (v *request) formOf(row ledger.Row) error {
	if v.r.PostForm.Get("of") != fmt.Sprint(row.Batch, " ", row.Number) {
		return errOtherRow
	}
	return nil
}

// resolveRow resolves a row as a person decided.
func (s *Site) resolveRow(v *request) error {
	form := v.r.PostForm
	row, d, err := s.findUncertain(v)
	if err != nil {
		return err
	}
	verdict := resolve.Verdict(form.Get("decision"))
	r := &resolve.Resolution{}
	switch verdict {
	case resolve.Placed:
		r.CompanyID = strings.TrimSpace(form.Get("company"))
		for i := 0; form.Has("order-" + strconv.Itoa(i)); i++ {
			if id := strings.TrimSpace(form.Get("order-" + strconv.Itoa(i))); id != "" {
				r.OrderIDs = append(r.OrderIDs, id)
			}
		}
	case resolve.NotPlaced:
	default:
		return errForm
	}
	if err := v.formOf(row); err != nil {
		return err
	}
	if d == nil || form.Get("tries") != strconv.Itoa(row.Tries) {
		return s.alreadyResolved(v, row, r)
	}
	r.Order = d.UncertainOrder
	d.Back = local(form.Get("to"))
	d.Form = decisionForm{Verdict: verdict, Company: r.CompanyID}
	for i := range d.Items {
		d.Items[i].Value = strings.TrimSpace(form.Get(d.Items[i].Field))
	}
	events, err := v.resolver().Events(v.ctx(), r.OrderIDs)
	if err != nil {
		return err
	}
	if verdict == resolve.Placed && !d.complete(events) {
		return s.showOneUncertain(v, http.StatusUnprocessableEntity, d)
	}
	if err := v.resolver().Check(v.ctx(), r); err != nil {
		return s.refused(v, d, err)
	}
	if confirmation(r.Objections) != form.Get("anyway") {
		d.Form.Objections = r.Objections
		return s.showOneUncertain(v, http.StatusConflict, d)
	}
	said, err := v.resolver().Resolve(v.withAudit("resolve", row.Batch, resolutionText(row, r)), r)
	switch {
	case errors.Is(err, ledger.ErrTransition), errors.Is(err, ledger.ErrStale):
		now, err := s.Ledger.Row(v.ctx(), row.ID)
		if err != nil {
			return err
		}
		return s.alreadyResolved(v, now, r)
	case err != nil:
		return s.refused(v, d, err)
	}
	available, err := s.availableText(v)
	if err != nil {
		return err
	}
	return v.done(d.Back, "%s%s", said, available)
}

// availableText is the available balance, if deposits are recorded.
func (s *Site) availableText(v *request) (string, error) {
	book, err := s.Ledger.Balance(v.ctx())
	if err != nil || !book.HasDeposit {
		return "", err
	}
	return " " + book.Available().Dollars() + " is available now.", nil
}

// complete reports whether the input says which order is which; otherwise it sets
// the error of the missing field.
func (d *uncertainRow) complete(events resolve.Events) bool {
	missing := -1
	for i := range d.Items {
		it := &d.Items[i]
		if it.Value == "" {
			if missing < 0 {
				missing = i
			}
			continue
		}
		if missing >= 0 && !events.Name(it.Value, it.Product) {
			d.Items[missing].Error = fmt.Sprintf(
				"Enter this ID too. Without it, %s would count as the order ID of the %s.",
				it.Value, d.Items[missing].Product.Title())
			return false
		}
	}
	switch {
	case missing != 0 && len(d.Items) > 0, d.Form.Company != "":
		return true
	case slices.ContainsFunc(d.Items, func(it item) bool { return it.Value != "" }):
		return true
	case d.Row.Creating:
		d.Form.CompanyError = "Enter the ID of the created company (comp_…)."
	default:
		d.Items[0].Error = "Enter the order ID from the dashboard (order_…)."
	}
	return false
}

// resolutionText is a resolution as the audit log has it.
func resolutionText(row ledger.Row, r *resolve.Resolution) string {
	text := fmt.Sprintf("row %d ", row.Number)
	switch {
	case len(r.OrderIDs) > 0:
		text += "marked as placed: " + strings.Join(r.OrderIDs, ", ")
	case r.CompanyID != "":
		text += "company created"
	default:
		return text + "marked as not placed"
	}
	if r.CompanyID != "" {
		text += ", " + r.CompanyID
	}
	return text
}

// refused shows the error of a decision at its field.
func (s *Site) refused(v *request, d *uncertainRow, err error) error {
	text, at, err := faultText(err)
	if err != nil {
		return err
	}
	if at == resolve.CompanyIDField {
		d.Form.CompanyError = text
	} else {
		d.Form.OrderError = text
	}
	return s.showOneUncertain(v, http.StatusUnprocessableEntity, d)
}

// faultText returns the error that a person can fix in a decision, and the column
// of the workbook that it is in.
func faultText(err error) (text string, field resolve.Field, other error) {
	var fault *resolve.Fault
	switch {
	case errors.As(err, &fault):
		return sentence(fault.Message), fault.Field, nil
	case errors.Is(err, ledger.ErrOrderTaken), errors.Is(err, ledger.ErrTooManyOrders):
		return sentence(err.Error()), resolve.OrderIDsField, nil
	case errors.Is(err, filingapi.ErrBusy), errors.Is(err, filingapi.ErrUnavailable):
		return "", "", &httpError{http.StatusBadGateway, "The filing service does not respond",
			"No row was resolved. The company must be looked up first. Try again in a minute."}
	}
	return "", "", err
}

// alreadyResolved returns an error with the present state of a row that someone
// else has resolved.
func (s *Site) alreadyResolved(v *request, row ledger.Row, wanted *resolve.Resolution) error {
	if done, err := s.did(v, "resolve", row.Batch); err != nil || done {
		return errors.Join(err, ledger.ErrDone)
	}
	if row.Result != filing.Uncertain && resolve.IsRecorded(row, wanted.OrderIDs, wanted.CompanyID) {
		v.flash("note", "Row %d was already resolved as %s: %s", row.Number, row.Result, report.Message(&row))
		return v.redirect(local(v.r.PostForm.Get("to")))
	}
	how := fmt.Sprintf("Row %d is now %s: %s", row.Number, row.Result, report.Message(&row))
	if row.Result == filing.Uncertain {
		how = fmt.Sprintf(
			"Row %d was resolved and sent again, and is uncertain again. Check it again", row.Number)
	}
	return &httpError{http.StatusConflict, "This row was already resolved",
		strings.TrimRight(how, ".:") + ". Your change was not saved."}
}

// did reports whether this form was sent and handled before.
func (s *Site) did(v *request, what, of string) (bool, error) {
	acts, err := s.Ledger.AuditLog().List(v.ctx(), ledger.AuditQuery{By: v.who(), What: what, Of: of, Limit: 20})
	return v.once != "" && slices.ContainsFunc(acts, func(a ledger.AuditEvent) bool { return a.ID == v.once }), err
}

// dashboard redirects to the dashboard of a row's company. The link signs in
// anyone who has it, so it is requested only when needed and never stored.
func (s *Site) dashboard(v *request) error {
	row, d, err := s.findUncertain(v)
	if err == nil {
		err = v.formOf(row)
	}
	if err != nil {
		return err
	}
	if d == nil {
		return s.alreadyResolved(v, row, &resolve.Resolution{})
	}
	address, err := v.resolver().DashboardLink(v.ctx(), d.UncertainOrder)
	if err != nil {
		return &httpError{http.StatusBadGateway, "There is no link to the dashboard", sentence(err.Error())}
	}
	link, err := url.Parse(address)
	switch {
	case err != nil || link.Scheme != "https" && link.Scheme != "http" || link.Host == "":
		return &httpError{http.StatusBadGateway, "The dashboard link is not available",
			"The filing service did not return a valid address. Try again in a minute."}
	}
	note := fmt.Sprintf("row %d, link that signs in as the user", row.Number)
	if err := v.record("", "dashboard", row.Batch, note); err != nil {
		return err
	}
	// A form may not lead to another site, says the policy of the pages. A page may.
	v.w.Header().Set("Refresh", "0; url="+link.String())
	v.w.Header().Set("Referrer-Policy", "no-referrer")
	return v.show("dashboard.html", "Dashboard", struct{ Company, Link, Host string }{d.CompanyText(), link.String(),
		link.Host})
}
