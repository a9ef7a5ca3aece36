// Package sheet reads the cells of XLSX and CSV files together with their
// coordinates, and writes XLSX and CSV, also into a copy of a workbook that it has
// read. It knows nothing about the meaning of the cells.
//
// Reading is streamed: a million rows need no more memory than a hundred, apart
// from the shared strings of an XLSX, which are kept in one compact table. The
// content of a file decides its format, never its name. Content that cannot be
// read exactly is refused with a [FormatError] that says why and what to do.
// Nothing is guessed: in a CSV every cell is text.
package sheet

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
)

// Kind is the kind of value that a cell holds.
type Kind uint8

// The kinds of cells. In a CSV there are only Blank and Text.
const (
	Blank   Kind = iota
	Text         // also a number or date that was typed as text
	Number       // Text is a plain decimal, or the digits as the number format places them ("02134")
	Date         // Text is ISO 8601: "2026-03-01", "2026-03-01T14:30:00", or "14:30:00" where there is a time alone
	Bool         // Text is "TRUE" or "FALSE"
	Error        // Text is the error as shown: "#N/A", "#REF!"
	Formula      // a formula whose result the file does not hold; Text is empty
)

var kindNames = [...]string{"blank", "text", "number", "date", "bool", "error", "formula"}

func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "unknown"
}

// Cell is what a person sees in one cell of a spreadsheet.
//
// Text has its white space made plain: trimmed, non-breaking and other Unicode
// spaces turned into a space, zero-width and control characters removed, and a
// line break with the blanks around it turned into one space. Bytes that are no
// characters are U+FFFD. A Number's Text is the shortest plain decimal ("2026",
// never "2.026E3" or "2026.0") of the at most 15 digits a spreadsheet shows,
// unless the number format does no more than place digits (00000, 000-00-0000,
// (000) 000-0000); then it is the formatted text.
type Cell struct {
	Text   string
	Kind   Kind
	Year   bool // of a Date: its format shows the year alone
	Strike Strike
}

// Strike is how much of a cell of an XLSX is struck through.
type Strike uint8

// The extents of a strikethrough. Of a cell that is struck through in part, Text is
// the rest: the text that is still meant.
const (
	NotStruck Strike = iota
	PartStruck
	AllStruck
)

// Row is one row that holds at least one cell that is not blank. Cells has no
// trailing blanks; its index is the column.
type Row struct {
	// the row number a spreadsheet program shows for it, from 1; blank rows
	// count, quoted line breaks do not
	Number int
	Line   int  // CSV: the physical line, from 1, on which the record starts; 0 for XLSX
	Hidden bool // hidden by hand or by a filter; XLSX only
	Struck bool // most of its cells are struck through; XLSX only
	Cells  []Cell
}

// Block is a run of rows. [Reader.Read] overwrites the Rows of a Block and
// their Cells, while the Text of a cell stays valid. The Texts of one block
// share memory, so a program that keeps a few of many should clone them.
type Block struct {
	Rows []Row

	cells   []Cell // of all rows, one after the other
	ends    []int  // where each row ends in cells
	scratch []byte // text of cells that is not yet a string
	patches []patch
	text    int // bytes of text that its cells show, wherever they lie
}

// patch is the part of the scratch that becomes the text of a cell.
type patch struct{ cell, start, end int }

// A block is full when it reaches any of these; rows of 16,384 columns exist.
const (
	blockRows  = 512
	blockCells = 1 << 14
	blockText  = 1 << 20 // bytes
)

func (b *Block) reset() {
	b.Rows, b.cells, b.ends = b.Rows[:0], b.cells[:0], b.ends[:0]
	b.scratch, b.patches, b.text = b.scratch[:0], b.patches[:0], 0
}

func (b *Block) full() bool {
	return len(b.Rows) >= blockRows || len(b.cells) >= blockCells || b.text >= blockText
}

// endRow turns the cells added since the last row into a row, unless all of them are blank.
func (b *Block) endRow(row Row) (blank bool) {
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
	b.Rows = append(b.Rows, row)
	b.ends = append(b.ends, end)
	return false
}

// seal assigns the cells, which no longer move, to their rows and turns the
// scratch into strings.
func (b *Block) seal() {
	if len(b.patches) > 0 {
		text := string(b.scratch)
		for _, p := range b.patches {
			b.cells[p.cell].Text = text[p.start:p.end]
		}
	}
	start := 0
	for i, end := range b.ends {
		b.Rows[i].Cells = b.cells[start:end:end]
		start = end
	}
}

