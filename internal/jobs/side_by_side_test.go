package jobs_test

import (
	"fmt"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/sandbox"
)

// Two batches at once end as they do one after the other, and cost the same.
func TestSideBySide(t *testing.T) {
	of2027 := func() *filing.Request {
		return of(report(0), func(o *filing.Order) { o.AnnualReport = &filing.AnnualReportItem{FilingYear: "2027"} })
	}
	withEIN := func() *filing.Request { return of(formation(0), orderEIN) }
	created := func() *filing.Request { return everything(0)[0] }
	ein := func() *filing.Request { return existing(0, filing.EIN, orderEIN) }
	for name, both := range map[string][2]func() *filing.Request{
		"a report, twice":               {of2027, of2027},
		"a report, and the next year's": {func() *filing.Request { return report(0) }, of2027},
		"an EIN, twice":                 {ein, ein},
		"an EIN, and a report with it":  {ein, func() *filing.Request { return of(report(0), orderEIN) }},
		"a formation, and one with EIN": {func() *filing.Request { return formation(0) }, withEIN},
		"a new company, twice":          {created, created},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var results [2]string
			for i := range results {
				f := newFirm(t, servers{}, sandbox.Config{AutoSeed: true})
				f.add("a", both[0]())
				if i == 0 {
					f.finish("a")
					f.add("b", both[1]())
				} else {
					hold, reached, answer := held()
					w := f.start(hold)
					<-reached
					f.add("b", both[1]())
					f.eventually("the other one waits, or is out", func() bool {
						r := f.rows("b")[0]
						return r.BlockedOn != "" || r.Result == filing.Placing
					})
					close(answer)
					f.await(w, "a", patient)
					f.await(w, "b", patient)
					w.Stop()
				}
				f.finish("b")
				f.agree("a", "b")
				results[i] = fmt.Sprint(f.rows("a")[0].Result, f.rows("b")[0].Result, f.service.Books().Charged)
			}
			if results[0] != results[1] {
				t.Errorf("one after the other %s, side by side %s", results[0], results[1])
			}
		})
	}
}
