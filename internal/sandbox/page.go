package sandbox

import (
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"time"
)

// newest bounds the orders on the page; /books.json has all of them.
const newest = 200

func (s *Service) handlePages(mux *http.ServeMux) {
	mux.HandleFunc("GET /{$}", s.servePage)
	mux.HandleFunc("GET /books.json", s.serveBooks)
	mux.HandleFunc("GET /files/{id}", s.serveFile)
	mux.HandleFunc("GET /dashboard/{token}", s.serveDashboard)
}

func (s *Service) serveBooks(w http.ResponseWriter, _ *http.Request) {
	b := s.Books()
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(struct { // a client that disconnected needs no answer
		Books
		Duplicates []Duplicate `json:"duplicates"`
		Violations []Violation `json:"violations"`
		deliveryReport
	}{b, b.Duplicates(), s.Violations(), s.deliveryReport()})
}

// deliveryReport lists the endpoints, events and deliveries, without secrets.
type deliveryReport struct {
	Endpoints  []endpointRow `json:"endpoints"`
	Events     []eventRow    `json:"events"`     // newest first
	Deliveries []deliveryRow `json:"deliveries"` // newest first
}

type endpointRow struct {
	ID       string   `json:"id"`
	URL      string   `json:"url"`
	Types    []string `json:"eventTypes"`
	Attempts int      `json:"attempts"`
	Taken    int      `json:"taken"`
	Waiting  int      `json:"waiting"`
	Lost     int      `json:"lost"`
}

type eventRow struct {
	At    time.Time       `json:"at"`
	Body  json.RawMessage `json:"body"`
	Tries int             `json:"tries"`
	Taken int             `json:"taken"`
}

type deliveryRow struct {
	At       time.Time `json:"at"`
	EventID  string    `json:"eventId"`
	Endpoint string    `json:"endpointId"`
	Try      int       `json:"try"` // 0: a stray body
	Status   int       `json:"status,omitempty"`
	Error    string    `json:"error,omitempty"`
	TookMS   int64     `json:"tookMs"`
	Forged   bool      `json:"forged,omitempty"`
}

// deliveryReport returns the endpoints with all events and deliveries.
func (s *Service) deliveryReport() deliveryReport {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := deliveryReport{Endpoints: []endpointRow{}, Events: []eventRow{}, Deliveries: []deliveryRow{}}
	for _, h := range s.webhooks {
		t.Endpoints = append(t.Endpoints, endpointRow{h.id, h.url, h.types, h.attempts, h.taken, h.waiting, h.lost})
	}
	tries, taken := make(map[string]int), make(map[string]int)
	for _, d := range slices.Backward(s.deliveries) {
		if d.Try > 0 {
			tries[d.EventID]++
			if d.Taken() {
				taken[d.EventID]++
			}
		}
		one := deliveryRow{
			At:       d.At,
			EventID:  d.EventID,
			Endpoint: d.EndpointID,
			Try:      d.Try,
			Status:   d.Status,
			TookMS:   d.Took.Milliseconds(),
			Forged:   d.Forged,
		}
		if d.Err != nil {
			one.Error = d.Err.Error()
		}
		t.Deliveries = append(t.Deliveries, one)
	}
	for _, e := range slices.Backward(s.events) {
		t.Events = append(t.Events, eventRow{e.At, e.Body, tries[e.ID], taken[e.ID]})
	}
	return t
}

type pageData struct {
	Title      string
	Books      Books // without orders
	Orders     []Order
	Made       int
	Outage     Outage
	Faults     []faultAnswer
	Violations []Violation
	Refused    []statusCount
	Told       deliveryReport
	Webhook    []faultAnswer
	Exceptions []Item
	Dashboard  bool
	Controls   []Action
}

func (s *Service) servePage(w http.ResponseWriter, _ *http.Request) {
	told := s.deliveryReport()
	s.mu.Lock()
	d := pageData{
		Told:     told,
		Title:    "Sandbox books",
		Made:     len(s.orders),
		Outage:   s.outage,
		Controls: Actions,
		Books: Books{
			Opening:     s.cfg.OpeningBalance,
			Deposited:   s.deposits,
			Charged:     s.charged,
			Balance:     s.balance,
			InFlight:    s.inFlight,
			MaxInFlight: s.mostInFlight,
		},
	}
	for i := len(s.orders) - 1; i >= 0 && len(d.Orders) < newest; i-- {
		d.Orders = append(d.Orders, s.orders[i].copy())
	}
	d.Violations = slices.Clone(s.violations[max(0, len(s.violations)-20):])
	d.Refused = Books{Refused: s.refused}.byStatus()
	d.Faults, d.Webhook = s.listFaults(), s.listWebhookFaults()
	for i := len(s.orders) - 1; i >= 0 && len(d.Exceptions) < newest; i-- {
		for _, item := range s.orders[i].Items {
			if item.Status == exception {
				d.Exceptions = append(d.Exceptions, item)
			}
		}
	}
	s.mu.Unlock()
	slices.Reverse(d.Violations)
	render(w, d)
}

// serveDashboard serves the page of a magic link: the orders of a company.
func (s *Service) serveDashboard(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	link, ok := s.links[r.PathValue("token")]
	d := pageData{Dashboard: true}
	if rec := s.companies[link.companyID]; rec != nil {
		d.Title = rec.LegalName
	}
	for i := len(s.orders) - 1; ok && i >= 0; i-- {
		if s.orders[i].CompanyID == link.companyID {
			d.Orders = append(d.Orders, s.orders[i].copy())
		}
	}
	s.mu.Unlock()
	switch {
	case !ok:
		http.NotFound(w, r)
	case s.cfg.Now().After(link.expires):
		http.Error(w, "This link has expired.", http.StatusGone)
	default:
		d.Made = len(d.Orders)
		render(w, d)
	}
}

