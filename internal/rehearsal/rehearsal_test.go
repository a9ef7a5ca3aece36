package rehearsal

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/importer"
	"github.com/bulkfiling/bulkfiling/internal/report"
)

const creations = "Legal Name,Entity Type,Formation State,Formation Date,Principal Line 1,Principal City," +
	"Principal State,Principal Country,User Email,User Name,Filing State,Filing Year,Order Registered Agent\n"

// reports returns a spreadsheet of annual reports.
func reports(rows int) string {
	var b strings.Builder
	b.WriteString("Company ID,Legal Name,Filing State,Filing Year,User Email\n")
	for i := range rows {
		fmt.Fprintf(&b, "comp_%d,Plover %[1]d Inc.,DE,2026,a%[1]d@firm.example\n", i)
	}
	return b.String()
}

// TestMain checks that the rehearsals leave nothing in the folder of temporary files.
func TestMain(m *testing.M) {
	// The tests wait for time-outs more than they compute.
	_ = flag.Set("test.parallel", "8")
	temporary, err := os.MkdirTemp("", "rehearsal-test-")
	if err == nil {
		err = os.Setenv("TMPDIR", temporary)
	}
	code := m.Run()
	left, _ := filepath.Glob(filepath.Join(temporary, "bulkfiling-*"))
	if err != nil || len(left) > 0 {
		fmt.Println("left behind:", left, err)
		code = 1
	}
	_ = os.RemoveAll(temporary)
	os.Exit(code)
}

// rehearse rehearses a spreadsheet.
func rehearse(ctx context.Context, t *testing.T, name string, content []byte) (r Result, output string, err error) {
	t.Helper()
	im, err := importer.OpenReader(name, bytes.NewReader(content), int64(len(content)), importer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer im.Close()
	output = filepath.Join(t.TempDir(), "a.rehearsal.xlsx")
	r, err = Play(ctx, Config{
		Read:   func(do func(*importer.Import) error) error { return do(im) },
		Output: output,
	})
	return r, output, err
}

// Every kind of order is placed once, whatever goes wrong.
func TestPlay(t *testing.T) {
	files := map[string]string{"reports.csv": reports(100), "one.csv": reports(1)}
	created := creations
	for i := range 12 {
		created += fmt.Sprintf("Tern %d LLC,LLC,DE,2021-05-04,12 Market Street,Dover,DE,US,a@firm.example,Leo Park,"+
			"DE,2026,yes\n", i)
	}
	files["creations.csv"] = created
	for _, sample := range []string{
		"agent-changes.csv", "eins.csv", "foreign-qualifications.xlsx", "formations-2026.xlsx", "registered-agents.csv",
	} {
		content, err := os.ReadFile(filepath.Join("..", "..", "samples", sample))
		if err != nil {
			t.Fatal(err)
		}
		files[sample] = string(content)
	}
	for name, content := range files {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, output, err := rehearse(t.Context(), t, name, []byte(content))
			if err != nil {
				t.Fatal(err)
			}
			c := r.Summary.Counts
			if r.Failure() != nil || r.Summary.Left() > 0 || c["placed"]+c["invalid"]+c["skipped"] != r.Rows ||
				r.Orders < c["placed"] {
				t.Errorf("%s: %+v", r, c)
			}
			if c["placed"] > 10 && (r.Kills != kills || r.TimeOuts == 0 || r.NoFunds == 0) {
				t.Errorf("not everything was played: %s", r.Played())
			}
			if marked, err := report.IsRehearsal(output); !marked {
				t.Errorf("%s is not marked: %v", output, err)
			}
		})
	}
}

func TestPlay_Interrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, output, err := rehearse(ctx, t, "reports.csv", []byte(reports(3))); err == nil {
		t.Errorf("%s was written", output)
	}
}

func TestResult(t *testing.T) {
	r := Result{Rows: 300, Orders: 300, TimeOuts: 4, Kills: kills, NoFunds: 1, Resolved: 16}
	if got := r.String(); got != "300 rows, 300 orders, 0 twice" {
		t.Error(got)
	}
	if err := r.Failure(); err != nil {
		t.Error(err)
	}
	for _, r := range []Result{{Twice: 1}, {Unknown: 1}} {
		if r.Failure() == nil {
			t.Errorf("%+v has no failure", r)
		}
	}
}
