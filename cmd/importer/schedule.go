package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bulkfiling/bulkfiling/internal/importer"
	"github.com/bulkfiling/bulkfiling/internal/intake"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/report"
	"github.com/bulkfiling/bulkfiling/internal/schedule"
	"github.com/bulkfiling/bulkfiling/internal/season"
)

func newScheduleCommand(g *global) *cobra.Command {
	return newGroupCommand("schedule", "File a company list on a schedule or ahead of its due dates",
		`A schedule files a company list automatically. When it is due, one worker (or importer
serve) creates a batch of the list as it is then. If none was running at that time, the
next one to start creates the batch.

Each run has a plan: what it files, what a subscription already covers, and the cost.
With --approve, each run waits for: importer approve`,
		`  importer schedule add florida --companies list.xlsx --state FL --filing-year this --at 01-15
  importer schedule add all --companies companies.xlsx --filing-year this --due "30 days before" --approve
  importer schedule show all`,
		newScheduleAddCommand(g), newScheduleShowCommand(g), newScheduleRunNowCommand(g),
		newListCommand(g, "schedule list", "List the schedules with their next and last runs", "No schedules yet",
			"schedule", runScheduleList),
		newScheduleChangeCommand(g, "pause", "Pause a schedule", runSchedulePause),
		newScheduleChangeCommand(g, "resume", "Resume a paused schedule; runs missed while paused are skipped",
			runScheduleResume),
		newScheduleChangeCommand(g, "remove", "Remove a schedule; its batches and orders stay", runScheduleRemove))
}

// onSchedule turns a function of a schedule, the argument, into a command.
func onSchedule(g *global,
	do func(context.Context, openLedger, schedule.Schedule) error) func(*cobra.Command, []string) error {
	return onLedger(g, func(ctx context.Context, l openLedger, args []string) error {
		s, err := schedule.Find(ctx, l.Ledger, args[0])
		if errors.Is(err, ledger.ErrNotFound) {
			return fmt.Errorf("there is no schedule %s (importer schedule list shows them)", args[0])
		}
		if err != nil {
			return err
		}
		return do(ctx, l, s)
	})
}

var oneSchedule = one("schedule")

// newScheduler returns the scheduler of a ledger. why is the reason if no filing service is
// configured. Plans have no prices then, and no schedule can run.
func newScheduler(l openLedger) (s *schedule.Scheduler, why error) {
	client, err := l.env.Client()
	if err != nil {
		client = nil
	}
	return l.env.Scheduler(l.Ledger, client, slog.New(slog.DiscardHandler)), err
}

// nextRunText names the time of the next run.
func nextRunText(ctx context.Context, l *ledger.Ledger, s schedule.Schedule) (string, error) {
	next, err := schedule.New(schedule.Config{Ledger: l}).Upcoming(ctx, s, 1)
	if err != nil || len(next) == 0 {
		return "No filing is due, so the schedule will not run.", err
	}
	return "The next run is on " + next[0].At.Format("Monday, 2006-01-02 15:04 MST") + ".", nil
}

// newScheduleChangeCommand returns a command that changes a schedule. run returns the text to print.
func newScheduleChangeCommand(g *global, use, short string,
	run func(context.Context, *ledger.Ledger, schedule.Schedule) (string, error)) *cobra.Command {
	return &cobra.Command{
		Use:     use + " NAME",
		Short:   short,
		Example: "  importer schedule " + use + " florida",
		Args:    oneSchedule,
		RunE: onSchedule(g, func(ctx context.Context, l openLedger, s schedule.Schedule) error {
			text, err := run(withAudit(ctx, "schedule-"+use, s.Name, ""), l.Ledger, s)
			if err == nil {
				g.terminal.print("Schedule %s %s", s.Name, text)
			}
			return err
		}),
	}
}

func runSchedulePause(ctx context.Context, l *ledger.Ledger, s schedule.Schedule) (string, error) {
	const text = "is paused. Its batches continue. To pause one: importer pause BATCH"
	if s.Paused {
		return text, nil
	}
	return text, schedule.NewRecords(l).SetPaused(ctx, s.Name, true)
}

func runScheduleResume(ctx context.Context, l *ledger.Ledger, s schedule.Schedule) (string, error) {
	// Resuming twice would skip more runs.
	if s.Paused {
		if err := schedule.NewRecords(l).SetPaused(ctx, s.Name, false); err != nil {
			return "", err
		}
	}
	s, err := schedule.Find(ctx, l, s.Name)
	if err != nil {
		return "", err
	}
	next, err := nextRunText(ctx, l, s)
	return "is resumed. " + next, err
}

