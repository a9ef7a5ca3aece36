package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"bulkfiling/internal/filing"
	"bulkfiling/internal/filingapi"
	"bulkfiling/internal/ledger"
	"bulkfiling/internal/schedule"
	"bulkfiling/internal/season"
)

func (a *app) seasonCommand() *cobra.Command {
	return family("season", "File a roster on a schedule, or ahead of its due dates",
		`season files a roster by itself, on a schedule, for as long as it is there. Its
roster is kept in the ledger, every version of it. When its time comes, one of
the workers (or importer serve) makes a batch of it, once whatever their number;
what was due while none of them ran is made up for at their start.

Before anything is sent there is a plan: what is new, changed and missing since
the firing before, what a subscription covers already, what it costs against the
funds. A season with --approve waits for a yes to it: importer approve.`,
		`  importer season add florida --roster roster.xlsx --state FL --filing-year this --at "0 6 15 1 *"
  importer season add all --roster roster.xlsx --filing-year this --due "30 days before" --approve
  importer season calendar all
  importer season show all`,
		a.seasonAddCommand(), a.seasonListCommand(), a.seasonShowCommand(), a.seasonRunNowCommand(),
		a.seasonPauseCommand("pause", "Keep a season from firing until it is resumed", true),
		a.seasonPauseCommand("resume", "Let a paused season fire again; what was due meanwhile is not made up for",
			false),
		a.seasonUpdateCommand(), a.seasonRemoveCommand(), a.seasonCalendarCommand())
}

// seasonFlags are what a season is made of.
type seasonFlags struct {
	options        schedule.Options
	roster, rules  string
	product, state string
	approve        bool
}

// reads registers the flags that say how a roster is read.
func (f *seasonFlags) reads(c *cobra.Command) {
	o := &f.options
	c.Flags().StringVar(&f.roster, "roster", "", "the sheet of companies: CSV or XLSX")
	c.Flags().StringVar(&f.product, "product", "", "what is ordered (default: told from the columns)")
	c.Flags().StringVar(&f.state, "state", "", "keep only the companies of this state")
	c.Flags().StringVar(&o.FilingYear, "filing-year", "", "fill the filing year in: this, next, last, or four digits")
	c.Flags().StringVar(&o.User, "user", "", "fill the user in: an id (user_…) or an e-mail")
	c.Flags().StringVar(&o.Sheet, "sheet", "", "the sheet to read, where a workbook has several")
	c.Flags().StringToStringVar(&o.Map, "map", nil,
		`settle a column: --map "Their Header=Company ID", or by its letter: --map "F:F=Company ID"`)
	c.Flags().Var(&o.HeaderRow, "header-row", "the row of the headers, or none (default: the one that looks like it)")
	c.Flags().StringVar(&f.rules, "rules", "", "a CSV of due rules that go before the built-in ones")
}

// settle brings the flags into the options.
func (f *seasonFlags) settle() error {
	o := &f.options
	o.Product, o.State = filing.Product(f.product), filing.State(f.state)
	if f.rules == "" {
		return nil
	}
	content, err := os.ReadFile(f.rules)
	if err != nil {
		return fmt.Errorf("read the due rules: %w", err)
	}
	o.Rules = string(content)
	_, err = o.DueRules()
	return err
}

func (a *app) seasonAddCommand() *cobra.Command {
	var f seasonFlags
	c := &cobra.Command{
		Use:   "add NAME --roster FILE",
		Short: "Add a season: a roster, and when it is filed",
		Long: `add keeps a roster in the ledger and says when it is filed: --at a time, as cron
has it, all of it at once; or --due some time before, each company when its own
due date is that near ("30 days before the first": all of them, when the first
is). Rows that break a rule are listed; the others are filed all the same.

The filing year of --due is that of the due date: this, as a rule.`,
		Example: `  importer season add florida --roster roster.xlsx --state FL --filing-year this --at "0 6 15 1 *"
  importer season add all --roster roster.xlsx --filing-year this --due "30 days before" --zone America/New_York`,
		Args: one("name"),
		RunE: func(c *cobra.Command, args []string) error {
			if err := schedule.CheckName(args[0]); err != nil {
				return usage("%w", err)
			}
			if f.roster == "" {
				return usage("say what to file: --roster FILE")
			}
			if (f.options.At == "") == (f.options.Due == "") {
				return usage(`say when: --at "0 6 15 1 *", or --due "30 days before"`)
			}
			if err := f.settle(); err != nil {
				return err
			}
			f.options.Zone = cmp.Or(f.options.Zone, schedule.LocalZone(a.getenv))
			return a.withAnyLedger(c.Context(),
				func(l *ledger.Ledger) error { return a.addSeason(c.Context(), l, args[0], f) })
		},
	}
	f.reads(c)
	c.Flags().StringVar(&f.options.At, "at", "",
		`when, as cron has it: minute, hour, day, month, day of the week ("0 6 15 1 *"), or @monthly`)
	c.Flags().StringVar(&f.options.Due, "due", "",
		`how long before the due dates: "30 days before", "6 weeks before", "2 months before the first"`)
	c.Flags().StringVar(&f.options.Zone, "zone", "",
		"the time zone of the schedule, such as America/New_York (default: this machine's)")
	c.Flags().BoolVar(&f.approve, "approve", false, "each firing waits for: importer approve BATCH")
	return c
}

