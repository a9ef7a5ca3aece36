package main

import (
	"context"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"bulkfiling/internal/filing"
	"bulkfiling/internal/ledger"
	"bulkfiling/internal/report"
	"bulkfiling/internal/resolve"
)

// resolveFlags are the options of resolve.
type resolveFlags struct {
	rows      []int // one to settle, or some to suppose something of
	orders    []string
	company   string
	notPlaced bool
	doubt     bool
	restored  bool
	since     string
	all       bool
	output    string
	from      string
	noLinks   bool
	asJSON    bool
	yes       bool
}

func (a *app) resolveCommand() *cobra.Command {
	var f resolveFlags
	c := &cobra.Command{
		Use:   "resolve [BATCH]",
		Short: "List the uncertain rows, or settle one, or all from a workbook",
		Long: `resolve lists rows that were sent and got no trustworthy answer: when, what came,
the money set aside, a link to the company's dashboard where a person can see
whether the order exists, and the orders that the service told of and nobody
knows. Such a row keeps its money set aside and is never sent again by itself.
An order that fits one row alone settles it before anything is listed.

--row N settles one: with --order ID as placed, with --not-placed as never made,
after which the same run sends it again. Where the creation of a new company is
in doubt, --company ID says that it exists; beside the --order of a formation it
tells which company was formed, and so it does, alone, of a formation that is
placed and whose company nobody told yet.

-o FILE writes the rows to a sheet (.xlsx or .csv) with columns for the decisions,
and --from FILE settles all of them by it: nothing is settled where anything in
the sheet is wrong, which ends with 2. The same sheet again is harmless.

--doubt is for a ledger that was restored from a backup, whose ready rows may have
been sent after it: it makes them uncertain, and nothing of them is sent before
each is settled. --since is the moment of the backup (or else the last sending
that the ledger knows of), --row picks some, --all takes every batch. The same
command again is harmless.

A ledger that is found to have gone back in time sends nothing, until --all --doubt
has held every row that may have been sent since. Running processes have written
back by then what they know; where no other process can have sent anything,
--restored ends the halt and holds no row.

A dashboard link signs whoever has it in for seven days, and so does a sheet that
holds some: --no-links leaves them out.`,
		Example: `  importer resolve
  importer resolve b7k2
  importer resolve b7k2 --row 17 --order order_81
  importer resolve b7k2 --row 17 --not-placed
  importer resolve b7k2 -o uncertain.xlsx
  importer resolve b7k2 --from uncertain.xlsx
  importer resolve --all --doubt --since "2026-03-01 02:00"
  importer resolve --restored`,
		Args: atMostOne,
		RunE: func(c *cobra.Command, args []string) error {
			do, err := a.resolution(f, len(args) == 1, c.Flags().Changed("row"))
			if err != nil {
				return err
			}
			return a.withLedger(c.Context(), func(l *ledger.Ledger) error {
				by := person() + " with importer resolve --row"
				switch {
				case f.from != "":
					by = person() + " with importer resolve --from " + filepath.Base(f.from)
				case f.doubt:
					by = person() + " with importer resolve --doubt"
				}
				r := &resolver{app: a, flags: f, ledger: l, service: &resolve.Service{Ledger: l, Client: a.service, By: by}}
				if len(args) == 1 {
					if r.batch, err = l.Batch(c.Context(), args[0]); err != nil {
						return err
					}
				} else if !f.doubt && (len(f.rows) > 0 || f.output != "" || f.from != "") {
					if r.batch, err = onlyUncertain(c.Context(), l); err != nil {
						return err
					}
				}
				return do(r, c.Context())
			})
		},
	}
	c.Flags().IntSliceVar(&f.rows, "row", nil, "the row's number in its sheet; with --doubt repeat it for several")
	c.Flags().StringSliceVar(&f.orders, "order", nil, "the order id that was found; repeat it for several items")
	c.Flags().StringVar(&f.company, "company", "", "the id of the company that was created, or formed")
	c.Flags().BoolVar(&f.notPlaced, "not-placed", false, "the order was never made")
	c.Flags().BoolVar(&f.doubt, "doubt", false,
		"suppose that ready rows were sent: the ledger was restored from a backup")
	c.Flags().BoolVar(&f.restored, "restored", false, "send orders again after the ledger went back in time")
	c.Flags().StringVar(&f.since, "since", "", "with --doubt: the moment of the backup, such as \"2026-03-01 14:30\"")
	c.Flags().BoolVar(&f.all, "all", false, "with --doubt: every batch")
	c.Flags().StringVarP(&f.output, "output", "o", "", "write the rows to a sheet to fill in: .xlsx or .csv")
	c.Flags().StringVar(&f.from, "from", "", "settle rows by a sheet that was filled in")
	c.Flags().BoolVar(&f.noLinks, "no-links", false, "ask for no dashboard links")
	c.Flags().BoolVar(&f.asJSON, "json", false, "one JSON line per uncertain row")
	c.Flags().BoolVarP(&f.yes, "yes", "y", false, "settle without asking, against evidence too")
	return c
}

