package importer

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/sheet"
)

var update = flag.Bool("update", false, "write templates/ again")

// root is where templates/ and samples/ are.
const root = "../.."

// generated are the files of the tree that are made by this package. The samples are
// files of their own.
var generated = []struct {
	path string
	make func(t *testing.T, path string)
}{
	{"templates/annual-report.xlsx", template4(filing.AnnualReport)},
	{"templates/agent-change.xlsx", template4(filing.AgentChange)},
	{"templates/registered-agent.xlsx", template4(filing.RegisteredAgent)},
	{"templates/formation.xlsx", template4(filing.Formation)},
	{"templates/ein.xlsx", template4(filing.EIN)},
	{"templates/foreign-qualification.xlsx", template4(filing.ForeignQualification)},
}

func template4(p filing.Product) func(*testing.T, string) {
	return func(t *testing.T, path string) {
		if err := WriteTemplate(p, path); err != nil {
			t.Fatal(err)
		}
	}
}

// The files in the tree are those that would be made today. They are compared
// by their cells, for a workbook also holds the time at which it was made.
func TestGenerated(t *testing.T) {
	for _, g := range generated {
		t.Run(g.path, func(t *testing.T) {
			inTree := filepath.Join(root, g.path)
			if *update {
				if err := os.MkdirAll(filepath.Dir(inTree), 0o755); err != nil {
					t.Fatal(err)
				}
				g.make(t, inTree)
				return
			}
			fresh := filepath.Join(t.TempDir(), filepath.Base(g.path))
			g.make(t, fresh)
			want, got := cellsOf(t, fresh), cellsOf(t, inTree)
			for i := range max(len(want), len(got)) {
				if i >= len(want) || i >= len(got) || want[i] != got[i] {
					t.Fatalf("the file in the tree is not what is made today (line %d): run make templates", i+1)
				}
			}
		})
	}
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
		r, err := f.Rows(info.Name)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		for {
			var b sheet.Block
			if err := r.Read(&b); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			for _, row := range b.Rows {
				lines = append(lines, fmt.Sprintf("%d %s", row.Number, sheet.EncodeCells(row.Cells)))
			}
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
		{"templates/formation.xlsx", filing.Formation, Tally{1, 0, 0, 1}, nil},
		{"templates/ein.xlsx", filing.EIN, Tally{1, 0, 0, 1}, nil},
		{"templates/foreign-qualification.xlsx", filing.ForeignQualification, Tally{1, 0, 0, 1}, nil},
		{"templates/registered-agent.xlsx", filing.RegisteredAgent, Tally{1, 0, 0, 1}, nil},
		{"templates/annual-report.xlsx", filing.AnnualReport, Tally{1, 0, 0, 1}, nil},
		{"templates/agent-change.xlsx", filing.AgentChange, Tally{1, 0, 0, 1}, nil},
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

// A template's example row is right but for its company.
func TestTemplateExample(t *testing.T) {
	for _, p := range Templates() {
		t.Run(string(p), func(t *testing.T) {
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
