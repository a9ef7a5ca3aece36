// Package sheet reads the cells of XLSX and CSV files with their coordinates. It also writes XLSX
// and CSV, including into a copy of a workbook that it has read. It does not interpret the cells.
//
// Reading is streamed: a million rows need no more memory than a hundred, apart from the shared
// strings of an XLSX, which are kept in one compact table. The content of a file decides its
// format, never its name. Content that cannot be read exactly is refused with a [FormatError] that
// has the reason and a remedy. Nothing is guessed: in a CSV every cell is text.
package sheet

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
)

// Kind is the kind of a cell's value.
type Kind uint8

// The kinds of cells. A CSV has only Blank and Text.
const (
	Blank Kind = iota
	// Text is also a number or date that was typed as text.
	Text
	// Number has a plain decimal as its Text, or the digits as the number format places them
	// ("02134").
	Number
	// Date has ISO 8601 as its Text: "2026-03-01", "2026-03-01T14:30:00", or "14:30:00" for a time
	// without a date.
	Date
	// Bool has "TRUE" or "FALSE" as its Text.
	Bool
	// Error has the error as shown as its Text: "#N/A", "#REF!".
	Error
	// Formula is a formula without a stored result. Its Text is empty.
	Formula
)

var kindNames = [...]string{"blank", "text", "number", "date", "bool", "error", "formula"}

func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "unknown"
}

// Cell is the visible content of one cell of a spreadsheet.
//
// Text has normalized white space: it is trimmed, non-breaking and other Unicode spaces become a
// space, zero-width and control characters are removed, and a line break with the blanks around it
// becomes one space. Bytes that are not valid characters are U+FFFD. A Number's Text is the
// shortest plain decimal ("2026", never "2.026E3" or "2026.0") of the at most 15 digits a
// spreadsheet shows. If the number format only places digits (00000, 000-00-0000, (000) 000-0000),
// it is the formatted text.
type Cell struct {
	Text string
	Kind Kind
	// Year reports whether the format of a Date shows only the year.
	Year   bool
	Strike Strike
}

// Strike is the extent of the strikethrough in a cell of an XLSX.
type Strike uint8

// The extents of a strikethrough. The Text of a cell that is struck through in part is the
// remaining text, which is still valid.
const (
	NotStruck Strike = iota
	PartStruck
	AllStruck
)

// Row is a row with at least one cell that is not blank. Cells has no trailing blanks. Its index is
// the column.
type Row struct {
	// Number is the row number that a spreadsheet program shows, counted from 1. Blank rows count,
	// quoted line breaks do not.
	Number int
	// Line is the physical line of a CSV on which the record starts, counted from 1. Rows of an
	// XLSX have 0.
	Line int
	// Hidden reports whether the row is hidden by hand or by a filter. Set only for XLSX.
	Hidden bool
	// Struck reports whether most cells of the row are struck through. Set only for XLSX.
	Struck bool
	Cells  []Cell
}

// block is a run of rows that are read at once.
type block struct {
	rows []Row
	// size is the number of cells of the block before.
	size int
	// cells are the cells of all rows, concatenated.
	cells []Cell
	// ends are the end indexes of the rows in cells.
	ends []int
	// scratch is text of cells that is not yet a string.
	scratch []byte
	patches []patch
	// text is the number of bytes of text in the cells, including shared text.
	text int
}

// patch is the part of the scratch that becomes the text of a cell.
type patch struct{ cell, start, end int }

// A block is full when it reaches one of these limits. Rows with 16,384 columns exist.
const (
	blockRows  = 512
	blockCells = 1 << 14
	// blockText is in bytes.
	blockText = 1 << 20
)

func (b *block) full() bool {
	return len(b.rows) >= blockRows || len(b.cells) >= blockCells || b.text >= blockText
}

// endRow turns the cells added since the last row into a row, unless all of them are blank.
func (b *block) endRow(row Row) (blank bool) {
	start := 0
	if len(b.ends) > 0 {
		start = b.ends[len(b.ends)-1]
	}
	end := len(b.cells)
	for end > start && b.cells[end-1].Kind == Blank {
		end--
	}
	b.cells = b.cells[:end]
	if end == start {
		return true
	}
	b.rows = append(b.rows, row)
	b.ends = append(b.ends, end)
	return false
}

// seal assigns the cells, which no longer move, to their rows and turns the scratch into strings.
func (b *block) seal() {
	if len(b.patches) > 0 {
		text := string(b.scratch)
		for _, p := range b.patches {
			b.cells[p.cell].Text = text[p.start:p.end]
		}
	}
	start := 0
	for i, end := range b.ends {
		b.rows[i].Cells = b.cells[start:end:end]
		start = end
	}
}

// Format is a file format that can be read.
type Format string

// The formats that can be read.
const (
	// CSV includes related formats with any delimiter.
	CSV  Format = "csv"
	XLSX Format = "xlsx"
)

// Info describes a sheet.
type Info struct {
	// Name is empty for a CSV.
	Name    string
	Visible bool
}

// File is an open spreadsheet. It is not for concurrent use.
type File struct {
	// name is the file name without folders, for errors.
	name  string
	bytes io.ReaderAt
	size  int64
	// closer is nil if there is nothing to close.
	closer io.Closer
	format Format
	body   body

	notes []string
	// spare is the memory of the last block that was read.
	spare block
	// names are the sheet names in the file, by the names that Rename gave them.
	names map[string]string
}

// body is the format-specific part of a File.
type body interface {
	sheets() []Info
	rows(sheet string) (source, error)
}

// source fills blocks with the rows of one sheet.
type source interface {
	fill(*block) error
	close() error
}

