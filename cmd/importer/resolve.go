package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/pricing"
	"github.com/bulkfiling/bulkfiling/internal/report"
	"github.com/bulkfiling/bulkfiling/internal/resolve"
	"github.com/bulkfiling/bulkfiling/internal/text"
)

func newResolveCommand(g *global) *cobra.Command {
	c := &cobra.Command{
		Use:   "resolve [BATCH]",
		Short: "List and resolve uncertain rows",
		Long: `An uncertain row was sent, but the filing service did not confirm it. The order
may exist. The money for it stays reserved, and the row is not sent again.

Check the company's dashboard, then mark the row as placed or as not placed.
Without a subcommand, resolve lists the uncertain rows.`,
		Example: `  importer resolve
  importer resolve b7k2
  importer resolve mark b7k2:17 placed --order order_81
  importer resolve mark b7k2:17 not-placed`,
		Args: atMostOne,
		RunE: onUncertain(g),
	}
	c.AddCommand(newResolveListCommand(g), newResolveMarkCommand(g), newResolveRestoredCommand(g))
	return c
}

// newResolver returns the service that resolves uncertain rows. The ledger records the command as
// the means of the resolutions.
func newResolver(l openLedger, command string) *resolve.Service {
	return &resolve.Service{
		Ledger: l.Ledger,
		Client: l.env.Client,
		Prices: func(ctx context.Context) (pricing.Quoter, error) {
			client, err := l.env.Client()
			if err != nil {
				return nil, err
			}
			defer client.Close()
			return l.env.PriceSource(l.Ledger, client)(ctx)
		},
		By: currentUser() + " with importer resolve " + command,
	}
}

// sayWarning prints a warning before a question.
func sayWarning(t *terminal, warning string) { t.say("%s %s", t.yellow("Warning:"), warning) }

// printBalanceChange prints the difference between the present balance and an earlier one.
func printBalanceChange(ctx context.Context, t *terminal, l *ledger.Ledger, before ledger.Balance) error {
	after, err := l.Balance(ctx)
	if err != nil {
		return err
	}
	available := "available not known (no deposit recorded)"
	if after.HasDeposit {
		available = fmt.Sprintf("available %s -> %s", before.Available().Dollars(), after.Available().Dollars())
	}
	spent := after.Posted - before.Posted
	amount, what := before.Reserved-after.Reserved-spent, "released"
	if amount < 0 {
		amount, what = -amount, "newly reserved"
	}
	t.print("Balance: reserved %s -> %s, spent %s -> %s, %s %s, %s.", before.Reserved.Dollars(),
		after.Reserved.Dollars(), before.Posted.Dollars(), after.Posted.Dollars(), what, amount.Dollars(), available)
	return nil
}

func newResolveListCommand(g *global) *cobra.Command {
	return &cobra.Command{
		Use:   "list [BATCH]",
		Short: "List the uncertain rows",
		Long: `list shows each uncertain row: when it was sent, what was answered, the reserved
money, the command for a link to the company's dashboard, and orders reported by the
filing service that may be the row's, each with the command that accepts it.

A dashboard link signs its reader in for seven days.`,
		Example: "  importer resolve list\n  importer resolve list b7k2",
		Args:    atMostOne,
		RunE:    onUncertain(g),
	}
}

// onUncertain lists the uncertain rows of the batch that is the argument, or of all batches.
func onUncertain(g *global) func(*cobra.Command, []string) error {
	return onLedger(g, func(ctx context.Context, l openLedger, args []string) error {
		batch := first(args)
		if batch != "" {
			b, err := l.Batch(ctx, batch)
			if err != nil {
				return err
			}
			batch = b.ID
		}
		return runResolveList(ctx, g.terminal, l.Ledger, newResolver(l, "list"), batch)
	})
}

