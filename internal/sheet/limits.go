package sheet

import "fmt"

// Limits bound what a file may cost. A zero field takes its default. Most
// defaults grow with the size of the file: a workbook is a compressed archive,
// and no honest workbook unpacks to more than about thirty times its size. A
// small file may therefore cost little, and a large one is still read.
type Limits struct {
	FileBytes  int64 // the file as it lies on the disk; 1 GiB
	TotalBytes int64 // all parts of an XLSX, unpacked; 32 MiB and 32 times the file, at most 2 GiB
	PartBytes  int64 // one part of an XLSX, unpacked; as TotalBytes, at most 1 GiB
	// the shared strings of an XLSX, kept in memory; 8 MiB and 16 times the
	// file, at most 128 MiB
	StringBytes int64
	Strings     int // how many shared strings; 64 Ki and one for each byte of the file, at most 16 Mi
	// the text of all cells of a sheet, each counted where it stands; 4 MiB and
	// 6 times the file
	TextBytes int64
	Rows      int // the highest row number; 1,048,576, as in Excel
	// rows that are not blank; 60,000 and one for each 40 bytes of the file, or
	// one for each 12
	FilledRows int
	Columns    int // 16,384, as in Excel
	Sheets     int // of a workbook, each of which is looked at; 500
	// of a sheet, blank ones between others included; 512 Ki and 2 for each
	// byte, at most 128 Mi
	Cells       int64
	FilledCells int64 // of a sheet; 256 Ki and one for each 10 bytes of the file, or 2 for each 5
	CellBytes   int   // the text of one cell; 131,068, which is what 32,767 characters can take
}

// Bounds that no honest file comes near, however large it is.
const (
	smallPartBytes = 4 << 20      // a part that is read whole: the relations, the list of sheets, the styles
	directoryBytes = 4 << 20      // the directory of the archive, which has 46 bytes and a name for each part
	preludeBytes   = 4 << 20      // what stands before the rows of a sheet: 16,384 columns take half of it
	rowBytes       = 1 << 20      // the text of one row, of a workbook or a CSV
	smallTagBytes  = scannerBytes // a tag of a small part
	maxAttributes  = 256          // of one tag of a small part; spreadsheet programs write up to some thirty
	maxFormats     = 2000         // number formats that the cells of a sheet use; Excel takes 250
	maxNameBytes   = 1 << 10      // the name of a sheet, which has at most 31 characters
)

func (l Limits) withDefaults(size int64) Limits {
	setDefault(&l.FileBytes, 1<<30)
	size = min(size, l.FileBytes)
	setDefault(&l.TotalBytes, min(32<<20+32*size, 2<<30))
	setDefault(&l.PartBytes, min(l.TotalBytes, 1<<30))
	setDefault(&l.StringBytes, min(8<<20+16*size, 128<<20))
	setDefault(&l.Strings, int(min(64<<10+size, 1<<24)))
	setDefault(&l.TextBytes, 4<<20+6*size)
	setDefault(&l.Rows, 1<<20)
	setDefault(&l.FilledRows, int(max(60_000+size/40, size/12)))
	setDefault(&l.Columns, 1<<14)
	setDefault(&l.Sheets, 500)
	setDefault(&l.Cells, min(512<<10+2*size, 1<<27))
	setDefault(&l.FilledCells, max(256<<10+size/10, size*2/5))
	setDefault(&l.CellBytes, 4*32767)
	return l
}

func setDefault[T int | int64](field *T, value T) {
	if *field <= 0 {
		*field = value
	}
}

// tooLarge returns the error for a file in which something is too large.
func tooLarge(what string, limit string, remedy string) *FormatError {
	return refused(fmt.Sprintf("the file is too large: %s more than %s", what, limit), remedy)
}

// longText returns the error for a text that no cell can hold.
func longText(limit int) *FormatError {
	return refused("a text is longer than the "+byteCount(int64(limit))+" that a cell can hold", "Shorten it")
}

// remedyTrim is the remedy for a file that is far larger inside than its
// filings need.
const remedyTrim = "Copy the rows with filings into a new workbook, as values, and use that"

// tally counts what the rows of a sheet hold, and refuses what exceeds the
// limits. Every reader of rows has one.
type tally struct {
	limits              Limits
	cells, filled, text int64
	rows                int
}

// cell counts a cell that is not blank.
func (t *tally) cell(text int) error {
	t.filled++
	if t.filled > t.limits.FilledCells {
		return tooLarge("it has", fmt.Sprintf("%d cells for its size", t.limits.FilledCells), remedyTrim)
	}
	if t.text += int64(text); t.text > t.limits.TextBytes {
		return tooLarge("the texts of its cells take", byteCount(t.limits.TextBytes), remedyTrim)
	}
	return nil
}

// row counts a row of so many cells, the blank ones included.
func (t *tally) row(cells int, blank bool) error {
	if t.cells += int64(cells); t.cells > t.limits.Cells {
		return tooLarge("it has", fmt.Sprintf("%d cells, blank ones included", t.limits.Cells), remedyTrim)
	}
	if blank {
		return nil
	}
	if t.rows++; t.rows > t.limits.FilledRows {
		return tooLarge("it has", fmt.Sprintf("%d rows for its size", t.limits.FilledRows), remedyTrim)
	}
	return nil
}
