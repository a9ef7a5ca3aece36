package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/money"
)

// policyFlags are the parts of the approval policy to change; "" changes nothing.
type policyFlags struct{ second, from, terminal string }

func (f policyFlags) any() bool { return f != policyFlags{} }

// apply changes a policy.
func (f policyFlags) apply(p *ledger.Policy) error {
	for _, part := range []struct {
		flag, value string
		into        *bool
	}{{"second-person", f.second, &p.Second}, {"approve-terminal", f.terminal, &p.Terminal}} {
		switch part.value {
		case "":
		case "yes", "no":
			*part.into = part.value == "yes"
		default:
			return usage("--%s must be yes or no", part.flag)
		}
	}
	if f.from != "" {
		from, err := money.Parse(f.from)
		if err != nil || from < 0 {
			return usage("--approve-from must be an amount, such as 5000; 0 covers every batch")
		}
		p.From = from
	}
	return nil
}

// changeFirm changes what the flags name.
func (a *app) changeFirm(ctx context.Context, l *ledger.Ledger, policy policyFlags, forget string) error {
	if policy.any() {
		if err := a.changePolicy(ctx, l, policy); err != nil {
			return err
		}
	}
	if forget != "" {
		return deleteMapping(ctx, l, forget)
	}
	return nil
}

func (a *app) firmCommand() *cobra.Command {
	var policy policyFlags
	var forget string
	c := &cobra.Command{
		Use:   "firm",
		Short: "Show or change the approval policy and the saved column mappings",
		Long: `firm shows which orders need a second person's approval, and the saved column mappings. A saved mapping is used for the next spreadsheet with the same headers.

The second person is an approver who did not upload or correct the spreadsheet,
submit it, change the company list, or have rows sent again. The policy applies to
the page and to schedules. With --approve-terminal yes it also applies to run,
submit, retry, and resolve. Batches that already wait keep waiting when the policy
changes.`,
		Example: `  importer firm
  importer firm --second-person yes
  importer firm --approve-from 5000
  importer firm --forget 4be1`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := policy.apply(new(ledger.Policy)); err != nil {
				return err
			}
			over := func(ctx context.Context, do func(*ledger.Ledger) error) error {
				return a.withLedgerToList(ctx, "No firm settings yet", do)
			}
			if policy.any() {
				over = a.withAnyLedger
			}
			return over(c.Context(), func(l *ledger.Ledger) error {
				if err := a.changeFirm(c.Context(), l, policy, forget); err != nil {
					return err
				}
				return a.showFirm(c.Context(), l)
			})
		},
	}
	c.Flags().StringVar(&policy.second, "second-person", "",
		"yes: orders under the policy need a second person's approval; no: they do not")
	c.Flags().StringVar(&policy.from, "approve-from", "", "only batches that cost at least this much; 0 for all")
	c.Flags().StringVar(&policy.terminal, "approve-terminal", "", "yes: also orders from the command line")
	c.Flags().StringVar(&forget, "forget", "",
		"delete this column mapping: its name or the beginning of it")
	return c
}

func (a *app) changePolicy(ctx context.Context, l *ledger.Ledger, f policyFlags) error {
	p, err := l.Approvals().Policy(ctx)
	if err != nil {
		return err
	}
	if err := f.apply(&p); err != nil {
		return err
	}
	err = l.Approvals().ChangePolicy(withAudit(ctx, "policy", "", p.Words()), p)
	if err != nil || p.Second {
		return err
	}
	for _, part := range []struct{ value, what string }{
		{f.from, "The amount applies"}, {f.terminal, "The choice for commands applies"},
	} {
		if part.value != "" {
			a.say("%s only if a second person is required: importer firm --second-person yes", part.what)
		}
	}
	return nil
}

// deleteMapping deletes the column mapping whose name begins with name.
func deleteMapping(ctx context.Context, l *ledger.Ledger, name string) error {
	all, err := l.Uploads().ListMappings(ctx)
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(m ledger.Mapping) bool {
		return len(m.Shape) < len(name) || m.Shape[:len(name)] != name
	})
	switch len(all) {
	case 0:
		return fmt.Errorf("there is no column mapping %s (importer firm lists them)", name)
	case 1:
		return l.Uploads().DeleteMapping(withAudit(ctx, "mapping-drop", all[0].Shape, ""), all[0].Shape)
	}
	return fmt.Errorf("%d column mappings begin with %s: write more of the name", len(all), name)
}

func (a *app) showFirm(ctx context.Context, l *ledger.Ledger) error {
	policy, err := l.Approvals().Policy(ctx)
	if err != nil {
		return err
	}
	words := policy.Words()
	fmt.Fprintf(a.out, "%s%s.\n", strings.ToUpper(words[:1]), words[1:])
	mappings, err := l.Uploads().ListMappings(ctx)
	if err != nil {
		return err
	}
	for _, m := range mappings {
		fmt.Fprintf(a.out, "\nmapping %s, by %s on %s\n", m.Shape, m.CreatedBy,
			m.CreatedAt.Local().Format("2006-01-02"))
		table := newTable(a.out)
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
