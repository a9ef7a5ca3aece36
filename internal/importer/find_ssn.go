package importer

import (
	"context"
	"fmt"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/sheet"
)

// FindSSN returns the address of the first cell with a Social Security number on any sheet. It is
// empty if no cell has one. A file is searched before it is kept for a long time.
func (im *Import) FindSSN(ctx context.Context) (where string, err error) {
	if len(im.mapping.secret) > 0 {
		return "a column of Social Security numbers", nil
	}
	for _, info := range im.file.Sheets() {
		// The columns of other sheets are unknown.
		hides := func(_ int, text string) string { return filing.HideSSNsInID(text) }
		if info.Name == im.sheet {
			hides = im.mapping.hide
		}
		err := im.file.EachRow(info.Name, func(r *sheet.Row) error {
			for i := range r.Cells {
				text := r.Cells[i].Text
				if hides(i, text) == text {
					continue
				}
				if where = sheet.CellName(i, r.Number); info.Name != "" {
					where = fmt.Sprintf("%s!%s", info.Name, where)
				}
				return sheet.ErrSkipRest
			}
			return nil
		})
		if err != nil || where != "" || ctx.Err() != nil {
			return where, hideInError(err)
		}
	}
	return "", nil
}
