package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/bulkfiling/bulkfiling/internal/filingapi"
	"github.com/bulkfiling/bulkfiling/internal/intake"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/schedule"
	"github.com/bulkfiling/bulkfiling/internal/season"
)

func (a *app) scheduleCommands() *cobra.Command {
	return groupCommand("schedule", "File a company list on a schedule or ahead of its due dates",
		`A schedule files a company list automatically. When it is due, one worker (or importer
serve) creates a batch of the list as it is then. If none was running at that time, the
next one to start creates the batch.

Each run has a plan: what it files, what a subscription already covers, and the cost.
With --approve, each run waits for: importer approve`,
		`  importer schedule add florida --roster list.xlsx --state FL --filing-year this --at 01-15
  importer schedule add all --roster companies.xlsx --filing-year this --due "30 days before" --approve
  importer schedule show all`,
		a.scheduleAddCommand(), a.scheduleListCommand(), a.scheduleShowCommand(), a.scheduleRunNowCommand(),
		a.schedulePauseCommand("pause", "Pause a schedule", true),
		a.schedulePauseCommand("resume", "Resume a paused schedule; runs missed while paused are skipped",
			false),
		a.scheduleRemoveCommand())
}

// scheduleFlags are the options of a schedule.
type scheduleFlags struct {
	sheet   sheetFlags
	options schedule.Options
	// list and rules are the paths of files.
	list, rules string
	approval    bool
}

// register adds the flags for reading a company list.
func (f *scheduleFlags) register(c *cobra.Command) {
	c.Flags().StringVar(&f.list, "roster", "", "the company list: an XLSX or CSV file")
	f.sheet.registerReading(c, "the filing year, whatever the list says: this, next, last, or four digits")
	c.Flags().StringVar(&f.rules, "rules", "", "a CSV of due rules that override the built-in rules")
}

// applyFlags fills the options from the flags.
func (f *scheduleFlags) applyFlags() error {
	o, s := &f.options, f.sheet.options()
	o.Product, o.State, o.FilingYear, o.User = s.Product, s.State, s.FilingYear, s.User
	o.Sheet, o.Map, o.HeaderRow = s.Sheet, s.Map, s.HeaderRow
	if f.rules == "" {
		return nil
	}
	content, err := os.ReadFile(f.rules)
	if err != nil {
		return fmt.Errorf("read the due rules: %w", err)
	}
	// The rules are stored as text.
	if !utf8.Valid(content) {
		return fmt.Errorf("%s is not a CSV file in UTF-8. Save it as CSV UTF-8", f.rules)
	}
	o.Rules = string(content)
	_, err = season.Load(f.rules, content)
	return err
}

func (a *app) scheduleAddCommand() *cobra.Command {
	var f scheduleFlags
	c := &cobra.Command{
		Use:   "add NAME --roster FILE",
		Short: "Add a schedule for a company list",
		Long: `add stores a company list in the ledger and sets when it is filed. Use --at to
file the whole list on a day of every year (01-15) or of every month (15), or --due to
file each company some days before its own due date. A run starts at 6:00 in the
schedule's zone. Rows with errors are listed; the others are filed.

A schedule whose next run has only rows with errors is refused, with the reason. With
--filing-year, a Filing Year column of the list does not count.

With --due, the filing year is usually that of the due date: --filing-year this`,
		Example: `  importer schedule add florida --roster list.xlsx --state FL --filing-year this --at 01-15
  importer schedule add all --roster companies.xlsx --filing-year this --due "30 days before" --zone America/New_York`,
		Args: one("name"),
		RunE: func(c *cobra.Command, args []string) error {
			if err := schedule.CheckName(args[0]); err != nil {
				return usage("%w", err)
			}
			if f.list == "" {
				return usage("name the company list: --roster FILE")
			}
			if (f.options.At == "") == (f.options.Due == "") {
				return usage(`set the day: --at 01-15 or --due "30 days before"`)
			}
			if err := f.applyFlags(); err != nil {
				return err
			}
			f.options.Zone = cmp.Or(f.options.Zone, schedule.LocalZone(a.getenv))
			return a.withAnyLedger(c.Context(),
				func(l *ledger.Ledger) error { return a.addSchedule(c.Context(), l, args[0], f) })
		},
	}
	f.register(c)
	c.Flags().StringVar(&f.options.At, "at", "",
		"the day of the year (01-15), or of every month (15; 31 for its last day)")
	c.Flags().StringVar(&f.options.Due, "due", "",
		`the time before the due dates, in days: "30 days before"`)
	c.Flags().StringVar(&f.options.Zone, "zone", "",
		"the time zone of the schedule, such as America/New_York (default: this machine's)")
	c.Flags().BoolVar(&f.approval, "approve", false, "each run waits for: importer approve BATCH")
	return c
}

