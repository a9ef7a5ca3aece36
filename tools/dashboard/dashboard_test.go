//go:build unix

package dashboard

import (
	"encoding/json"
	"flag"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write the series of a worker, and with Chromium the picture of the dashboard")

// board is what is read of the dashboard's file.
type board struct {
	Title         string
	UID           string
	SchemaVersion int
	Panels        []panel
}

type panel struct {
	ID          int
	Type        string
	Title       string
	Description string
	GridPos     struct{ X, Y, W, H int }
	Datasource  *struct{ Type, UID string }
	Targets     []target
	FieldConfig struct {
		Defaults struct {
			Unit     string
			Mappings []struct {
				Options map[string]struct{ Text string }
			}
			Thresholds struct{ Steps []step }
			Custom     struct{ Stacking struct{ Mode string } }
		}
	}
}

type step struct {
	Color string
	Value *float64
}

type target struct {
	RefID        string
	Expr         string
	LegendFormat string
	Instant      bool
	Datasource   *struct{ Type, UID string }
}

// answer is what a query of a panel returned.
type answer struct {
	of    target
	lines []line
}

func readBoard(t *testing.T) (b board) {
	t.Helper()
	if err := json.Unmarshal(fileOf(t, "grafana", "dashboards", "bulkfiling.json"), &b); err != nil {
		t.Fatal(err)
	}
	return b
}

// TestDashboardIsWhole checks what Grafana would not say: panels that overlap or that
// share an ID, and queries of a data source that is not provisioned.
func TestDashboardIsWhole(t *testing.T) {
	b := readBoard(t)
	source := regexp.MustCompile(`(?m)uid: (\S+)`).FindSubmatch(
		fileOf(t, "grafana", "provisioning", "datasources", "prometheus.yml"))
	if source == nil || b.Title == "" || b.UID == "" || b.SchemaVersion < 36 || len(b.Panels) < 20 {
		t.Fatalf("the dashboard is %+v, its source %s", b, source)
	}
	ids := make(map[int]bool)
	taken := make(map[[2]int]string)
	for _, p := range b.Panels {
		if p.ID == 0 || ids[p.ID] || p.Title == "" || p.GridPos.X+p.GridPos.W > 24 || p.GridPos.W < 1 ||
			p.GridPos.H < 1 {
			t.Errorf("panel %d, %q, at %+v", p.ID, p.Title, p.GridPos)
		}
		ids[p.ID] = true
		for x := range p.GridPos.W {
			for y := range p.GridPos.H {
				at := [2]int{p.GridPos.X + x, p.GridPos.Y + y}
				if taken[at] != "" {
					t.Errorf("%q and %q overlap", taken[at], p.Title)
				}
				taken[at] = p.Title
			}
		}
		if (p.Type == "row") != (len(p.Targets) == 0) ||
			!slices.Contains([]string{"row", "stat", "timeseries", "table"}, p.Type) {
			t.Errorf("%q, a %s, has %d queries", p.Title, p.Type, len(p.Targets))
		}
		refs := make(map[string]bool)
		for _, q := range p.Targets {
			if refs[q.RefID] || q.Datasource == nil || q.Datasource.UID != string(source[1]) {
				t.Errorf("%q has the query %+v", p.Title, q)
			}
			refs[q.RefID] = true
		}
	}
}

// TestDashboardOnARealFleet lets two workers place orders, scrapes them as Prometheus
// does, and asks every query of the dashboard: each has an answer.
func TestDashboardOnARealFleet(t *testing.T) {
	if !strings.Contains(string(fileOf(t, "prometheus", "prometheus.yml")), "job_name: "+job+"\n") {
		t.Errorf("deploy/prometheus/prometheus.yml does not scrape as %s", job)
	}
	const companies = 900
	f := startFleet(t, companies)
	d := newDatabase(t)
	began := time.Now().Truncate(time.Second)
	at := began
	var text []byte
	for placed := false; !placed; at = at.Add(time.Second) {
		time.Sleep(time.Until(at))
		if at.Sub(began) > 3*time.Minute {
			t.Fatalf("the rows are not placed:\n%s", text)
		}
		for i, address := range f.workers {
			var err error
			if text, err = get("http://" + address + "/metrics"); err != nil {
				t.Fatal(err)
			}
			d.add(t, at, parse(t, text, "worker-"+string(rune('1'+i))+":8081"))
		}
		placed = strings.Contains(string(text), "bulkfiling_rows{state=\"placed\"} 900\n")
	}
	end := at.Add(-time.Second)
	answers := make(map[int][]answer)
	b := readBoard(t)
	for _, p := range b.Panels {
		for _, q := range p.Targets {
			lines, err := d.ask(q.Expr, began, end, time.Second)
			if err != nil || len(lines) == 0 {
				t.Errorf("%q: %s has no answer: %v", p.Title, q.Expr, err)
			}
			answers[p.ID] = append(answers[p.ID], answer{q, lines})
		}
	}
	checkSeries(t, text)
	checkFigures(t, answers)
	if *update {
		draw(t, b, answers, began, end)
	}
}

// checkFigures checks that the figures of the dashboard are those of the run.
func checkFigures(t *testing.T, answers map[int][]answer) {
	t.Helper()
	for id, want := range map[int]float64{2: 900, 3: 0, 4: 0, 9: 2} { // placed, ready, uncertain, workers
		for _, a := range answers[id] {
			if len(a.lines) != 1 || a.lines[0].values[len(a.lines[0].values)-1] != want {
				t.Errorf("panel %d, %s: %+v, want %v", id, a.of.Expr, a.lines, want)
			}
		}
	}
}

// checkSeries checks that the series on which the alerts are tested are those that a
// worker exports, with their labels.
func checkSeries(t *testing.T, text []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(scraped, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	own := func(text []byte) []string {
		all := make(map[string]bool)
		for _, s := range parse(t, text, "") {
			if strings.HasPrefix(s.labels.Get("__name__"), "bulkfiling_") {
				all[family(s.labels)] = true
			}
		}
		return slices.Sorted(maps.Keys(all))
	}
	now, then := own(text), own(recorded(t))
	for _, series := range now {
		if !slices.Contains(then, series) && !mayBeMissing.MatchString(series) {
			t.Errorf("%s has no %s: go -C tools/dashboard test . -update", scraped, series)
		}
	}
	for _, series := range then {
		if !slices.Contains(now, series) && !mayBeMissing.MatchString(series) {
			t.Errorf("a worker exports no %s, which %s has: go -C tools/dashboard test . -update", series, scraped)
		}
	}
}

// mayBeMissing are series that exist once something has happened.
var mayBeMissing = regexp.MustCompile(`^\{__name__="bulkfiling_(lookups_total|queue_tasks)"`)

// chromium takes a picture of a page.
func chromium(t *testing.T, page []byte, to string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "dashboard.html")
	if err := os.WriteFile(file, page, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
		"--window-size=1440,1500", "--screenshot="+to, "file://"+file).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}
