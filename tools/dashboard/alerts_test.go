package dashboard

import (
	"context"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/promslog"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/rules"
)

// trouble is what makes one alert fire. Its series are patterns of those that a
// worker exports, such as bulkfiling_halted{reason="key"}; both workers show the same
// unless a pattern names an instance.
type trouble struct {
	alert    string
	set      map[string]float64 // gauges
	grow     map[string]float64 // counters, by what they grow in a minute
	gone     []string           // what is not exported meanwhile
	severity string
	with     []string // other alerts that it may raise
}

var troubles = []trouble{
	{alert: "BulkfilingKeyRefused", severity: "critical", set: map[string]float64{`bulkfiling_halted{reason="key"}`: 1},
		grow: stopped},
	{alert: "BulkfilingLedgerRestored", severity: "critical",
		set: map[string]float64{`bulkfiling_halted{reason="restored"}`: 1}, grow: stopped},
	{alert: "BulkfilingWorkerOutdated", severity: "warning",
		set: map[string]float64{`bulkfiling_halted{reason="version",instance="a"}`: 1}},
	{alert: "BulkfilingOutOfFunds", severity: "critical",
		set: map[string]float64{`bulkfiling_halted{reason="funds"}`: 1}, grow: stopped},
	{alert: "BulkfilingRowsWaitForFunds", severity: "warning",
		set: map[string]float64{`bulkfiling_rows_waiting{for="funds"}`: 10}},
	{alert: "BulkfilingFundsLow", severity: "warning",
		set:  map[string]float64{`bulkfiling_money_dollars{kind="available"}`: 100},
		grow: map[string]float64{`bulkfiling_money_dollars{kind="posted"}`: 50}},
	{alert: "BulkfilingUncertainRows", severity: "warning",
		set: map[string]float64{`bulkfiling_rows{state="uncertain"}`: 3}},
	{alert: "BulkfilingStalled", severity: "warning", grow: stopped},
	{alert: "BulkfilingServiceUnavailable", severity: "warning",
		grow: map[string]float64{accepted: 0, `bulkfiling_orders_total{class="not-sent"}`: 5}},
	{alert: "BulkfilingUnconfirmedOrders", severity: "warning",
		grow: map[string]float64{`bulkfiling_orders_total{class="server-error"}`: 2}},
	{alert: "BulkfilingManyRefusals", severity: "warning",
		grow: map[string]float64{`bulkfiling_orders_total{class="refused"}`: 12}},
	{alert: "BulkfilingSlowAnswers", severity: "warning",
		grow: map[string]float64{fast: 0, `bulkfiling_order_duration_seconds_bucket{le="20.0"}`: 40}},
	{alert: "BulkfilingLedgerUnreachable", severity: "critical",
		set: map[string]float64{`bulkfiling_ledger_up{instance="b"}`: 0},
		gone: []string{`bulkfiling_rows{instance="b"}`, `bulkfiling_halted{instance="b"}`,
			`bulkfiling_money_dollars{instance="b"}`}},
	{alert: "BulkfilingQueueUnreachable", severity: "critical",
		set:  map[string]float64{`bulkfiling_queue_up{instance="b"}`: 0},
		gone: []string{`bulkfiling_queue_tasks{instance="b"}`}},
	{alert: "BulkfilingWorkerNotPlacing", severity: "warning",
		set: map[string]float64{`bulkfiling_worker_placing{instance="b"}`: 0}},
	{alert: "BulkfilingNoWorkers", severity: "critical", gone: []string{`bulkfiling_worker_placing`}},
}

// What a healthy fleet shows beside the zeros: rows are placed, quickly.
const (
	accepted = `bulkfiling_orders_total{class="accepted"}`
	fast     = `bulkfiling_order_duration_seconds_bucket{le="0.25"}`
)

var (
	healthyValues = map[string]float64{`bulkfiling_rows{state="ready"}`: 500,
		`bulkfiling_money_dollars{kind="available"}`: 100_000}
	healthyGrowth = map[string]float64{accepted: 20, fast: 20, `bulkfiling_money_dollars{kind="posted"}`: 20}
	stopped       = map[string]float64{accepted: 0, fast: 0, `bulkfiling_money_dollars{kind="posted"}`: 0}
)

// matches reports whether a pattern means a series.
func matches(t *testing.T, pattern string, l labels.Labels) bool {
	t.Helper()
	name, inner, _ := strings.Cut(strings.TrimSuffix(pattern, "}"), "{")
	if l.Get(labels.MetricName) != name {
		return false
	}
	for _, part := range strings.Split(inner, ",") {
		key, value, _ := strings.Cut(part, "=")
		if key != "" && l.Get(key) != strings.Trim(value, `"`) {
			return false
		}
	}
	return true
}

// exporter plays the scrapes of two workers, minute by minute.
type exporter struct {
	t     *testing.T
	all   []sample
	grown map[int]float64
}

func newExporter(t *testing.T) *exporter {
	t.Helper()
	text := recorded(t)
	return &exporter{t, slices.Concat(parse(t, text, "a"), parse(t, text, "b")), make(map[int]float64)}
}

// scrape returns what is exported a step later, healthy but for a trouble.
func (e *exporter) scrape(step time.Duration, in *trouble) (shown []sample) {
	for i, s := range e.all {
		name := s.labels.Get(labels.MetricName)
		switch name {
		case "bulkfiling_worker_placing", "bulkfiling_ledger_up", "bulkfiling_queue_up":
			s.value = 1
		case "bulkfiling_rows", "bulkfiling_rows_waiting", "bulkfiling_halted":
			s.value = 0
		}
		growth, grows := e.value(healthyGrowth, s.labels)
		if value, ok := e.value(healthyValues, s.labels); ok {
			s.value = value
		}
		if in != nil {
			if value, ok := e.value(in.set, s.labels); ok {
				s.value = value
			}
			if value, ok := e.value(in.grow, s.labels); ok {
				growth, grows = value, true
			}
			if slices.ContainsFunc(in.gone, func(p string) bool { return matches(e.t, p, s.labels) }) {
				continue
			}
		}
		if grows {
			e.grown[i] += growth * step.Minutes()
		}
		s.value += e.grown[i]
		shown = append(shown, s)
	}
	return shown
}

