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

	"bulkfiling/internal/filing"
	"bulkfiling/internal/filingapi"
	"bulkfiling/internal/ledger"
	"bulkfiling/internal/money"
	"bulkfiling/internal/report"
	"bulkfiling/internal/resolve"
)

var uncertainRoutes = []route{
	{pattern: "GET /uncertain", may: everyone, serve: (*Site).uncertain},
	{pattern: "GET /uncertain/rows/{row}", may: everyone, serve: (*Site).doubtfulRow},
	{pattern: "POST /uncertain/rows/{row}", may: operator, serve: (*Site).settle},
	{pattern: "POST /uncertain/rows/{row}/link", may: operator, serve: (*Site).dashboard},
}

// uncertainPage lists the rows that only a person or an event can settle.
type uncertainPage struct {
	Batch  *ledger.Batch // nil for all
	Doubts []*doubt
	One    bool // the page is of one row
	Total  int
	Held   money.Cents // of those that are shown
	Pager  pager
}

// doubt is an uncertain row with what may settle it.
type doubt struct {
	report.Doubt
	File     string // of its batch
	Sendings []sending
	Offers   []offer
	Never    objection // to saying that it was never made
	Items    []item
	Ask      decision // what was typed, and what is wrong with it
	Back     string   // the page to go back to
}

// sending is an attempt that reached the service, or may have.
type sending struct {
	ledger.Attempt
	Answer string
}

// offer is an order that may be the row's.
type offer struct {
	report.Evidence
	Rest    string // what was told of it
	Company string // that the order formed
	Against objection
	Field   string // where the order would be typed, of a row that ordered several things
}

// objection is what speaks against a settlement, and the name under which a
// person says yes to it all the same.
type objection struct {
	Why  []string
	Name string
}

func object(why []string) objection {
	if len(why) == 0 {
		return objection{}
	}
	sum := sha256.Sum256([]byte(strings.Join(why, "\n")))
	return objection{why, hex.EncodeToString(sum[:8])}
}

// item is what the row ordered, and the field for its order id.
type item struct {
	Field string
	Title string
	Value string
}

// decision is what somebody decided of a row, as it was typed.
type decision struct {
	Word         string // report.DecidedPlaced or DecidedNotPlaced
	Company      string
	OrderError   string
	CompanyError string
	Against      objection
}

const doubtsOnPage = 20

func (s *Site) uncertain(v *visit) error {
	p := &uncertainPage{}
	id := ""
	if ask := v.r.URL.Query().Get("batch"); ask != "" {
		b, err := s.Ledger.Batch(v.ctx(), ask)
		if err != nil {
			return err
		}
		p.Batch, id = &b, b.ID
	}
	all, err := report.Uncertain(v.ctx(), s.Ledger, id)
	if err != nil {
		return err
	}
	p.Total = len(all)
	for _, d := range all {
		p.Held += d.Row.Held
	}
	p.Pager, all = paged(v, all, doubtsOnPage)
	if p.Doubts, err = s.doubts(v, all); err != nil {
		return err
	}
	for _, d := range p.Doubts {
		d.Back = v.r.URL.RequestURI()
	}
	return v.show("uncertain.html", "Uncertain rows", p)
}

// doubts gathers what a page shows of uncertain rows.
func (s *Site) doubts(v *visit, all []report.Doubt) ([]*doubt, error) {
	if len(all) == 0 {
		return nil, nil
	}
	told, err := s.counter(v).Told(v.ctx())
	if err != nil {
		return nil, err
	}
	files := make(map[string]string)
	doubts := make([]*doubt, len(all))
	for i, d := range all {
		if _, known := files[d.Row.Batch]; !known {
			b, err := s.Ledger.Batch(v.ctx(), d.Row.Batch)
			if err != nil {
				return nil, err
			}
			files[d.Row.Batch] = b.File
		}
		doubts[i] = newDoubt(d, files[d.Row.Batch], told)
	}
	return doubts, nil
}

func newDoubt(d report.Doubt, file string, told resolve.Told) *doubt {
	shown := &doubt{Doubt: d, File: file, Back: "/uncertain", Never: object(told.Against(&resolve.Settlement{Doubt: d}))}
	for _, a := range d.Sent() {
		shown.Sendings = append(shown.Sendings, sending{a, report.AnswerText(a)})
	}
	if !d.Row.Creating || d.Supposed() {
		for i, p := range d.Products() {
			shown.Items = append(shown.Items, item{Field: "order-" + strconv.Itoa(i), Title: p.Title()})
		}
	}
	for _, e := range d.Evidence {
		o := offer{Evidence: e, Rest: toldOf(e)}
		if d.FormsCompany() && filing.IsCompanyID(e.Company) {
			o.Company = e.Company
		}
		o.Against = object(told.Against(&resolve.Settlement{Doubt: d, Orders: []string{e.Order}, Company: o.Company}))
		if at := slices.Index(d.Products(), e.Product); len(shown.Items) > 1 && at >= 0 {
			o.Field = shown.Items[at].Field
		}
		shown.Offers = append(shown.Offers, o)
	}
	return shown
}

