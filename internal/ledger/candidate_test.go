package ledger_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
)

// Many uncertain rows beside many unknown orders are read at once: of each row
// the nearest orders are named, and the rest is counted.
func TestEvidenceOfManyRows(t *testing.T) {
	onBothDatabases(t, func(s *suite) {
		const many = 60
		l, ctx := s.open(), s.Context()
		rows := s.add(l, "a", reports("a", many)...)
		s.suppose(l, s.clock(), rows...)
		for i := range many {
			s.pass(time.Second)
			s.tell(l, fmt.Sprint("evt_", i), fmt.Sprint("order_", i), "annual_report", "submitted", s.clock())
		}
		s.tell(l, "evt_named", "order_named", "annual_report", "filed", s.clock(), "companyId", "comp_a7")
		s.apply(l)
		var ids []int64
		for _, r := range rows[:10] {
			ids = append(ids, r.ID)
		}
		of, more, err := l.Resolutions().Evidence(ctx, ids)
		s.must(err)
		if len(of) != 10 || len(of[rows[0].ID]) != 20 || more[rows[0].ID] != many-20 || more[rows[7].ID] != many-19 {
			s.Errorf("%d rows, %d orders, %v more", len(of), len(of[rows[0].ID]), more)
		}
		first := of[rows[3].ID][0]
		if first.Events[0].OrderID != "order_0" || first.Rows != many || len(first.Fits) != 20 ||
			first.Fits[0] != rows[0].ID {
			s.Errorf("%+v", first)
		}
		page, total, err := l.Resolutions().UncertainPage(ctx, "a", rows[9].ID, 25)
		if s.must(err); total != many || len(page) != 25 || page[0].ID != rows[10].ID ||
			page[0].Result != filing.Uncertain {
			s.Errorf("%d of %d", len(page), total)
		}
		attempts, err := l.Attempts(ctx, ids...)
		if s.must(err); len(attempts) != 10 || !attempts[0].Supposed {
			s.Errorf("%+v", attempts)
		}
	})
}