// addSeason checks the roster, keeps it, and says when it fires first.
func (a *app) addSeason(ctx context.Context, l *ledger.Ledger, name string, f seasonFlags) error {
	content, err := readFile(f.roster)
	if err != nil {
		return err
	}
	done, err := schedule.Add(acting(ctx, "season-add", name, ""), l, schedule.NewSchedule{
		Name:     name,
		File:     f.roster,
		Content:  content,
		Options:  f.options,
		Approval: f.approve,
		By:       person(),
	})
	a.showRoster(done.Roster)
	switch {
	case errors.Is(err, schedule.ErrNameTaken):
		return fmt.Errorf(
			"there is a season %s already, with another roster or schedule: importer season update %s --roster "+
				"FILE, or season remove %s", name, name, name)
	case err != nil:
		return err
	case done.Same:
		fmt.Fprintf(a.out, "The season %s is there already, just so.\n", name)
		return nil
	}
	fmt.Fprintf(a.out, "Season %s: %s of %s, %s.\n", name, count(done.Roster.Tally.Ready, "row"), done.Season.File,
		f.options.String())
	if err := a.sayNext(ctx, l, done.Season); err != nil {
		return err
	}
	a.sayWhy(done.Next)
	env, err := a.environment()
	if err != nil {
		return err
	}
	return a.warnOfEndpoint(ctx, l, env)
}

// sayWhy says which rows of the next firing cannot be filed, and why.
func (a *app) sayWhy(next *schedule.Plan) {
	if next == nil || next.Invalid.Count == 0 {
		return
	}
	a.say("%s", a.paint.red(fmt.Sprintf("On %s it files %d; %s cannot be filed:", next.Date, next.Filings,
		count(next.Invalid.Count, "row"))))
	for _, why := range next.Why {
		a.say("  %s: %s", count(why.Rows, "row"), why.Text)
	}
}

func readFile(roster string) ([]byte, error) {
	content, err := os.ReadFile(roster)
	if err != nil {
		return nil, fmt.Errorf("read the roster: %w", err)
	}
	return content, nil
}

// showRoster says what is wrong with a roster.
func (a *app) showRoster(r *schedule.CompanyList) {
	if r == nil {
		return
	}
	if r.Understood != "" {
		a.say("%s", wrap(r.Understood, lineWidth))
	}
	var alike problemGroups
	for _, p := range r.Problems {
		alike.add(p)
	}
	a.showProblems(&alike)
	for _, note := range r.Notes {
		a.say("%s", note)
	}
	if r.Tally.Invalid > 0 && r.Tally.Ready > 0 {
		a.say("%s: they are never sent, and the others are filed without them.",
			a.paint.yellow(count(r.Tally.Invalid, "row")+" to correct"))
	}
}

// sayNext says when a season fires next.
func (a *app) sayNext(ctx context.Context, l *ledger.Ledger, s ledger.Schedule) error {
	next, err := schedule.UpcomingRuns(ctx, l, s, 1)
	if err != nil {
		return err
	}
	if len(next) == 0 {
		a.say("Nothing of it falls due: it will not fire.")
		return nil
	}
	a.say("It fires next on %s, by whatever worker is running then.", next[0].At.Format("Monday, 2006-01-02 15:04 MST"))
	fired, err := schedule.HasRun(ctx, l, s, next[0])
	if fired {
		a.say("A season of that name fired on that day already, and fires once a day: it goes on with the turn after.")
	}
	return err
}

// findSeason finds a season by its name.
func findSeason(ctx context.Context, l *ledger.Ledger, name string) (ledger.Schedule, error) {
	s, err := schedule.Find(ctx, l, name)
	if errors.Is(err, ledger.ErrNotFound) {
		err = fmt.Errorf("there is no season %s, importer season list has them: %w", name, ledger.ErrNotFound)
	}
	return s, err
}

