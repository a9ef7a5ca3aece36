package season

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/sheet"
)

// Column is a column of a table of rules or fees.
type Column[T any] struct {
	Name     string
	Optional bool
	// Wants describes valid input in an error. Files of this repository need none.
	Wants string
	// Set parses a text into a line. It returns false if the text is not valid for the column.
	Set func(line *T, text string) bool
}

// TextColumn returns a column that sets a field to any text.
func TextColumn[T any](name string, optional bool, field func(*T) *string) Column[T] {
	return Column[T]{Name: name, Optional: optional, Set: func(line *T, text string) bool {
		*field(line) = text
		return true
	}}
}

// ReadTable reads the first sheet of a file, which has a header with the columns in any order and
// case and a line for each key. It ignores other columns. The error lists all problems by file,
// line and column.
func ReadTable[T any, K comparable](f *sheet.File, columns []Column[T], key func(*T) K) (map[K]*T, error) {
	// at is the index of each column in the file, -1 for a missing one.
	var at []int
	var width int
	var errs []error
	table, lines := make(map[K]*T), make(map[K]int)
	err := f.EachRow(f.Sheets()[0].Name, func(row *sheet.Row) (err error) {
		number := cmp.Or(row.Line, row.Number)
		wrong := func(format string, args ...any) {
			errs = append(errs, fmt.Errorf("%s, line %d"+format, append([]any{f.Name(), number}, args...)...))
		}
		if at == nil {
			width = len(row.Cells)
			if at, err = findColumns(row.Cells, columns); err != nil {
				return fmt.Errorf("%s, line %d: %w", f.Name(), number, err)
			}
			return nil
		}
		if len(row.Cells) > width {
			wrong(" has %d columns and the header %d. Put quotes around a value that contains a comma",
				len(row.Cells), width)
			return nil
		}
		line, before := new(T), len(errs)
		for i, c := range columns {
			text := ""
			if at[i] >= 0 && at[i] < len(row.Cells) {
				text = row.Cells[at[i]].Text
			}
			if !c.Set(line, text) {
				wrong(", column %s: %q is not valid. Enter %s", c.Name, text, c.Wants)
			}
		}
		switch k := key(line); {
		case len(errs) > before:
		case lines[k] != 0:
			wrong(" repeats line %d. Remove one of them", lines[k])
		default:
			table[k], lines[k] = line, number
		}
		return nil
	})
	if err == nil && at == nil {
		err = fmt.Errorf("%s is empty. Enter a header and a line for each rule", f.Name())
	}
	return table, errors.Join(append(errs, err)...)
}

func findColumns[T any](header []sheet.Cell, columns []Column[T]) ([]int, error) {
	at := make([]int, len(columns))
	for i, c := range columns {
		same := func(h sheet.Cell) bool { return filing.FoldName(h.Text) == filing.FoldName(c.Name) }
		at[i] = slices.IndexFunc(header, same)
		switch {
		case at[i] < 0 && !c.Optional:
			return nil, fmt.Errorf("the column %s is missing. Add it to the header", c.Name)
		case at[i] >= 0 && slices.ContainsFunc(header[at[i]+1:], same):
			return nil, fmt.Errorf("the column %s is there twice. Remove one of them", c.Name)
		}
	}
	return at, nil
}
