package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/reconcile"
	"github.com/bulkfiling/bulkfiling/internal/resolve"
	"github.com/bulkfiling/bulkfiling/internal/sheet"
)

// reconcileFlags are the flags of importer reconcile.
type reconcileFlags struct {
	sheet     string
	columns   map[string]string
	from, to  string
	complete  bool
	notPlaced bool
	yes, json bool
}

func (a *app) reconcileCommand() *cobra.Command {
	var f reconcileFlags
	c := &cobra.Command{
		Use:   "reconcile FILE",
		Short: "Compare the filing service's statement with the ledger",
		Long: `reconcile reads a statement of the filing service (XLSX or CSV, in any
layout) and matches its lines with the ledger: by order ID, then by company, state,
product, amount and date. It shows five groups: lines that agree, amounts that differ,
charges that are not ours, orders of ours that were not charged, and uncertain orders
that the statement resolves.

After you confirm, the uncertain orders on the statement are marked as placed at
their amounts, and every other difference is recorded as an adjustment of the balance,
with its reason. Reconciling the same statement again changes nothing.

--complete declares that the statement has every charge of its period. Orders in the
period without a charge are then corrected to cost nothing. Uncertain orders in the
period without a charge are listed: check each, then mark it with importer resolve
mark, or mark all of them with --not-placed. An order that is marked as not placed is
sent again by the next run.`,
		Example: `  importer reconcile statement.xlsx
  importer reconcile march.csv --complete --from 2026-03-01 --to 2026-03-31 --yes
  importer reconcile statement.csv --map "Our Ref=Order ID" --map "F:F=Amount"`,
		Args: oneFile,
		RunE: func(c *cobra.Command, args []string) error {
			return a.withLedger(c.Context(), func(l *ledger.Ledger) error {
				return a.reconcile(c.Context(), l, args[0], f)
			})
		},
	}
	c.Flags().StringVar(&f.sheet, "sheet", "", "the sheet of the workbook to read")
	c.Flags().StringToStringVar(&f.columns, "map", nil, `map a column: --map "Their Header=Order ID", or by letter: `+
		`--map "F:F=Amount"; kept for the next statement`)
	c.Flags().StringVar(&f.from, "from", "", "the first day of the period, such as 2026-03-01")
	c.Flags().StringVar(&f.to, "to", "", "the last day of the period")
	c.Flags().BoolVar(&f.complete, "complete", false, "the statement has every charge of its period")
	c.Flags().BoolVar(&f.notPlaced, "not-placed", false,
		"with --complete: mark the uncertain orders that the statement lacks as not placed; they are sent again")
	c.Flags().BoolVarP(&f.yes, "yes", "y", false, "do not ask: resolve the orders and record the adjustments")
	c.Flags().BoolVar(&f.json, "json", false, "print one JSON line for each line, then the counts; "+
		"without --yes nothing is changed")
	return c
}

// options reads the flags that say how the statement is read.
func (f *reconcileFlags) options(ctx context.Context, l *ledger.Ledger) (o reconcile.Options, err error) {
	o = reconcile.Options{Sheet: f.sheet, Map: f.columns, Complete: f.complete}
	for _, day := range []struct {
		text, flag string
		to         *time.Time
	}{{f.from, "from", &o.From}, {f.to, "to", &o.To}} {
		if day.text == "" {
			continue
		}
		if *day.to, err = time.Parse(time.DateOnly, day.text); err != nil {
			return o, usage("--%s %q is not a day: write it as 2026-03-31", day.flag, day.text)
		}
	}
	switch {
	case !o.From.IsZero() && !o.To.IsZero() && o.To.Before(o.From):
		return o, usage("--to %s is before --from %s", f.to, f.from)
	case f.notPlaced && !f.complete:
		return o, usage(
			"--not-placed goes with --complete: only a complete statement shows that an order was not placed")
	}
	o.Recall = func(shape string) map[string]string {
		m, err := l.Uploads().FindMapping(ctx, shape)
		if err != nil {
			return nil // it was never mapped
		}
		return m.Columns
	}
	return o, nil
}

