package ledger

import "context"

// Officer is a row of a sheet of officers, as it belongs to a row of filings.
type Officer struct {
	Row    int    // the number of the row of filings
	Number int    // the row's own, as a spreadsheet program shows it
	Cells  []byte // as they were given, in sheet's encoding; secrets masked
}

// Officers lists those of a batch that a sheet of their own names, in its order. Corrected
// rows have those of the correction.
// One whose company has several rows comes once for each.
func (l *Ledger) Officers(ctx context.Context, batch string) ([]Officer, error) {
	return list[Officer](ctx, l.read, "list the officers of batch "+batch,
		`SELECT r.number AS "row", o.listed AS number, o.cells
			FROM result_rows r JOIN officers o ON o.batch = r.own_batch AND o.number = r.own_number
			WHERE r.batch = $1
			ORDER BY o.listed, r.number`, batch)
}