// runResolveList prints the uncertain rows, grouped by batch, because the rows of batches imported
// at the same time are mixed.
func runResolveList(ctx context.Context, t *terminal, l *ledger.Ledger, resolver *resolve.Service,
	batch string) error {
	rows, err := resolve.ListUncertain(ctx, l, batch)
	if err != nil {
		return err
	}
	var batches []string
	of := make(map[string][]*resolve.UncertainOrder)
	for _, o := range rows {
		if of[o.Row.Batch] == nil {
			batches = append(batches, o.Row.Batch)
		}
		of[o.Row.Batch] = append(of[o.Row.Batch], o)
	}
	switch {
	case len(rows) == 0 && batch != "":
		t.print("Batch %s has no uncertain rows.", batch)
	case len(rows) == 0:
		t.print("No row is uncertain.")
	}
	for i, id := range batches {
		if i > 0 {
			t.print("")
		}
		b, err := l.Batch(ctx, id)
		if err != nil {
			return err
		}
		t.print("Batch %s (%s): %s. Sent, but not confirmed by the filing service.", id, b.File,
			count(len(of[id]), "uncertain row"))
		for _, o := range of[id] {
			if err := printUncertain(ctx, t, resolver, o); err != nil {
				return err
			}
		}
		printHowToMark(t, id, of[id])
	}
	unnamed, err := l.Resolutions().UnnamedFormations(ctx, batch)
	if err != nil || len(unnamed) == 0 {
		return err
	}
	t.print("\nPlaced formations whose company ID is not known yet:")
	for _, row := range unnamed {
		t.print("  %s: importer resolve mark %s:%d placed --company COMPANY_ID", row.Request.LegalName(), row.Batch,
			row.Number)
	}
	return nil
}

// printUncertain prints a row and its evidence.
func printUncertain(ctx context.Context, t *terminal, resolver *resolve.Service, o *resolve.UncertainOrder) error {
	t.print("\nrow %d  %s", o.Row.Number, o.Ordered())
	line := func(name, format string, args ...any) {
		t.print("  %-10s  %s", name, fmt.Sprintf(format, args...))
	}
	line("company", "%s", o.CompanyText())
	sent := o.Sent()
	for _, a := range sent {
		if a.Supposed {
			line("sent?", "%s", report.AnswerText(a))
			continue
		}
		line("sent", "%s: %s", localTimeSeconds(a.StartedAt), report.AnswerText(a))
	}
	if len(sent) == 0 {
		line("sent", "before %s: %s", localTimeSeconds(o.Row.UpdatedAt), o.Row.Message)
	}
	line("reserved", "%s", o.Row.Reserved.Dollars())
	switch user, company, err := resolver.DashboardIDs(ctx, o); {
	case errors.Is(err, resolve.ErrNoDashboard):
		line("dashboard", "no link: %s", err)
	case err != nil:
		return err
	default:
		line("dashboard", "importer api POST /auth/magic-link -f userId=%s -f companyId=%s", user, company)
	}
	for _, c := range o.Candidates {
		accept := fmt.Sprintf("importer resolve mark %s:%d placed --order %s", o.Row.Batch, o.Row.Number, c.Order)
		if company := o.Accept(c).CompanyID; company != "" {
			accept += " --company " + company
		}
		line("evidence", "%s", c)
		line("", "to accept it: %s", accept)
	}
	if o.MoreCandidates > 0 {
		line("", "%s", countOf(o.MoreCandidates, "more order may match", "more orders may match"))
	}
	return nil
}

// printHowToMark prints how to resolve the rows of a batch.
func printHowToMark(t *terminal, batch string, rows []*resolve.UncertainOrder) {
	mark := "  importer resolve mark " + batch + ":ROW "
	t.print("\nCheck the dashboard for each order, then mark the row:\n%splaced --order ORDER_ID\n%snot-placed", mark,
		mark)
	if slices.ContainsFunc(rows, (*resolve.UncertainOrder).FormsCompany) {
		t.print("For a company that was created, give its ID. For a formation, give the order and the company:\n"+
			"%splaced --company COMPANY_ID\n%splaced --order ORDER_ID --company COMPANY_ID", mark, mark)
	}
	if slices.ContainsFunc(rows, func(o *resolve.UncertainOrder) bool { return o.Row.Creating && o.Assumed() }) {
		t.print("If a creation and its order are both uncertain, --company alone means that the order was not " +
			"placed: it is sent next.")
	}
}

// resolveMarkOptions are the options of resolve mark.
type resolveMarkOptions struct {
	orders  []string
	company string
	yes     bool
}

