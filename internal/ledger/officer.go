package ledger

import "context"

// Officer is a row of a sheet of officers, joined to a row of filings.
type Officer struct {
	// Row is the number of the row of filings.
	Row int
	// Number is the number of the officer's row, as a spreadsheet program shows it.
	Number int
	// Cells are the cells as they were given, in sheet's encoding, with secrets masked.
	Cells []byte
}

// Officers lists the officers that a separate sheet of the batch names, in the order of that sheet.
// A corrected row has the officers of its correction. An officer whose company has several rows is
// listed once for each row.
func (l *Ledger) Officers(ctx context.Context, batch string) ([]Officer, error) {
	return list[Officer](ctx, l.read, "list the officers of batch "+batch,
		`SELECT r.number AS "row", o.listed AS number, o.cells
			FROM result_rows r JOIN officers o ON o.batch = r.own_batch AND o.number = r.own_number
			WHERE r.batch = $1
			ORDER BY o.listed, r.number`, batch)
}
