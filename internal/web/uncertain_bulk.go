package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/resolve"
)

// decisionsPage shows the effect of decisions before any row is resolved.
type decisionsPage struct {
	Batch   ledger.Batch
	Plan    *resolve.Plan
	Effect  resolve.Effect
	Actions []string // what happens to each row, beside Plan.Resolutions
	// Objections speak against the decisions.
	Objections []string
	After      ledger.Balance
	// Decisions are the decisions as JSON, and Name is their fingerprint: a plan that
	// changed meanwhile is shown again.
	Decisions string
	Name      string
}

// maxDecisions is how many rows can be resolved at once.
const maxDecisions = 500

// checkDecisions shows the effect of the decisions in a form.
func (s *Site) checkDecisions(v *request, b ledger.Batch) error {
	var decisions []resolve.Decision
	for _, text := range v.r.PostForm["row"] {
		row, err := strconv.Atoi(text)
		if err != nil || len(decisions) == maxDecisions {
			return errForm
		}
		field := func(name string) string { return strings.TrimSpace(v.r.PostForm.Get(name + "-" + text)) }
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
		if rest := v.r.PostForm.Get("rest"); d.Verdict == "" && len(d.OrderIDs) == 0 && d.CompanyID == "" {
			d.Verdict = resolve.Verdict(rest)
		}
		decisions = append(decisions, d)
	}
	return s.showDecisions(v, b, decisions)
}

func (s *Site) showDecisions(v *request, b ledger.Batch, decisions []resolve.Decision) error {
	p, err := s.planDecisions(v, b, decisions)
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
func (s *Site) planDecisions(v *request, b ledger.Batch, decisions []resolve.Decision) (*decisionsPage, error) {
	plan, err := v.resolver().Plan(v.ctx(), b.ID, decisions)
	if err != nil {
		return nil, resolveError(err)
	}
	p := &decisionsPage{Batch: b, Plan: plan, Effect: resolve.EffectOf(plan.Resolutions)}
	if p.After, err = s.Ledger.Balance(v.ctx()); err != nil {
		return nil, err
	}
	p.After.Reserved -= p.Effect.Spent + p.Effect.Released
	p.After.Posted += p.Effect.Spent
	var name strings.Builder
	for _, r := range plan.Resolutions {
		p.Objections = append(p.Objections, r.Objections...)
		row := r.Order.Row
		action := resolutionText(row, r)
		fmt.Fprintln(&name, row.ID, row.Tries, int64(row.Reserved), action)
		p.Actions = append(p.Actions, action)
	}
	p.Name = fingerprint(name.String() + confirmation(p.Objections))
	body, err := json.Marshal(decisions)
	p.Decisions = string(body)
	return p, err
}

// resolveRows resolves rows by decisions whose effect was shown.
func (s *Site) resolveRows(v *request, b ledger.Batch) error {
	form := v.r.PostForm
	var decisions []resolve.Decision
	if err := json.Unmarshal([]byte(form.Get("decisions")), &decisions); err != nil || len(decisions) > maxDecisions {
		return errForm
	}
	p, err := s.planDecisions(v, b, decisions)
	if err != nil {
		return err
	}
	if len(p.Plan.Resolutions) == 0 && len(p.Plan.Problems) == 0 {
		return v.leadTo("/uncertain?batch="+p.Batch.ID, "note", "All these rows are already resolved.")
	}
	if len(p.Plan.Problems) > 0 || p.Name != form.Get("plan") || confirmation(p.Objections) != form.Get("anyway") {
		return s.showDecisions(v, b, decisions)
	}
	if err := v.extendDeadline(); err != nil {
		return err
	}
	var done []*resolve.Resolution
	faster := 0 // rows that somebody else resolved meanwhile
	for i, one := range p.Plan.Resolutions {
		act := v.act("", "resolve", p.Batch.ID, p.Actions[i])
		if v.once != "" {
			act.ID = fmt.Sprintf("%s-%d", v.once, one.Order.Row.ID)
		}
		_, err := v.resolver().Resolve(ledger.WithAudit(v.ctx(), act), one)
		switch {
		case errors.Is(err, ledger.ErrTransition), errors.Is(err, ledger.ErrStale), errors.Is(err, ledger.ErrDone):
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
	available, err := s.availableText(v)
	return v.done(err, "/uncertain?batch="+p.Batch.ID, "%s%s", said, available)
}