func runScheduleRemove(ctx context.Context, l *ledger.Ledger, s schedule.Schedule) (string, error) {
	return "was removed. Its batches continue.", schedule.NewRecords(l).Remove(ctx, s.Name)
}

func runScheduleList(ctx context.Context, t *terminal, l *ledger.Ledger, asJSON bool) error {
	all, err := schedule.NewRecords(l).List(ctx)
	if err != nil {
		return err
	}
	scheduler := schedule.New(schedule.Config{Ledger: l})
	files := make(map[string]string)
	var items []schedule.Summary
	for _, s := range all {
		summary, err := scheduler.Summary(ctx, s)
		if err != nil {
			return err
		}
		files[s.Name], items = s.File, append(items, summary)
	}
	list[schedule.Summary]{
		empty:   "No schedules yet. To add one: importer schedule add NAME --companies FILE",
		columns: "SCHEDULE\tCOMPANY LIST\tRUNS\tNEXT\tLAST\tBATCH",
		cells: func(s schedule.Summary) []any {
			return []any{s.Name, files[s.Name], s.Schedule, s.When(), cmp.Or(s.LastText(), "-"), cmp.Or(s.Batch, "-")}
		},
	}.print(t, items, asJSON)
	if asJSON {
		return nil
	}
	problems, err := scheduler.Problems(ctx)
	for _, p := range problems {
		t.say("%s: %s", p.Schedule, t.red(p.Text))
	}
	return err
}

// scheduleAddOptions are the options of schedule add.
type scheduleAddOptions struct {
	sheet   importer.Options
	options schedule.Options
	// companies is the path of a file.
	companies string
	approve   bool
}

func newScheduleAddCommand(g *global) *cobra.Command {
	var o scheduleAddOptions
	c := &cobra.Command{
		Use:   "add NAME --companies FILE",
		Short: "Add a schedule for a company list",
		Long: `add stores a company list in the ledger and sets when it is filed. Use --at to
file the whole list on a day of every year (01-15) or of every month (15), or --due to
file each company some days before its own due date. A run starts at 6:00 in the
schedule's zone. Rows with errors are listed; the others are filed.

A schedule whose next run has only rows with errors is refused, with the reason. With
--filing-year, a Filing Year column of the list does not count.

With --due, the filing year is usually that of the due date: --filing-year this`,
		Example: `  importer schedule add florida --companies list.xlsx --state FL --filing-year this --at 01-15
  importer schedule add all --companies list.xlsx --filing-year this --due "30 days before" --zone America/New_York`,
		Args: one("name"),
		RunE: func(c *cobra.Command, args []string) error {
			if err := schedule.CheckName(args[0]); err != nil {
				return usage("%w", err)
			}
			if o.companies == "" {
				return usage("name the company list: --companies FILE")
			}
			if (o.options.At == "") == (o.options.Due == "") {
				return usage(`set the day: --at 01-15 or --due "30 days before"`)
			}
			o.options.Zone = cmp.Or(o.options.Zone, schedule.LocalZone(g.getenv))
			o.complete()
			return withAnyLedger(c.Context(), g, func(l openLedger) error {
				return runScheduleAdd(c.Context(), o, g.terminal, l, args[0])
			})
		},
	}
	c.Flags().StringVar(&o.companies, "companies", "", "the company list: an XLSX or CSV file")
	addReadingFlags(c, &o.sheet, "the filing year, whatever the list says: this, next, last, or four digits")
	c.Flags().StringVar(&o.options.At, "at", "",
		"the day of the year (01-15), or of every month (15; 31 for its last day)")
	c.Flags().StringVar(&o.options.Due, "due", "", `the time before the due dates, in days: "30 days before"`)
	c.Flags().StringVar(&o.options.Zone, "zone", "",
		"the time zone of the schedule, such as America/New_York (default: this machine's)")
	c.Flags().BoolVar(&o.approve, "approve", false, "each run waits for: importer approve BATCH")
	return c
}

// complete fills the stored options from the other flags.
func (o *scheduleAddOptions) complete() {
	to, from := &o.options, o.sheet
	to.Product, to.State, to.FilingYear, to.User = from.Product, from.State, from.FilingYear, from.User
	to.Sheet, to.Map, to.HeaderRow = from.Sheet, from.Map, from.HeaderRow
}