// onlyUncertain is the one batch that has uncertain rows.
func onlyUncertain(ctx context.Context, l *ledger.Ledger) (ledger.Batch, error) {
	all, err := l.UncertainBatches(ctx)
	if err != nil {
		return ledger.Batch{}, err
	}
	if len(all) != 1 {
		return ledger.Batch{}, usage(
			"%s uncertain rows: say which batch, its id, or the beginning of it, from `importer batches`",
			plural(len(all), "batch has", "batches have"))
	}
	return l.Batch(ctx, all[0].Batch)
}

// resolver settles uncertain rows, or shows them.
type resolver struct {
	*app
	flags   resolveFlags
	ledger  *ledger.Ledger
	service *resolve.Service
	batch   ledger.Batch // without an id for all batches
}

// resolution is what the flags ask for.
func (a *app) resolution(f resolveFlags, oneBatch, settling bool) (func(*resolver, context.Context) error, error) {
	said := 0
	for _, given := range []bool{len(f.orders) > 0, f.company != "" && len(f.orders) == 0, f.notPlaced} {
		if given {
			said++
		}
	}
	switch {
	case f.restored && (f.doubt || f.since != "" || f.all || settling || said > 0 || oneBatch || f.output != "" ||
		f.from != "" || f.asJSON):
		return nil, usage(
			"--restored stands alone, or with --yes: the rows that may have been sent are held before it, with " +
				"--all --doubt")
	case f.restored:
		return (*resolver).endRestored, nil
	case !f.doubt && (f.since != "" || f.all):
		return nil, usage("--since and --all go with --doubt")
	case f.doubt && (said > 0 || f.output != "" || f.from != "" || f.asJSON):
		return nil, usage("--doubt settles nothing and lists nothing: give it --since, --row, --all and --yes alone")
	case f.doubt && (oneBatch == f.all || f.all && settling):
		return nil, usage("say which batch, and which rows of it if not all, or --all for every batch")
	case f.doubt:
		return (*resolver).suppose, nil
	case settling != (said == 1) || said > 1 || f.notPlaced && f.company != "":
		return nil, usage("to settle a row give --row N and one of --order ID, --company ID and --not-placed")
	case len(f.rows) > 1:
		return nil, usage("give one --row at a time, or a sheet of decisions: --from FILE")
	case settling && (f.output != "" || f.from != "") || f.output != "" && f.from != "":
		return nil, usage("give one of --row, -o and --from")
	case f.asJSON && (settling || f.output != "" || f.from != ""):
		return nil, usage("--json is for the list")
	case settling:
		return (*resolver).one, nil
	case f.output != "":
		return (*resolver).write, nil
	case f.from != "":
		return (*resolver).all, nil
	}
	return (*resolver).list, nil
}

// uncertain lists the uncertain orders of the batch, or of all.
func (r *resolver) uncertain(ctx context.Context) ([]*resolve.UncertainOrder, error) {
	return resolve.ListUncertain(ctx, r.ledger, r.batch.ID)
}

// link gives the rows their dashboards, unless none are wanted.
func (r *resolver) link(ctx context.Context, orders []*resolve.UncertainOrder) error {
	if !r.flags.noLinks {
		return r.service.LinkDashboards(ctx, orders)
	}
	for _, o := range orders {
		o.NoDashboard = "not requested"
	}
	return nil
}

// write writes the sheet to fill in.
func (r *resolver) write(ctx context.Context) error {
	path := r.flags.output
	o := outputOf{asked: path, input: r.batch.File, kinds: resultsEndings}
	if err := o.check(); err != nil {
		return err
	}
	if _, err := os.Stat(path); err == nil {
		if _, err := report.ReadDecisions(path); err != nil {
			return fmt.Errorf(
				"%s is there already, and is no sheet of uncertain rows. It is left as it is: name another "+
					"file with -o", path)
		}
	}
	orders, err := r.uncertain(ctx)
	if err != nil {
		return err
	}
	if len(orders) == 0 {
		r.say("No row of batch %s is uncertain; nothing was written.", r.batch.ID)
		return nil
	}
	if filledIn(path) && !r.flags.yes {
		if err := r.confirm(ctx, path+" holds decisions: write over them?", "Nothing was written."); err != nil {
			return err
		}
	}
	if err := r.link(ctx, orders); err != nil {
		return err
	}
	if err := report.WriteUncertain(r.batch, orders, path); err != nil {
		return err
	}
	r.say("%s: %s to decide on. Fill in the column %s, and the ids beside it, then:\n  importer resolve %s --from %s",
		path, count(len(orders), "uncertain row"), resolve.DecisionField, r.batch.ID, path)
	return nil
}

