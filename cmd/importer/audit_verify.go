package main

import (
	"github.com/spf13/cobra"

	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

func newAuditVerifyCommand(g *global) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "verify",
		Short: "Check that the ledger is consistent; nothing is changed",
		Long: `verify checks the ledger: every sum equals its entries, every placed order owns its
purchase, and every purchase belongs to a row that is placed or existed before. It
changes nothing and needs neither the network nor an API key.

A filing that was bought twice is named. It is recorded as it is, so it does not
count as wrong: ask the filing service to refund one of the two.`,
		Example: "  importer audit verify\n  importer audit verify --json",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return withLedgerAsIs(c.Context(), g, func(l openLedger) error {
				found, err := l.Verify(c.Context())
				if err != nil {
					return err
				}
				return printAuditReport(g.terminal, found, asJSON)
			})
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false,
		"print one JSON line for each problem and each second purchase, then the counts")
	return c
}

func printAuditReport(t *terminal, found ledger.AuditReport, asJSON bool) error {
	for _, some := range []struct {
		key, word string
		sentences []string
	}{
		{"wrong", t.red("wrong:"), found.Wrong},
		{"boughtTwice", t.yellow("refund:"), found.Twice},
	} {
		for _, sentence := range some.sentences {
			if !asJSON {
				t.print("%s %s", some.word, sentence)
			} else if err := t.printJSON(map[string]string{some.key: sentence}); err != nil {
				return err
			}
		}
	}
	if !asJSON {
		t.print("%s, %s and %s verified: %d wrong.", count(found.Rows, "row"),
			countOf(found.Entries, "entry", "entries"), count(found.Purchases, "purchase"), len(found.Wrong))
	} else if err := t.printJSON(struct {
		Rows      int `json:"rows"`
		Entries   int `json:"entries"`
		Purchases int `json:"purchases"`
		Wrong     int `json:"wrong"`
		Twice     int `json:"boughtTwice,omitempty"`
	}{found.Rows, found.Entries, found.Purchases, len(found.Wrong), len(found.Twice)}); err != nil {
		return err
	}
	if len(found.Wrong) > 0 {
		return exit(exitFailed)
	}
	return nil
}