// Format is a file format that can be read.
type Format string

// The formats that can be read.
const (
	CSV  Format = "csv" // and its kin, whatever the delimiter
	XLSX Format = "xlsx"
)

// Info describes a sheet.
type Info struct {
	Name    string // "" for a CSV
	Visible bool
}

// File is an open spreadsheet. Several of its sheets may be read at once.
type File struct {
	name   string // without folders, as errors show it
	bytes  io.ReaderAt
	size   int64
	closer io.Closer // nil where there is nothing to close
	format Format
	body   body

	mu    sync.Mutex
	notes []string
	names map[string]string // of sheets that are known under another name, by that
}

// body is what differs between the formats.
type body interface {
	sheets() []Info
	rows(sheet string) (source, error)
}

// source fills blocks with the rows of one sheet.
type source interface {
	fill(*Block) error
	close() error
}

// Open opens a file and detects its format. If the file is at fault, the error
// is a *[FormatError].
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

// OpenReader is Open for content that is not a file, such as an upload. The
// content is read in place, never copied to disk, and must stay readable until
// the File is closed. Only the last element of the name is used, in errors.
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

// Rename renames the file and its sheets by the function as. No two sheets get
// the same name. It is called before any other method.
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

// Name is the name of the file without folders.
func (f *File) Name() string { return f.name }

// Content reads the bytes of the file.
func (f *File) Content() io.Reader { return io.NewSectionReader(f.bytes, 0, f.size) }

// Format returns the format of the file.
func (f *File) Format() Format { return f.format }

// Delimiter returns what stands between the fields of a CSV; 0 for a workbook.
func (f *File) Delimiter() rune {
	if body, ok := f.body.(*csvBody); ok {
		return body.comma
	}
	return 0
}

// Sheets lists the sheets with cells, in the order of their tabs. A CSV has one
// with an empty name.
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

// Notes returns notes on the file for its owner: an encoding other than UTF-8,
// a delimiter other than the comma, hidden sheets. Some are known only when all
// rows were read.
func (f *File) Notes() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.notes)
}

// note adds a note once.
func (f *File) note(text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !slices.Contains(f.notes, text) {
		f.notes = append(f.notes, text)
	}
}

// ownName returns the name that a sheet has in the file.
func (f *File) ownName(sheet string) string {
	if own, renamed := f.names[sheet]; renamed {
		return own
	}
	return sheet
}

// Rows opens the sheet with the given name for reading.
func (f *File) Rows(sheet string) (*Reader, error) {
	src, err := f.body.rows(f.ownName(sheet))
	if err != nil {
		return nil, locate(err, FormatError{File: f.name, Sheet: sheet})
	}
	return &Reader{file: f, sheet: sheet, source: src}, nil
}

// Close closes the file. Its readers cannot be used after that.
func (f *File) Close() error {
	if f.closer == nil {
		return nil
	}
	return f.closer.Close()
}

// Reader reads the rows of one sheet. It is not for concurrent use.
type Reader struct {
	file   *File
	sheet  string
	source source
	err    error
}

// Read fills the block with the next few hundred rows. At the end it returns
// io.EOF with an empty block. Any other error means that the sheet is not
// complete, and that the rows read before are not reliable.
func (r *Reader) Read(b *Block) error {
	b.reset()
	if r.err != nil {
		return r.err
	}
	if err := r.source.fill(b); err != nil {
		b.reset()
		r.err = err
		if err != io.EOF {
			r.err = locate(err, FormatError{File: r.file.name, Sheet: r.sheet})
		}
		return r.err
	}
	b.seal()
	return nil
}

// Close closes the reader.
func (r *Reader) Close() error { return r.source.close() }

// RowReader reads the rows of a sheet like a [Reader].
type RowReader interface {
	Read(b *Block) error
	Close() error
}

// EachRow calls do with each row of a reader, and closes it. do may keep the row.
func EachRow(r RowReader, do func(*Row) error) error {
	defer r.Close()
	for {
		var block Block
		if err := r.Read(&block); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		for i := range block.Rows {
			if err := do(&block.Rows[i]); err != nil {
				return err
			}
		}
	}
}

// EachRow calls do with each row of the sheet with the given name. do may keep the row.
func (f *File) EachRow(sheet string, do func(*Row) error) error {
	r, err := f.Rows(sheet)
	if err != nil {
		return err
	}
	return EachRow(r, do)
}
