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
		Duplicates []Duplicate       `json:"duplicates"`
		Violations []Violation       `json:"violations"`
		Endpoints  []endpointRow     `json:"endpoints"`
		Events     []json.RawMessage `json:"events"`
	}{b, b.Duplicates(), s.Violations(), s.endpoints(), s.eventBodies()})
}

// endpointRow is an endpoint without its secret.
type endpointRow struct {
	ID    string   `json:"id"`
	URL   string   `json:"url"`
	Types []string `json:"eventTypes"`
	deliveryCounts
}

func (s *Service) endpoints() []endpointRow {
	s.mu.Lock()
	defer s.mu.Unlock()
	rows := []endpointRow{}
	for _, h := range s.webhooks {
		rows = append(rows, endpointRow{h.ID, h.URL, h.Types, h.counts})
	}
	return rows
}

func (s *Service) eventBodies() []json.RawMessage {
	bodies := []json.RawMessage{}
	for _, e := range s.Events() {
		bodies = append(bodies, e.Body)
	}
	return bodies
}

type pageData struct {
	Title      string
	Books      Books // without orders
	Orders     []Order
	Made       int
	Outage     Outage
	Violations []Violation
	Dashboard  bool
}

func (s *Service) servePage(w http.ResponseWriter, _ *http.Request) {
	books, violations := s.Books(), s.Violations()
	d := pageData{Title: "Sandbox books", Made: len(books.Orders), Books: books}
	d.Orders = books.Orders[max(0, d.Made-newest):]
	slices.Reverse(d.Orders)
	d.Violations = violations[max(0, len(violations)-20):]
	slices.Reverse(d.Violations)
	s.mu.Lock()
	d.Outage = s.outage
	s.mu.Unlock()
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
	"money": func(cents int64) string { return fmt.Sprintf("$%.2f", float64(cents)/100) },
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
</dl>
{{with .Violations}}<h2 class="bad">Requests that break a rule, newest first</h2>
<table><tr><th>Time<th>Rule<th>Request<th>Message
{{range .}}<tr><td>{{clock .At}}<td>{{.Rule}}<td><code>{{.Method}} {{.Path}}</code><td>{{.Message}}{{end}}
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
</html>
`))
