package importer

import (
	"context"
	"fmt"

	"bulkfiling/internal/filing"
	"bulkfiling/internal/sheet"
)

// FindSSN finds the first cell of the file, on whichever sheet, in which a Social
// Security number stands, and says where it is; "" for none. A file that is kept
// for long is looked through before.
func (im *Import) FindSSN(ctx context.Context) (where string, err error) {
	if len(im.mapping.secret) > 0 {
		return "a column of Social Security numbers", nil
	}
	for _, info := range im.file.Sheets() {
		hides := func(_ int, text string) string {
			return filing.HideSSNsInID(text)
		} // what its columns hold is not known
		if info.Name == im.sheet {
			hides = im.hide
		}
		err := im.eachRow(info.Name, func(r *sheet.Row) {
			for i := range r.Cells {
				text := r.Cells[i].Text
				if where != "" || hides(i, text) == text {
					continue
				}
				if where = sheet.CellName(i, r.Number); info.Name != "" {
					where = fmt.Sprintf("%s!%s", info.Name, where)
				}
			}
		})
		if err != nil || where != "" || ctx.Err() != nil {
			return where, hideInError(err)
		}
	}
	return "", nil
}
