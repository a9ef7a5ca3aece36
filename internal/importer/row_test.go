package importer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/bulkfiling/bulkfiling/internal/filing"
)

// An error of the consumer, or of the caller's context, ends the reading at once.
func TestEachEnds(t *testing.T) {
	im := opened(t, saved(t, "in.csv", "Company ID,User ID,Filing State,Filing Year\n"+
		strings.Repeat("comp_1,user_1,DE,2026\n", 2000)), Options{})
	stop := errors.New("enough")
	n := 0
	if err := im.Each(context.Background(), func(*Row) error {
		if n++; n == 10 {
			return stop
		}
		return nil
	}); !errors.Is(err, stop) || n != 10 {
		t.Errorf("%v after %d rows", err, n)
	}
	ctx, cancel := context.WithCancel(context.Background())
	n = 0
	if err := im.Each(ctx, func(*Row) error {
		if n++; n == 10 {
			cancel()
		}
		return nil
	}); !errors.Is(err, context.Canceled) || n > 2000-1 {
		t.Errorf("%v after %d rows", err, n)
	}
}

// Rows out are rows in, in their order, whatever stands in them; and what is
// ready breaks no rule.
func TestRowsOutAreRowsIn(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		header := []string{"Company ID", "Legal Name", "User Email", "Filing State", "Filing Year",
			"Order Registered Agent", "Change Of Agent", "Agent Company Name", "Agent ZIP", "Notes"}
		keep := rapid.IntRange(2, len(header)).Draw(rt, "columns")
		header = append([]string(nil), header[:keep]...)
		values := rapid.SampledFrom([]string{
			"", "", "comp_1", "comp_2", "acme", "Acme LLC", "Total", "a@example.com", "a@b", "DE", "Delaware", "NY",
			"ZZ", "2026", "2025", "26", "yes", "no", "x", "N/A", "#N/A", "19901", "2134", "O’Neill", "\uFFFD", "=1+1",
			"a;b", "\"q\"", "line\nbreak", "Company ID",
		})
		count := rapid.IntRange(1, 700).Draw(rt, "rows")
		some := rapid.SliceOfN(rapid.SliceOfN(values, keep, keep), 1, 12).Draw(rt, "kinds of rows")
		grid := [][]string{header}
		var numbers []int
		for i := range count {
			row := some[i%len(some)]
			grid = append(grid, row)
			if strings.Join(row, "") != "" {
				numbers = append(numbers, i+2)
			}
		}
		path := dir + "/in.csv"
		if err := writeFile(path, csvText(grid)); err != nil {
			rt.Fatal(err)
		}
		im, err := Open(path, Options{
			Product:    filing.AnnualReport,
			Now:        july,
			FilingYear: rapid.SampledFrom([]string{"", "2026"}).Draw(rt, "year"),
			State:      filing.State(rapid.SampledFrom([]string{"", "DE"}).Draw(rt, "state")),
		})
		if err != nil {
			if len(numbers) > 0 && !strings.Contains(err.Error(), "several columns") {
				rt.Fatal(err)
			}
			return
		}
		defer im.Close()
		var got []int
		bought := map[string]bool{}
		var tally Tally
		err = im.Each(context.Background(), func(r *Row) error {
			got = append(got, r.Number)
			tally.add(r.Result)
			checkRowOut(rt, r, bought)
			return nil
		})
		if err != nil {
			rt.Fatal(err)
		}
		if !slices.Equal(got, numbers) || tally.Rows != len(numbers) ||
			tally.Ready+tally.Invalid+tally.Skipped != tally.Rows {
			rt.Errorf("%d rows out of %d, %+v", len(got), len(numbers), tally)
		}
	})
}

// checkRowOut checks that a row has a reason or an order that breaks no rule and
// that no row before it has.
func checkRowOut(rt *rapid.T, r *Row, bought map[string]bool) {
	switch r.Result {
	case filing.Ready:
		for _, v := range r.Request.Violations(2026) {
			if !v.Warning {
				rt.Errorf("row %d is ready and breaks %s", r.Number, v.Rule)
			}
		}
		what := fmt.Sprint(strings.ToLower(r.Request.Company.Ref), r.Request.Order.FilingState,
			r.Request.Order.AnnualReport.FilingYear)
		if bought[what] {
			rt.Errorf("row %d buys %s again", r.Number, what)
		}
		bought[what] = true
	case filing.Invalid:
		if r.Message == "" || len(r.Problems) == 0 || r.Request != nil {
			rt.Errorf("row %d is invalid without a reason", r.Number)
		}
	case filing.Skipped:
		if r.Message == "" || r.Request != nil {
			rt.Errorf("row %d is skipped without a reason", r.Number)
		}
	default:
		rt.Errorf("row %d is %s", r.Number, r.Result)
	}
}
