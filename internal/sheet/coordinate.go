package sheet

import (
	"strconv"

	"github.com/xuri/excelize/v2"
)

// ColumnName returns the letters of a column, counted from 0: 0 is "A", 26 is "AA". It is empty for
// a column beyond the last one of a sheet.
func ColumnName(i int) string {
	name, _ := excelize.ColumnNumberToName(i + 1)
	return name
}

// ColumnIndex returns the column with the given letters, in either case: "A" is 0, "aa" is 26. ok
// is false for a column beyond the last one of a sheet.
func ColumnIndex(letters string) (i int, ok bool) {
	n, err := excelize.ColumnNameToNumber(letters)
	return n - 1, err == nil
}

// CellName returns the address of a cell as spreadsheet programs show it:
// CellName(2, 5) is "C5". The column is counted from 0, the row from 1.
func CellName(col, row int) string { return ColumnName(col) + strconv.Itoa(row) }

// parseCellName parses an address such as "C5" or "$C$5" and returns the column and row that
// CellName takes. ok is false if the address is malformed or its row is missing or zero. Values are
// bounded, but not by the size of a sheet.
func parseCellName(name []byte) (col, row int, ok bool) {
	i := 0
	if i < len(name) && name[i] == '$' {
		i++
	}
	letters := i
	for ; i < len(name) && i-letters < 4; i++ {
		c := name[i] &^ 0x20
		if c < 'A' || c > 'Z' {
			break
		}
		col = col*26 + int(c-'A') + 1
	}
	if col == 0 {
		return 0, 0, false
	}
	if i < len(name) && name[i] == '$' {
		i++
	}
	row, ok = parseCount(name[i:])
	return col - 1, row, ok && row > 0
}

// parseCount parses decimal digits.
func parseCount(digits []byte) (n int, ok bool) {
	parsed, err := strconv.ParseUint(string(digits), 10, 32)
	return int(parsed), err == nil
}
