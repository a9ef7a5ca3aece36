package sheet

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"

	"github.com/xuri/excelize/v2"
)

// Limits of a workbook, set by the format or by the time that excelize takes.
const (
	// maxComments bounds the quadratic time that excelize takes for comments: 40,000 take 12 s.
	maxComments = 1000
	// maxCellChars is in UTF-16 units. excelize cuts longer text silently.
	maxCellChars = 32767
	// maxListChars limits a drop-down that is stored in the cell's own rule.
	maxListChars = 255

	// maxPromptChars limits the prompt of a drop-down, in UTF-16 units.
	maxPromptChars = 255
)

// Workbook writes an XLSX file.
type Workbook struct {
	file   *atomicFile
	book   *excelize.File
	sheets []*Writer
	// lists are the values of long drop-downs, one column each.
	lists  [][]string
	styles map[look]int

	// from is the workbook that the sheets were copied from, or nil.
	from *File

	// merged are the merged cells of the sheet with added columns.
	merged []mergedCells
}

// Create creates a workbook. It is written to a temporary file beside its target and appears under
// its name with Save.
func Create(path string) (*Workbook, error) {
	file, err := createAtomic(path)
	if err != nil {
		return nil, fmt.Errorf("create %s: %w", path, err)
	}
	return &Workbook{file: file, book: excelize.NewFile(), styles: map[look]int{}}, nil
}

// SheetOptions are the settings of a sheet. Columns count from 0, rows from 1.
type SheetOptions struct {
	// Widths are the widths of the columns from A on, in characters. 0 means the default width.
	Widths []float64
	// HeaderRows is the number of rows frozen at the top.
	HeaderRows int
	// HeaderColumns is the number of columns frozen on the left.
	HeaderColumns int
	// AutoFilter adds a filter to the last header row.
	AutoFilter bool
	// TabColor is in RGB hex, such as "2E7D32". Empty means the default.
	TabColor string
	// TextColumns are the columns in which typed values stay text, such as ZIP codes.
	TextColumns []int
	Choices     []Choice
	Hidden      bool
	// Active opens the workbook on this sheet.
	Active bool
	// NoGrid hides the grid lines.
	NoGrid bool
}

// Choice is a drop-down in the cells of a column.
type Choice struct {
	Column   int
	FirstRow int
	LastRow  int
	Values   []string
	// Prompt is shown while the cell is selected.
	Prompt string
}

// Writer writes the rows of a sheet.
type Writer struct {
	book    *Workbook
	name    string
	options SheetOptions
	stream  *excelize.StreamWriter

	// row is the number of the last row, and width is the width of the widest.
	row, width int
	values     []any
	comments   []excelize.Comment
}

// Sheet adds a sheet. Several sheets can be written alternately.
func (w *Workbook) Sheet(name string, options SheetOptions) (*Writer, error) {
	s, err := w.sheet(name, options)
	if err != nil {
		return nil, fmt.Errorf("create sheet %q: %w", name, err)
	}
	return s, nil
}

func (w *Workbook) sheet(name string, options SheetOptions) (*Writer, error) {
	if len(w.sheets) == 0 && w.from == nil {
		if err := w.book.SetSheetName("Sheet1", name); err != nil {
			return nil, err
		}
	} else {
		if i, _ := w.book.GetSheetIndex(name); i >= 0 {
			return nil, fmt.Errorf("there is one of this name already")
		}
		if _, err := w.book.NewSheet(name); err != nil {
			return nil, err
		}
	}
	s := &Writer{book: w, name: name, options: options}
	w.sheets = append(w.sheets, s)
	fit := true
	props := &excelize.SheetPropsOptions{FitToPage: &fit}
	if options.TabColor != "" {
		// FF makes the color opaque.
		color := "FF" + options.TabColor
		props.TabColorRGB = &color
	}
	if err := w.book.SetSheetProps(name, props); err != nil {
		return nil, err
	}
	if err := w.print(name, options.HeaderRows); err != nil {
		return nil, err
	}
	if options.NoGrid {
		show := false
		if err := w.book.SetSheetView(name, 0, &excelize.ViewOptions{ShowGridLines: &show}); err != nil {
			return nil, err
		}
	}
	// The stream would write a dimension before any row. Readers do not need one.
	if err := w.book.SetSheetDimension(name, ""); err != nil {
		return nil, err
	}
	var err error
	if s.stream, err = w.book.NewStreamWriter(name); err != nil {
		return nil, err
	}
	return s, s.begin()
}

// print fits a sheet to the width of a page when it is printed, with its header on every page.
func (w *Workbook) print(name string, headerRows int) error {
	wide, long, landscape, margin := 1, 0, "landscape", 0.4
	err := errors.Join(
		w.book.SetPageLayout(name, &excelize.PageLayoutOptions{
			Orientation: &landscape,
			FitToWidth:  &wide,
			FitToHeight: &long,
		}),
		w.book.SetPageMargins(name, &excelize.PageLayoutMarginsOptions{
			Left:   &margin,
			Right:  &margin,
			Top:    &margin,
			Bottom: &margin,
		}),
	)
	if err != nil || headerRows == 0 {
		return err
	}
	return w.book.SetDefinedName(&excelize.DefinedName{
		Name: "_xlnm.Print_Titles", Scope: name, RefersTo: fmt.Sprintf("%s!$1:$%d", quoteSheet(name), headerRows),
	})
}

