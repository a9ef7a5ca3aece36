package main

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

func (a *app) auditVerifyCommand() *cobra.Command {
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
			return a.withExisting(c.Context(), false,
				func(l *ledger.Ledger) error {
					found, err := l.Verify(c.Context())
					if err != nil {
						return err
					}
					return a.showVerified(found, asJSON)
				})
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false,
		"print one JSON line for each problem and each second purchase, then the counts")
	return c
}

func (a *app) showVerified(found ledger.AuditReport, asJSON bool) (err error) {
	lines := json.NewEncoder(a.out)
	for _, some := range []struct {
		key, word string
		sentences []string
	}{
		{"wrong", a.paint.red("wrong:"), found.Wrong},
		{"boughtTwice", a.paint.yellow("refund:"), found.Twice},
	} {
		for _, sentence := range some.sentences {
			if asJSON {
				err = lines.Encode(map[string]string{some.key: sentence})
			} else {
				_, err = fmt.Fprintf(a.out, "%s %s\n", some.word, sentence)
			}
			if err != nil {
				return err
			}
		}
	}
	if asJSON {
		err = lines.Encode(struct {
			Rows      int `json:"rows"`
			Entries   int `json:"entries"`
			Purchases int `json:"purchases"`
			Wrong     int `json:"wrong"`
			Twice     int `json:"boughtTwice,omitempty"`
		}{found.Rows, found.Entries, found.Purchases, len(found.Wrong), len(found.Twice)})
	} else {
		_, err = fmt.Fprintf(a.out, "%s, %s and %s verified: %d wrong.\n", count(found.Rows, "row"),
			countOf(found.Entries, "entry", "entries"), count(found.Purchases, "purchase"), len(found.Wrong))
	}
	if err == nil && len(found.Wrong) > 0 {
		err = exit(exitFailed)
	}
	return err
}