// toldOf is what the service told of an order, without its id.
func toldOf(e report.Evidence) string {
	e.Also = nil // they have links of their own
	return strings.TrimPrefix(e.String(), e.Order+", ")
}

// counter is the desk at which somebody settles rows.
func (s *Site) counter(v *visit) *resolve.Desk {
	return &resolve.Desk{Ledger: s.Ledger, Service: s.Service, By: v.who() + " on the page"}
}

// theRow is the row that the address names, with its doubt where it has one.
func (s *Site) theRow(v *visit) (ledger.Row, *doubt, error) {
	id, err := strconv.ParseInt(v.r.PathValue("row"), 10, 64)
	if err != nil {
		return ledger.Row{}, nil, errNoPage
	}
	row, err := s.Ledger.Row(v.ctx(), id)
	if err != nil || row.Result != filing.Uncertain {
		return row, nil, err
	}
	all, err := report.Uncertain(v.ctx(), s.Ledger, row.Batch)
	if err != nil {
		return row, nil, err
	}
	all = slices.DeleteFunc(all, func(d report.Doubt) bool { return d.Row.ID != id })
	doubts, err := s.doubts(v, all)
	if err != nil || len(doubts) == 0 { // settled just now
		return row, nil, err
	}
	return row, doubts[0], nil
}

// doubtfulRow shows one uncertain row. An order that the address names is filled
// in where it belongs.
func (s *Site) doubtfulRow(v *visit) error {
	row, d, err := s.theRow(v)
	if err != nil {
		return err
	}
	if d == nil {
		return v.goTo(fmt.Sprintf("/batches/%s/rows/%d", row.Batch, row.Number))
	}
	ask := v.r.URL.Query()
	for i := range d.Items {
		d.Items[i].Value = shortened(ask.Get(d.Items[i].Field), 200)
	}
	d.Ask.Company = shortened(ask.Get("company"), 200)
	if len(ask) > 0 {
		d.Ask.Word = report.DecidedPlaced
	}
	return s.showDoubt(v, http.StatusOK, d)
}

func (s *Site) showDoubt(v *visit, status int, d *doubt) error {
	return v.showStatus(status, "uncertain.html", fmt.Sprintf("Row %d is uncertain", d.Row.Number), &uncertainPage{Doubts: []*doubt{d}, One: true, Total: 1})
}

// settle settles a row by what somebody has seen.
func (s *Site) settle(v *visit) error {
	form := v.r.PostForm
	row, d, err := s.theRow(v)
	if err != nil {
		return err
	}
	settlement := &resolve.Settlement{Company: strings.TrimSpace(form.Get("company"))}
	for i := 0; form.Has("order-" + strconv.Itoa(i)); i++ {
		if id := strings.TrimSpace(form.Get("order-" + strconv.Itoa(i))); id != "" {
			settlement.Orders = append(settlement.Orders, id)
		}
	}
	word := form.Get("decision")
	switch word {
	case report.DecidedPlaced:
	case report.DecidedNotPlaced:
		settlement.Orders, settlement.Company = nil, ""
	default:
		return errForm
	}
	if d == nil || form.Get("tries") != strconv.Itoa(row.Tries) {
		return s.settledMeanwhile(v, row, settlement)
	}
	settlement.Doubt = d.Doubt
	d.Back = local(form.Get("to"))
	d.Ask = decision{Word: word, Company: settlement.Company}
	for i := range d.Items {
		d.Items[i].Value = strings.TrimSpace(form.Get(d.Items[i].Field))
	}
	if word == report.DecidedPlaced && len(settlement.Orders) == 0 && settlement.Company == "" {
		if d.Row.Creating {
			d.Ask.CompanyError = "Type the id of the company that was created (comp_…)."
		} else {
			d.Ask.OrderError = "Type the id of the order (order_…), as the dashboard shows it."
		}
		return s.showDoubt(v, http.StatusUnprocessableEntity, d)
	}
	desk := s.counter(v)
	if err := desk.Check(v.ctx(), settlement); err != nil {
		return s.refused(v, d, err)
	}
	told, err := desk.Told(v.ctx())
	if err != nil {
		return err
	}
	if against := object(told.Against(settlement)); against.Name != form.Get("anyway") {
		d.Ask.Against = against
		return s.showDoubt(v, http.StatusConflict, d)
	}
	said, err := desk.Settle(v.acting("resolve", row.Batch, settledText(row, settlement)), settlement)
	switch {
	case errors.Is(err, ledger.ErrTransition):
		now, err := s.Ledger.Row(v.ctx(), row.ID)
		if err != nil {
			return err
		}
		return s.settledMeanwhile(v, now, settlement)
	case err != nil:
		return s.refused(v, d, err)
	}
	book, err := s.Ledger.Book(v.ctx())
	if err != nil {
		return err
	}
	if book.Declared {
		said += " " + book.Available().Dollars() + " is available now."
	}
	v.say("ok", "%s", said)
	return v.goTo(d.Back)
}