// runScheduleAdd checks and stores the company list, and prints the first run.
func runScheduleAdd(ctx context.Context, o scheduleAddOptions, t *terminal, l openLedger, name string) error {
	content, err := os.ReadFile(o.companies)
	if err != nil {
		return fmt.Errorf("read the company list: %w", err)
	}
	added, err := schedule.Add(withAudit(ctx, "schedule-add", name, ""), l.Ledger, schedule.NewSchedule{
		Name:     name,
		File:     o.companies,
		Content:  content,
		Options:  o.options,
		Approval: o.approve,
		By:       currentUser(),
	})
	sayCompanyList(t, added.CompanyList)
	switch {
	case errors.Is(err, schedule.ErrNameTaken):
		return fmt.Errorf("the schedule %s already exists with another company list or time. Change its list on the "+
			"page, or remove it first: importer schedule remove %s", name, name)
	case err != nil:
		return err
	case added.Same:
		t.print("The schedule %s already exists with these settings.", name)
		return nil
	}
	t.print("Schedule %s: %s of %s, %s.", name, count(added.CompanyList.Tally.Ready, "row"), added.Schedule.File,
		o.options.Words())
	text, err := nextRunText(ctx, l.Ledger, added.Schedule)
	if err != nil {
		return err
	}
	t.say("%s", text)
	if added.Next != nil && added.Next.Problem() != "" {
		t.say("%s", t.red(added.Next.Problem()))
	}
	secrets, err := l.env.WebhookSecrets()
	if err != nil {
		return err
	}
	warning, err := intake.EndpointWarning(ctx, l.Ledger, len(secrets) > 0)
	sayEndpointWarning(t, warning)
	return err
}

// sayCompanyList prints the problems of a company list, if it could be read.
func sayCompanyList(t *terminal, r *schedule.CompanyList) {
	if r == nil {
		return
	}
	if r.Understood != "" {
		t.say("%s", r.Understood)
	}
	var problems problemGroups
	for _, p := range r.Problems {
		problems.add(p)
	}
	problems.print(t)
	for _, note := range r.Notes {
		t.say("%s", note)
	}
	if r.Tally.Invalid > 0 && r.Tally.Ready > 0 {
		t.say("%s. Rows with errors are never sent; the others are filed.",
			t.yellow(count(r.Tally.Invalid, "row")+" to fix"))
	}
}

func newScheduleShowCommand(g *global) *cobra.Command {
	var asCSV bool
	c := &cobra.Command{
		Use:   "show NAME",
		Short: "Show a schedule: its next runs, past runs, and plan, or its due dates",
		Long: `show prints a schedule, its next and past runs, and the plan of the next run.

--csv prints every due date in the next 12 months with the rule, its source, and how
certain it is, then the companies without a due date in that time, with the reason.`,
		Example: "  importer schedule show florida\n  importer schedule show florida --csv > due.csv",
		Args:    oneSchedule,
		RunE: onSchedule(g, func(ctx context.Context, l openLedger, s schedule.Schedule) error {
			return runScheduleShow(ctx, g.terminal, l, s, asCSV)
		}),
	}
	c.Flags().BoolVar(&asCSV, "csv", false, "print the due dates instead, as a CSV")
	return c
}

func runScheduleShow(ctx context.Context, t *terminal, l openLedger, s schedule.Schedule, asCSV bool) error {
	scheduler, _ := newScheduler(l)
	if !asCSV {
		return printSchedule(ctx, t, l.Ledger, scheduler, s)
	}
	companies, err := scheduler.LoadCompanyList(ctx, s)
	if err != nil {
		return err
	}
	today := season.DateOf(time.Now())
	due, rest := companies.Calendar(today, today.AddMonths(12).AddDays(-1))
	return season.WriteCSV(t, append(due, rest...))
}

// shownRuns is the number of past runs that are printed.
const shownRuns = 20

func printSchedule(ctx context.Context, t *terminal, l *ledger.Ledger, scheduler *schedule.Scheduler,
	s schedule.Schedule) error {
	o := s.Options
	table := newTable(t)
	fmt.Fprintf(table, "schedule\t%s\n", s.Name)
	fmt.Fprintf(table, "runs\t%s\n", o.Words())
	var reads []string
	for _, option := range []struct{ name, value string }{{"--product", string(o.Product)},
		{"--state", string(o.State)}, {"--filing-year", o.FilingYear}, {"--user", o.User}, {"--sheet", o.Sheet}} {
		if option.value != "" {
			reads = append(reads, option.name+" "+option.value)
		}
	}
	if len(reads) > 0 {
		fmt.Fprintf(table, "reads\t%s\n", strings.Join(reads, " "))
	}
	if s.Approval {
		fmt.Fprintf(table, "approval\teach run waits for: importer approve BATCH\n")
	}
	next, err := scheduler.Upcoming(ctx, s, 3)
	switch {
	case s.Paused:
		fmt.Fprintf(table, "next\t%s\n", t.yellow("paused; to resume it: importer schedule resume "+s.Name))
		next = nil
	case errors.Is(err, schedule.ErrCompanyList):
		fmt.Fprintf(table, "next\t%s\n", t.red(err.Error()))
	case err != nil:
		return err
	case len(next) == 0:
		fmt.Fprintf(table, "next\tnever: no filing is due\n")
	}
	for i, f := range next {
		fmt.Fprintf(table, "%s\t%s\n", []string{"next", "", ""}[i], f.At.Format("Mon 2006-01-02 15:04 MST"))
	}
	fmt.Fprintf(table, "list\t%s, since %s\n", s.File, localTime(s.Changed))
	table.Flush()
	if err := printRuns(ctx, t, l, s.Name); err != nil || len(next) == 0 {
		return err
	}
	plan, err := scheduler.NextPlan(ctx, s)
	if err != nil || plan == nil {
		return err
	}
	if problem := plan.Problem(); problem != "" {
		t.print("\n%s", t.red(problem))
	}
	t.print("\nPlan of the next run as of today:")
	for line := range strings.Lines(plan.Text()) {
		fmt.Fprint(t, "  ", line)
	}
	return nil
}

