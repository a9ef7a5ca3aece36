package main

import (
	"strings"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

// A filing that was bought twice is named by audit verify, and the ledger is right.
func TestVerifyNamesASecondPurchase(t *testing.T) {
	const twice = "batch a, row 3: bought twice: row 2 bought the same annual report"
	for asJSON, want := range map[bool][]string{
		false: {"refund: " + twice + "\n", ": 0 wrong."},
		true:  {`{"boughtTwice":"` + twice + `"}`, `"wrong":0,"boughtTwice":1}`},
	} {
		var out strings.Builder
		err := printAuditReport(&terminal{out: &out}, ledger.AuditReport{Rows: 2, Twice: []string{twice}}, asJSON)
		for _, part := range want {
			if err != nil || !strings.Contains(out.String(), part) {
				t.Errorf("%v\n%s", err, out.String())
			}
		}
	}
}