func (a *app) reconcile(ctx context.Context, l *ledger.Ledger, path string, f reconcileFlags) error {
	o, err := f.options(ctx, l)
	if err != nil {
		return err
	}
	statement, err := a.readStatement(path, o)
	if err != nil {
		return err
	}
	service := &reconcile.Service{
		Store: l.Statements(),
		By:    currentUser(),
		Audit: func(ctx context.Context, what, of, note string) context.Context {
			return withAudit(ctx, what, of, note)
		},
	}
	plan, err := service.Plan(ctx, statement)
	if err != nil {
		return err
	}
	if !f.json {
		a.showPlan(plan)
	}
	changes := plan.Changes() || f.notPlaced && len(plan.NotPlaced) > 0
	if changes && !f.yes && !f.json {
		if err := a.confirm(ctx, questionOf(plan, f.notPlaced), "Nothing was changed."); err != nil {
			return err
		}
	}
	if changes && (f.yes || !f.json) {
		if err := keepStatement(ctx, l, path, statement, o); err != nil {
			return err
		}
		if plan, err = a.applyPlan(ctx, l, service, plan, f); err != nil {
			return err
		}
	}
	if f.json {
		if err := a.printPlan(plan); err != nil {
			return err
		}
	}
	return planExit(plan, changes && f.json && !f.yes)
}

func (a *app) readStatement(path string, o reconcile.Options) (*reconcile.Statement, error) {
	file, err := sheet.Open(path, sheet.Limits{})
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return reconcile.ReadStatement(file, o)
}

// keepStatement keeps the file of a statement: it is the evidence of what follows.
func keepStatement(ctx context.Context, l *ledger.Ledger, path string, s *reconcile.Statement,
	o reconcile.Options) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if sum := sha256.Sum256(content); hex.EncodeToString(sum[:]) != s.Hash {
		return fmt.Errorf("%s has changed while it was read. Nothing was changed", path)
	}
	return l.Statements().KeepFile(ctx, ledger.StatementFile{
		Hash:    s.Hash,
		Name:    s.File,
		Content: content,
		Options: o,
		KeptBy:  currentUser(),
	})
}

// applyPlan carries a plan out and says what it did.
func (a *app) applyPlan(ctx context.Context, l *ledger.Ledger, service *reconcile.Service, plan *reconcile.Plan,
	f reconcileFlags) (*reconcile.Plan, error) {
	before, err := l.Balance(ctx)
	if err != nil {
		return nil, err
	}
	done, err := service.Apply(ctx, plan)
	if err != nil {
		return nil, err
	}
	s := done.Statement
	if f.notPlaced {
		if err := a.markNotPlaced(ctx, l, done); err != nil {
			return nil, err
		}
	}
	if len(f.columns) > 0 {
		err := l.Uploads().SetMapping(ctx, ledger.Mapping{
			Shape:     s.Shape,
			Headers:   s.Headers,
			Columns:   f.columns,
			CreatedBy: currentUser(),
		})
		if err != nil {
			return nil, err
		}
	}
	after, err := l.Balance(ctx)
	if err != nil || f.json {
		return done, err
	}
	fmt.Fprintf(a.out, "\nReconciled. %s resolved, %s recorded.\n", count(done.Counts.Settled, "uncertain order"),
		count(len(done.Adjustments), "adjustment"))
	fmt.Fprintln(a.out, balanceChange(before, after))
	return done, nil
}

// markNotPlaced marks the uncertain orders that a complete statement lacks as not
// placed. It leaves those that an event speaks for.
func (a *app) markNotPlaced(ctx context.Context, l *ledger.Ledger, p *reconcile.Plan) error {
	lacks := make(map[int64]int) // the attempt that the statement lacks
	for _, purchase := range p.NotPlaced {
		lacks[purchase.Row] = purchase.Try
	}
	orders, err := resolve.ListUncertain(ctx, l, "")
	if err != nil {
		return err
	}
	service := &resolve.Service{
		Ledger: l,
		Client: a.service,
		By:     currentUser() + " with importer reconcile " + p.Statement.File,
	}
	for _, o := range orders {
		if try, ok := lacks[o.Row.ID]; !ok || o.Row.Tries != try {
			continue // a later attempt is uncertain for reasons of its own
		}
		decided := o.NotPlaced()
		if len(decided.Objections) > 0 {
			a.say("%s %s", a.paint.yellow("Left uncertain:"), strings.Join(decided.Objections, " "))
			continue
		}
		note := fmt.Sprintf("row %d is not on the complete statement %s (SHA-256 %.12s)", o.Row.Number,
			p.Statement.File,
			p.Statement.Hash)
		said, err := service.Resolve(withAudit(ctx, "resolve", o.Row.Batch, note), decided)
		if err != nil {
			return fmt.Errorf("row %d of batch %s: %w", o.Row.Number, o.Row.Batch, err)
		}
		p.Counts.Uncertain--
		if a.say("%s", said); p.Counts.Uncertain == 0 {
			break
		}
	}
	return nil
}

