package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bulkfiling/bulkfiling/internal/billing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

// registerClient adds the default client of a spreadsheet.
func registerClient(c *cobra.Command, client *string) {
	c.Flags().StringVar(client, "client", "", "the client whom you bill for rows that name none in a column Client")
}

func (a *app) clientsCommand() *cobra.Command {
	return groupCommand("clients", "Clients whom you bill: rules, numbers, names",
		`clients sets what clients pay, under which name they are billed, and which rows are
theirs. A client comes from the column Client of a spreadsheet, from --client, or from
the page; nothing has to be recorded first. A row without a client is billed to the
client of its company's last bill, or else to the company itself.

importer bill shows the clients with something to bill.`,
		"  importer clients list\n  importer clients rule \"Quay Group\" 15%\n  importer clients rename \"Quay "+
			"Grp\" \"Quay Group\"",
		a.clientsListCommand(), a.clientsRuleCommand(), a.clientsRenameCommand(), a.clientsAssignCommand())
}

func (a *app) clientsListCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:     "list",
		Short:   "List the clients with a rule, a number, or another name",
		Example: "  importer clients list\n  importer clients list --json",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.withLedgerToList(c.Context(), "No clients yet", func(l *ledger.Ledger) error {
				all, err := l.Clients().List(c.Context())
				if err != nil {
					return err
				}
				names := make(map[string]string, len(all))
				for _, client := range all {
					names[client.Key] = client.Name
				}
				type line struct {
					Client   string `json:"client"`
					Number   string `json:"number,omitempty"`
					Rule     string `json:"rule,omitempty"`
					BilledAs string `json:"billedAs,omitempty"`
				}
				lineOf := func(client ledger.BillingClient) line {
					l := line{Client: client.Name, Number: client.Number, BilledAs: names[client.Merged]}
					if client.Rule.Kind != "" {
						l.Rule = client.Rule.String()
					}
					return l
				}
				return list[ledger.BillingClient]{
					empty:   "No clients have a rule, a number, or another name.",
					columns: "CLIENT\tNUMBER\tRULE\tBILLED AS",
					cells: func(client ledger.BillingClient) []any {
						l := lineOf(client)
						return []any{legible(l.Client), legible(cmp.Or(l.Number, "-")), cmp.Or(l.Rule, "-"),
							legible(cmp.Or(l.BilledAs, "-"))}
					},
					line: func(client ledger.BillingClient) any { return lineOf(client) },
				}.print(a, all, asJSON)
			})
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON line for each client")
	return c
}

func (a *app) clientsRuleCommand() *cobra.Command {
	var number string
	c := &cobra.Command{
		Use:   "rule CLIENT RULE",
		Short: "Set what a client pays as service fees",
		Long: `rule sets what one client pays as service fees: none (as charged), 15% on top, 25.00 for
each filing, retail, or firm for the rule of importer bill settings. Bills that are made
already stay as they are.`,
		Example: "  importer clients rule \"Quay Group\" 15%\n  importer clients rule \"Quay Group\" firm " +
			"--number C-100",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return usage("rule takes a client and a rule")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			return a.withLedger(c.Context(), func(l *ledger.Ledger) error {
				client, err := l.Clients().Find(c.Context(), args[0])
				if err != nil {
					return err
				}
				client.Rule = billing.Rule{}
				if !strings.EqualFold(args[1], "firm") {
					if client.Rule, err = billing.ParseRule(args[1]); err != nil {
						return usage("%w; or enter firm, for the rule of importer bill settings", err)
					}
				}
				if c.Flags().Changed("number") {
					client.Number = strings.TrimSpace(number)
				}
				if err := l.Clients().Save(withAudit(c.Context(), "client-rule", client.Name, args[1]),
					client); err != nil {
					return err
				}
				words := "what the firm's rule says"
				if client.Rule.Kind != "" {
					words = "the " + client.Rule.Words()
				}
				fmt.Fprintf(a.out, "%s pays %s.\n", legible(client.Name), words)
				return nil
			})
		},
	}
	c.Flags().StringVar(&number, "number", "", "the client's number in your books, for LEDES")
	return c
}

func (a *app) clientsRenameCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "rename CLIENT NAME",
		Short: "Bill a client under another name, or merge it into another client",
		Long: `rename bills a client under another name from now on. If a client has that name
already, the two are one from now on. Spreadsheets may go on using the old name. Issued
bills keep the name that they have.`,
		Example: "  importer clients rename \"Quay Grp\" \"Quay Group\"",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return usage("rename takes a client and a name")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			return a.withLedger(c.Context(), func(l *ledger.Ledger) error {
				err := l.Clients().Rename(withAudit(c.Context(), "client-rename", args[0], args[1]), args[0], args[1])
				if err == nil {
					fmt.Fprintf(a.out, "%s is billed as %s.\n", legible(args[0]), legible(args[1]))
				}
				return err
			})
		},
	}
}

func (a *app) clientsAssignCommand() *cobra.Command {
	var client billing.Client
	c := &cobra.Command{
		Use:   "assign BATCH [ROW...]",
		Short: "Set the client, matter, or reference of rows that are not billed",
		Long: `assign says whom rows of a batch are billed to: the rows you name, or all. Rows that are
on a bill or a draft stay as they are.`,
		Example: "  importer clients assign b7k2 14 15 --client \"Quay Group\" --matter M-7",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage("assign takes a batch and row numbers")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if client == (billing.Client{}) {
				return usage("name a --client, a --matter, --bill-to, or a --reference")
			}
			return a.withLedger(c.Context(),
				func(l *ledger.Ledger) error { return a.assignClient(c.Context(), l, args[0], args[1:], client) })
		},
	}
	c.Flags().StringVar(&client.Name, "client", "", "the client")
	c.Flags().StringVar(&client.Matter, "matter", "", "the matter")
	c.Flags().StringVar(&client.BillTo, "bill-to", "", "who gets the bill")
	c.Flags().StringVar(&client.Reference, "reference", "", "your reference, for the bill")
	return c
}

// assignClient says whom rows of a batch are billed to: those numbered, or all.
func (a *app) assignClient(ctx context.Context, l *ledger.Ledger, batch string, numbers []string,
	client billing.Client) error {
	b, err := l.Batch(ctx, batch)
	if err != nil {
		return err
	}
	var ids []int64
	for _, text := range numbers {
		number, err := strconv.Atoi(text)
		if err != nil {
			return usage("%s is not a row number", text)
		}
		row, err := l.RowNumbered(ctx, b.ID, number)
		if err != nil {
			return err
		}
		ids = append(ids, row.ID)
	}
	if len(numbers) == 0 {
		for row, err := range l.Rows(ctx, b.ID) {
			if err != nil {
				return err
			}
			ids = append(ids, row.ID)
		}
	}
	note := strings.Join([]string{client.Name, client.Matter, client.BillTo, client.Reference}, " ")
	changed, err := l.Clients().Assign(withAudit(ctx, "client", b.ID, note), ids, client)
	if errors.Is(err, ledger.ErrBilled) {
		return fmt.Errorf("nothing changed: %w", ledger.ErrBilled)
	}
	if err == nil {
		fmt.Fprintf(a.out, "%s changed, %d already on a bill.\n", count(changed, "row"), len(ids)-changed)
	}
	return err
}