func newResolveMarkCommand(g *global) *cobra.Command {
	var o resolveMarkOptions
	c := &cobra.Command{
		Use:   "mark BATCH:ROW placed|not-placed",
		Short: "Mark an uncertain row as placed or as not placed",
		Long: `mark records what the company's dashboard shows. ROW is the number of the row in
its spreadsheet.

placed: the order exists. Give its ID with --order. If the creation of a new
company is uncertain, give --company: the company exists, and its order is sent
next. For a formation, --company beside --order records the company it created.
Use --company alone for a placed formation whose company is still unknown.

not-placed: the order does not exist. The reserved money is released, and the
next run sends the order again. If the order exists after all, it is bought
twice.`,
		Example: `  importer resolve mark b7k2:17 placed --order order_81
  importer resolve mark b7k2:17 placed --order order_81 --company comp_5
  importer resolve mark b7k2:17 placed --company comp_5
  importer resolve mark b7k2:17 not-placed`,
		Args: takes(2, 2, "a row and a decision, such as b7k2:17 not-placed"),
		RunE: func(c *cobra.Command, args []string) error {
			batch, row, err := o.check(args[0], args[1])
			if err != nil {
				return err
			}
			return withLedger(c.Context(), g, func(l openLedger) error {
				b, err := l.Batch(c.Context(), batch)
				if err != nil {
					return err
				}
				return runResolveMark(c.Context(), o, g.terminal, newResolver(l, "mark"), b, row)
			})
		},
	}
	c.Flags().StringSliceVar(&o.orders, "order", nil, "the ID of the order that exists; repeat it for several items")
	c.Flags().StringVar(&o.company, "company", "", "the ID of the company that was created or formed")
	addYesFlag(c, &o.yes, "do not ask")
	return c
}

// placed reports whether the decision is "placed". check requires an ID for it, and none otherwise.
func (o *resolveMarkOptions) placed() bool { return len(o.orders) > 0 || o.company != "" }

// check parses "b7k2:17", and checks the decision and the IDs that go with it.
func (o *resolveMarkOptions) check(address, decision string) (batch string, row int, err error) {
	at := strings.LastIndex(address, ":")
	row, err = strconv.Atoi(address[at+1:])
	switch {
	case at <= 0 || err != nil || row < 1:
		return "", 0, usage("%q does not name a row: write BATCH:ROW, such as b7k2:17", address)
	case decision != "placed" && decision != "not-placed":
		return "", 0, usage("%q is not a decision: write placed or not-placed", decision)
	case decision == "placed" && !o.placed():
		return "", 0, usage("placed needs the ID that was found: --order ORDER_ID or --company COMPANY_ID")
	case decision != "placed" && o.placed():
		return "", 0, usage("--order and --company go with placed")
	}
	return address[:at], row, nil
}

// runResolveMark resolves one row.
func runResolveMark(ctx context.Context, o resolveMarkOptions, t *terminal, resolver *resolve.Service, b ledger.Batch,
	row int) error {
	l := resolver.Ledger
	rows, err := resolve.ListUncertain(ctx, l, b.ID)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(rows, func(u *resolve.UncertainOrder) bool { return u.Row.Number == row })
	if at < 0 {
		return markResolved(ctx, o, t, resolver, b, row)
	}
	decided := &resolve.Resolution{Order: rows[at], OrderIDs: o.orders, CompanyID: o.company}
	if err := resolver.Check(ctx, decided); err != nil {
		return err
	}
	if !o.yes {
		for _, objection := range decided.Objections {
			sayWarning(t, objection)
		}
	}
	question := fmt.Sprintf("Row %d is sent again. If the order exists after all, it is bought twice. Did you check "+
		"the dashboard, and is the order not there?", row)
	if o.placed() {
		question = fmt.Sprintf("Mark row %d as placed with %s? This cannot be taken back.", row,
			strings.Join(append(o.orders, strings.Fields(o.company)...), ", "))
	}
	if err := t.ask(ctx, o.yes, question, "Nothing was changed."); err != nil {
		return err
	}
	before, err := l.Balance(ctx)
	if err != nil {
		return err
	}
	text, err := resolver.Resolve(withAudit(ctx, "resolve", b.ID, fmt.Sprintf("row %d", row)), decided)
	if err != nil {
		return fmt.Errorf("row %d: %w", row, err)
	}
	t.print("%s", text)
	return printBalanceChange(ctx, t, l, before)
}