// value finds the value of a series by its patterns. What a bucket counts, the
// larger ones count too.
func (e *exporter) value(of map[string]float64, l labels.Labels) (value float64, found bool) {
	nearest := -1.0
	for pattern, v := range of {
		if matches(e.t, pattern, l) {
			return v, true
		}
		name, inner, _ := strings.Cut(pattern, "{le=")
		if !strings.HasSuffix(name, "_bucket") || l.Get(labels.MetricName) != name {
			continue
		}
		than, err := strconv.ParseFloat(strings.Trim(inner, `"}`), 64)
		le, err2 := strconv.ParseFloat(l.Get("le"), 64)
		if err == nil && err2 == nil && le >= than && than > nearest {
			value, found, nearest = v, true, than
		}
	}
	return value, found
}

// fleetRules loads the rules of deploy/ into a real manager of rules.
func fleetRules(t *testing.T, d *database) []*rules.Group {
	t.Helper()
	m := rules.NewManager(&rules.ManagerOptions{
		QueryFunc:  rules.EngineQueryFunc(d.engine, d.DB),
		NotifyFunc: func(context.Context, string, ...*rules.Alert) {},
		Context:    t.Context(),
		Appendable: d.DB,
		Queryable:  d.DB,
		Logger:     promslog.NewNopLogger(),
	})
	loaded, errs := m.LoadGroups(interval, labels.EmptyLabels(), "", nil, false,
		filepath.Join(root, "deploy", "prometheus", "rules.yml"))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	var groups []*rules.Group
	for _, name := range slices.Sorted(maps.Keys(loaded)) { // rates are recorded before alerts read them
		groups = append(groups, loaded[name])
	}
	slices.SortFunc(groups, func(a, b *rules.Group) int { return strings.Compare(b.Name(), a.Name()) })
	return groups
}

const interval = 15 * time.Second

// firing are the alerts that fire.
func firing(groups []*rules.Group) map[string]*rules.Alert {
	all := make(map[string]*rules.Alert)
	for _, g := range groups {
		for _, r := range g.AlertingRules() {
			for _, alert := range r.ActiveAlerts() {
				if alert.State == rules.StateFiring {
					all[r.Name()] = alert
				}
			}
		}
	}
	return all
}

// TestEveryAlertFires shows each trouble to the rules, after an hour of health and
// before another one: the alert fires, says what to do, and ends; and while nothing
// is wrong no alert fires.
func TestEveryAlertFires(t *testing.T) {
	t.Parallel()
	var left []string
	for _, g := range fleetRules(t, newDatabase(t)) {
		for _, r := range g.AlertingRules() {
			left = append(left, r.Name())
		}
	}
	for _, in := range troubles {
		left = slices.DeleteFunc(left, func(name string) bool { return name == in.alert })
		t.Run(in.alert, func(t *testing.T) {
			t.Parallel()
			show(t, in)
		})
	}
	if len(left) > 0 {
		t.Errorf("nothing makes %v fire", left)
	}
}

// exports fails the test where no worker exports a series.
func (e *exporter) exports(patterns ...[]string) {
	e.t.Helper()
	for _, pattern := range slices.Concat(patterns...) {
		if !slices.ContainsFunc(e.all, func(s sample) bool { return matches(e.t, pattern, s.labels) }) {
			e.t.Fatalf("no worker exports %s", pattern)
		}
	}
}

func show(t *testing.T, in trouble) {
	t.Helper()
	d, e := newDatabase(t), newExporter(t)
	e.exports(slices.Collect(maps.Keys(in.set)), slices.Collect(maps.Keys(in.grow)), in.gone)
	groups := fleetRules(t, d)
	const health, ill, after = 70 * time.Minute, 50 * time.Minute, 90 * time.Minute
	began := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	fired := false
	for past := time.Duration(0); past <= after+health; past += interval {
		var now *trouble
		if past >= health && past < health+ill {
			now = &in
		}
		at := began.Add(past)
		d.add(t, at, e.scrape(interval, now))
		for _, g := range groups {
			g.Eval(context.Background(), at)
			for _, r := range g.Rules() {
				if err := r.LastError(); err != nil {
					t.Fatalf("%s: %v", r.Name(), err)
				}
			}
		}
		active := firing(groups)
		if alert, ok := active[in.alert]; ok {
			fired = true
			checkAlert(t, alert, in)
		}
		for name := range active {
			expected := name == in.alert || slices.Contains(in.with, name)
			if past < health || past > health+ill+31*time.Minute || !expected {
				t.Fatalf("%s fires %v after the start", name, past)
			}
		}
	}
	if !fired {
		t.Error("it never fires")
	}
}

// checkAlert checks that an alert has a severity and says what happened and what to do.
func checkAlert(t *testing.T, alert *rules.Alert, in trouble) {
	t.Helper()
	if got := alert.Labels.Get("severity"); got != in.severity {
		t.Fatalf("its severity is %q", got)
	}
	for _, name := range []string{"summary", "action"} {
		if text := alert.Annotations.Get(name); text == "" || strings.Contains(text, "{{") ||
			strings.Contains(text, "<error") {
			t.Fatalf("%s: %q", name, text)
		}
	}
}