// maxWidths limits the columns with a width. excelize takes time proportional to the columns before
// each one: 9,000 of them took minutes.
const maxWidths = 500

// begin writes the content before the first row.
func (s *Writer) begin() error {
	o := s.options
	textStyles := map[int]int{}
	if len(o.TextColumns) > 0 {
		style, err := s.book.style(look{format: asText})
		if err != nil {
			return err
		}
		for _, c := range o.TextColumns {
			textStyles[c] = style
		}
	}
	// Go from right to left, because excelize inserts each column before the existing ones, and
	// Excel requires them in order.
	last := min(len(o.Widths), maxWidths) - 1
	for c := range textStyles {
		last = max(last, c)
	}
	for c := last; c >= 0; c-- {
		if style, ok := textStyles[c]; ok {
			if err := s.stream.SetColStyle(c+1, c+1, style); err != nil {
				return err
			}
		}
		if c < len(o.Widths) && o.Widths[c] > 0 {
			if err := s.stream.SetColWidth(c+1, c+1, min(o.Widths[c], excelize.MaxColumnWidth)); err != nil {
				return err
			}
		}
	}
	if o.HeaderRows == 0 && o.HeaderColumns == 0 {
		return nil
	}
	pane := "bottomRight"
	switch {
	case o.HeaderColumns == 0:
		pane = "bottomLeft"
	case o.HeaderRows == 0:
		pane = "topRight"
	}
	return s.stream.SetPanes(&excelize.Panes{
		Freeze:      true,
		XSplit:      o.HeaderColumns,
		YSplit:      o.HeaderRows,
		TopLeftCell: CellName(o.HeaderColumns, o.HeaderRows+1),
		ActivePane:  pane,
	})
}

// Row writes the next row. Without cells it writes an empty row.
func (s *Writer) Row(cells ...OutCell) error {
	s.row++
	s.width = max(s.width, len(cells))
	s.values = s.values[:0]
	for i, c := range cells {
		value, err := s.book.value(c, slices.Contains(s.options.TextColumns, i))
		if err != nil {
			return fmt.Errorf("write cell %s of sheet %q: %w", CellName(i, s.row), s.name, err)
		}
		s.values = append(s.values, value)
		if c.Comment != "" {
			s.comment(CellName(i, s.row), c.Comment)
		}
	}
	if err := s.stream.SetRow(CellName(0, s.row), s.values); err != nil {
		return fmt.Errorf("write row %d of sheet %q: %w", s.row, s.name, err)
	}
	return nil
}

// Rows returns the number of rows written so far.
func (s *Writer) Rows() int { return s.row }

func (s *Writer) comment(cell, text string) {
	if len(s.comments) == maxComments {
		return
	}
	lines := 1 + len(text)/38 + strings.Count(text, "\n")
	s.comments = append(s.comments, excelize.Comment{
		Cell:      cell,
		Author:    " ",
		Width:     260,
		Height:    uint(min(24+18*lines, 400)),
		Paragraph: []excelize.RichTextRun{{Text: text, Font: &excelize.Font{Size: 9}}},
	})
}

// value returns a cell as excelize expects it. In a text column even a number keeps the text
// format, for later edits.
func (w *Workbook) value(c OutCell, textColumn bool) (any, error) {
	value, format := content(c)
	if textColumn && format == asGeneral {
		format = asText
	}
	l := look{style: c.Style, format: format}
	if format != asText {
		l.custom = c.Format
	}
	if l == (look{}) {
		return value, nil
	}
	style, err := w.style(l)
	if err != nil {
		return nil, err
	}
	return excelize.Cell{StyleID: style, Value: value}, nil
}

// content returns the value of a cell and its format. A number or date that a workbook cannot store
// exactly becomes text.
func content(c OutCell) (any, numberLook) {
	switch c.Kind {
	case Blank, Formula:
		return nil, asGeneral
	case Bool:
		return c.Text == "TRUE", asGeneral
	case Number:
		value, err := strconv.ParseFloat(c.Text, 64)
		switch {
		case err != nil:
		case c.Money:
			return value, asMoney
		case strconv.FormatFloat(value, 'f', -1, 64) == c.Text:
			return value, asGeneral
		}
	case Date:
		if serial, format, ok := serialOf(c.Text); ok {
			return serial, format
		}
	}
	return cut(c.Text, maxCellChars), asText
}

// serialOf returns the serial number of an ISO date. ok is false before March 1900, because the
// calendar of workbooks is wrong before then.
func serialOf(iso string) (serial float64, format numberLook, ok bool) {
	layout, format := time.DateOnly, asDate
	if len(iso) > len(time.DateOnly) {
		layout, format = "2006-01-02T15:04:05", asTime
	}
	t, err := time.Parse(layout, iso)
	if err != nil {
		return 0, 0, false
	}
	since := t.Sub(epoch).Seconds() / 86400
	return since, format, since >= 61
}