func render(w http.ResponseWriter, d pageData) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'")
	w.Header().Set("Cache-Control", "no-store")
	_ = page.Execute(w, d) // a client that disconnected needs no answer
}

var page = template.Must(template.New("page").Funcs(template.FuncMap{
	"money": func(cents int64) string {
		sign := ""
		if cents < 0 {
			sign, cents = "-", -cents
		}
		return fmt.Sprintf("%s$%d.%02d", sign, cents/100, cents%100)
	},
	"clock": func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05") },
}).Parse(`<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{{.Title}}</title>
<style>
:root { color-scheme: light dark }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 75rem; padding: 0 1rem }
table { border-collapse: collapse; width: 100% }
th, td { text-align: left; padding: .3rem .7rem .3rem 0; border-bottom: 1px solid #8884; vertical-align: top }
.n { text-align: right; font-variant-numeric: tabular-nums }
dl { display: flex; flex-wrap: wrap; gap: .5rem 2.5rem; margin: 0 }
dt { opacity: .7 } dd { margin: 0; font-size: 1.4rem; font-variant-numeric: tabular-nums }
.bad { color: #c2410c } code { font-size: .9em }
</style>
<h1>{{.Title}}</h1>
{{if not .Dashboard}}
{{if .Outage}}<p class="bad">The filing service is down ({{.Outage}}).</p>{{end}}
<dl>
<div><dt>Balance</dt><dd>{{money .Books.Balance}}</dd></div>
<div><dt>Opening balance</dt><dd>{{money .Books.Opening}}</dd></div>
<div><dt>Deposits</dt><dd>{{money .Books.Deposited}}</dd></div>
<div><dt>Charges</dt><dd>{{money .Books.Charged}}</dd></div>
<div><dt>Orders</dt><dd>{{.Made}}</dd></div>
<div><dt>Requests in flight (maximum)</dt><dd>{{.Books.InFlight}} ({{.Books.MaxInFlight}})</dd></div>
</dl>
<h2>Refused requests</h2>
{{with .Refused}}<table>
{{range .}}<tr><td>{{.Status}} {{.Text}}<td class="n">{{.Count}}{{end}}
</table>{{else}}<p>None.</p>{{end}}
{{with .Violations}}<h2 class="bad">Requests that break a rule, newest first</h2>
<table><tr><th>Time<th>Rule<th>Request<th>Message
{{range .}}<tr><td>{{clock .At}}<td>{{.Rule}}<td><code>{{.Method}} {{.Path}}</code><td>{{.Message}}{{end}}
</table>{{end}}
<h2>Active faults</h2>
{{with .Faults}}<table><tr><th>Fault<th>Endpoint<th>Company<th class="n">Rate<th class="n">Times
{{range .}}<tr><td>{{.Name}}<td>{{.Endpoint}}<td>{{.Company}}
<td class="n">{{or .Rate 1}}<td class="n">{{.Fired}}{{end}}
</table>{{else}}{{if not .Webhook}}<p>None.</p>{{end}}{{end}}
{{with .Webhook}}<table><tr><th>Fault of deliveries<th class="n">Rate<th class="n">Times
{{range .}}<tr><td>{{.Name}}<td class="n">{{or .Rate 1}}<td class="n">{{.Fired}}{{end}}
</table>{{end}}
<h2>Webhook endpoints</h2>
{{with .Told.Endpoints}}<table>
<tr><th>Endpoint<th>Events<th class="n">Attempts<th class="n">Accepted<th class="n">Waiting<th class="n">Given up
{{range .}}<tr><td>{{.URL}}<br><code>{{.ID}}</code><td>{{range .Types}}<div>{{.}}</div>{{end}}
<td class="n">{{.Attempts}}<td class="n">{{.Taken}}<td class="n">{{.Waiting}}
<td class="n{{if .Lost}} bad{{end}}">{{.Lost}}{{end}}
</table>{{else}}<p>None.</p>{{end}}
{{with .Exceptions}}<h2 class="bad">Filings with an exception</h2>
<table><tr><th>Order<th>Product<th>Company<th>State<th class="n">Code
{{range .}}<tr><td><code>{{.ID}}</code><td>{{.Product}} {{.Year}}
<td><code>{{.CompanyID}}</code><td>{{.State}}<td class="n">{{or .Exception ""}}{{end}}
</table>{{end}}
{{end}}
<h2>Orders, newest first</h2>
{{with .Orders}}<table><tr><th class="n">#<th>Time<th>Company<th>State<th>Items<th class="n">Total
{{range .}}<tr><td class="n">{{.Number}}<td>{{clock .At}}
<td>{{.CompanyName}}<br><code>{{.CompanyID}}</code><td>{{.State}}
<td>{{range .Items}}<div>{{.Product}} {{.Year}} <code>{{.ID}}</code> {{.Status}}
{{- if .Exception}} {{.Exception}}{{end}}{{if .Existing}} (already active){{end}} {{money .Amount}}</div>{{end}}
{{- with .Fault}}<div class="bad">Fault in the answer: {{.}}</div>{{end}}
<td class="n">{{money .Total}}{{end}}
</table>{{else}}<p>None.</p>{{end}}
{{with .Controls}}<h2>Controls</h2>
<p><code>importer sandbox do NAME key=value…</code>, or POST <code>/admin/NAME</code> with a JSON object.
Programs read the books at <code>/books.json</code>.</p>
<table>{{range .}}<tr><td><code>{{.Usage}}</code><td>{{.Help}}{{end}}</table>{{end}}
</html>
`))