// settledText is a settlement as the audit log has it.
func settledText(row ledger.Row, s *resolve.Settlement) string {
	text := fmt.Sprintf("row %d ", row.Number)
	switch {
	case len(s.Orders) > 0:
		text += "is placed: " + strings.Join(s.Orders, ", ")
	case s.Company != "":
		text += "has its company"
	default:
		return text + "was never made"
	}
	if s.Company != "" {
		text += ", company " + s.Company
	}
	return text
}

// refused shows what is wrong with a settlement at its field.
func (s *Site) refused(v *visit, d *doubt, err error) error {
	var fault *resolve.Fault
	switch {
	case errors.As(err, &fault) && fault.Column == report.CompanyIDColumn:
		d.Ask.CompanyError = sentence(fault.Message) + "."
	case errors.As(err, &fault):
		d.Ask.OrderError = sentence(fault.Message) + "."
	case errors.Is(err, ledger.ErrOrderTaken):
		d.Ask.OrderError = sentence(err.Error()) + "."
	case errors.Is(err, filingapi.ErrBusy), errors.Is(err, filingapi.ErrUnavailable):
		return &Trouble{http.StatusBadGateway, "The service does not answer now", "The company has to be looked at before its row is settled. Try again in a minute. Nothing was settled."}
	default:
		return err
	}
	return s.showDoubt(v, http.StatusUnprocessableEntity, d)
}

// settledMeanwhile says how a row stands that somebody wanted to settle as it
// stood before.
func (s *Site) settledMeanwhile(v *visit, row ledger.Row, wanted *resolve.Settlement) error {
	if row.Result != filing.Uncertain && resolve.SettledSo(row, wanted.Orders, wanted.Company) {
		v.say("note", "Row %d is %s so already: %s", row.Number, row.Result, report.Message(&row))
		return v.goTo(local(v.r.PostForm.Get("to")))
	}
	how := fmt.Sprintf("Row %d is %s now: %s", row.Number, row.Result, report.Message(&row))
	if row.Result == filing.Uncertain {
		how = fmt.Sprintf("Row %d was settled and sent again since, and that sending is in doubt, too. Look at the row anew", row.Number)
	}
	return &Trouble{http.StatusConflict, "Somebody, or an event, was quicker", strings.TrimRight(how, ".") + ". What you decided was about an earlier sending; nothing of it was taken over."}
}

// dashboard leads to where a person sees the orders of a row's company. The link
// signs in whoever has it: it is asked for when somebody wants it, stands on this
// answer alone, and is kept nowhere.
func (s *Site) dashboard(v *visit) error {
	row, d, err := s.theRow(v)
	if err != nil {
		return err
	}
	if d == nil {
		return s.settledMeanwhile(v, row, &resolve.Settlement{})
	}
	one := []report.Doubt{d.Doubt}
	if err := s.counter(v).Link(v.ctx(), one); err != nil {
		return err
	}
	link, err := url.Parse(one[0].Dashboard)
	switch {
	case one[0].Dashboard == "":
		return &Trouble{http.StatusBadGateway, "There is no link to the dashboard", sentence(strings.TrimPrefix(one[0].NoLink, "no link: ")) + "."}
	case err != nil || link.Scheme != "https" && link.Scheme != "http" || link.Host == "":
		return &Trouble{http.StatusBadGateway, "There is no link to the dashboard", "What the service gave for it is no address of a page."}
	}
	if err := s.Ledger.KeepAct(v.ctx(), ledger.Act{By: v.who(), From: v.from(), What: "dashboard", Of: row.Batch, Note: fmt.Sprintf("row %d: a link that signs in as its user", row.Number)}); err != nil {
		return err
	}
	// A form may not lead to another site, says the policy of the page. A page may.
	v.w.Header().Set("Refresh", "0; url="+link.String())
	v.w.Header().Set("Referrer-Policy", "no-referrer")
	return v.show("dashboard.html", "Dashboard", struct {
		Company string
		Link    string
		Host    string
	}{d.CompanyText(), link.String(), link.Host})
}
