package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/report"
	"github.com/bulkfiling/bulkfiling/internal/resolve"
)

func (a *app) resolveExportCommand() *cobra.Command {
	var output string
	var noLinks, yes bool
	c := &cobra.Command{
		Use:   "export [BATCH] -o FILE",
		Short: "Write the uncertain rows to a spreadsheet to fill in",
		Long: `export writes the uncertain rows of a batch to a spreadsheet with columns for your
decisions. Fill it in, then give it to importer resolve import. BATCH can be left
out if only one batch has uncertain rows.

A dashboard link signs its reader in for seven days, so keep the file private.
--no-links leaves the links out.`,
		Example: "  importer resolve export b7k2 -o uncertain.xlsx\n  importer resolve export -o uncertain.csv " +
			"--no-links",
		Args: atMostOne,
		RunE: func(c *cobra.Command, args []string) error {
			return a.withResolver(c.Context(), first(args), "export", func(r *resolver) error {
				if r.batch.ID == "" {
					var err error
					if r.batch, err = findUncertainBatch(c.Context(), r.ledger); err != nil {
						return err
					}
				}
				r.yes = yes
				return r.export(c.Context(), output, noLinks)
			})
		},
	}
	c.Flags().StringVarP(&output, "output", "o", "", "the file to write: .xlsx or .csv")
	c.Flags().BoolVar(&noLinks, "no-links", false, "leave out the dashboard links")
	c.Flags().BoolVarP(&yes, "yes", "y", false, "replace a file that already has decisions, without asking")
	if err := c.MarkFlagRequired("output"); err != nil {
		panic(err) // no such flag
	}
	return c
}

// findUncertainBatch finds the one batch that has uncertain rows.
func findUncertainBatch(ctx context.Context, l *ledger.Ledger) (ledger.Batch, error) {
	all, err := l.UncertainBatches(ctx)
	if err != nil {
		return ledger.Batch{}, err
	}
	if len(all) != 1 {
		return ledger.Batch{}, usage("%s uncertain rows: name the batch (importer batches lists them)",
			countOf(len(all), "batch has", "batches have"))
	}
	return l.Batch(ctx, all[0].Batch)
}

// export writes the sheet to fill in.
func (r *resolver) export(ctx context.Context, path string, noLinks bool) error {
	o := outputFile{asked: path, input: r.batch.File, kinds: resultsEndings}
	if err := o.check(); err != nil {
		return err
	}
	if _, err := os.Stat(path); err == nil {
		if _, err := report.ReadDecisions(path); err != nil {
			return fmt.Errorf("%s already exists and is not a sheet of uncertain rows. It was not changed. Name "+
				"another file with -o", path)
		}
	}
	rows, err := r.listUncertain(ctx)
	if err != nil {
		return err
	}
	if len(rows) == 0 {
		r.say("Batch %s has no uncertain rows. Nothing was written.", r.batch.ID)
		return nil
	}
	if hasDecisions(path) && !r.yes {
		if err := r.confirm(ctx, path+" already has decisions. Replace it?", "Nothing was written."); err != nil {
			return err
		}
	}
	if err := r.addLinks(ctx, rows, noLinks); err != nil {
		return err
	}
	if err := report.WriteUncertain(r.batch, rows, path); err != nil {
		return err
	}
	r.say("%s: %s. Fill in the %s column and the IDs beside it, then run:\n  importer resolve import %s", path,
		count(len(rows), "uncertain row"), resolve.DecisionField, path)
	return nil
}

// hasDecisions reports whether a file has decisions that a person filled in.
func hasDecisions(path string) bool {
	file, err := report.ReadDecisions(path)
	return err == nil && slices.ContainsFunc(file.Decisions, func(d resolve.Decision) bool {
		return d.Word != "" || len(d.OrderIDs) > 0 || d.CompanyID != ""
	})
}

func (a *app) resolveImportCommand() *cobra.Command {
	var yes bool
	c := &cobra.Command{
		Use:   "import FILE",
		Short: "Resolve uncertain rows by a spreadsheet that was filled in",
		Long: `import reads a spreadsheet from importer resolve export and records the decisions
in it. Every decision is checked first: if anything is wrong, nothing is changed,
and the cells with errors are listed. Importing the same file again is safe.`,
		Example: "  importer resolve import uncertain.xlsx\n  importer resolve import uncertain.xlsx --yes",
		Args:    oneFile,
		RunE: func(c *cobra.Command, args []string) error {
			file, err := report.ReadDecisions(args[0])
			if err != nil {
				return err
			}
			if len(file.Decisions) == 0 {
				fmt.Fprintln(a.out, "Nothing to resolve.")
				return nil
			}
			batch := file.Decisions[0].Batch
			if batch == "" {
				return fmt.Errorf("%s does not say which batch it is about: export it again", args[0])
			}
			return a.withResolver(c.Context(), batch, "import "+filepath.Base(args[0]), func(r *resolver) error {
				r.yes = yes
				return r.importDecisions(c.Context(), args[0], file)
			})
		},
	}
	c.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask, not even if evidence contradicts a decision")
	return c
}

// importDecisions checks every decision before it records any.
func (r *resolver) importDecisions(ctx context.Context, path string, file *report.DecisionSheet) error {
	p, err := r.service.Plan(ctx, r.batch.ID, file.Decisions)
	if err != nil {
		return err
	}
	if len(p.Problems) > 0 {
		for _, problem := range file.Problems(p.Problems) {
			fmt.Fprintln(r.out, problem)
		}
		r.say("Nothing was changed. Correct %s in %s.", count(len(p.Problems), "cell"), path)
		return exit(exitCorrect)
	}
	for _, note := range p.Notes {
		r.say("%s", note)
	}
	if len(p.Resolutions) == 0 {
		fmt.Fprintln(r.out, "Nothing to resolve.")
		return nil
	}
	before, err := r.ledger.Balance(ctx)
	if err != nil {
		return err
	}
	r.preview(p, before)
	if !r.yes {
		question := fmt.Sprintf("Resolve %s?", count(len(p.Resolutions), "row"))
		if err := r.confirm(ctx, question, "Nothing was changed."); err != nil {
			return err
		}
	}
	for _, decided := range p.Resolutions {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if err := r.resolve(ctx, decided); err != nil {
			return fmt.Errorf("%w. The rows before it are resolved. Run the same command again to continue", err)
		}
	}
	after, err := r.ledger.Balance(ctx)
	if err == nil {
		fmt.Fprintln(r.out, balanceChange(before, after))
	}
	return err
}

// preview prints what the decisions do to the balance, and the evidence against
// them.
func (r *resolver) preview(p *resolve.Plan, book ledger.Balance) {
	for _, decided := range p.Resolutions {
		r.warn(decided.Objections)
	}
	e := resolve.EffectOf(p.Resolutions)
	r.say("%s: %d placed (%s spent), %d not placed (%s released).", count(len(p.Resolutions), "row"), e.Placed,
		e.Spent.Dollars(), e.NotPlaced, e.Released.Dollars())
	if e.Created > 0 {
		r.say("%s created.", countOf(e.Created, "company was", "companies were"))
	}
	if p.Left > 0 {
		r.say("%s no decision and will stay uncertain.", countOf(p.Left, "row has", "rows have"))
	}
	after := book
	after.Reserved -= e.Spent + e.Released
	after.Posted += e.Spent
	r.say("%s", balanceChange(book, after))
}
