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

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/resolve"
	"github.com/bulkfiling/bulkfiling/internal/sheet"
)

// DecisionSheet is what a person wrote beside uncertain rows.
type DecisionSheet struct {
	File      string // its name without folders
	Sheet     string // empty for a CSV
	Decisions []resolve.Decision

	Columns map[resolve.Field]int // where each column stands, from 0
}

// decisionFields are the columns that are read back.
var decisionFields = []resolve.Field{
	resolve.RowField, resolve.DecisionField, resolve.OrderIDsField, resolve.CompanyIDField, resolve.AttemptField,
	resolve.BatchField,
}

// ErrNoDecisions is returned for a file that WriteUncertain cannot have written.
var ErrNoDecisions = errors.New("not a sheet of uncertain rows. To write one: importer resolve export BATCH -o FILE")

// Cell is the address of one of a decision's cells.
func (d *DecisionSheet) Cell(of resolve.Decision, field resolve.Field) string {
	return sheet.CellName(d.Columns[field], of.Line)
}

// Problems lists what is wrong with the decisions, each at its cell.
func (d *DecisionSheet) Problems(problems []resolve.Problem) []string {
	var lines []string
	for _, p := range problems {
		where := d.Cell(p.Decision, p.Field)
		if d.Sheet != "" {
			where = d.Sheet + "!" + where
		}
		lines = append(lines, fmt.Sprintf("%s  %s  %s: %s", d.File, where, p.Field, p.Text))
	}
	return lines
}

// ReadDecisions reads a file that WriteUncertain wrote and a person filled in.
// It returns ErrNoDecisions, or a *sheet.FormatError.
func ReadDecisions(path string) (*DecisionSheet, error) {
	file, err := sheet.Open(path, sheet.Limits{})
	if err != nil {
		return nil, err
	}
	return readDecisions(filepath.Base(path), file)
}

// ReadDecisionsFrom reads one that is in no folder.
func ReadDecisionsFrom(name string, r io.ReaderAt, size int64) (*DecisionSheet, error) {
	file, err := sheet.OpenReader(name, r, size, sheet.Limits{})
	if err != nil {
		return nil, err
	}
	return readDecisions(name, file)
}

func readDecisions(name string, file *sheet.File) (*DecisionSheet, error) {
	defer file.Close()
	infos := file.Sheets()
	at := slices.IndexFunc(infos, func(i sheet.Info) bool { return i.Name == UncertainSheet })
	if at < 0 {
		at = slices.IndexFunc(infos, func(i sheet.Info) bool { return i.Visible })
	}
	if at < 0 {
		return nil, fmt.Errorf("%s: %w", name, ErrNoDecisions)
	}
	d := &DecisionSheet{File: name, Sheet: infos[at].Name}
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

func (d *DecisionSheet) header(cells []sheet.Cell) error {
	d.Columns = make(map[resolve.Field]int)
	for _, name := range decisionFields {
		at := slices.IndexFunc(cells, func(c sheet.Cell) bool {
			return filing.FoldName(c.Text) == filing.FoldName(string(name))
		})
		if at < 0 {
			return fmt.Errorf("%s has no column %q: %w", d.File, name, ErrNoDecisions)
		}
		d.Columns[name] = at
	}
	return nil
}

func (d *DecisionSheet) add(row sheet.Row) {
	text := func(column resolve.Field) string {
		if at := d.Columns[column]; at < len(row.Cells) {
			return strings.Clone(row.Cells[at].Text)
		}
		return ""
	}
	decision := resolve.Decision{
		Line:      row.Number,
		Batch:     text(resolve.BatchField),
		Word:      text(resolve.DecisionField),
		CompanyID: text(resolve.CompanyIDField),
	}
	decision.Row, _ = strconv.Atoi(text(resolve.RowField))
	decision.Attempt, _ = strconv.Atoi(text(resolve.AttemptField))
	decision.OrderIDs = strings.FieldsFunc(text(resolve.OrderIDsField), func(r rune) bool {
		return r == ',' || r == ';' || unicode.IsSpace(r)
	})
	if decision.Row == 0 && decision.Word == "" && len(decision.OrderIDs) == 0 && decision.CompanyID == "" {
		return // a total or a note that somebody wrote below
	}
	d.Decisions = append(d.Decisions, decision)
}
