package web

import (
	"net/http"
	"strings"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

// A spreadsheet with its errors highlighted is a workbook.
func TestHighlightedSheet(t *testing.T) {
	_, v := visit(t, ledger.Preparer, ledger.Operator)
	path, _ := v.sheet("clients.csv",
		"Company ID,Legal Name,Filing State,Filing Year,User Email\ncomp_1,x,QQ,2026,ana@example.com\n")
	if status, body := v.get(path + "/highlighted"); status != http.StatusOK || !strings.HasPrefix(body, "PK") {
		t.Error(status)
	}
}
