package web

import (
	"context"
	"errors"
	"net/url"
	"strings"

	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/report"
	"github.com/bulkfiling/bulkfiling/internal/text"
)

var searchRoutes = []route{
	{pattern: "GET /search", may: viewer, serve: (*Site).search},
}

// searchPage is what was found, by kind.
type searchPage struct {
	Search    string
	Companies []ledger.ListedCompany
	Clients   []string
	Orders    []foundRow
	Batches   []ledger.Batch
	Uploads   []ledger.Upload
	More      bool // there are more companies
}

// foundRow is a row that was found by its order.
type foundRow struct {
	ledger.Row
	File, Name, Text string
}

const (
	foundCompanies = 50
	foundOthers    = 20
)

// Nothing reports whether nothing was found.
func (p *searchPage) Nothing() bool {
	return len(p.Companies)+len(p.Clients)+len(p.Orders)+len(p.Batches)+len(p.Uploads) == 0
}

// search finds companies, clients, orders, batches and uploads.
func (s *Site) search(v *request) error {
	ctx := v.ctx()
	p := &searchPage{Search: strings.TrimSpace(shortened(v.r.URL.Query().Get("q"), 200))}
	if p.Search == "" {
		return v.show("search.html", "Search", p)
	}
	var batches []ledger.Batch
	var uploads []ledger.Upload
	companies := s.Ledger.Companies()
	err := errors.Join(
		load(&p.Companies)(companies.Search(ctx, p.Search, foundCompanies+1)),
		load(&p.Clients)(companies.Clients(ctx, p.Search, foundOthers)),
		load(&p.Orders)(s.findOrders(ctx, p.Search)),
		load(&batches)(s.Ledger.Batches(ctx)),
		load(&uploads)(s.Ledger.Uploads().List(ctx)))
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
	return v.show("search.html", "Search: "+p.Search, p)
}

// findOrders lists the rows that have the order.
func (s *Site) findOrders(ctx context.Context, order string) (all []foundRow, err error) {
	rows, err := s.Ledger.RowsWithOrder(ctx, order)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	names, err := s.Ledger.CompanyNames(ctx, rows)
	if err != nil {
		return nil, err
	}
	for _, r := range rows {
		b, err := s.Ledger.Batch(ctx, r.Batch)
		if err != nil {
			return nil, err
		}
		all = append(all, foundRow{Row: r, File: b.File, Name: names[r.ID], Text: text.Line(report.Message(&r))})
	}
	return all, nil
}

// companyPath is the address of the page of a company.
func companyPath(key string) string { return "/companies/" + url.PathEscape(key) }

// clientPath is the address of the batches of a client.
func clientPath(name string) string { return address("/", "client", name) + "#batches" }
