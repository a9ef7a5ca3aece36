package report

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"bulkfiling/internal/filing"
	"bulkfiling/internal/sheet"
)

// Decisions are what a person wrote beside uncertain rows.
type Decisions struct {
	File  string // its name without folders
	Sheet string // empty for a CSV
	All   []Decision

	Columns map[string]int // where each column stands, from 0, by header
}

// Decision is what stands beside one row. Nothing of it is checked.
type Decision struct {
	Line      int    // of the file, from 1
	Batch     string // the row's batch
	Row       int    // the row's number in its batch; 0 where there is no number
	Attempt   int    // the attempt in doubt; 0 where there is no number
	Word      string // as it was written
	OrderIDs  []string
	CompanyID string
}

// ErrNoDecisions is returned for a file that WriteUncertain cannot have written.
var ErrNoDecisions = errors.New("not a sheet of uncertain rows: importer resolve BATCH -o FILE writes one")

// Verdict is the decision: DecidedPlaced, DecidedNotPlaced, DecidedLeave, or
// empty for a word that is none of them.
func (d Decision) Verdict() string {
	word := filing.FoldName(d.Word)
	for _, v := range []string{DecidedPlaced, DecidedNotPlaced, DecidedLeave} {
		if filing.FoldName(v) == word {
			return v
		}
	}
	if strings.TrimSpace(d.Word) == "" {
		return DecidedLeave
	}
	return ""
}

// Cell is the address of one of a decision's cells, by the column's header.
func (d *Decisions) Cell(of Decision, column string) string {
	return sheet.CellName(d.Columns[column], of.Line)
}

// ReadDecisions reads a file that WriteUncertain wrote and a person filled in.
// It returns ErrNoDecisions, or a *sheet.FormatError.
func ReadDecisions(path string) (*Decisions, error) {
	file, err := sheet.Open(path, sheet.Limits{})
	if err != nil {
		return nil, err
	}
	return readDecisions(filepath.Base(path), file)
}

// ReadDecisionsFrom reads one that is in no folder.
func ReadDecisionsFrom(name string, r io.ReaderAt, size int64) (*Decisions, error) {
	file, err := sheet.OpenReader(name, r, size, sheet.Limits{})
	if err != nil {
		return nil, err
	}
	return readDecisions(name, file)
}

func readDecisions(name string, file *sheet.File) (*Decisions, error) {
	defer file.Close()
	infos := file.Sheets()
	at := slices.IndexFunc(infos, func(i sheet.Info) bool { return i.Name == UncertainSheet })
	if at < 0 {
		at = slices.IndexFunc(infos, func(i sheet.Info) bool { return i.Visible })
	}
	if at < 0 {
		return nil, fmt.Errorf("%s: %w", name, ErrNoDecisions)
	}
	d := &Decisions{File: name, Sheet: infos[at].Name}
	rows, err := file.Rows(d.Sheet)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var block sheet.Block
	for {
		err := rows.Read(&block)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		for _, row := range block.Rows {
			if d.Columns == nil {
				if err := d.header(row.Cells); err != nil {
					return nil, err
				}
				continue
			}
			d.add(row)
		}
	}
	if d.Columns == nil {
		return nil, fmt.Errorf("%s: %w", d.File, ErrNoDecisions)
	}
	return d, nil
}

func (d *Decisions) header(cells []sheet.Cell) error {
	d.Columns = make(map[string]int)
	for _, name := range []string{RowColumn, DecisionColumn, OrderIDsColumn, CompanyIDColumn, AttemptColumn,
		BatchColumn} {
		at := slices.IndexFunc(cells, func(c sheet.Cell) bool {
			return filing.FoldName(c.Text) == filing.FoldName(name)
		})
		if at < 0 {
			return fmt.Errorf("%s has no column %q: %w", d.File, name, ErrNoDecisions)
		}
		d.Columns[name] = at
	}
	return nil
}

func (d *Decisions) add(row sheet.Row) {
	text := func(column string) string {
		if at := d.Columns[column]; at < len(row.Cells) {
			return strings.Clone(row.Cells[at].Text)
		}
		return ""
	}
	decision := Decision{
		Line:      row.Number,
		Batch:     text(BatchColumn),
		Word:      text(DecisionColumn),
		CompanyID: text(CompanyIDColumn),
	}
	decision.Row, _ = strconv.Atoi(text(RowColumn))
	decision.Attempt, _ = strconv.Atoi(text(AttemptColumn))
	decision.OrderIDs = strings.FieldsFunc(text(OrderIDsColumn), func(r rune) bool {
		return r == ',' || r == ';' || unicode.IsSpace(r)
	})
	if decision.Row == 0 && decision.Word == "" && len(decision.OrderIDs) == 0 && decision.CompanyID == "" {
		return // a total or a note that somebody wrote below
	}
	d.All = append(d.All, decision)
}
