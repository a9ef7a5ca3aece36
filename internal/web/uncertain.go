package web

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/bulkfiling/bulkfiling/internal/account"
	"github.com/bulkfiling/bulkfiling/internal/audit"
	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/resolve"
)

// uncertainHandler handles the rows that only a person can resolve.
type uncertainHandler struct{ *Config }

func (h *uncertainHandler) routes() []route {
	return []route{
		{pattern: "GET /uncertain", may: viewer, serve: h.uncertain},
		{pattern: "GET /uncertain/rows/{row}", may: viewer, serve: h.ofUncertain(h.showUncertainRow)},
		{pattern: "POST /uncertain/rows/{row}/link", may: operator, serve: h.ofUncertain(h.dashboard)},
		{pattern: "POST /uncertain/batches/{batch}/check", may: operator, serve: ofBatch(h.checkDecisions)},
		{pattern: "POST /uncertain/batches/{batch}/resolve", may: operator, serve: ofBatch(h.resolveRows)},
	}
}

// uncertainPage lists the rows that only a person can resolve.
type uncertainPage struct {
	// Batch is the batch of the rows, or nil for all batches.
	Batch *ledger.Batch
	Rows  []*uncertainRow
	// One reports whether the page shows a single row.
	One      bool
	Reserved money.Cents
	Tabs     tabs
	// Bulk are the rows of the batch that can be resolved together.
	Bulk  []*resolve.UncertainOrder
	Pager pager
}

// uncertainRow is an uncertain order as the page shows it.
type uncertainRow struct {
	*resolve.UncertainOrder

	// File is the file name of its batch.
	File string
}

// confirmation returns a fingerprint of the objections to a decision. A form confirms only the
// objections that it showed.
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

const uncertainOnPage = 20

func (h *uncertainHandler) uncertain(v *request) error {
	ctx, id := v.ctx(), v.query("batch")
	p := new(uncertainPage)
	if id != "" {
		b, err := h.Ledger.Batch(ctx, id)
		if err != nil {
			return err
		}
		p.Batch, id = &b, b.ID
	}
	after, _ := strconv.ParseInt(v.query("after"), 10, 64)
	all, total, err := resolve.ListUncertainPage(ctx, h.Ledger, id, after, uncertainOnPage+1)
	if err != nil {
		return err
	}
	// The remaining rows may have been resolved in the meantime.
	if len(all) == 0 && after > 0 {
		return v.redirect(uncertainPath(id))
	}
	p.Pager, all = keyset(v, "after", all, uncertainOnPage, func(o *resolve.UncertainOrder) any { return o.Row.ID }, "")
	p.Pager.Total = total
	batches, err := h.Ledger.Resolutions().UncertainBatches(ctx)
	if err != nil {
		return err
	}
	p.countByBatch(batches, id)
	files := make(map[string]string)
	for _, b := range batches {
		files[b.Batch] = b.File
	}
	for _, o := range all {
		p.Rows = append(p.Rows, &uncertainRow{o, files[o.Row.Batch]})
	}
	if p.Batch != nil && total > 1 && v.may(account.Operator) {
		p.Bulk, _, err = resolve.ListUncertainPage(ctx, h.Ledger, id, 0, maxDecisions)
	}
	return v.show(err, "uncertain.html", "Uncertain rows", p)
}

// countByBatch adds a tab with the number of uncertain rows for each batch.
func (p *uncertainPage) countByBatch(batches []ledger.UncertainBatch, id string) {
	all := 0
	for _, b := range batches {
		all += b.Rows
		if id == "" || b.Batch == id {
			p.Reserved += b.Reserved
		}
	}
	p.Tabs.Label = "Uncertain rows by spreadsheet"
	p.Tabs.add("/uncertain", "All", all, id == "")
	for _, b := range batches {
		p.Tabs.add(uncertainPath(b.Batch), shortened(legible(b.File), 40), b.Rows, b.Batch == id)
	}
}

func uncertainPath(batch string) string { return address("/uncertain", "batch", batch) }

// resolver returns a service that resolves rows in the reader's name.
func (h *uncertainHandler) resolver(v *request) *resolve.Service {
	return &resolve.Service{Ledger: h.Ledger, Client: h.Service, By: v.who() + " on the page"}
}

