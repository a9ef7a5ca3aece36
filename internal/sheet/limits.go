package sheet

import "fmt"

// Limits bound the cost of reading a file. A zero field means its default. Most defaults grow with
// the size of the file, because a workbook is a compressed archive and no honest workbook unpacks
// to more than about thirty times its size. A small file is cheap to read, and a large one is still
// accepted.
type Limits struct {
	// FileBytes is the size of the file on disk. The default is 1 GiB.
	FileBytes int64
	// TotalBytes is the unpacked size of all parts of an XLSX. The default is 32 MiB plus 32 times
	// the file, at most 2 GiB.
	TotalBytes int64
	// PartBytes is the unpacked size of one part of an XLSX. The default is computed like
	// TotalBytes, at most 1 GiB.
	PartBytes int64
	// StringBytes is the size of the shared strings of an XLSX, which stay in memory. The default
	// is 8 MiB plus 16 times the file, at most 128 MiB.
	StringBytes int64
	// Strings is the number of shared strings. The default is 64 Ki plus one for each byte of the
	// file, at most 16 Mi.
	Strings int
	// TextBytes is the text of all cells of a sheet. A shared text counts for each cell. The
	// default is 4 MiB plus 6 times the file.
	TextBytes int64
	// Rows is the highest row number. The default is 1,048,576, as in Excel.
	Rows int
	// FilledRows is the number of rows that are not blank. The default is 60,000 plus one for each
	// 40 bytes of the file, or one for each 12 bytes.
	FilledRows int
	// Columns is the number of columns. The default is 16,384, as in Excel.
	Columns int
	// Sheets is the number of sheets in a workbook, each of which is inspected. The default is 500.
	Sheets int
	// Cells is the number of cells in a sheet, including blank ones between others. The default is
	// 512 Ki plus 2 for each byte, at most 128 Mi.
	Cells int64
	// FilledCells is the number of cells in a sheet that are not blank. The default is 256 Ki plus
	// one for each 10 bytes of the file, or 2 for each 5 bytes.
	FilledCells int64
	// CellBytes is the text of one cell. The default is 131,068, the longest encoding of 32,767
	// characters.
	CellBytes int
}

// Bounds that no honest file of any size approaches.
const (
	// smallPartBytes limits a part that is read at once: the relations, the list of sheets, the
	// styles.
	smallPartBytes = 4 << 20
	// directoryBytes limits the directory of the archive, which has 46 bytes and a name for each
	// part.
	directoryBytes = 4 << 20
	// preludeBytes limits the content before the rows of a sheet. 16,384 columns take half of it.
	preludeBytes = 4 << 20
	// rowBytes limits the text of one row, in a workbook or a CSV.
	rowBytes = 1 << 20
	// smallTagBytes limits a tag of a small part.
	smallTagBytes = scannerBytes
	// maxFormats limits the number formats that the cells of a sheet use. Excel allows 250.
	maxFormats = 2000
	// maxNameBytes limits the name of a sheet, which has at most 31 characters.
	maxNameBytes = 1 << 10
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

// tooLarge returns the error for a file that exceeds a limit.
func tooLarge(what string, limit string, remedy string) *FormatError {
	return refused(fmt.Sprintf("the file is too large: %s more than %s", what, limit), remedy)
}

// longText returns the error for a text that is too long for a cell.
func longText(limit int) *FormatError {
	return refused("a text is longer than the "+byteCount(int64(limit))+" that a cell can hold", "Shorten it")
}

// remedyTrim is the remedy for a file that is far larger inside than its filings need.
const remedyTrim = "Copy the rows with filings into a new workbook, as values, and use that"

// tally counts the content of a sheet's rows and enforces the limits. Every reader of rows has one.
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

// row counts a row with the given number of cells, including the blank ones.
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
