package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/importer"
	"github.com/bulkfiling/bulkfiling/internal/intake"
	"github.com/bulkfiling/bulkfiling/internal/sheet"
)

// readOptions are the importer's options for an upload, in the form that the ledger stores.
type readOptions struct {
	Product filing.Product    `json:"product,omitempty"`
	State   filing.State      `json:"state,omitempty"`
	Year    string            `json:"filingYear,omitempty"`
	User    string            `json:"user,omitempty"`
	Sheet   string            `json:"sheet,omitempty"`
	Map     map[string]string `json:"map,omitempty"`
	Again   string            `json:"again,omitempty"`
	Visible bool              `json:"visibleOnly,omitempty"`
	Checked bool              `json:"checked,omitempty"`

	HeaderRow importer.HeaderRow `json:"headerRow,omitempty"`
}

// mappedField returns the field that a person mapped the column to. said is false if no one did.
func (r *readOptions) mappedField(c importer.ColumnSurvey) (ours string, said bool) {
	if ours, said = r.Map[c.Map]; !said && c.Header != "" {
		ours, said = r.Map[c.Header]
	}
	return ours, said
}

func readOptionsOf(u intake.Upload) (r readOptions, err error) {
	err = decodeStored(u, u.Options, &r)
	return r, err
}

// decodeStored reads a part of an upload in the form that the ledger stores. It leaves to as it is
// if the upload does not have the part.
func decodeStored(u intake.Upload, part []byte, to any) error {
	if len(part) == 0 {
		return nil
	}
	if err := json.Unmarshal(part, to); err != nil {
		return fmt.Errorf("read the spreadsheet %s: %w", u.File, err)
	}
	return nil
}

// encodeStored returns a part of an upload in the form that the ledger stores.
func encodeStored(part any) ([]byte, error) {
	body, err := json.Marshal(part)
	if err != nil {
		return nil, fmt.Errorf("keep the spreadsheet: %w", err)
	}
	return body, nil
}

// columnsPage shows the step in which a person checks the columns.
func (h *uploadHandler) columnsPage(v *request, u intake.Upload) error {
	p, err := h.surveyUpload(v, u)
	if _, ok := errors.AsType[*sheet.FormatError](err); ok {
		// That page shows why the columns cannot be read.
		return v.redirect("/sheets/" + u.ID)
	}
	return v.show(err, "columns.html", u.File, p)
}

// surveyUpload starts the page of an upload, with its options and the survey of its columns. If the
// format is invalid, the page has only the upload, and the error is returned.
func (h *uploadHandler) surveyUpload(v *request, u intake.Upload) (p *sheetPage, err error) {
	p = &sheetPage{Upload: u, Products: filing.Products, States: filing.States(), Steps: steps(1)}
	if p.Reading, err = readOptionsOf(u); err != nil {
		return nil, err
	}
	if p.Survey, err = h.queue.survey(v.ctx(), u); err != nil {
		return p, err
	}
	if p.Survey.Err != nil {
		p.Problem = p.Survey.Err.Error()
	}
	p.Fields = importer.ColumnNames(p.Survey.Product)
	shown := p.Survey.Columns[:min(len(p.Survey.Columns), maxColumns)]
	p.More = len(p.Survey.Columns) - len(shown)
	for _, c := range shown {
		field, mapped := p.Reading.mappedField(c)
		if !mapped {
			field = c.Column
		}
		p.Columns = append(p.Columns, surveyedColumn{c, mapped, field})
	}
	return p, nil
}

// surveyedColumn is a column and its field, which is empty if the column is not used. Mapped
// reports whether a person chose the field.
type surveyedColumn struct {
	importer.ColumnSurvey
	Mapped bool
	Field  string
}

// maxColumns is the maximum number of columns that the page shows. A sheet can have sixteen
// thousand.
const maxColumns = 250

// Confidence returns how certain the mapping of the column is. It returns nil if the column is
// unused and resembles none of our fields.
func (c surveyedColumn) Confidence() *stateWords {
	switch {
	case c.Mapped:
		return &stateWords{"Chosen", "ok"}
	case c.Column != "" && c.Certain:
		return &stateWords{"Certain", "ok"}
	case c.Column != "" && c.ByContent:
		return &stateWords{"By content", "note"}
	case c.Column != "":
		return &stateWords{"Likely", "note"}
	case c.Suggest != "":
		return &stateWords{"Check", "warn"}
	}
	return nil
}

// MappedColumns counts the columns that are used.
func (p *sheetPage) MappedColumns() (n int) {
	for _, c := range p.Survey.Columns {
		if c.Column != "" {
			n++
		}
	}
	return n
}

// UnconfirmedColumns counts the columns that are not used but may be ours.
func (p *sheetPage) UnconfirmedColumns() (n int) {
	for _, c := range p.Columns {
		if c.Suggest != "" && !c.Mapped {
			n++
		}
	}
	return n
}