// planExit is the exit code of a reconciliation. Undone says that nothing was changed,
// so that its differences are left, too.
func planExit(p *reconcile.Plan, undone bool) error {
	switch {
	case p.Counts.Uncertain > 0, undone && len(p.Settlements) > 0:
		return exit(exitUncertain)
	case p.NeedsPerson(), undone && len(p.Adjustments) > 0:
		return exit(exitCorrect)
	}
	return nil
}

func questionOf(p *reconcile.Plan, notPlaced bool) string {
	var does []string
	if n := len(p.Settlements); n > 0 {
		does = append(does, "mark "+count(n, "uncertain order")+" as placed")
	}
	if notPlaced && len(p.NotPlaced) > 0 {
		does = append(does, "mark "+count(len(p.NotPlaced), "order")+" as not placed, to be sent again")
	}
	if n := len(p.Adjustments); n > 0 {
		does = append(does, fmt.Sprintf("record %s, %s in all", count(n, "adjustment"), p.Adjusted().Dollars()))
	}
	if len(does) == 0 {
		does = []string{"record the statement as reconciled"}
	}
	text := strings.Join(does, ", and ")
	return strings.ToUpper(text[:1]) + text[1:] + "?"
}

// groupTitles say what each group is.
var groupTitles = map[reconcile.Group]string{
	reconcile.Agree:   "Agree",
	reconcile.Differ:  "Amount differs",
	reconcile.Foreign: "Charged and not ours",
	reconcile.Missing: "Ours and not charged",
	reconcile.Settle:  "Resolves an uncertain order",
	reconcile.Unclear: "Not decided yet",
}

// shownLines is how many lines of a group are printed.
const shownLines = 50

// showPlan prints what a statement comes to.
func (a *app) showPlan(p *reconcile.Plan) {
	s := p.Statement
	fmt.Fprintf(a.out, "%s: %s", s.File, count(len(s.Lines), "line"))
	if !s.From.IsZero() {
		fmt.Fprintf(a.out, ", %s to %s", s.From.Format(time.DateOnly), s.To.Format(time.DateOnly))
	}
	fmt.Fprintln(a.out)
	if k := p.Book.Known; k != nil {
		fmt.Fprintf(a.out, "Already reconciled on %s by %s. Nothing is recorded twice.\n", localTimeSeconds(k.At), k.By)
	}
	for _, note := range s.Notes {
		a.say("%s", note)
	}
	for _, g := range reconcile.Groups {
		a.showPlanGroup(p, g)
	}
	for _, fee := range p.Fees {
		fmt.Fprintf(a.out, "\nProposed for the fee table (%s):\n  %s,%s,%s,%s\n", fee.Source, fee.Product, fee.State,
			fee.EntityType, fee.Amount)
	}
	a.showUncertain(p)
	a.showProof(p)
}

// showPlanGroup prints a group: those that agree by their number alone.
func (a *app) showPlanGroup(p *reconcile.Plan, g reconcile.Group) {
	var lines []int
	var sum money.Cents
	for i := range p.Groups {
		if p.Groups[i] == g {
			lines = append(lines, i)
			sum += p.Statement.Lines[i].Amount
		}
	}
	if g == reconcile.Missing {
		for _, purchase := range p.Missing {
			sum += purchase.Recorded()
		}
		fmt.Fprintf(a.out, "%s: %s, %s\n", a.paint.bold(groupTitles[g]), count(len(p.Missing), "order"), sum.Dollars())
		for _, purchase := range p.Missing[:min(len(p.Missing), shownLines)] {
			fmt.Fprintf(a.out, "  %10s  %s, %s (%s)\n", purchase.Recorded().Dollars(), purchase.What(), purchase.Name(),
				purchase.Ref())
		}
		a.sayMore(len(p.Missing))
		return
	}
	if g == reconcile.Unclear && len(lines) == 0 {
		return
	}
	fmt.Fprintf(a.out, "%s: %s, %s\n", a.paint.bold(groupTitles[g]), count(len(lines), "line"), sum.Dollars())
	if g == reconcile.Agree {
		return
	}
	for _, i := range lines[:min(len(lines), shownLines)] {
		line := &p.Statement.Lines[i]
		fmt.Fprintf(a.out, "  %10s  %-6s %s\n", line.Amount.Dollars(), line.Cell, lineText(p, i))
	}
	a.sayMore(len(lines))
}

func (a *app) sayMore(n int) {
	if n > shownLines {
		fmt.Fprintf(a.out, "  and %d more\n", n-shownLines)
	}
}

// lineText says what a line is about, and what it was matched with.
func lineText(p *reconcile.Plan, i int) string {
	text := p.Statement.Lines[i].About()
	if purchase := p.Purchases[i]; purchase != nil {
		text += " = " + purchase.Ref()
	}
	if p.Notes[i] != "" {
		text += ": " + p.Notes[i]
	}
	return text
}