// ofUncertain makes a handler for the uncertain order of the row that the path names. If the row was
// resolved in the meantime, it leads to the page of the row.
func (h *uncertainHandler) ofUncertain(serve func(*request, *resolve.UncertainOrder) error) func(*request) error {
	return func(v *request) error {
		id, err := strconv.ParseInt(v.r.PathValue("row"), 10, 64)
		if err != nil {
			return errNoPage
		}
		row, err := h.Ledger.Row(v.ctx(), id)
		if err != nil {
			return err
		}
		found, _, err := resolve.ListUncertainPage(v.ctx(), h.Ledger, row.Batch, row.ID-1, 1)
		switch {
		case err != nil:
			return err
		case row.Result != filing.Uncertain, len(found) == 0, found[0].Row.ID != row.ID:
			return v.redirect(batchRowPath(row.Batch, row.Number))
		}
		return serve(v, found[0])
	}
}

// showUncertainRow shows one uncertain row.
func (h *uncertainHandler) showUncertainRow(v *request, o *resolve.UncertainOrder) error {
	b, err := h.Ledger.Batch(v.ctx(), o.Row.Batch)
	return v.show(err, "uncertain.html", fmt.Sprintf("Row %d is uncertain", o.Row.Number),
		&uncertainPage{Rows: []*uncertainRow{{o, b.File}}, One: true})
}

// resolutionText describes a resolution for the audit log.
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

// dashboard redirects to the dashboard of a row's company. The link signs in
// anyone who has it, so it is requested only when needed and never stored.
func (h *uncertainHandler) dashboard(v *request, o *resolve.UncertainOrder) error {
	address, err := h.resolver(v).DashboardLink(v.ctx(), o)
	if err != nil {
		return &httpError{http.StatusBadGateway, "There is no link to the dashboard", sentence(err.Error())}
	}
	link, err := url.Parse(address)
	if err != nil || link.Scheme != "https" && link.Scheme != "http" || link.Host == "" {
		return &httpError{http.StatusBadGateway, "The dashboard link is not available",
			"The filing service did not return a valid address. Try again in a minute."}
	}
	note := fmt.Sprintf("row %d, link that signs in as the user", o.Row.Number)
	if err := v.record("", "dashboard", o.Row.Batch, note); err != nil {
		return err
	}
	// The content security policy forbids a form to redirect to another site, but a page may lead
	// there.
	v.w.Header().Set("Refresh", "0; url="+link.String())
	v.w.Header().Set("Referrer-Policy", "no-referrer")
	return v.show(nil, "dashboard.html", "Dashboard", struct{ Company, Link, Host string }{o.CompanyText(),
		link.String(), link.Host})
}

// decisionsPage shows the effect of decisions before any row is resolved.
type decisionsPage struct {
	Batch  ledger.Batch
	Plan   *resolve.Plan
	Effect resolve.Effect
	// Actions describe the effect on each row, in the order of Plan.Resolutions.
	Actions []string
	// Objections are the reasons against the decisions.
	Objections []string
	After      ledger.Balance
	// Decisions are the decisions as JSON, and Name is their fingerprint. A plan that has changed
	// is shown again.
	Decisions string
	Name      string
}

// maxDecisions is the maximum number of rows that can be resolved at once.
const maxDecisions = 500

// checkDecisions shows the effect of the decisions in a form.
func (h *uncertainHandler) checkDecisions(v *request, b ledger.Batch) error {
	var decisions []resolve.Decision
	for _, text := range v.r.PostForm["row"] {
		row, err := strconv.Atoi(text)
		if err != nil || len(decisions) == maxDecisions {
			return errForm
		}
		field := func(name string) string { return strings.TrimSpace(v.form(name + "-" + text)) }
		attempt, err := strconv.Atoi(field("attempt"))
		if err != nil {
			return errForm
		}
		d := resolve.Decision{
			Row:       row,
			Attempt:   attempt,
			Verdict:   resolve.Verdict(field("decision")),
			CompanyID: field("company"),
			OrderIDs:  strings.Fields(strings.NewReplacer(",", " ", ";", " ").Replace(field("orders"))),
		}
		if rest := v.form("rest"); d.Verdict == "" && len(d.OrderIDs) == 0 && d.CompanyID == "" {
			d.Verdict = resolve.Verdict(rest)
		}
		decisions = append(decisions, d)
	}
	return h.showDecisions(v, b, decisions)
}

