package web

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/reconcile"
	"github.com/bulkfiling/bulkfiling/internal/sheet"
)

var reconcileRoutes = []route{
	{pattern: "GET /reconciliation", may: viewer, serve: (*Site).reconciliation},
	{pattern: "POST /reconciliation", may: operator, serve: (*Site).uploadStatement, upload: true},
	{pattern: "GET /reconciliation/{statement}", may: viewer, serve: (*Site).statement},
	{pattern: "POST /reconciliation/{statement}/reconcile", may: operator, serve: (*Site).reconcileStatement},
}

// Limits of the reconciliation pages.
const (
	maxStatement    = 32 << 20 // bytes of the file
	statementsShown = 100
	groupShown      = 100 // lines of a group
)

// reconciliationPage lists the statements that were reconciled.
type reconciliationPage struct {
	Statements []ledger.ReconciledStatement
	Error      string // why a statement was refused
	From, To   string // as they were entered
	Complete   bool
}

func (s *Site) reconciliation(v *request) error {
	return s.showReconciliation(v, http.StatusOK, &reconciliationPage{})
}

func (s *Site) showReconciliation(v *request, status int, p *reconciliationPage) (err error) {
	if p.Statements, err = s.Ledger.Statements().ListStatements(v.ctx(), statementsShown); err != nil {
		return err
	}
	return v.showStatus(status, "reconciliation.html", "Reconciliation", p)
}

// uploadStatement reads a statement, and leads to the page that compares it. Nothing of
// the balance changes.
func (s *Site) uploadStatement(v *request) error {
	file, err := v.file(maxStatement)
	if err != nil {
		return err
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, maxStatement+1))
	if err != nil {
		return file.readError(err)
	}
	if len(content) > maxStatement {
		return file.readError(&http.MaxBytesError{Limit: maxStatement})
	}
	form := v.r.PostForm
	page := &reconciliationPage{From: form.Get("from"), To: form.Get("to"), Complete: form.Get("complete") == "yes"}
	kept := ledger.StatementFile{Name: file.name, Content: content, KeptBy: v.who()}
	kept.Options.Complete = page.Complete
	for text, to := range map[string]*time.Time{page.From: &kept.Options.From, page.To: &kept.Options.To} {
		if text == "" {
			continue
		}
		if *to, err = time.Parse(time.DateOnly, text); err != nil {
			page.Error = fmt.Sprintf("%q is not a day. Enter it as 2026-03-31.", text)
			return s.showReconciliation(v, http.StatusUnprocessableEntity, page)
		}
	}
	sum := sha256.Sum256(content)
	kept.Hash = hex.EncodeToString(sum[:])
	_, err = s.planStatement(v, &kept)
	switch refused := refusalText(err); {
	case refused != "":
		page.Error = refused
		return s.showReconciliation(v, http.StatusUnprocessableEntity, page)
	case err != nil:
		return err
	}
	if err := s.Ledger.Statements().KeepFile(v.ctx(), kept); err != nil {
		return err
	}
	return v.redirect("/reconciliation/" + kept.Hash)
}

// refusalText says why a statement is refused; "" for any other error.
func refusalText(err error) string {
	var format *sheet.FormatError
	if errors.As(err, &format) || errors.Is(err, reconcile.ErrOtherAccount) {
		return strings.TrimRight(strings.ToUpper(err.Error()[:1])+err.Error()[1:], ".") + "."
	}
	return ""
}

// planStatement reads the file of a statement and compares it with the ledger.
func (s *Site) planStatement(v *request, f *ledger.StatementFile) (*reconcile.Plan, error) {
	leave, err := sheet.AcquireReader(v.ctx())
	if err != nil {
		return nil, err
	}
	defer leave()
	book, err := sheet.OpenReader(f.Name, bytes.NewReader(f.Content), int64(len(f.Content)), sheet.Limits{})
	if err != nil {
		return nil, err
	}
	defer book.Close()
	o := f.Options
	o.Recall = func(shape string) map[string]string {
		m, err := s.Ledger.Uploads().FindMapping(v.ctx(), shape)
		if err != nil {
			return nil // it was never mapped
		}
		return m.Columns
	}
	statement, err := reconcile.ReadStatement(book, o)
	if err != nil {
		return nil, err
	}
	return s.reconciler(v).Plan(v.ctx(), statement)
}

// reconciler reconciles for the person of the request.
func (s *Site) reconciler(v *request) *reconcile.Service {
	n := 0
	return &reconcile.Service{
		Store: s.Ledger.Statements(),
		By:    v.who(),
		Audit: func(ctx context.Context, what, of, note string) context.Context {
			act := ledger.AuditEvent{
				By:   v.who(),
				From: v.from(),
				What: what,
				Of:   of,
				Note: note,
			}
			if n++; v.once != "" {
				act.ID = fmt.Sprintf("%s-%d", v.once, n)
			}
			return ledger.WithAudit(ctx, act)
		},
	}
}

// statementPage compares a statement with the ledger.
type statementPage struct {
	*reconcile.Plan
	Hash        string
	Parts       []statementGroup
	Recorded    []ledger.RecordedAdjustment // by this statement, before
	Agreed      money.Cents
	Changes     bool
	Fingerprint string
	Does        []string
}

// statementGroup is a group of the page.
type statementGroup struct {
	Group reconcile.Group
	Title string
	Note  string
	Count int
	Sum   money.Cents
	Lines []statementLine
	Rest  int
}

// statementLine is a line of a group, or an order that was not charged.
type statementLine struct {
	Cell, About, Note string
	Amount            money.Cents
	Row               int64
	Batch             string
	Number            int
}