// markResolved handles a row that is not uncertain. It returns an error, unless an event or a
// person resolved the row the same way before, or the company that it formed is named now.
func markResolved(ctx context.Context, o resolveMarkOptions, t *terminal, resolver *resolve.Service, b ledger.Batch,
	number int) error {
	for row, err := range resolver.Ledger.Results(ctx, b.ID) {
		switch {
		case err != nil:
			return err
		case row.Number != number:
			continue
		case resolve.IsRecorded(row, o.orders, o.company):
			t.print("Row %d is already %s: %s", row.Number, row.Result, row.Message)
			return nil
		case row.Request != nil && row.Request.Order.Formation != nil && row.Company == "" &&
			o.company != "" && len(o.orders) == 0:
			audited := withAudit(ctx, "resolve", b.ID, fmt.Sprintf("row %d formed %s", row.Number, o.company))
			text, err := resolver.NameCompany(audited, row, o.company)
			if err == nil {
				t.print("%s", text)
			}
			return err
		}
		return fmt.Errorf("row %d of batch %s is not uncertain: it is %s", row.Number, b.ID, row.Result)
	}
	return fmt.Errorf("batch %s has no row %d", b.ID, number)
}

// resolveRestoredOptions are the options of resolve restored.
type resolveRestoredOptions struct {
	since       string
	nothingSent bool
	end         bool
	yes         bool
}

func newResolveRestoredCommand(g *global) *cobra.Command {
	var o resolveRestoredOptions
	c := &cobra.Command{
		Use:   "restored",
		Short: "Check the ledger after a restore, then send orders again",
		Long: `After a restore, orders that were sent since the backup look unsent. Sent again,
they would be bought twice. The same goes for a fail-over of the database that lost
commits, and for a file that was copied back. The ledger notices that it went back in
time, and nothing is sent until you end the check:

  1. Submit again every spreadsheet that was submitted since. Repeat retries and schedule
     runs of that time. Nothing of it is sent.
  2. importer resolve restored marks every ready row as uncertain and reserves its money.
     Rows that are held back must be confirmed or corrected first.
  3. Resolve these rows with importer resolve, or on the page under Uncertain.
  4. importer resolve restored --end ends the check. Orders are sent again.

Steps 1 to 3 can be repeated. Running processes have already recorded the orders that
they sent in the last hour. If the backup is not older, and no other process can have
sent an order since, --nothing-sent ends the check and keeps the rows ready.

If the ledger did not notice, for example after pg_restore on a new server, --since
begins the check.`,
		Example: `  importer resolve restored
  importer resolve restored --end
  importer resolve restored --since "2026-03-01 14:30"`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			since, err := resolve.ParseSince(o.since, time.Local, time.Now())
			if err != nil {
				return usage("--since %q is %w", o.since, err)
			}
			return withLedger(c.Context(), g, func(l openLedger) error {
				return runResolveRestored(c.Context(), o, g.terminal, newResolver(l, "restored"), since)
			})
		},
	}
	c.Flags().StringVar(&o.since, "since", "",
		`begin the check: the time of the backup, in local time, such as "2026-03-01 14:30", or in UTC: `+
			`2026-03-01T14:30:00Z`)
	c.Flags().BoolVar(&o.end, "end", false, "end the check: every spreadsheet was submitted again")
	c.Flags().BoolVar(&o.nothingSent, "nothing-sent", false, "end the check and keep every row ready")
	addYesFlag(c, &o.yes, "do not ask")
	c.MarkFlagsMutuallyExclusive("end", "nothing-sent", "since")
	return c
}

func runResolveRestored(ctx context.Context, o resolveRestoredOptions, t *terminal, resolver *resolve.Service,
	since time.Time) error {
	restores := resolver.Ledger.Restores()
	if !since.IsZero() {
		if err := restores.Begin(withAudit(ctx, "restored", "", "to its state of "+o.since), since); err != nil {
			return err
		}
	}
	check, err := restores.Check(ctx)
	if err != nil {
		return err
	}
	if check.Halted.Reason == filing.NoHalt {
		t.print("The ledger did not go back in time. If it did, name the time of the backup with --since.")
		return nil
	}
	t.say("The ledger went back in time (%s). Orders sent since %s may be missing. Nothing is sent.",
		check.Halted.Note, localTimeZone(check.Since))
	if o.end || o.nothingSent {
		return endRestoreCheck(ctx, o, t, resolver.Ledger, check)
	}
	return markRestored(ctx, o, t, resolver, check)
}

