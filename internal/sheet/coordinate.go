package sheet

import "strconv"

// ColumnName returns the letters of a column, counted from 0: 0 is "A", 26 is
// "AA".
func ColumnName(i int) string {
	if i < 0 {
		return ""
	}
	var letters [8]byte
	at := len(letters)
	for i++; i > 0 && at > 0; i = (i - 1) / 26 {
		at--
		letters[at] = byte('A' + (i-1)%26)
	}
	return string(letters[at:])
}

// ColumnIndex returns the column with the given letters, in either case: "A" is
// 0, "aa" is 26. ok is false for columns that no sheet has.
func ColumnIndex(letters string) (i int, ok bool) {
	if len(letters) == 0 || len(letters) > 3 {
		return 0, false
	}
	for _, c := range []byte(letters) {
		if c &^= 0x20; c < 'A' || c > 'Z' {
			return 0, false
		}
		i = i*26 + int(c-'A') + 1
	}
	return i - 1, true
}

// CellName returns the address of a cell as spreadsheet programs show it:
// CellName(2, 5) is "C5". The column is counted from 0, the row from 1.
func CellName(col, row int) string { return ColumnName(col) + strconv.Itoa(row) }

// parseCellName reads an address such as "C5" or "$C$5". Column and row are
// returned as CellName takes them. A row that is missing or zero, or anything
// else out of order, is not ok. Values are bounded, but not by the size of a
// sheet.
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

// parseCount reads decimal digits, at most ten of them.
func parseCount(digits []byte) (n int, ok bool) {
	if len(digits) == 0 || len(digits) > 10 {
		return 0, false
	}
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int(c-'0')
	}
	return n, true
}