func (h *uncertainHandler) showDecisions(v *request, b ledger.Batch, decisions []resolve.Decision) error {
	p, err := h.planDecisions(v, b, decisions)
	if err != nil {
		return err
	}
	status := http.StatusOK
	if len(p.Plan.Problems) > 0 {
		status = http.StatusUnprocessableEntity
	}
	return v.showStatus(status, "uncertain-decisions.html", "Resolve uncertain rows", p)
}

// planDecisions computes the effect of decisions.
func (h *uncertainHandler) planDecisions(v *request, b ledger.Batch, decisions []resolve.Decision) (*decisionsPage,
	error) {
	plan, err := h.resolver(v).Plan(v.ctx(), b.ID, decisions)
	if err != nil {
		return nil, err
	}
	p := &decisionsPage{Batch: b, Plan: plan, Effect: resolve.EffectOf(plan.Resolutions)}
	if p.After, err = h.Ledger.Balance(v.ctx()); err != nil {
		return nil, err
	}
	p.After.Reserved -= p.Effect.Spent + p.Effect.Released
	p.After.Posted += p.Effect.Spent
	var name strings.Builder
	for _, r := range plan.Resolutions {
		p.Objections = append(p.Objections, r.Objections...)
		row := r.Order.Row
		action := resolutionText(row, r)
		fmt.Fprintln(&name, row.ID, row.LastAttempt, int64(row.Reserved), action)
		p.Actions = append(p.Actions, action)
	}
	p.Name = fingerprint(name.String() + confirmation(p.Objections))
	body, err := json.Marshal(decisions)
	p.Decisions = string(body)
	return p, err
}

// resolveRows resolves rows by decisions if their effect is still the effect that was shown.
func (h *uncertainHandler) resolveRows(v *request, b ledger.Batch) error {
	form := v.r.PostForm
	var decisions []resolve.Decision
	if err := json.Unmarshal([]byte(form.Get("decisions")), &decisions); err != nil || len(decisions) > maxDecisions {
		return errForm
	}
	p, err := h.planDecisions(v, b, decisions)
	if err != nil {
		return err
	}
	if len(p.Plan.Resolutions) == 0 && len(p.Plan.Problems) == 0 {
		return v.leadTo("/uncertain?batch="+p.Batch.ID, "note", "All these rows are already resolved.")
	}
	if len(p.Plan.Problems) > 0 || p.Name != form.Get("plan") || confirmation(p.Objections) != form.Get("anyway") {
		return h.showDecisions(v, b, decisions)
	}
	if err := v.extendDeadline(); err != nil {
		return err
	}
	var done []*resolve.Resolution
	faster := 0 // rows that were resolved by someone else in the meantime
	for i, one := range p.Plan.Resolutions {
		act := v.act("", "resolve", p.Batch.ID, p.Actions[i])
		if v.once != "" {
			act.ID = fmt.Sprintf("%s-%d", v.once, one.Order.Row.ID)
		}
		_, err := h.resolver(v).Resolve(audit.With(v.ctx(), act), one)
		switch {
		case errors.Is(err, ledger.ErrTransition), errors.Is(err, ledger.ErrStale), errors.Is(err, audit.ErrDone):
			faster++
		case err != nil:
			return fmt.Errorf("resolve rows, after %d of them: %w", len(done), err)
		default:
			done = append(done, one)
		}
	}
	e := resolve.EffectOf(done)
	said := fmt.Sprintf("Resolved %s: %d placed, %s charged; %d not placed, %s released.",
		count(len(done), "row"), e.Placed, e.Spent.Dollars(), e.NotPlaced, e.Released.Dollars())
	if e.Created > 0 {
		said += fmt.Sprintf(" Also saved %s that were created.", count(e.Created, "company record"))
	}
	if faster > 0 {
		said += fmt.Sprintf(" %s %s already resolved by someone else or by a late answer.", count(faster, "row"),
			plural(faster, "is", "are"))
	}
	recorded, err := h.Ledger.Balance(v.ctx())
	if recorded.HasDeposit {
		said += " " + recorded.Available().Dollars() + " is available now."
	}
	return v.done(err, "/uncertain?batch="+p.Batch.ID, "%s", said)
}
