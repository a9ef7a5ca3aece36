package main

import (
	"context"
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
purchase, and every purchase belongs to a row that is placed or existed before. Every
bill equals its lines, and no filing is billed twice. It changes nothing and needs neither the network nor an API key.

A filing that was bought twice is named. It is recorded as it is, so it does not
count as wrong: ask the filing service to refund one of the two.

It also opens every sealed value, and reports how many are sealed with an older key
and how many no key of this machine opens. Neither counts as wrong. See importer
audit rotate-seal-key.`,
		Example: "  importer audit verify\n  importer audit verify --json",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.withLedgerUnchanged(c.Context(),
				func(l *ledger.Ledger) error { return a.verify(c.Context(), l, asJSON) })
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false,
		"print one JSON line for each problem and each second purchase, then the counts")
	return c
}

func (a *app) verify(ctx context.Context, l *ledger.Ledger, asJSON bool) error {
	found, err := l.Verify(ctx)
	if err != nil {
		return err
	}
	sealed, err := l.SealKeys().Check(ctx)
	if err != nil {
		return err
	}
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
		if err := lines.Encode(map[string]int{"sealed": sealed.Values, "oldKey": sealed.Old,
			"noKey": sealed.Closed}); err != nil {
			return err
		}
		err = lines.Encode(struct {
			Rows      int `json:"rows"`
			Entries   int `json:"entries"`
			Purchases int `json:"purchases"`
			Wrong     int `json:"wrong"`
			Twice     int `json:"boughtTwice,omitempty"`
		}{found.Rows, found.Entries, found.Purchases, len(found.Wrong), len(found.Twice)})
	} else {
		a.saySealed(sealed)
		_, err = fmt.Fprintf(a.out, "%s, %s and %s verified: %d wrong.\n", count(found.Rows, "row"),
			countOf(found.Entries, "entry", "entries"), count(found.Purchases, "purchase"), len(found.Wrong))
	}
	if err == nil && len(found.Wrong) > 0 {
		err = exit(exitFailed)
	}
	return err
}

// saySealed prints what a person should do about sealed values.
func (a *app) saySealed(s ledger.Sealed) {
	if s.Old > 0 {
		fmt.Fprintf(a.out, "%s with an older key. To seal them with the current key: importer audit rotate-seal-key\n",
			countOf(s.Old, "value is sealed", "values are sealed"))
	}
	if s.Closed > 0 {
		fmt.Fprintf(
			a.out, "%s with the keys of this machine. Add the key that sealed them after the current key, in "+
				"FILING_SEAL_KEY or in the file sealing.key.\n",
			countOf(s.Closed, "sealed value cannot be opened", "sealed values cannot be opened"))
	}
}
