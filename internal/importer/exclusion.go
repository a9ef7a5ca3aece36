package importer

import (
	"fmt"
	"strconv"
	"strings"
)

// RowAt is a row of one sheet of a file.
type RowAt struct {
	Sheet string // "" in a CSV
	Row   int    // as a spreadsheet program shows it
}

// MarshalText writes the row as Sheet!5, or 5 without a sheet.
func (r RowAt) MarshalText() ([]byte, error) {
	if r.Sheet == "" {
		return strconv.AppendInt(nil, int64(r.Row), 10), nil
	}
	return fmt.Appendf(nil, "%s!%d", r.Sheet, r.Row), nil
}

// UnmarshalText reads what MarshalText writes.
func (r *RowAt) UnmarshalText(text []byte) (err error) {
	whole := string(text)
	cut := strings.LastIndexByte(whole, '!')
	*r = RowAt{Sheet: whole[:max(cut, 0)]}
	if r.Row, err = strconv.Atoi(whole[cut+1:]); err != nil {
		return fmt.Errorf("read the row %q: %w", whole, err)
	}
	return nil
}

// Exclusions are the rows that people excluded, with their names.
type Exclusions map[RowAt]string

// By returns who excluded a row of a sheet; "" for no one.
func (e Exclusions) By(sheet string, row int) string { return e[RowAt{sheet, row}] }
