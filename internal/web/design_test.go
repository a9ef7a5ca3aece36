package web

import (
	"io/fs"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

// The design page shows each result and each color, and the stylesheet has no
// size of text but the four that the page shows.
func TestDesign(t *testing.T) {
	status, body := newSite(t).as(ledger.Operator).get("/design")
	if status != http.StatusOK {
		t.Fatalf("status %d", status)
	}
	for _, r := range filing.Results {
		if !strings.Contains(body, string(badge(r))) {
			t.Errorf("the result %s is not shown", r)
		}
	}
	content, err := files.ReadFile("static/style.css")
	if err != nil {
		t.Fatal(err)
	}
	css := string(content)
	for _, c := range designColors {
		if !strings.Contains(css, "\n  --"+c.Name+": light-dark(") {
			t.Errorf("the color %s is not in the stylesheet for light and dark", c.Name)
		}
		if !strings.Contains(css, ".swatch-"+c.Name+" {") || !strings.Contains(body, "swatch-"+c.Name) {
			t.Errorf("the color %s is not shown", c.Name)
		}
	}
	sizes := []string{"var(--small)", "var(--text)", "var(--large)", "var(--title)", "0", "10pt", "inherit"}
	for _, m := range regexp.MustCompile(`font-size:\s*([^;}]+)`).FindAllStringSubmatch(css, -1) {
		size := strings.TrimSpace(m[1])
		if !slices.Contains(sizes, size) && !strings.HasSuffix(size, "em") || strings.HasSuffix(size, "rem") {
			t.Errorf("a size of text of its own: %s", m[0])
		}
	}
}

// Each column of a table has a name, for those who do not see the table.
func TestColumnsHaveNames(t *testing.T) {
	all, err := fs.Glob(files, "templates/*.html")
	if err != nil || len(all) == 0 {
		t.Fatal(all, err)
	}
	for _, name := range all {
		content, err := files.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if regexp.MustCompile(`<th[^>]*></th>`).Match(content) {
			t.Errorf("%s: a column header is empty", name)
		}
	}
}
