package web

import (
	"errors"
	"slices"
	"strings"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/intake"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/money"
)

// homeHandler handles the first page.
type homeHandler struct {
	*Config
	overview *overview
}

func (h *homeHandler) routes() []route {
	return []route{{pattern: "GET /{$}", may: self, serve: h.home}}
}

// homePage is the first page. It lists the actions and the batches.
type homePage struct {
	Templates []filing.Product
	Uploads   []intake.Upload
	Batches   []listedBatch
	Filter    batchFilter
	Tabs      tabs
	// Clients are the choices of the filter.
	Clients []string
	// Any reports whether there are any batches, regardless of the filter.
	Any bool
	// Starred reports whether a cost of the table is an estimate.
	Starred bool
	// Partial reports whether a cost of the table lacks a state fee.
	Partial bool
	Pager   pager
}

// listedBatch is a row of the table of batches.
type listedBatch struct {
	ledger.Batch
	batchStatus
	// Cost is the sum of charged, reserved and upcoming costs.
	Cost money.Cost
}

// batchFilter is the filter of the batches.
type batchFilter struct {
	// Show is "", "mine" or "action".
	Show   string
	Client string
	// Search is searched for in the file names and the IDs of the batches.
	Search string
}

// batchShows are the tabs of the table of batches.
var batchShows = []struct{ name, title string }{{"mine", "Mine"}, {"", "All"}, {"action", "Needs action"}}

// matches reports whether a batch matches the search. It ignores the tab and the client.
func (f batchFilter) matches(b ledger.Batch) bool {
	return f.Search == "" || strings.HasPrefix(b.ID, f.Search) ||
		strings.Contains(strings.ToLower(b.File), strings.ToLower(f.Search))
}

// listedClients is the maximum number of clients in the filter. The search finds all of them.
const listedClients = 200

func (h *homeHandler) home(v *request) error {
	if !v.session.Account.HasRole() {
		// An account without a role sees only how it signs in.
		return v.redirect("/security")
	}
	p := homePage{Templates: filing.Products}
	p.Filter = batchFilter{
		Show:   v.query("show"),
		Client: shortened(v.query("client"), maxSearch),
		Search: v.search("q"),
	}
	var batches []ledger.Batch
	err := errors.Join(
		load(&p.Uploads)(intake.NewUploads(h.Ledger).List(v.ctx())),
		load(&batches)(h.Ledger.Batches(v.ctx())),
		load(&p.Clients)(h.Ledger.Companies().Clients(v.ctx(), "", listedClients)))
	// Batches that are not open are listed as uploads, and corrections as part of the batch that
	// they correct.
	batches = slices.DeleteFunc(batches, func(b ledger.Batch) bool { return !b.Open })
	p.Any = len(batches) > 0
	if err == nil && v.needsService() && len(p.Uploads) == 0 && !p.Any && !v.r.URL.Query().Has("later") {
		return v.redirect("/setup")
	}
	return v.show(errors.Join(err, h.listBatches(v, &p, batches)), "home.html", "Home", &p)
}

const batchesOnPage = 25

// listBatches adds the batches that match the filter.
func (h *homeHandler) listBatches(v *request, p *homePage, batches []ledger.Batch) error {
	of := make(map[string]bool)
	var facts actionFacts
	err := load(&facts)(h.overview.facts(v.ctx()))
	if p.Filter.Client != "" {
		err = errors.Join(err, load(&of)(h.Ledger.Companies().BatchesOfClient(v.ctx(), p.Filter.Client)))
	}
	if err != nil {
		return err
	}
	waits := make(map[string]bool)
	for _, b := range facts.batches {
		at := facts.at[b.ID]
		waits[b.ID] = !b.Canceled || at.Uncertain+at.Exceptions > 0
	}
	shown := make(map[string][]ledger.Batch)
	for _, b := range batches {
		if !p.Filter.matches(b) || p.Filter.Client != "" && !of[b.ID] {
			continue
		}
		shown[""] = append(shown[""], b)
		if b.CreatedBy == v.who() {
			shown["mine"] = append(shown["mine"], b)
		}
		if waits[b.ID] {
			shown["action"] = append(shown["action"], b)
		}
	}
	p.Tabs.Label = "Batches"
	known := false
	for _, one := range batchShows {
		current := one.name == p.Filter.Show
		p.Tabs.add(v.with("/", "show", one.name, "page", "")+"#batches", one.title, len(shown[one.name]), current)
		known = known || current
	}
	if !known {
		return errNoPage
	}
	var page []ledger.Batch
	p.Pager, page = paged(v, shown[p.Filter.Show], batchesOnPage)
	for _, b := range page {
		one := listedBatch{Batch: b}
		if one.batchStatus, err = h.overview.status(v.ctx(), b, facts); err != nil {
			return err
		}
		if one.Cost, err = one.Headline.Cost(); err != nil {
			return err
		}
		p.Starred = p.Starred || one.Cost.Certainty == money.Estimated
		p.Partial = p.Partial || one.Cost.IsUnknown() || one.Headline.Spent.IsUnknown()
		p.Batches = append(p.Batches, one)
	}
	return nil
}

// shortCost formats a cost for a table column: "$325.00*" for an estimate, and "$25.00+" if a state
// fee is missing. The page explains the marks.
func shortCost(c money.Cost) string {
	switch {
	case c.IsUnknown():
		return c.Amount.Dollars() + "+"
	case c.Certainty == money.Estimated:
		return c.Amount.Dollars() + "*"
	}
	return c.Amount.Dollars()
}