// Open opens a file and detects its format. If the file is at fault, the error is a *[FormatError].
func Open(path string, limits Limits) (*File, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	f, err := open(file, limits)
	if err != nil {
		file.Close()
		return nil, err
	}
	f.closer = file
	return f, nil
}

func open(file *os.File, limits Limits) (*File, error) {
	at := FormatError{File: filepath.Base(file.Name())}
	stat, err := file.Stat()
	if err != nil {
		return nil, locate(err, at)
	}
	if !stat.Mode().IsRegular() {
		at.Reason, at.Remedy = "this is a folder or a device, not a file", "Name the spreadsheet itself"
		return nil, &at
	}
	return OpenReader(at.File, file, stat.Size(), limits)
}

// OpenReader is Open for content that is not a file, such as an upload. The content is read in
// place, never copied to disk, and must stay readable until the File is closed. Errors show only
// the last element of the name.
func OpenReader(name string, r io.ReaderAt, size int64, limits Limits) (*File, error) {
	f := &File{name: filepath.Base(name)}
	if err := f.openAt(r, size, limits.withDefaults(size)); err != nil {
		return nil, locate(err, FormatError{File: f.name})
	}
	return f, nil
}

func (f *File) openAt(file io.ReaderAt, size int64, limits Limits) error {
	f.bytes, f.size = file, size
	if size > limits.FileBytes {
		return refused("the file is larger than "+byteCount(limits.FileBytes), "Split it into several files")
	}
	format, err := detect(file, size)
	if err != nil {
		return err
	}
	f.format = format
	if format == XLSX {
		f.body, err = openPackage(f, file, size, limits)
	} else {
		f.body, err = openCSV(f, file, size, limits)
	}
	return err
}

// Rename renames the file and its sheets with the function as. Sheet names stay unique. Call it
// before any other method.
func (f *File) Rename(as func(string) string) {
	f.name = as(f.name)
	taken := make(map[string]bool)
	for _, s := range f.body.sheets() {
		taken[s.Name] = true
	}
	f.names = make(map[string]string)
	for _, s := range f.body.sheets() {
		name := as(s.Name)
		if name == s.Name {
			continue
		}
		for n := 2; taken[name]; n++ {
			name = fmt.Sprintf("%s (%d)", as(s.Name), n)
		}
		taken[name] = true
		f.names[name] = s.Name
	}
}

// Name returns the name of the file without folders.
func (f *File) Name() string { return f.name }

// Content returns a reader of the bytes of the file.
func (f *File) Content() io.Reader { return io.NewSectionReader(f.bytes, 0, f.size) }

// Format returns the format of the file.
func (f *File) Format() Format { return f.format }

// Delimiter returns the field delimiter of a CSV. It returns 0 if the file is a workbook.
func (f *File) Delimiter() rune {
	if body, ok := f.body.(*csvBody); ok {
		return body.comma
	}
	return 0
}

// Sheets lists the sheets with cells, in the order of their tabs. A CSV has one with an empty name.
func (f *File) Sheets() []Info {
	all := f.body.sheets()
	if len(f.names) == 0 {
		return all
	}
	all = slices.Clone(all)
	for shown, own := range f.names {
		for i := range all {
			if all[i].Name == own {
				all[i].Name = shown
			}
		}
	}
	return all
}

// Notes returns notes on the file for its owner: an encoding other than UTF-8, a delimiter other
// than the comma, hidden sheets. Some are known only after all rows are read.
func (f *File) Notes() []string {
	return slices.Clone(f.notes)
}

// note adds a note once.
func (f *File) note(text string) {
	if !slices.Contains(f.notes, text) {
		f.notes = append(f.notes, text)
	}
}

// ownName returns the sheet name in the file.
func (f *File) ownName(sheet string) string {
	if own, renamed := f.names[sheet]; renamed {
		return own
	}
	return sheet
}

// Close closes the file, whose rows cannot be read after that.
func (f *File) Close() error {
	if f.closer == nil {
		return nil
	}
	return f.closer.Close()
}

// ErrSkipRest is returned by the function of EachRow if it needs no further rows.
var ErrSkipRest = errors.New("no further rows are needed")

// EachRow calls do with each row of the sheet with the given name, until do returns ErrSkipRest. do
// may keep the row. The Texts of a few hundred rows share memory, so a program that keeps a few of
// many should clone them. After any other error the sheet is incomplete, and the rows before the
// error are unreliable.
func (f *File) EachRow(sheet string, do func(*Row) error) error {
	src, err := f.body.rows(f.ownName(sheet))
	if err != nil {
		return locate(err, FormatError{File: f.name, Sheet: sheet})
	}
	return f.eachRow(src, sheet, do)
}

// eachRow calls do with each row of a source, and closes the source.
func (f *File) eachRow(src source, sheet string, do func(*Row) error) error {
	defer src.close()
	b := f.spare
	f.spare = block{}
	defer func() { f.spare = block{size: b.size, ends: b.ends, scratch: b.scratch, patches: b.patches} }()
	for {
		b = block{
			size:    b.size,
			cells:   make([]Cell, 0, b.size),
			ends:    b.ends[:0],
			scratch: b.scratch[:0],
			patches: b.patches[:0],
		}
		if err := src.fill(&b); err == io.EOF {
			return nil
		} else if err != nil {
			return locate(err, FormatError{File: f.name, Sheet: sheet})
		}
		b.seal()
		b.size = len(b.cells)
		for i := range b.rows {
			if err := do(&b.rows[i]); err == ErrSkipRest {
				return nil
			} else if err != nil {
				return err
			}
		}
	}
}