// cut shortens text to the given number of UTF-16 units, and marks the cut with an ellipsis.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	units := utf16.Encode([]rune(text))
	if len(units) <= limit {
		return text
	}
	return strings.TrimSuffix(string(utf16.Decode(units[:limit-1])), "\uFFFD") + "…"
}

func quoteSheet(name string) string { return "'" + strings.ReplaceAll(name, "'", "''") + "'" }

// Save completes the workbook and renames it to its target. It leaves no temporary file, even if it
// fails.
func (w *Workbook) Save() error {
	err := w.finish()
	if err == nil {
		err = w.write()
	}
	if err != nil {
		w.Abort()
		return fmt.Errorf("save %s: %w", w.file.target, err)
	}
	w.book.Close()
	if err := w.file.commit(); err != nil {
		return fmt.Errorf("save %s: %w", w.file.target, err)
	}
	return nil
}

// finish adds the parts that must follow all rows, and ends the streams. After that no method of
// excelize may read a sheet.
func (w *Workbook) finish() error {
	if len(w.sheets) == 0 {
		return fmt.Errorf("it has no sheets")
	}
	for _, s := range w.sheets {
		if err := s.finish(); err != nil {
			return fmt.Errorf("sheet %q: %w", s.name, err)
		}
	}
	if err := w.writeLists(); err != nil {
		return err
	}
	if w.from == nil {
		active := slices.IndexFunc(w.sheets, func(s *Writer) bool { return !s.options.Hidden })
		if active < 0 {
			return fmt.Errorf("all its sheets are hidden")
		}
		w.book.SetActiveSheet(active)
	}
	for _, s := range w.sheets {
		if s.options.Active {
			i, err := w.book.GetSheetIndex(s.name)
			if err != nil {
				return err
			}
			w.book.SetActiveSheet(i)
		}
		if s.options.Hidden {
			// Make the sheet very hidden, so that people cannot show it by mistake and readers need
			// not mention it.
			if err := w.book.SetSheetVisible(s.name, false, true); err != nil {
				return err
			}
		}
	}
	for _, s := range w.sheets {
		if err := s.stream.Flush(); err != nil {
			return err
		}
	}
	return nil
}

func (s *Writer) finish() error {
	book := s.book.book
	for _, c := range s.comments {
		if err := book.AddComment(s.name, c); err != nil {
			return err
		}
	}
	if header := max(s.options.HeaderRows, 1); s.options.AutoFilter && s.row >= header && s.width > 0 {
		all := CellName(0, header) + ":" + CellName(s.width-1, s.row)
		if err := book.AutoFilter(s.name, all, nil); err != nil {
			return err
		}
	}
	for _, c := range s.options.Choices {
		if err := book.AddDataValidation(s.name, s.book.validation(c)); err != nil {
			return err
		}
	}
	return nil
}

// validation returns the rule of a drop-down. Values that are too long for the rule, or that
// contain the comma that separates them, go to a hidden sheet.
func (w *Workbook) validation(c Choice) *excelize.DataValidation {
	rule := excelize.NewDataValidation(true)
	rule.Sqref = CellName(c.Column, c.FirstRow) + ":" + CellName(c.Column, c.LastRow)
	joined := strings.Join(c.Values, "")
	if strings.Contains(joined, ",") || len(joined)+len(c.Values) > maxListChars || rule.SetDropList(c.Values) != nil {
		w.lists = append(w.lists, c.Values)
		column := ColumnName(len(w.lists) - 1)
		rule.SetSqrefDropList(fmt.Sprintf("%s!$%s$1:$%[2]s$%[3]d", quoteSheet(listSheet), column, len(c.Values)))
	}
	rule.SetError(excelize.DataValidationErrorStyleWarning, "Not in the list",
		"This value is not in the list. Keep it?")
	if c.Prompt != "" {
		rule.SetInput("", cut(c.Prompt, maxPromptChars))
	}
	return rule
}

// listSheet is the sheet with the values of long drop-downs.
const listSheet = "Lists"

func (w *Workbook) writeLists() error {
	if len(w.lists) == 0 {
		return nil
	}
	s, err := w.Sheet(listSheet, SheetOptions{Hidden: true})
	if err != nil {
		return err
	}
	longest := 0
	for _, list := range w.lists {
		longest = max(longest, len(list))
	}
	for i := range longest {
		cells := make([]OutCell, len(w.lists))
		for column, list := range w.lists {
			if i < len(list) {
				cells[column] = Str(list[i])
			}
		}
		if err := s.Row(cells...); err != nil {
			return err
		}
	}
	return nil
}

// write makes excelize write the parts directly to the file, instead of building the archive in
// memory first.
func (w *Workbook) write() error {
	archive := zip.NewWriter(w.file)
	w.book.SetZipWriter(func(io.Writer) excelize.ZipWriter { return archive })
	if err := w.book.Write(io.Discard); err != nil {
		return err
	}
	return seal(w.file.File)
}

// Abort removes the temporary file. After Save it does nothing.
func (w *Workbook) Abort() {
	w.book.Close()
	w.file.abort()
}