func (s *Site) loadStatement(v *request) (*statementPage, error) {
	f, err := s.Ledger.Statements().FindFile(v.ctx(), v.r.PathValue("statement"))
	if errors.Is(err, ledger.ErrNotFound) {
		return nil, errNoPage
	}
	if err != nil {
		return nil, err
	}
	plan, err := s.planStatement(v, &f)
	if refused := refusalText(err); refused != "" {
		return nil, badRequest("%s", refused)
	}
	if err != nil {
		return nil, err
	}
	p := &statementPage{
		Plan:    plan,
		Hash:    f.Hash,
		Changes: plan.Changes(),
		Parts:   groupsOf(plan),
		Does:    doesOf(plan),
	}
	p.Recorded, err = s.Ledger.Statements().ListAdjustments(v.ctx(), f.Hash, groupShown)
	var text strings.Builder
	for _, settlement := range plan.Settlements {
		fmt.Fprintln(&text, settlement.Purchase.Row, settlement.Purchase.Try, settlement.Amount, settlement.OrderIDs)
	}
	for _, a := range plan.Adjustments {
		fmt.Fprintln(&text, a.Reason, a.Line, a.Amount, a.Note)
	}
	p.Fingerprint = fingerprint(text.String())
	return p, err
}

// groupTexts are the title of each group, and what becomes of it.
var groupTexts = map[reconcile.Group][2]string{
	reconcile.Agree:   {"Agree", "The statement and the ledger have the same amount."},
	reconcile.Differ:  {"Amount differs", "Each difference is an adjustment of the balance."},
	reconcile.Foreign: {"Charged and not ours", "No order in this ledger. Each line is an adjustment of the balance."},
	reconcile.Missing: {"Ours and not charged", "Placed in the period, and not on the statement."},
	reconcile.Settle:  {"Resolves an uncertain order", "Marked as placed at the amount of the statement."},
	reconcile.Unclear: {"Not decided yet",
		"May be an uncertain order, or one whose answer is not here yet. Nothing is recorded."},
}

// groupsOf sorts the lines of a plan into their groups.
func groupsOf(plan *reconcile.Plan) []statementGroup {
	at := make(map[reconcile.Group]int)
	var all []statementGroup
	for i, g := range reconcile.Groups {
		at[g] = i
		all = append(all, statementGroup{Group: g, Title: groupTexts[g][0], Note: groupTexts[g][1]})
	}
	add := func(g reconcile.Group, line statementLine, purchase *reconcile.Purchase) {
		group := &all[at[g]]
		group.Count++
		group.Sum += line.Amount
		if len(group.Lines) == groupShown {
			group.Rest++
			return
		}
		if purchase != nil {
			line.Row, line.Batch, line.Number = purchase.Row, purchase.Batch, purchase.Number
			if line.About == "" {
				line.About = purchase.What() + ", " + purchase.Name()
			}
		}
		group.Lines = append(group.Lines, line)
	}
	for i, g := range plan.Groups {
		line := &plan.Statement.Lines[i]
		about := line.About()
		if p := plan.Purchases[i]; p != nil && line.Company == "" {
			about += ", " + p.Name()
		}
		add(g, statementLine{Cell: line.Cell, About: about, Note: plan.Notes[i], Amount: line.Amount},
			plan.Purchases[i])
	}
	for _, purchase := range plan.Missing {
		add(reconcile.Missing, statementLine{Amount: purchase.Recorded()}, purchase)
	}
	if all[at[reconcile.Unclear]].Count == 0 {
		all = all[:at[reconcile.Unclear]]
	}
	return all
}

// doesOf says what reconciling would do.
func doesOf(plan *reconcile.Plan) (does []string) {
	if n := len(plan.Settlements); n > 0 {
		does = append(does, "mark "+count(n, "uncertain order")+" as placed")
	}
	if n := len(plan.Adjustments); n > 0 {
		does = append(does, fmt.Sprintf("record %s, %s in all", count(n, "adjustment"), plan.Adjusted().Dollars()))
	}
	return does
}

func (s *Site) statement(v *request) error {
	p, err := s.loadStatement(v)
	if err != nil {
		return err
	}
	return v.show("statement.html", p.Statement.File, p)
}

// reconcileStatement carries out what the page shows.
func (s *Site) reconcileStatement(v *request) error {
	deadline := http.NewResponseController(v.w).SetWriteDeadline(time.Now().Add(15 * time.Minute))
	if deadline != nil {
		return fmt.Errorf("wait for the reconciliation: %w", deadline)
	}
	p, err := s.loadStatement(v)
	if err != nil {
		return err
	}
	at := "/reconciliation/" + p.Hash
	switch {
	case !p.Changes:
		v.flash("note", "%s is reconciled already. Nothing was changed.", p.Statement.File)
		return v.redirect(at)
	case v.r.PostForm.Get("plan") != p.Fingerprint:
		v.flash("warn", "The ledger has changed since you opened the page. Nothing was changed. Check the "+
			"groups again.")
		return v.redirect(at)
	}
	done, err := s.reconciler(v).Apply(v.ctx(), p.Plan)
	if errors.Is(err, ledger.ErrStale) {
		v.flash("warn", "The ledger has changed in the meantime. Check the groups again.")
		return v.redirect(at)
	}
	if err != nil {
		return err
	}
	v.flash("ok", "%s is reconciled. %s resolved, %s recorded, %s in all.", done.Statement.File,
		count(done.Counts.Settled, "uncertain order"), count(len(done.Adjustments), "adjustment"),
		done.Adjusted().Dollars())
	return v.redirect(at)
}
