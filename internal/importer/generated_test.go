package importer

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/goldentest"
	"github.com/bulkfiling/bulkfiling/internal/sheet"
)

// root is where templates/ and samples/ are.
const root = "../.."

// The templates in the tree are those that would be made today. They are compared by
// their cells, for a workbook also holds the time at which it was made.
func TestGenerated(t *testing.T) {
	for _, p := range filing.Products {
		inTree, fresh := filepath.Join(root, "templates", string(p)+".xlsx"), filepath.Join(t.TempDir(), "fresh.xlsx")
		if goldentest.Update() {
			fresh = inTree
		}
		if err := WriteTemplate(p, fresh); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(cellsOf(t, fresh), cellsOf(t, inTree)) {
			t.Errorf("%s is not what is made today: run make templates", inTree)
		}
	}
}

// The table in docs/columns.md is the table of columns.
func TestColumnTable(t *testing.T) {
	path := filepath.Join(root, "docs", "columns.md")
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, _ := strings.Cut(string(content), "<!-- columns -->\n")
	_, after, _ := strings.Cut(rest, "<!-- /columns -->")
	want := before + "<!-- columns -->\n" + columnTable() + "<!-- /columns -->" + after
	switch {
	case string(content) == want:
	case !goldentest.Update():
		t.Errorf("%s differs from the table of columns: run make templates", path)
	default:
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// columnTable returns the table of columns in Markdown for the documentation. It has only the first
// officer, because the columns of the others are the same.
func columnTable() string {
	var b strings.Builder
	b.WriteString("| Column | Field of the filing service | Used by | Values |\n|---|---|---|---|\n")
	for i := range columns {
		c := &columns[i]
		if strings.HasPrefix(c.header, "Officer ") && !strings.HasPrefix(c.header, "Officer 1 ") {
			continue
		}
		var products []string
		for _, p := range filing.Products {
			if c.has(p) {
				products = append(products, string(p))
			}
		}
		used := strings.Join(products, ", ")
		if len(products) == len(filing.Products) {
			used = "all"
		}
		about := c.about
		if c.kind == choiceKind {
			about += " One of: " + strings.Join(c.choices, ", ") + "."
		}
		field := "`" + c.field + "`"
		if c.unsent || columnID(i) == confirmedName {
			field = "never sent"
		}
		if columnID(i) == agentLine2 {
			field = "`" + columns[agentStreet].field + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", c.header, field, used, strings.ReplaceAll(about, "|", `\|`))
	}
	return b.String()
}

// cellsOf is every row of every sheet as a line.
func cellsOf(t testing.TB, path string) (lines []string) {
	t.Helper()
	f, err := sheet.Open(path, sheet.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, info := range f.Sheets() {
		lines = append(lines, fmt.Sprintf("%s %t", info.Name, info.Visible))
		if err := f.EachRow(info.Name, func(row *sheet.Row) error {
			lines = append(lines, fmt.Sprintf("%d %s", row.Number, sheet.EncodeCells(row.Cells)))
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	return lines
}

// The samples come out as their story says.
func TestSamples(t *testing.T) {
	for _, c := range []struct {
		path    string
		product filing.Product
		tally   Tally
		rules   []string // broken, in the order of the rows
	}{
		{"samples/annual-reports-de-2026.xlsx", filing.AnnualReport, Tally{60, 53, 6, 1}, []string{
			"annual-report.year", "agent.state-is-filing-state", "agent.addressZip", "company.required",
			"company.entityType", "user.email",
		}},
		{"samples/agent-changes.csv", filing.AgentChange, Tally{20, 18, 1, 1}, []string{"filing-state.known"}},
		{"samples/registered-agents.csv", filing.RegisteredAgent, Tally{16, 16, 0, 0}, nil},
		{"samples/formations-2026.xlsx", filing.Formation, Tally{24, 24, 0, 0}, nil},
		{"samples/eins.csv", filing.EIN, Tally{20, 20, 0, 0}, nil},
		{"samples/foreign-qualifications.xlsx", filing.ForeignQualification, Tally{18, 18, 0, 0}, nil},
	} {
		t.Run(c.path, func(t *testing.T) {
			im := opened(t, filepath.Join(root, c.path), Options{})
			if im.Product() != c.product {
				t.Errorf("product %s", im.Product())
			}
			var rules []string
			tally, err := im.Check(context.Background(), func(p Problem) error {
				if p.Severity == Error {
					rules = append(rules, p.Rule)
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if tally != c.tally || !slices.Equal(rules, c.rules) {
				t.Errorf("%+v %q\n%q", tally, rules, im.Notes())
			}
		})
	}
}

// A template's example row is never filed, and right but for its company.
func TestTemplateExample(t *testing.T) {
	for _, p := range filing.Products {
		t.Run(string(p), func(t *testing.T) {
			empty := opened(t, filepath.Join(root, "templates", string(p)+".xlsx"), Options{})
			if got := resultsOf(t, empty); empty.Product() != p || got != "skipped" {
				t.Errorf("%s: %s", empty.Product(), got)
			}
			im := opened(t, saved(t, "filled.csv", filledTemplate(t, p)), Options{})
			if im.Product() != p {
				t.Errorf("product %s", im.Product())
			}
			for _, r := range rowsOf(t, im) {
				if r.result != filing.Ready || len(r.problems) > 0 {
					t.Errorf("%s: %s %+v", r.result, r.message, r.problems)
				}
			}
		})
	}
}

// filledTemplate returns the header and the example of a template, with a company
// of its own.
func filledTemplate(t *testing.T, p filing.Product) string {
	path := filepath.Join(t.TempDir(), "template.xlsx")
	if err := WriteTemplate(p, path); err != nil {
		t.Fatal(err)
	}
	company := strings.NewReplacer(exampleCompany, "comp_1", exampleName, "Harbor Light Bakery LLC")
	var text strings.Builder
	for _, line := range cellsOf(t, path)[1:3] {
		_, cells, _ := strings.Cut(line, " ")
		row, err := sheet.DecodeCells([]byte(cells))
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range row {
			text.WriteString(company.Replace(c.Text) + "\t")
		}
		text.WriteString("\n")
	}
	return text.String()
}