// addSchedule checks and stores the company list, and prints the first run.
func (a *app) addSchedule(ctx context.Context, l *ledger.Ledger, name string, f scheduleFlags) error {
	content, err := os.ReadFile(f.list)
	if err != nil {
		return fmt.Errorf("read the company list: %w", err)
	}
	done, err := schedule.Add(withAudit(ctx, "season-add", name, ""), l, schedule.NewSchedule{
		Name:     name,
		File:     f.list,
		Content:  content,
		Options:  f.options,
		Approval: f.approval,
		By:       currentUser(),
	})
	a.showCompanyList(done.CompanyList)
	switch {
	case errors.Is(err, schedule.ErrNameTaken):
		return fmt.Errorf(
			"the schedule %s already exists with another company list or time. Change its list on the page, or "+
				"remove it first: importer schedule remove %s", name, name)
	case err != nil:
		return err
	case done.Same:
		fmt.Fprintf(a.out, "The schedule %s already exists with these settings.\n", name)
		return nil
	}
	fmt.Fprintf(a.out, "Schedule %s: %s of %s, %s.\n", name, count(done.CompanyList.Tally.Ready, "row"),
		done.Schedule.File,
		f.options.Words())
	if err := a.sayNext(ctx, l, done.Schedule); err != nil {
		return err
	}
	a.sayInvalid(done.Next)
	env, err := a.environment()
	if err != nil {
		return err
	}
	secrets, err := env.WebhookSecrets()
	if err != nil {
		return err
	}
	warning, err := intake.EndpointWarning(ctx, l, len(secrets) > 0)
	a.sayEndpoint(warning)
	return err
}

// sayInvalid explains why rows of the next run cannot be filed.
func (a *app) sayInvalid(next *schedule.Plan) {
	if next == nil || next.Invalid.Count == 0 {
		return
	}
	a.say("%s", a.paint.red(fmt.Sprintf("On %s it files %d. %s cannot be filed:", next.Date, next.Filings,
		count(next.Invalid.Count, "row"))))
	for _, why := range next.Why {
		a.say("  %s: %s", count(why.Rows, "row"), why.Text)
		for _, name := range why.Names {
			a.say("    %s", name)
		}
	}
}

// showCompanyList prints the problems of a company list.
func (a *app) showCompanyList(r *schedule.CompanyList) {
	if r == nil {
		return
	}
	if r.Understood != "" {
		a.say("%s", r.Understood)
	}
	var groups problemGroups
	for _, p := range r.Problems {
		groups.add(p)
	}
	a.showProblems(&groups)
	for _, note := range r.Notes {
		a.say("%s", note)
	}
	if r.Tally.Invalid > 0 && r.Tally.Ready > 0 {
		a.say("%s. Rows with errors are never sent; the others are filed.",
			a.paint.yellow(count(r.Tally.Invalid, "row")+" to fix"))
	}
}

// sayNext prints the time of the next run.
func (a *app) sayNext(ctx context.Context, l *ledger.Ledger, s ledger.Schedule) error {
	next, err := schedule.New(schedule.Config{Ledger: l}).Upcoming(ctx, s, 1)
	if err != nil {
		return err
	}
	if len(next) == 0 {
		a.say("No filing is due, so the schedule will not run.")
		return nil
	}
	a.say("The next run is on %s.", next[0].At.Format("Monday, 2006-01-02 15:04 MST"))
	return nil
}

// findSchedule finds a schedule by its name.
func findSchedule(ctx context.Context, l *ledger.Ledger, name string) (ledger.Schedule, error) {
	s, err := schedule.Find(ctx, l, name)
	if errors.Is(err, ledger.ErrNotFound) {
		err = fmt.Errorf("there is no schedule %s (importer schedule list shows them)", name)
	}
	return s, err
}

// oneScheduleCommand returns a command about one schedule.
func (a *app) oneScheduleCommand(use, short, example string,
	do func(context.Context, *ledger.Ledger, ledger.Schedule) error) *cobra.Command {
	return &cobra.Command{
		Use:     use,
		Short:   short,
		Example: example,
		Args:    one("schedule"),
		RunE: a.onLedger(func(ctx context.Context, l *ledger.Ledger, args []string) error {
			s, err := findSchedule(ctx, l, args[0])
			if err != nil {
				return err
			}
			return do(ctx, l, s)
		}),
	}
}

func (a *app) schedulePauseCommand(use, short string, paused bool) *cobra.Command {
	return a.oneScheduleCommand(use+" NAME", short, "  importer schedule "+use+" florida",
		func(ctx context.Context, l *ledger.Ledger, s ledger.Schedule) error {
			// Resuming twice would skip more runs.
			if s.Paused != paused {
				audited := withAudit(ctx, "season-"+use, s.Name, "")
				if err := l.Schedules().SetPaused(audited, s.Name, paused); err != nil {
					return err
				}
			}
			if paused {
				fmt.Fprintf(
					a.out, "Schedule %s is paused. Its batches continue. To pause one: importer pause BATCH\n",
					s.Name)
				return nil
			}
			fmt.Fprintf(a.out, "Schedule %s is resumed.\n", s.Name)
			s, err := findSchedule(ctx, l, s.Name)
			if err != nil {
				return err
			}
			return a.sayNext(ctx, l, s)
		})
}

func (a *app) scheduleRemoveCommand() *cobra.Command {
	return a.oneScheduleCommand("remove NAME", "Remove a schedule; its batches and orders stay",
		"  importer schedule remove florida", func(ctx context.Context, l *ledger.Ledger, s ledger.Schedule) error {
			if err := l.Schedules().Remove(withAudit(ctx, "season-remove", s.Name, ""), s.Name); err != nil {
				return err
			}
			fmt.Fprintf(a.out, "Schedule %s was removed. Its batches continue.\n", s.Name)
			return nil
		})
}

// withScheduler runs do with the scheduler. Without a filing service in the environment, the client
// is nil and plans have no prices.
func (a *app) withScheduler(ctx context.Context, l *ledger.Ledger,
	do func(*schedule.Scheduler, *filingapi.Client) error) error {
	client, err := a.env.Client()
	if err == nil {
		defer client.Close()
	} else {
		client = nil
	}
	return do(a.env.Scheduler(l, client, slog.New(slog.DiscardHandler)), client)
}
