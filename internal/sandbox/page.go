package sandbox

import (
	"encoding/json"
	"net/http"
	"slices"
)

func (s *Service) handlePages(mux *http.ServeMux) {
	mux.HandleFunc("GET /books.json", s.serveBooks)
	mux.HandleFunc("GET /files/{id}", s.serveFile)
	mux.HandleFunc("GET /dashboard/{token}", s.serveDashboard)
}

func (s *Service) serveBooks(w http.ResponseWriter, _ *http.Request) {
	b, events := s.Books(), []json.RawMessage{}
	for _, e := range s.Events() {
		events = append(events, e.Body)
	}
	writeJSON(w, struct {
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
		writeJSON(w, slices.DeleteFunc(s.Books().Orders, func(o Order) bool { return o.CompanyID != rec.ID }))
	}
}

func writeJSON(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	to := json.NewEncoder(w)
	to.SetIndent("", "  ")
	// A client that disconnected needs no answer.
	_ = to.Encode(value)
}
