package sheet

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// maxCopiedCells bounds a workbook that is made of the cells alone: excelize
// keeps more of it in memory than of a stream.
const maxCopiedCells = 2 << 20

// writeCells writes an XLSX workbook with the cells of all sheets at their
// places.
func (c *copier) writeCells(w io.Writer) error {
	dir, err := os.MkdirTemp("", "bulkfiling-copy-")
	if err != nil {
		return fmt.Errorf("make a folder for the copy: %w", err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "copy.xlsx")
	book, err := Create(path)
	if err != nil {
		return err
	}
	defer book.Abort()
	left := maxCopiedCells
	for _, info := range c.file.Sheets() {
		if c.mask.Drop != nil && c.mask.Drop(info.Name) {
			continue
		}
		s, err := book.Sheet(SafeName(info.Name), SheetOptions{})
		if err != nil {
			return err
		}
		err = c.file.eachRow(info.Name, func(row *Row) error {
			if left -= len(row.Cells); left < 0 {
				return ErrNoCopy
			}
			for s.Rows() < row.Number-1 {
				if err := s.Row(); err != nil {
					return err
				}
			}
			return s.Row(c.maskedRow(info.Name, row)...)
		})
		if err != nil {
			return err
		}
	}
	if err := book.Save(); err != nil {
		return err
	}
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("read the copy: %w", err)
	}
	defer file.Close()
	_, err = io.Copy(w, file)
	return err
}

// maskedRow returns the cells of a row as they may be shown.
func (c *copier) maskedRow(sheet string, row *Row) []OutCell {
	out := make([]OutCell, len(row.Cells))
	for i, cell := range row.Cells {
		shown, isMasked := c.masks[sheet][cellAddress{row.Number, i}]
		if !isMasked {
			shown = c.hideSecrets(cell.Text)
		}
		if out[i] = CopyOf(cell); shown != cell.Text {
			out[i] = Str(shown)
		}
	}
	return out
}

// SafeName returns a name that a sheet of a workbook can have.
func SafeName(name string) string {
	name = strings.Map(func(r rune) rune {
		if strings.ContainsRune(`:\/?*[]`, r) {
			return ' '
		}
		return r
	}, name)
	if units := []rune(name); len(units) > 31 {
		name = string(units[:31])
	}
	return cmp.Or(strings.Trim(name, "' "), "Sheet")
}
