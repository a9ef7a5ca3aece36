package ledger_test

import (
	"fmt"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/billing"
)

// A matter that a person enters for rows leaves the clients of the rows as they are: that
// of the spreadsheet, or else the default, whichever came first.
func TestMatterLeavesTheClient(t *testing.T) {
	for _, matterFirst := range []bool{false, true} {
		t.Run(fmt.Sprint(matterFirst), func(t *testing.T) {
			onBothDatabases(t, func(s *store) {
				l := s.open()
				rows := s.addFor(l, "a", "Quay Group", "")
				steps := []func(){
					func() { s.must(l.Clients().SetDefault(s.Context(), "a", "Larkspur")) },
					func() {
						_, err := l.Clients().Assign(s.Context(), []int64{rows[0].ID, rows[1].ID},
							billing.Client{Matter: "2026-17"})
						s.must(err)
					},
				}
				if matterFirst {
					steps[0], steps[1] = steps[1], steps[0]
				}
				for _, step := range steps {
					step()
				}
				got, err := l.Clients().ClientsOf(s.Context(), rows)
				s.must(err)
				for i, want := range []billing.Client{
					{Name: "Quay Group", Matter: "2026-17", Origin: billing.FromSheet},
					{Name: "Larkspur", Matter: "2026-17", Origin: billing.FromDefault},
				} {
					if got[rows[i].ID] != want {
						s.Errorf("row %d: %+v, want %+v", rows[i].Number, got[rows[i].ID], want)
					}
				}
			})
		})
	}
}
