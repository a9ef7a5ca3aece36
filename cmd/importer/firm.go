package main

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"bulkfiling/internal/ledger"

	"github.com/spf13/cobra"
)

func (a *app) firmCommand() *cobra.Command {
	var second, forget string
	c := &cobra.Command{
		Use:   "firm",
		Short: "Show what the firm has decided for the page, or change it",
		Long: `firm shows whether a second person has to approve what is handed in on the page,
and what people said the columns of their sheets are, which is kept for the next
sheet with the same headers.`,
		Example: "  importer firm\n  importer firm --second-person yes\n  importer firm --forget 4be1",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if second != "" && second != "yes" && second != "no" {
				return usage("--second-person is yes or no")
			}
			over := func(ctx context.Context, do func(*ledger.Ledger) error) error {
				return a.listing(ctx, "Nothing is decided yet", do)
			}
			if second != "" {
				over = a.withAnyLedger
			}
			return over(c.Context(), func(l *ledger.Ledger) error {
				if second != "" {
					note := "second person: " + second
					if err := l.KeepFirm(acting(c.Context(), "firm", "", note), ledger.Firm{SecondPerson: second == "yes"}); err != nil {
						return err
					}
				}
				if forget != "" {
					if err := forgetMapping(c.Context(), l, forget); err != nil {
						return err
					}
				}
				return a.showFirm(c.Context(), l)
			})
		},
	}
	c.Flags().StringVar(&second, "second-person", "", "yes: nobody approves what they handed in on the page; no: whoever hands it in says yes to it")
	c.Flags().StringVar(&forget, "forget", "", "forget what was said of these columns: the name of the mapping, or the beginning of it")
	return c
}

// forgetMapping forgets the mapping whose name begins so.
func forgetMapping(ctx context.Context, l *ledger.Ledger, name string) error {
	all, err := l.Mappings(ctx)
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(m ledger.Mapping) bool { return len(m.Shape) < len(name) || m.Shape[:len(name)] != name })
	switch len(all) {
	case 0:
		return fmt.Errorf("there is no mapping %s: importer firm lists them", name)
	case 1:
		return l.DropMapping(acting(ctx, "mapping-drop", all[0].Shape, ""), all[0].Shape)
	}
	return fmt.Errorf("%d mappings begin with %s: give more of the name", len(all), name)
}

func (a *app) showFirm(ctx context.Context, l *ledger.Ledger) error {
	firm, err := l.Firm(ctx)
	if err != nil {
		return err
	}
	rule := "whoever hands a batch in on the page says yes to it"
	if firm.SecondPerson {
		rule = "a second person approves each batch that is handed in on the page"
	}
	fmt.Fprintln(a.out, rule)
	mappings, err := l.Mappings(ctx)
	if err != nil {
		return err
	}
	for _, m := range mappings {
		fmt.Fprintf(a.out, "\nmapping %s, by %s on %s\n", m.Shape, m.CreatedBy, m.CreatedAt.Local().Format("2006-01-02"))
		table := lineUp(a.out)
		for _, theirs := range slices.Sorted(maps.Keys(m.Columns)) {
			ours := m.Columns[theirs]
			if ours == "" {
				ours = "(left out)"
			}
			fmt.Fprintf(table, "  %s\t%s\n", legible(theirs), ours)
		}
		if err := table.Flush(); err != nil {
			return err
		}
	}
	return nil
}