// showUncertain lists the uncertain orders that are left.
func (a *app) showUncertain(p *reconcile.Plan) {
	if len(p.NotPlaced) > 0 {
		fmt.Fprintf(
			a.out, "\n%s not on this complete statement, so probably not placed. An order that you mark as "+
				"not placed is sent again. Check each, then:\n", countOf(len(p.NotPlaced), "uncertain order is",
				"uncertain orders are"))
		for _, purchase := range p.NotPlaced[:min(len(p.NotPlaced), shownLines)] {
			fmt.Fprintf(a.out, "  importer resolve mark %s:%d not-placed    # %s, %s\n", purchase.Batch,
				purchase.Number,
				purchase.What(), purchase.Name())
		}
		a.sayMore(len(p.NotPlaced))
	}
	if n := len(p.Uncertain) - len(p.NotPlaced); n > 0 {
		fmt.Fprintf(a.out, "\n%s: importer resolve\n",
			countOf(n, "more order stays uncertain", "more orders stay uncertain"))
		if s := p.Statement; s.Complete && !s.Stated {
			fmt.Fprintf(a.out, "An order of the last day, %s, may be on the next statement. If this one covers the "+
				"whole day, name its period with --from and --to.\n", s.To.Format(time.DateOnly))
		}
	}
}

// showProof prints how the recorded balance and the statement's closing balance agree.
func (a *app) showProof(p *reconcile.Plan) {
	proof := &p.Proof
	if !proof.Known {
		a.say("The statement names no balance, so only its lines are compared.")
		return
	}
	s := p.Statement
	table := newTable(a.out)
	fmt.Fprintln(table)
	line := func(what string, amount money.Cents) { fmt.Fprintf(table, "%s\t%14s\n", what, amount.Dollars()) }
	line("Opening balance", s.Opening.Amount)
	line("Deposits", s.SumOf(reconcile.Deposit))
	line("Charges", s.SumOf(reconcile.Charge))
	line("Refunds", s.SumOf(reconcile.Refund))
	line("Closing balance of the statement", proof.Closing)
	if n := len(p.Adjustments); n > 0 {
		line(fmt.Sprintf("Adjustments to record (%d)", n), p.Adjusted())
	}
	for _, adjustment := range p.Adjustments {
		if adjustment.Reason == reconcile.OpeningDiffer {
			line("  of them for the opening balance", adjustment.Amount)
		}
	}
	line("Recorded balance, once reconciled", proof.Recorded)
	for _, part := range proof.Parts {
		line(part.What+fmt.Sprintf(" (%d)", part.Count), part.Amount)
	}
	line("Difference", proof.Rest)
	table.Flush()
	for _, part := range proof.Parts {
		for _, text := range part.Lines {
			fmt.Fprintf(a.out, "  %s\n", text)
		}
	}
	if !proof.Agrees() {
		fmt.Fprintf(a.out, "%s %s\n", a.paint.yellow("The balances do not agree."), proof.Why)
	}
}

// printPlan prints the lines and the counts as JSON.
func (a *app) printPlan(p *reconcile.Plan) error {
	type jsonLine struct {
		Cell     string          `json:"cell,omitempty"`
		Group    reconcile.Group `json:"group"`
		Amount   money.Cents     `json:"amount"`
		Order    string          `json:"order,omitempty"`
		Batch    string          `json:"batch,omitempty"`
		Row      int             `json:"row,omitempty"`
		Recorded *money.Cents    `json:"recorded,omitempty"`
		Note     string          `json:"note,omitempty"`
	}
	lines := json.NewEncoder(a.out)
	var errs []error
	add := func(line jsonLine, purchase *reconcile.Purchase) {
		if purchase != nil {
			recorded := purchase.Recorded()
			line.Batch, line.Row, line.Recorded = purchase.Batch, purchase.Number, &recorded
		}
		errs = append(errs, lines.Encode(line))
	}
	for i := range p.Groups {
		line := &p.Statement.Lines[i]
		if p.Groups[i] != reconcile.Agree {
			add(jsonLine{
				Cell:   line.Cell,
				Group:  p.Groups[i],
				Amount: line.Amount,
				Order:  line.OrderID,
				Note:   p.Notes[i],
			}, p.Purchases[i])
		}
	}
	for _, purchase := range p.Missing {
		add(jsonLine{Group: reconcile.Missing}, purchase)
	}
	return errors.Join(append(errs, lines.Encode(p.Counts))...)
}
