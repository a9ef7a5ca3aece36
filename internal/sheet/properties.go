package sheet

// The properties of a workbook are rows of text that the program needs if the workbook is uploaded
// again. They are on a very hidden sheet, which every spreadsheet program keeps.

const (
	// PropertiesSheet is the name of the sheet with the properties.
	PropertiesSheet = "Bulkfiling"
	// propertiesMark is the text of its first cell.
	propertiesMark = "bulkfiling properties"
)

// Properties adds the workbook's properties. Call it after the last sheet.
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

// Properties returns the properties of a workbook that this package wrote. It returns nil if
// another program wrote it.
func (f *File) Properties() ([][]string, error) {
	if f.format != XLSX {
		return nil, nil
	}
	source, err := f.body.rows(PropertiesSheet)
	if err != nil {
		// The workbook has no properties.
		return nil, nil
	}
	var all [][]string
	err = f.eachRow(source, PropertiesSheet, func(row *Row) error {
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