// onSeason is a command that does something with one season.
func (a *app) onSeason(use, short, example string,
	do func(context.Context, *ledger.Ledger, ledger.Schedule) error) *cobra.Command {
	return &cobra.Command{
		Use:     use,
		Short:   short,
		Example: example,
		Args:    one("season"),
		RunE: func(c *cobra.Command, args []string) error {
			return a.withLedger(c.Context(), func(l *ledger.Ledger) error {
				s, err := findSeason(c.Context(), l, args[0])
				if err != nil {
					return err
				}
				return do(c.Context(), l, s)
			})
		},
	}
}

func (a *app) seasonPauseCommand(use, short string, paused bool) *cobra.Command {
	return a.onSeason(use+" NAME", short, "  importer season "+use+" florida",
		func(ctx context.Context, l *ledger.Ledger, s ledger.Schedule) error {
			if s.Paused != paused { // again would move the time from which it counts
				if err := l.Schedules().SetPaused(acting(ctx, "season-"+use, s.Name, ""), s.Name, paused); err != nil {
					return err
				}
			}
			if paused {
				fmt.Fprintf(
					a.out, "The season %s is paused. Batches it has made go on; importer pause BATCH holds one.\n",
					s.Name)
				return nil
			}
			fmt.Fprintf(a.out, "The season %s fires again.\n", s.Name)
			s, err := findSeason(ctx, l, s.Name)
			if err != nil {
				return err
			}
			return a.sayNext(ctx, l, s)
		})
}

func (a *app) seasonRemoveCommand() *cobra.Command {
	return a.onSeason("remove NAME", "Remove a season; its batches and what they bought stay",
		"  importer season remove florida", func(ctx context.Context, l *ledger.Ledger, s ledger.Schedule) error {
			if err := l.Schedules().Remove(acting(ctx, "season-remove", s.Name, ""), s.Name); err != nil {
				return err
			}
			fmt.Fprintf(a.out, "The season %s is removed. Its batches stay, and go on.\n", s.Name)
			return nil
		})
}

func (a *app) seasonUpdateCommand() *cobra.Command {
	var file string
	c := a.onSeason("update NAME --roster FILE", "Give a season a new version of its roster, and say what changes",
		"  importer season update florida --roster roster-2.xlsx",
		func(ctx context.Context, l *ledger.Ledger, s ledger.Schedule) error {
			if file == "" {
				return usage("say which: --roster FILE")
			}
			content, err := readFile(file)
			if err != nil {
				return err
			}
			done, err := schedule.Update(acting(ctx, "season-update", s.Name, ""), l, s, file, content, person())
			a.showRoster(done.Roster)
			switch {
			case err != nil:
				return err
			case done.Same:
				fmt.Fprintln(a.out, "It is the roster that the season has.")
				return nil
			}
			a.showChanges(done.Changes)
			if err := a.sayNext(ctx, l, done.Season); err != nil {
				return err
			}
			a.sayWhy(done.Next)
			return nil
		})
	c.Flags().StringVar(&file, "roster", "", "the new sheet of companies, read as the old one was")
	return c
}

// shownChanges is how many companies of a kind are named.
const shownChanges = 20

func (a *app) showChanges(p season.Plan) {
	fmt.Fprintf(a.out, "%d new, %d changed, %d missing, %d unchanged\n", len(p.New), len(p.Changed), len(p.Missing),
		len(p.Unchanged))
	show := func(what string, rows []season.Row) {
		for i, r := range rows {
			if i == shownChanges {
				fmt.Fprintf(a.out, "  … and %d more %s\n", len(rows)-i, what)
				break
			}
			fmt.Fprintf(a.out, "  %-8s row %d: %s %s %s\n", what, r.Number, cmp.Or(r.LegalName, "-"), r.CompanyID,
				r.Facts.State)
		}
	}
	var changed []season.Row
	for _, c := range p.Changed {
		changed = append(changed, c.Row)
	}
	show("new", p.New)
	show("changed", changed)
	show("missing", p.Missing)
}

// withSeasons runs something with what fires seasons: with prices, where the
// environment names a service.
func (a *app) withSeasons(ctx context.Context, l *ledger.Ledger,
	do func(*schedule.Scheduler, *filingapi.Client) error) error {
	client, err := a.env.Client()
	if err == nil {
		defer client.Close()
	} else {
		client = nil
	}
	return do(a.env.Seasons(l, client, slog.New(slog.DiscardHandler)), client)
}