// printRuns prints the past runs of a schedule.
func printRuns(ctx context.Context, t *terminal, l *ledger.Ledger, name string) error {
	runs, err := schedule.NewRecords(l).ListRuns(ctx, name)
	if err != nil || len(runs) == 0 {
		return err
	}
	t.print("\nPast runs:")
	for i, f := range runs {
		if i == shownRuns {
			t.print("  … and %d earlier runs", len(runs)-i)
			break
		}
		batch := ""
		if f.Batch != "" {
			b, err := l.Batch(ctx, f.Batch)
			if err != nil {
				return err
			}
			figures, err := l.Figures(ctx, f.Batch)
			if err != nil {
				return err
			}
			batch = fmt.Sprintf("  batch %s: %s", f.Batch, report.BatchState(b, figures.Counts))
		}
		t.print("%s  due %s  %s%s", f.ID, localTime(f.Due), f.State, batch)
		if f.Note != "" {
			t.print("  %s", f.Note)
		}
	}
	return nil
}

// scheduleRunNowOptions are the options of schedule run-now.
type scheduleRunNowOptions struct{ dryRun, yes bool }

func newScheduleRunNowCommand(g *global) *cobra.Command {
	var o scheduleRunNowOptions
	c := &cobra.Command{
		Use:   "run-now NAME",
		Short: "Run a schedule now",
		Long: `run-now creates the batch of a schedule now. A schedule with --at files the whole
company list. A schedule with --due files what is due soon and was not filed by an
earlier run. The same list can be run by hand once a day. --dry-run shows the plan
and creates nothing.`,
		Example: "  importer schedule run-now florida --dry-run\n  importer schedule run-now florida",
		Args:    oneSchedule,
		RunE: onSchedule(g, func(ctx context.Context, l openLedger, s schedule.Schedule) error {
			return runScheduleRunNow(ctx, o, g.terminal, l, s)
		}),
	}
	c.Flags().BoolVar(&o.dryRun, "dry-run", false, "show the plan; create nothing")
	addYesFlag(c, &o.yes, "do not ask")
	return c
}

func runScheduleRunNow(ctx context.Context, o scheduleRunNowOptions, t *terminal, l openLedger,
	s schedule.Schedule) error {
	scheduler, why := newScheduler(l)
	r, err := scheduler.Preview(ctx, s)
	if err != nil {
		return err
	}
	if r.Done != nil {
		t.print("This company list was already run by hand today: %s", schedule.RunText(*r.Done))
		return nil
	}
	if r.Today != nil {
		t.say("Today's run already exists: %s", schedule.RunText(*r.Today))
	}
	fmt.Fprint(t, r.Plan.Text())
	if o.dryRun {
		t.say("Nothing was created (--dry-run).")
		return nil
	}
	if why != nil {
		return why
	}
	question := fmt.Sprintf("Approve %s? Filings cannot be undone.", count(r.Plan.Filings, "order"))
	if err := t.ask(ctx, o.yes || s.Approval || !isTerminal(t.in), question, "Nothing was created."); err != nil {
		return err
	}
	f, err := scheduler.RunNow(withAudit(ctx, "schedule-run", s.Name, ""), s, r.Run)
	switch {
	case errors.Is(err, schedule.ErrRunning):
		return fmt.Errorf("%w. To see the schedule: importer schedule show %s", err, s.Name)
	case err != nil:
		return err
	}
	t.print("%s", schedule.RunText(f))
	if f.Batch == "" {
		return nil
	}
	return sayWhoPlaces(ctx, t, l.Ledger, f.Batch)
}
