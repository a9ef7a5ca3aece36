package dashboard

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/common/promslog"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/tsdb"
)

const root = "../.."

// scraped is where the metrics of a real worker are kept, for the tests of alerts,
// which need no server. TestSeriesAreThoseOfTheProgram compares them with a worker.
const scraped = "testdata/metrics.txt"

// job is that of deploy/prometheus/prometheus.yml.
const job = "bulkfiling-worker"

// sample is one line of a scrape.
type sample struct {
	labels labels.Labels
	value  float64
}

// parse reads a scrape as Prometheus does, with the labels that it adds.
func parse(t *testing.T, text []byte, instance string) (all []sample) {
	t.Helper()
	p := textparse.NewPromParser(text, labels.NewSymbolTable(), false)
	for {
		entry, err := p.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		if entry != textparse.EntrySeries {
			continue
		}
		var l labels.Labels
		p.Labels(&l)
		_, _, value := p.Series()
		all = append(all, sample{labels.NewBuilder(l).Set("job", job).Set("instance", instance).Labels(), value})
	}
}

// family is the name of a series and its labels but for those that each start of a
// worker has anew.
func family(l labels.Labels) string {
	return labels.NewBuilder(l).Del("job", "instance", "version", "revision", "go_version").Labels().String()
}

func recorded(t *testing.T) []byte {
	t.Helper()
	text, err := os.ReadFile(scraped)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// database is a Prometheus without its server: where samples are kept, and what
// answers queries.
type database struct {
	*tsdb.DB
	engine *promql.Engine
}

func newDatabase(t *testing.T) *database {
	t.Helper()
	db, err := tsdb.Open(t.TempDir(), promslog.NewNopLogger(), nil, tsdb.DefaultOptions(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return &database{db, promql.NewEngine(promql.EngineOpts{
		MaxSamples:    50_000_000,
		Timeout:       time.Minute,
		LookbackDelta: 5 * time.Minute,
	})}
}

// add stores samples of one moment.
func (d *database) add(t *testing.T, at time.Time, samples []sample) {
	t.Helper()
	a := d.Appender(context.Background())
	for _, s := range samples {
		if _, err := a.Append(0, s.labels, at.UnixMilli(), s.value); err != nil {
			t.Fatalf("%s: %v", s.labels, err)
		}
	}
	if err := a.Commit(); err != nil {
		t.Fatal(err)
	}
}

// line is one series of an answer; a value that is missing is not a number.
type line struct {
	labels labels.Labels
	values []float64
}

// ask runs a query over a stretch of time.
func (d *database) ask(query string, from, to time.Time, step time.Duration) ([]line, error) {
	q, err := d.engine.NewRangeQuery(context.Background(), d.DB, nil, query, from, to, step)
	if err != nil {
		return nil, err
	}
	defer q.Close()
	r := q.Exec(context.Background())
	if r.Err != nil {
		return nil, r.Err
	}
	matrix, err := r.Matrix()
	if err != nil {
		return nil, err
	}
	steps := int(to.Sub(from)/step) + 1
	var all []line
	for _, series := range matrix {
		l := line{series.Metric.Copy(), slices.Repeat([]float64{math.NaN()}, steps)}
		for _, point := range series.Floats {
			l.values[int(time.UnixMilli(point.T).Sub(from)/step)] = point.F
		}
		all = append(all, l)
	}
	slices.SortFunc(all, func(a, b line) int { return labels.Compare(a.labels, b.labels) })
	return all, nil
}

func fileOf(t *testing.T, path ...string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(append([]string{root, "deploy"}, path...)...))
	if err != nil {
		t.Fatal(fmt.Errorf("deploy: %w", err))
	}
	return text
}
