package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/bulkfiling/bulkfiling/internal/importer"
	"github.com/bulkfiling/bulkfiling/internal/intake"
	"github.com/bulkfiling/bulkfiling/internal/schedule"
	"github.com/bulkfiling/bulkfiling/internal/season"
)

// scheduleAddOptions are the options of schedule add.
type scheduleAddOptions struct {
	sheet   importer.Options
	options schedule.Options
	// roster and rules are the paths of files.
	roster, rules string
	approve       bool
}

func newScheduleAddCommand(g *global) *cobra.Command {
	var o scheduleAddOptions
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
			if o.roster == "" {
				return usage("name the company list: --roster FILE")
			}
			if (o.options.At == "") == (o.options.Due == "") {
				return usage(`set the day: --at 01-15 or --due "30 days before"`)
			}
			o.options.Zone = cmp.Or(o.options.Zone, schedule.LocalZone(g.getenv))
			if err := o.complete(); err != nil {
				return err
			}
			return withAnyLedger(c.Context(), g, func(l openLedger) error {
				return runScheduleAdd(c.Context(), o, g.terminal, l, args[0])
			})
		},
	}
	c.Flags().StringVar(&o.roster, "roster", "", "the company list: an XLSX or CSV file")
	addReadingFlags(c, &o.sheet, "the filing year, whatever the list says: this, next, last, or four digits")
	c.Flags().StringVar(&o.rules, "rules", "", "a CSV of due rules that override the built-in rules")
	c.Flags().StringVar(&o.options.At, "at", "",
		"the day of the year (01-15), or of every month (15; 31 for its last day)")
	c.Flags().StringVar(&o.options.Due, "due", "", `the time before the due dates, in days: "30 days before"`)
	c.Flags().StringVar(&o.options.Zone, "zone", "",
		"the time zone of the schedule, such as America/New_York (default: this machine's)")
	c.Flags().BoolVar(&o.approve, "approve", false, "each run waits for: importer approve BATCH")
	return c
}

// complete fills the stored options from the other flags and the content of the due rules.
func (o *scheduleAddOptions) complete() error {
	to, from := &o.options, o.sheet
	to.Product, to.State, to.FilingYear, to.User = from.Product, from.State, from.FilingYear, from.User
	to.Sheet, to.Map, to.HeaderRow = from.Sheet, from.Map, from.HeaderRow
	if o.rules == "" {
		return nil
	}
	content, err := os.ReadFile(o.rules)
	if err != nil {
		return fmt.Errorf("read the due rules: %w", err)
	}
	// The rules are stored as text.
	if !utf8.Valid(content) {
		return fmt.Errorf("%s is not a CSV file in UTF-8. Save it as CSV UTF-8", o.rules)
	}
	to.Rules = string(content)
	_, err = season.Load(o.rules, content)
	return err
}

// runScheduleAdd checks and stores the company list, and prints the first run.
func runScheduleAdd(ctx context.Context, o scheduleAddOptions, t *terminal, l openLedger, name string) error {
	content, err := os.ReadFile(o.roster)
	if err != nil {
		return fmt.Errorf("read the company list: %w", err)
	}
	added, err := schedule.Add(withAudit(ctx, "season-add", name, ""), l.Ledger, schedule.NewSchedule{
		Name:     name,
		File:     o.roster,
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
	if next := added.Next; next != nil && next.Invalid.Count > 0 {
		t.say("%s", t.red(fmt.Sprintf("On %s it files %d. %s cannot be filed:", next.Date, next.Filings,
			count(next.Invalid.Count, "row"))))
		for _, why := range next.Why {
			t.say("  %s: %s", count(why.Rows, "row"), why.Text)
			for _, name := range why.Names {
				t.say("    %s", name)
			}
		}
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