// markRestored makes the unchecked rows uncertain.
func markRestored(ctx context.Context, o resolveRestoredOptions, t *terminal, resolver *resolve.Service,
	check ledger.RestoreCheck) error {
	l := resolver.Ledger
	rows, err := l.Restores().Unchecked(ctx)
	if err != nil {
		return err
	}
	if len(rows) == 0 {
		if err := refuseHeldBack(ctx, t, l); err != nil {
			return err
		}
		t.print("No row is left to check. When the uncertain rows are resolved and every spreadsheet was submitted " +
			"again: importer resolve restored --end")
		return nil
	}
	question := fmt.Sprintf("Mark %s as uncertain?", count(len(rows), "ready row"))
	if err := t.ask(ctx, o.yes, question, "Nothing was changed."); err != nil {
		return err
	}
	before, err := l.Balance(ctx)
	if err != nil {
		return err
	}
	did, err := resolver.MarkRestored(withAudit(ctx, "mark-uncertain", "", count(len(rows), "row")), rows, check.Since)
	if err != nil {
		return fmt.Errorf("%w. Run the same command again to continue", err)
	}
	t.print("%s marked as uncertain.", count(did.Uncertain, "row"))
	if did.Unsent > 0 {
		t.print("%s not changed: bought by another row, or unknown to the filing service, so no order can have been "+
			"sent.", countOf(did.Unsent, "row was", "rows were"))
	}
	if did.Waiting > 0 {
		t.print("%s for another uncertain row that orders the same. Resolve that row, then run the same command again.",
			countOf(did.Waiting, "row waits", "rows wait"))
	}
	for _, why := range did.Failed {
		t.print("%s", why)
	}
	if err := printBalanceChange(ctx, t, l, before); err != nil {
		return err
	}
	if len(did.Failed) > 0 {
		return fmt.Errorf("%s could not be checked. Run the same command again", count(len(did.Failed), "row"))
	}
	t.print("Resolve them (importer resolve), submit every lost spreadsheet again, then: importer resolve restored")
	return nil
}

// refuseHeldBack lists the rows that a comparison holds back. It returns an error if there are any.
func refuseHeldBack(ctx context.Context, t *terminal, l *ledger.Ledger) error {
	rows, err := l.Restores().HeldBack(ctx)
	if err != nil || len(rows) == 0 {
		return err
	}
	for i, r := range rows {
		if i == maxHeldBack {
			t.print("  and %s more", text.Number(len(rows)-maxHeldBack))
			break
		}
		t.print("  %s row %d: %s", r.Batch, r.Number, r.Message)
	}
	return fmt.Errorf("%s held back, as listed, and may have been ordered since the backup. Confirm or correct them, "+
		"then check them: importer resolve restored. Cancel their batch only if the dashboard shows no order for them",
		countOf(len(rows), "row is", "rows are"))
}

// maxHeldBack is how many rows refuseHeldBack lists.
const maxHeldBack = 20

// endRestoreCheck ends the check after every row was checked, or keeps every row ready because no
// order was sent.
func endRestoreCheck(ctx context.Context, o resolveRestoredOptions, t *terminal, l *ledger.Ledger,
	check ledger.RestoreCheck) error {
	warning := "What was ordered between " + localTimeZone(check.Since) + " and " + localTimeZone(check.Halted.Since) +
		" and is ordered again later is bought a second time: spreadsheets that are submitted again, rejected or " +
		"canceled rows that are retried, schedules that run again"
	question := "Were all spreadsheets, retries and schedule runs of that time repeated?"
	end, note := l.Restores().End, check.Halted.Note
	if o.nothingSent {
		warning = "Ready rows will be sent. If a process that has ended already sent one, it is bought twice"
		question = "Send orders again?"
		end, note = l.Restores().EndUnsent, note+"; no order was sent since"
	}
	sayWarning(t, warning)
	if err := t.ask(ctx, o.yes, question, "Nothing was changed."); err != nil {
		return err
	}
	err := end(withAudit(ctx, "end-restored", "", note))
	switch {
	case errors.Is(err, ledger.ErrUnchecked):
		return errors.New("rows are left to check: importer resolve restored. Nothing was changed")
	case errors.Is(err, ledger.ErrHeldBack):
		return cmp.Or(refuseHeldBack(ctx, t, l), err)
	}
	if err != nil {
		return fmt.Errorf("%w. Nothing was changed", err)
	}
	t.print("Orders are sent again.")
	return nil
}
