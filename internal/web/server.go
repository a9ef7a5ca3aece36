package web

import (
	"net/http"

	"golang.org/x/time/rate"

	"github.com/bulkfiling/bulkfiling/internal/account"
	"github.com/bulkfiling/bulkfiling/internal/audit"
)

// server answers requests. It finds the session, checks the role, and shows pages and errors. The
// handlers of the areas see only requests that it has authorized.
type server struct {
	*Config
	accounts *account.Accounts
	audit    *audit.Log
	overview *overview
	mux      *http.ServeMux
	table    []route
	// uploads limits concurrent uploads.
	uploads *seats
	// denials limits the audit events about readers who are signed in.
	denials *rate.Limiter
	// failures limits the audit events about people who are not signed in.
	failures *rate.Limiter
}

// area is a part of the site with its pages and forms.
type area interface{ routes() []route }

// register adds the routes of the areas.
func (s *server) register(areas ...area) {
	for _, a := range areas {
		s.table = append(s.table, a.routes()...)
	}
	for _, r := range s.table {
		s.mux.HandleFunc(r.pattern, func(w http.ResponseWriter, req *http.Request) { s.answer(r, w, req) })
	}
	s.mux.HandleFunc("GET /static/{name...}", serveStatic)
	s.mux.HandleFunc("/", func(w http.ResponseWriter, req *http.Request) {
		s.answer(route{serve: func(*request) error { return errNoPage }}, w, req)
	})
}