// filledIn reports whether somebody's decisions stand in a file.
func filledIn(path string) bool {
	sheet, err := report.ReadDecisions(path)
	return err == nil && slices.ContainsFunc(sheet.Decisions, func(d resolve.Decision) bool {
		return d.Word != "" || len(d.OrderIDs) > 0 || d.CompanyID != ""
	})
}

// one settles the row that the flags name.
func (r *resolver) one(ctx context.Context) error {
	orders, err := r.uncertain(ctx)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(orders, func(o *resolve.UncertainOrder) bool { return o.Row.Number == r.flags.rows[0] })
	if at < 0 {
		return r.certain(ctx)
	}
	s := &resolve.Resolution{Order: orders[at], OrderIDs: r.flags.orders, CompanyID: r.flags.company}
	if err := r.service.Check(ctx, s); err != nil {
		return err
	}
	if len(s.Objections) > 0 && !r.flags.yes {
		r.warn(s.Objections)
		if err := r.confirm(ctx, fmt.Sprintf("Settle row %d all the same?", r.flags.rows[0]),
			"Nothing was settled."); err != nil {
			return err
		}
	}
	if r.flags.notPlaced && !r.flags.yes && r.terminal(r.in) {
		question := fmt.Sprintf(
			"Row %d is sent again then. If the order exists after all, it is bought twice. Was it looked for on the "+
				"dashboard, and is not there?", r.flags.rows[0])
		if err := r.confirm(ctx, question, "Nothing was settled."); err != nil {
			return err
		}
	}
	before, err := r.ledger.Balance(ctx)
	if err != nil {
		return err
	}
	if err := r.settle(ctx, s); err != nil {
		return err
	}
	after, err := r.ledger.Balance(ctx)
	if err == nil {
		fmt.Fprintln(r.out, moved(before, after))
	}
	return err
}

// settle settles a row and says what that did to it.
func (r *resolver) settle(ctx context.Context, s *resolve.Resolution) error {
	said, err := r.service.Resolve(acting(ctx, "resolve", r.batch.ID, fmt.Sprintf("row %d", s.Order.Row.Number)), s)
	if err != nil {
		return fmt.Errorf("row %d: %w", s.Order.Row.Number, err)
	}
	fmt.Fprintln(r.out, said)
	return nil
}

func (r *resolver) warn(against []string) {
	for _, why := range against {
		r.say("%s %s", r.paint.yellow("Careful:"), why)
	}
}

// certain is the answer for a row that is not uncertain: an error, unless it is
// as the flags want it, by an event just now or by a person before.
func (r *resolver) certain(ctx context.Context) error {
	for row, err := range r.ledger.Rows(ctx, r.batch.ID) {
		switch {
		case err != nil:
			return err
		case row.Number != r.flags.rows[0]:
			continue
		case resolve.IsRecorded(row, r.flags.orders, r.flags.company):
			fmt.Fprintf(r.out, "Row %d is %s so already: %s\n", row.Number, row.Result, row.Message)
			return nil
		case row.Result == filing.Placed && row.Company == "" && r.flags.company != "" && len(r.flags.orders) == 0:
			said, err := r.service.NameCompany(acting(ctx, "resolve", r.batch.ID,
				fmt.Sprintf("row %d formed %s", row.Number, r.flags.company)), row, r.flags.company)
			if err == nil {
				fmt.Fprintln(r.out, said)
			}
			return err
		}
		return fmt.Errorf("row %d of batch %s is not uncertain: it is %s", row.Number, r.batch.ID, row.Result)
	}
	return fmt.Errorf("batch %s has no row %d", r.batch.ID, r.flags.rows[0])
}

// moved says what became of the money between two readings of the book.
func moved(before, after ledger.Balance) string {
	available := "available not known: no deposit was ever declared"
	if after.Declared {
		available = fmt.Sprintf("available %s -> %s", before.Available().Dollars(), after.Available().Dollars())
	}
	spent := after.Posted - before.Posted
	free, what := before.Reserved-after.Reserved-spent, "set free"
	if free < 0 {
		free, what = -free, "newly held"
	}
	return fmt.Sprintf("Money: held %s -> %s, spent %s -> %s, %s %s, %s.", before.Reserved.Dollars(),
		after.Reserved.Dollars(),
		before.Posted.Dollars(), after.Posted.Dollars(), what, free.Dollars(), available)
}

// person names who is at the keyboard.
func person() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return "somebody"
}
