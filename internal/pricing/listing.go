package pricing

import (
	"cmp"
	"slices"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/season"
)

// FeeLine is a fee as a reader of the table sees it. An empty field stands for
// all.
type FeeLine struct {
	Product    string // annual-report, formation, foreign-qualification or expedited-service
	State      filing.State
	EntityType filing.EntityType
	Residence  string // domestic or foreign
	Fee        string // dollars, with the periods they hold for
	Minimum    bool
	Note       string
	Read       string // where a built-in figure was read
	Builtin    bool
}

// Lines lists what is known, by product and state, the operator's own lines
// before the built-in ones.
func (f *Fees) Lines() []FeeLine {
	var all []FeeLine
	for _, table := range f.tables {
		var lines []FeeLine
		for key, c := range table {
			line := FeeLine{
				Product:    string(key.charge),
				State:      key.state,
				EntityType: key.entityType,
				Residence:  string(key.residence),
				Fee:        c.fee.String(),
				Minimum:    c.minimum,
				Note:       c.note,
				Builtin:    c.builtin,
			}
			if c.builtin {
				line.Read = season.SourceText(c.source, c.basis)
			}
			lines = append(lines, line)
		}
		slices.SortFunc(lines, func(a, b FeeLine) int {
			return cmp.Or(cmp.Compare(a.EntityType, b.EntityType), cmp.Compare(a.Residence, b.Residence))
		})
		all = append(all, lines...)
	}
	slices.SortStableFunc(all, func(a, b FeeLine) int {
		return cmp.Or(cmp.Compare(a.Product, b.Product), cmp.Compare(a.State, b.State))
	})
	return all
}