// HeaderRow returns the header row that a person chose, or zero.
func (p *sheetPage) HeaderRow() int { return max(0, int(p.Reading.HeaderRow)) }

// Headless reports whether the sheet has no headers. Either a person chose this, or the importer
// found none.
func (p *sheetPage) Headless() bool {
	return p.Reading.HeaderRow == importer.NoHeader || p.Reading.HeaderRow == 0 && p.Survey.HeaderRow == 0
}

// options returns the options of an upload for the importer.
func options(u intake.Upload) (importer.Options, error) {
	r, err := readOptionsOf(u)
	if err != nil {
		return importer.Options{}, err
	}
	c, err := correctionsOf(u)
	return importer.Options{
		Product:     r.Product,
		State:       r.State,
		FilingYear:  r.Year,
		User:        r.User,
		Sheet:       r.Sheet,
		Map:         r.Map,
		HeaderRow:   r.HeaderRow,
		VisibleOnly: r.Visible,
		Again:       r.Again,
		Edits:       c.Edits,
		EditSalt:    c.Salt,
		Excluded:    c.Excluded,
		OnPage:      true,
		Now:         time.Now(),
	}, err
}

// changeMapping changes the product, the columns and the options by which
// an upload is read.
func (h *uploadHandler) changeMapping(v *request, u intake.Upload) error {
	var survey *importer.Survey
	var r, was readOptions
	err := errors.Join(
		load(&survey)(h.queue.survey(v.ctx(), u)),
		load(&r)(parseReadOptions(v.r.PostForm)),
		load(&was)(readOptionsOf(u)))
	if err != nil {
		return err
	}
	suggested := r.mapColumns(v.r.PostForm, survey.Columns, was)
	r.Checked = was.Checked || !suggested
	if u.Options, err = encodeStored(r); err != nil {
		return err
	}
	if err := h.queue.understands(v.ctx(), u); err != nil {
		return err
	}
	if err := h.uploads.Change(v.withAudit("change-mapping", u.File, ""), u); err != nil {
		return err
	}
	if suggested {
		// The other columns still have to be checked.
		return v.redirect("/sheets/" + u.ID + "/columns")
	}
	return v.redirect("/sheets/" + u.ID)
}

// parseReadOptions reads a form, except for its columns.
func parseReadOptions(form url.Values) (readOptions, error) {
	r := readOptions{
		Product: filing.Product(form.Get("product")),
		State:   filing.State(form.Get("state")),
		Year:    strings.TrimSpace(form.Get("year")),
		User:    strings.TrimSpace(form.Get("user")),
		Sheet:   form.Get("sheet"),
		Visible: form.Get("visible-only") != "",
	}
	if err := r.HeaderRow.Set(form.Get("header-row")); err != nil {
		return r, badRequest("%s Nothing was changed.", sentence(err.Error()))
	}
	if form.Get("buy-again") != "" {
		if r.Again = strings.TrimSpace(form.Get("again")); r.Again == "" {
			return r, badRequest("Enter the reason for ordering again. It is recorded with each order. " +
				"Nothing was changed.")
		}
	}
	return r, nil
}

// mapColumns sets the mapping from the form. A column that is missing in the form keeps its earlier
// mapping, unless another sheet was chosen, which has other columns. The result reports whether the
// person applied a suggestion instead of sending the form.
func (r *readOptions) mapColumns(form url.Values, columns []importer.ColumnSurvey, was readOptions) (suggested bool) {
	if r.Sheet != was.Sheet {
		was.Map = nil
	}
	mapping := make(map[string]string)
	for _, c := range columns {
		index := strconv.Itoa(c.Index)
		chosen, said := form["column-"+index]
		if use := form.Get("use-" + index); use != "" {
			chosen, said, suggested = []string{use}, true, true
		}
		said = said && r.Sheet == was.Sheet
		before, mapped := was.mappedField(c)
		name := c.Map
		if r.HeaderRow != was.HeaderRow {
			// The column is the same, but its header has changed.
			name = c.Letter + ":" + c.Letter
		}
		switch {
		case !said && mapped, said && mapped && strings.TrimSpace(chosen[0]) == before:
			mapping[name] = before
		case !said, chosen[0] == asUnderstood:
		case strings.TrimSpace(chosen[0]) == c.Column && !mapped && (r.HeaderRow == was.HeaderRow || c.Column == ""):
		case chosen[0] == leaveOut:
			mapping[name] = ""
		default:
			mapping[name] = strings.TrimSpace(chosen[0])
		}
	}
	r.Map = nil
	if len(mapping) > 0 {
		r.Map = mapping
	}
	return suggested
}

// These values of the form stand beside the names of our fields.
const (
	asUnderstood = "as-understood"
	leaveOut     = "leave-out"
)
