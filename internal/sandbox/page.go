package sandbox

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"text/tabwriter"
	"time"
)

// newest bounds the orders on the page. /books.json has all of them.
const newest = 200

func (s *Service) handlePages(mux *http.ServeMux) {
	mux.HandleFunc("GET /{$}", s.servePage)
	mux.HandleFunc("GET /books.json", s.serveBooks)
	mux.HandleFunc("GET /files/{id}", s.serveFile)
	mux.HandleFunc("GET /dashboard/{token}", s.serveDashboard)
}

func (s *Service) serveBooks(w http.ResponseWriter, _ *http.Request) {
	b, events := s.Books(), []json.RawMessage{}
	for _, e := range s.Events() {
		events = append(events, e.Body)
	}
	w.Header().Set("Content-Type", "application/json")
	// A client that disconnected needs no answer.
	_ = json.NewEncoder(w).Encode(struct {
		Books
		Duplicates []Duplicate       `json:"duplicates"`
		Violations []Violation       `json:"violations"`
		Endpoints  []endpointRow     `json:"endpoints"`
		Events     []json.RawMessage `json:"events"`
	}{b, b.Duplicates(), s.Violations(), s.endpoints(), events})
}

// endpointRow is an endpoint without its secret.
type endpointRow struct {
	Webhook
	deliveryCounts
}

func (s *Service) endpoints() []endpointRow {
	s.mu.Lock()
	defer s.mu.Unlock()
	rows := []endpointRow{}
	for _, h := range s.hooks {
		row := endpointRow{h.Webhook, h.counts}
		row.Secret = ""
		rows = append(rows, row)
	}
	return rows
}

// servePage shows the books and the newest orders as text.
func (s *Service) servePage(w http.ResponseWriter, _ *http.Request) {
	b := s.Books()
	table := beginText(w)
	fmt.Fprintf(table, "Balance\t%s\nDeposits\t%s\nCharges\t%s\nOrders\t%d\n\n", cents(b.Balance),
		cents(b.Opening+b.Deposited), cents(b.Charged), len(b.Orders))
	writeOrders(table, b.Orders[max(0, len(b.Orders)-newest):])
}

// serveDashboard serves the page of a magic link: the orders of a company.
func (s *Service) serveDashboard(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	link, ok := s.links[r.PathValue("token")]
	rec := s.companies[link.to]
	s.mu.Unlock()
	switch {
	case !ok:
		http.NotFound(w, r)
	case s.cfg.Now().After(link.expires):
		http.Error(w, "This link has expired.", http.StatusGone)
	default:
		table := beginText(w)
		fmt.Fprintf(table, "%s\t%s\n\n", rec.ID, rec.LegalName)
		writeOrders(table, slices.DeleteFunc(s.Books().Orders, func(o Order) bool { return o.CompanyID != rec.ID }))
	}
}

func beginText(w http.ResponseWriter) *tabwriter.Writer {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	return tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
}

// writeOrders lists the items of orders, the newest order first.
func writeOrders(table *tabwriter.Writer, orders []Order) {
	fmt.Fprintln(table, "TIME\tCOMPANY\tNAME\tSTATE\tPRODUCT\tYEAR\tORDER\tSTATUS\tCOST")
	for _, o := range slices.Backward(orders) {
		for _, i := range o.Items {
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", o.At.UTC().Format(time.DateTime), o.CompanyID,
				o.CompanyName, o.State, i.Product, i.Year, i.ID, i.Status, cents(i.Amount()))
		}
	}
	// The client may have disconnected.
	_ = table.Flush()
}

func cents(n int64) string { return fmt.Sprintf("$%.2f", float64(n)/100) }
