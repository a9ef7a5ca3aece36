package sheet

// The properties of a workbook are rows of texts that the program needs when the
// workbook is uploaded again. They are on a very hidden sheet, which every
// spreadsheet program keeps.

const (
	// PropertiesSheet is the name of that sheet.
	PropertiesSheet = "Bulkfiling"
	propertiesMark  = "bulkfiling properties" // its first cell
)

// Properties adds the workbook's properties. It is called after all its sheets.
func (w *Workbook) Properties(rows [][]string) error {
	s, err := w.Sheet(PropertiesSheet, SheetOptions{Hidden: true})
	if err != nil {
		return err
	}
	for _, row := range append([][]string{{propertiesMark}}, rows...) {
		cells := make([]OutCell, len(row))
		for i, text := range row {
			cells[i] = Str(text)
		}
		if err := s.Row(cells...); err != nil {
			return err
		}
	}
	return nil
}

// Properties returns the properties of a workbook that this package wrote; nil
// for any other.
func (f *File) Properties() ([][]string, error) {
	if f.format != XLSX {
		return nil, nil
	}
	source, err := f.body.rows(PropertiesSheet)
	if err != nil {
		return nil, nil // there is no such sheet
	}
	var all [][]string
	err = EachRow(&Reader{file: f, sheet: PropertiesSheet, source: source}, func(row *Row) error {
		texts := make([]string, len(row.Cells))
		for i, c := range row.Cells {
			texts[i] = c.Text
		}
		all = append(all, texts)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(all) == 0 || all[0][0] != propertiesMark {
		return nil, nil
	}
	return all[1:], nil
}
