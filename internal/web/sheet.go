package web

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime/multipart"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"bulkfiling/internal/filing"
	"bulkfiling/internal/importer"
	"bulkfiling/internal/ledger"
	"bulkfiling/internal/money"
	"bulkfiling/internal/sheet"
)

var sheetRoutes = []route{
	{pattern: "POST /sheets", may: preparer, serve: (*Site).takeSheet, upload: true},
	{pattern: "GET /sheets/{sheet}", may: everyone, serve: (*Site).sheetPage},
	{pattern: "GET /sheets/{sheet}/live", may: everyone, serve: (*Site).sheetLive},
	{pattern: "GET /sheets/{sheet}/marked", may: everyone, serve: (*Site).markedSheet},
	{pattern: "POST /sheets/{sheet}/reading", may: preparer, serve: (*Site).readAnew},
	{pattern: "POST /sheets/{sheet}/edits", may: preparer, serve: (*Site).correct},
	{pattern: "POST /sheets/{sheet}/edits/undo", may: preparer, serve: (*Site).takeBack},
	{pattern: "POST /sheets/{sheet}/quote", may: preparer, serve: (*Site).quoteAnew},
	{pattern: "POST /sheets/{sheet}/hand-in", may: preparer, serve: (*Site).handIn},
	{pattern: "POST /sheets/{sheet}/drop", may: preparer, serve: (*Site).dropSheet},
	{pattern: "GET /templates/{product}", may: everyone, serve: (*Site).emptySheet},
}

// takeSheet takes a file in as it arrives: no part of it is on a disk unsealed.
func (s *Site) takeSheet(v *visit) error {
	file, err := v.file(s.MaxUpload)
	if err != nil {
		return err
	}
	defer file.Close()
	u, err := s.Ledger.KeepUpload(v.acting("upload", file.name, ""), ledger.Upload{File: file.name, CreatedBy: v.who()}, file)
	if err != nil {
		return file.trouble(err)
	}
	if u.Size == 0 {
		return errors.Join(s.Ledger.DropUpload(v.ctx(), u.ID), wrong("%s is empty. Choose the spreadsheet and send it again.", u.File))
	}
	if err := s.recallMapping(v.ctx(), u); err != nil {
		return err
	}
	return v.goTo("/sheets/" + u.ID)
}

// upload is a file on its way in.
type upload struct {
	*multipart.Part
	name string
}

// file finds the file of a form. What stands before it in the form is read, and
// the token is among it: otherwise not a byte of the file is.
func (v *visit) file(limit int64) (*upload, error) {
	// A slow line takes its time; what it takes is bounded by the limit.
	deadline := time.Now().Add(15 * time.Minute)
	out := http.NewResponseController(v.w)
	if err := errors.Join(out.SetReadDeadline(deadline), out.SetWriteDeadline(deadline.Add(time.Minute))); err != nil {
		return nil, fmt.Errorf("wait for the file: %w", err)
	}
	v.r.Body = http.MaxBytesReader(v.w, v.r.Body, limit+maxFields)
	parts, err := v.r.MultipartReader()
	if err != nil {
		return nil, errForm
	}
	v.r.PostForm = make(url.Values)
	for fields := 0; fields < 50; fields++ {
		part, err := parts.NextPart()
		if err != nil {
			return nil, errForm
		}
		if part.FormName() != "file" {
			value, err := io.ReadAll(io.LimitReader(part, maxFields))
			if err != nil {
				return nil, errForm
			}
			v.r.PostForm.Add(part.FormName(), string(value))
			continue
		}
		if !cleanValues(v.r.PostForm) {
			return nil, errForm
		}
		if err := v.form(); err != nil {
			return nil, err
		}
		name := fileName(part.FileName())
		if name == "" || name == "." || name == "/" {
			return nil, wrong("No file was chosen. Choose a spreadsheet (.xlsx or .csv) and send it again.")
		}
		return &upload{Part: part, name: shortened(name, 200)}, nil
	}
	return nil, errForm
}

// fileName is a file's own name, in one line that shows all that it is.
func fileName(name string) string {
	name = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(name, "\uFFFD"))
	return strings.TrimSpace(legible(filepath.Base(strings.ReplaceAll(name, `\`, "/"))))
}

// maxFields bounds what stands beside a file in its form.
const maxFields = 64 << 10

// trouble is why a file did not arrive.
func (f *upload) trouble(err error) error {
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		return &Trouble{http.StatusRequestEntityTooLarge, "The file is too large", fmt.Sprintf("%s has more than %d MiB. Split it, or place it with the command importer run. Nothing of it was kept.", f.name, large.Limit>>20)}
	}
	return err
}

// recallMapping gives an upload what somebody said of the columns of an earlier
// sheet of its shape.
func (s *Site) recallMapping(ctx context.Context, u ledger.Upload) error {
	survey, err := s.desk.survey(ctx, u)
	if err != nil {
		return nil // its page will say why
	}
	m, err := s.Ledger.Mapping(ctx, survey.Shape)
	if errors.Is(err, ledger.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	r := reading{Map: m.Columns, Kept: m.CreatedBy}
	if s.desk.understands(ctx, u, r) != nil {
		return nil // it names a column that there was once
	}
	return s.changeReading(ctx, u, r)
}

func (s *Site) changeReading(ctx context.Context, u ledger.Upload, r reading) error {
	body, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("keep the options: %w", err)
	}
	u.Options = body
	return s.Ledger.ChangeUpload(ctx, u)
}

// sheetPage is all that a person needs to see of a sheet before it is placed.
type sheetPage struct {
	Upload   ledger.Upload
	Reading  reading
	Survey   *importer.Survey
	Trouble  string // why it cannot be read as a sheet of filings
	Products []filing.Product
	States   []filing.State
	Columns  []surveyedColumn
	More     int // columns that are not shown
	Groups   []columnGroup
	Steps    []step
	Busy     *busy // it is being prepared
	Failed   string
	Batch    *ledger.Batch
	Counts   ledger.Counts
	Quote    *quoted
	Book     ledger.Book
	Short    money.Cents  // what is missing in the book
	Second   bool         // a second person has to approve
	Edits    []correction // what was typed over its cells
	Marked   bool         // cells would be marked in the sheet given back
	List     *rowList
}

// Number is how many rows have a result.
func (p *sheetPage) Number(result string) int { return p.Counts[filing.Result(result)] }

// surveyedColumn is a column and what somebody said it is.
type surveyedColumn struct {
	importer.ColumnSurvey
	Mapped  bool   // somebody said so
	Chosen  string // ours
	LeftOut bool
}

// maxColumns is how many columns of a sheet are shown: each has all of ours to
// choose from, and a sheet can have sixteen thousand.
const maxColumns = 250

// columnGroup is some of the columns that there are to choose from.
type columnGroup struct {
	Name    string
	Columns []importer.ColumnInfo
}

func grouped(all []importer.ColumnInfo) []columnGroup {
	var groups []columnGroup
	for _, c := range all {
		if n := len(groups); n == 0 || groups[n-1].Name != c.Group {
			groups = append(groups, columnGroup{Name: c.Group})
		}
		last := &groups[len(groups)-1]
		last.Columns = append(last.Columns, c)
	}
	return groups
}

// step is a station of the way of a sheet.
type step struct {
	Name, Path    string
	Done, Current bool
}

// steps are the stations; at is the present one.
func steps(at int) []step {
	all := make([]step, 0, 4)
	for i, name := range []string{"Hand over", "Check and correct", "Say yes", "Placed"} {
		all = append(all, step{Name: name, Done: i < at, Current: i == at})
	}
	return all
}

// busy is what is said while a sheet is prepared.
type busy struct {
	Stage stage
	Rows  int
}

func (s *Site) sheetPage(v *visit) error {
	ctx := v.ctx()
	u, err := s.uploadOf(v)
	if err != nil {
		return err
	}
	p := &sheetPage{Upload: u, Products: filing.Products, States: filing.States(), Steps: steps(1)}
	if p.Reading, err = readingOf(u); err != nil {
		return err
	}
	corrected, err := correctionsOf(u)
	if err != nil {
		return err
	}
	p.Edits = shownEdits(corrected.Edits)
	p.Survey, err = s.desk.survey(ctx, u)
	var format *sheet.FormatError
	switch {
	case errors.As(err, &format):
		p.Trouble = err.Error()
		return v.show("sheet.html", u.File, p)
	case err != nil:
		return err
	}
	p.Groups = grouped(importer.ColumnsOf(p.Survey.Product))
	shown := p.Survey.Columns[:min(len(p.Survey.Columns), maxColumns)]
	p.More = len(p.Survey.Columns) - len(shown)
	for _, c := range shown {
		ours, mapped := p.Reading.said(c)
		p.Columns = append(p.Columns, surveyedColumn{ColumnSurvey: c, Mapped: mapped, Chosen: ours, LeftOut: mapped && ours == ""})
	}
	if p.Survey.Err != nil {
		p.Trouble = p.Survey.Err.Error()
		return v.show("sheet.html", u.File, p)
	}
	if now := s.desk.prepare(u); now != nil {
		patience := 1500 * time.Millisecond // a small sheet is read before its reader is
		if now.rows.Load() > 0 {
			patience = 0
		}
		select {
		case <-now.done:
		case <-time.After(patience):
		case <-ctx.Done():
		}
		if u, err = s.Ledger.Upload(ctx, u.ID); err != nil {
			return err
		}
		p.Upload = u
		if len(u.Quote) == 0 {
			p.busy(now)
			return v.show("sheet.html", u.File, p)
		}
	}
	if err := s.showPrepared(v, p); err != nil {
		return err
	}
	return v.show("sheet.html", u.File, p)
}

// HeaderRow is the row that somebody said the headers stand in; 0 where nobody did.
func (p *sheetPage) HeaderRow() int { return max(0, int(p.Reading.HeaderRow)) }

// Headless reports whether the sheet has no headers, as somebody said or as none
// was found.
func (p *sheetPage) Headless() bool {
	return p.Reading.HeaderRow == importer.NoHeader || p.Reading.HeaderRow == 0 && p.Survey.HeaderRow == 0
}

func (p *sheetPage) busy(now *preparation) {
	select {
	case <-now.done:
		if now.err != nil {
			p.Failed = now.err.Error()
			return
		}
	default:
	}
	p.Busy = &busy{now.stage.Load().(stage), int(now.rows.Load())}
}

// showPrepared fills in what is known once the rows are recorded.
func (s *Site) showPrepared(v *visit, p *sheetPage) error {
	ctx := v.ctx()
	b, err := s.Ledger.Batch(ctx, p.Upload.Batch)
	if err != nil {
		return err
	}
	p.Batch = &b
	if b.Open {
		p.Steps = steps(3)
		return nil
	}
	if p.Quote, err = quoteOf(p.Upload); err != nil {
		return err
	}
	if p.Counts, err = s.Ledger.Counts(ctx, b.ID); err != nil {
		return err
	}
	if p.Book, err = s.Ledger.Book(ctx); err != nil {
		return err
	}
	if p.Book.Declared {
		p.Short = max(0, p.Quote.Total.Amount-p.Book.Available())
	}
	firm, err := s.Ledger.Firm(ctx)
	if err != nil {
		return err
	}
	p.Second = firm.SecondPerson
	if p.Counts[filing.Invalid] == 0 && p.Quote.Rows > 0 {
		p.Steps = steps(2)
	}
	if p.List, err = s.listRows(v, b, p.Counts, "/sheets/"+p.Upload.ID, defaultShow(p.Counts)); err != nil {
		return err
	}
	_, faulty, err := s.Ledger.ListRows(ctx, ledger.RowQuery{Batch: b.ID, Faulty: true, Limit: 1})
	if err != nil {
		return err
	}
	p.Marked = faulty > 0
	p.List.Version = p.Upload.Version
	p.List.Editable = v.may(ledger.Preparer) && (p.List.Show == "problems" || p.List.Show == "notes")
	return nil
}

// defaultShow is what of a sheet is shown at first: what there is to do.
func defaultShow(c ledger.Counts) string {
	if c[filing.Invalid] > 0 {
		return "problems"
	}
	return ""
}

// sheetLive tells how the preparation goes, and when the page is another one.
func (s *Site) sheetLive(v *visit) error {
	id := v.r.PathValue("sheet")
	if _, err := s.Ledger.Upload(v.ctx(), id); err != nil {
		return err
	}
	return s.live(v, "sheet "+id, func(ctx context.Context) (glance, error) {
		u, err := s.Ledger.Upload(ctx, id)
		if errors.Is(err, ledger.ErrNotFound) {
			return glance{Gone: true}, nil
		}
		if err != nil {
			return glance{}, err
		}
		now := s.desk.prepare(u)
		if now == nil {
			return glance{Gone: true}, nil
		}
		select {
		case <-now.done:
			return glance{Gone: true}, nil
		default:
		}
		b := busy{now.stage.Load().(stage), int(now.rows.Load())}
		panel, err := fragment("sheet.html", "preparing", b)
		return glance{Panel: panel, Say: string(b.Stage)}, err
	})
}

// uploadOf finds the upload of a page. It is forgotten once it is handed in, and
// whoever goes back in the browser asks for it all the same.
func (s *Site) uploadOf(v *visit) (ledger.Upload, error) {
	u, err := s.Ledger.Upload(v.ctx(), v.r.PathValue("sheet"))
	if errors.Is(err, ledger.ErrNotFound) {
		return u, errNoSheet
	}
	return u, err
}

var errNoSheet = &Trouble{http.StatusNotFound, "The sheet is not here any more", "It was handed in or forgotten meanwhile, perhaps in another window. What was handed in is among the batches. Nothing was changed by this."}

// theSheet finds the upload that a form changes, as whoever sent it saw it.
func (s *Site) theSheet(v *visit) (ledger.Upload, error) {
	u, err := s.uploadOf(v)
	if err != nil {
		return u, err
	}
	if v.r.PostForm.Get("version") != strconv.Itoa(u.Version) {
		return u, ledger.ErrStale
	}
	return u, nil
}

// readAnew changes how a sheet is read.
func (s *Site) readAnew(v *visit) error {
	u, err := s.theSheet(v)
	if err != nil {
		return err
	}
	form := v.r.PostForm
	survey, err := s.desk.survey(v.ctx(), u)
	if err != nil {
		return err
	}
	r := reading{
		Product: filing.Product(form.Get("product")), State: filing.State(form.Get("state")), Year: strings.TrimSpace(form.Get("year")),
		User: strings.TrimSpace(form.Get("user")), Sheet: form.Get("sheet"), Map: make(map[string]string),
	}
	if err := r.HeaderRow.Set(form.Get("header-row")); err != nil {
		return wrong("%s Nothing was changed.", sentence(err.Error()))
	}
	if form.Get("buy-again") != "" {
		if r.Again = strings.TrimSpace(form.Get("again")); r.Again == "" {
			return wrong("Say why what was bought before is to be bought again: the reason is recorded.")
		}
	}
	was, err := readingOf(u)
	if err != nil {
		return err
	}
	if r.Sheet != was.Sheet {
		was.Map = nil // the other sheet has other columns
	}
	for _, c := range survey.Columns {
		chosen, said := form["column-"+strconv.Itoa(c.Index)]
		said = said && r.Sheet == was.Sheet
		before, mapped := was.said(c)
		name := c.Map
		if r.HeaderRow != was.HeaderRow {
			name = c.Letter + ":" + c.Letter // its header is another now, and the column the same
		}
		switch {
		case !said:
			if mapped {
				r.Map[name] = before
			}
		case chosen[0] == asUnderstood:
		case chosen[0] == leaveOut:
			r.Map[name] = ""
		default:
			r.Map[name] = chosen[0]
		}
	}
	if len(r.Map) == 0 {
		r.Map = nil
	}
	if err := s.desk.understands(v.ctx(), u, r); err != nil {
		return err
	}
	keep := form.Get("keep") != "" && survey.Shape != "" && r.HeaderRow == 0 // else the next sheet is not known by its headers
	ctx := v.acting("read", u.File, readNote(keep))
	if keep {
		headers := make([]string, len(survey.Columns))
		for i, c := range survey.Columns {
			headers[i] = c.Header
		}
		if len(r.Map) > 0 {
			err = s.Ledger.KeepMapping(ctx, ledger.Mapping{Shape: survey.Shape, Headers: headers, Columns: r.Map, CreatedBy: v.who()})
		} else if err = s.Ledger.DropMapping(ctx, survey.Shape); errors.Is(err, ledger.ErrNotFound) {
			err = nil
		}
		if err != nil {
			return err
		}
	}
	if err := s.changeReading(ctx, u, r); err != nil {
		return err
	}
	return v.goTo("/sheets/" + u.ID)
}

// readNote says in the audit log what somebody changed of the reading of a sheet.
func readNote(keep bool) string {
	if keep {
		return "how the sheet is read, and the next of its headers"
	}
	return "how the sheet is read"
}

// What a column may be said to be besides one of ours.
const (
	asUnderstood = "as-understood"
	leaveOut     = "leave-out"
)

// correct takes over what was typed in place of cells. A field is named
// cell-ROW-COLUMN, or new-ROW-HEADER for a column that the sheet lacks; officer-
// and newofficer- are those of the sheet of officers.
func (s *Site) correct(v *visit) error {
	u, c, err := s.theCorrections(v)
	if err != nil {
		return err
	}
	if u.Batch == "" {
		return ledger.ErrStale
	}
	b, err := s.Ledger.Batch(v.ctx(), u.Batch)
	if err != nil {
		return err
	}
	n := 0
	for name, values := range v.r.PostForm {
		e, ok := editOf(name)
		if !ok {
			continue
		}
		if e.Sheet = b.Sheet; isOfficers(name) { // another one may be read later, and its cells are not meant
			e.Sheet = v.r.PostForm.Get("officers")
		}
		was := v.r.PostForm.Get("was-" + name)
		typed := slices.IndexFunc(values, func(text string) bool { return strings.TrimSpace(text) != was }) // two rows may share an officer
		if typed < 0 {
			continue // left as it was
		}
		e.Text = strings.TrimSpace(values[typed])
		c.Edits = slices.DeleteFunc(c.Edits, func(old importer.Edit) bool {
			return old.Sheet == e.Sheet && old.Row == e.Row && old.Column == e.Column && old.Header == e.Header
		})
		c.Edits = append(c.Edits, e)
		n++
	}
	if n == 0 {
		v.say("note", "Nothing was changed: type into a field first.")
		return v.goTo(v.back())
	}
	slices.SortFunc(c.Edits, func(a, b importer.Edit) int {
		return cmp.Or(cmp.Compare(a.Row, b.Row), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Header, b.Header))
	})
	return s.keepCorrections(v, u, c, count(n, "cell"), count(n, "cell")+" corrected. Your own file stays as it is.")
}

// correction is an edit as its page shows it.
type correction struct {
	Number      int // of the edits
	Where, Text string
}

// shownEdits lists corrections by their cells. Numbers that may be somebody's
// Social Security number are not shown again.
func shownEdits(edits []importer.Edit) []correction {
	all := make([]correction, len(edits))
	for i, e := range edits {
		all[i] = correction{Number: i, Where: fmt.Sprintf("%s of row %d", e.Header, e.Row), Text: filing.HideSSNs(e.Text)}
		if e.Column >= 0 {
			all[i].Where = sheet.CellName(e.Column, e.Row)
		}
		if e.Sheet != "" {
			all[i].Where += " of " + e.Sheet
		}
	}
	return all
}

// takeBack takes one correction back, or all of them.
func (s *Site) takeBack(v *visit) error {
	u, c, err := s.theCorrections(v)
	if err != nil {
		return err
	}
	note := "all corrections taken back"
	if one := v.r.PostForm.Get("edit"); one == "all" {
		c.Edits = nil
	} else {
		i, err := strconv.Atoi(one)
		if err != nil || i < 0 || i >= len(c.Edits) {
			return ledger.ErrStale
		}
		note = shownEdits(c.Edits)[i].Where + " taken back"
		c.Edits = slices.Delete(c.Edits, i, i+1)
	}
	return s.keepCorrections(v, u, c, note, "Taken back: it is read as it stands in your file.")
}

// theCorrections finds the upload that a form corrects, and what was corrected so
// far.
func (s *Site) theCorrections(v *visit) (ledger.Upload, corrections, error) {
	u, err := s.theSheet(v)
	if err != nil {
		return u, corrections{}, err
	}
	c, err := correctionsOf(u)
	return u, c, err
}

// keepCorrections puts c in place of an upload's corrections. note is for the
// audit log, said for who did it.
func (s *Site) keepCorrections(v *visit, u ledger.Upload, c corrections, note, said string) (err error) {
	if u.Edits, err = json.Marshal(c); err != nil {
		return fmt.Errorf("keep the corrections: %w", err)
	}
	if err := s.Ledger.ChangeUpload(v.acting("correct", u.File, note), u); err != nil {
		return err
	}
	v.say("ok", "%s", said)
	return v.goTo("/sheets/" + u.ID)
}

// lastColumn is the last one that a sheet can have.
const lastColumn = 16_383

func editOf(name string) (importer.Edit, bool) {
	kind, rest, _ := strings.Cut(name, "-")
	number, column, found := strings.Cut(rest, "-")
	row, err := strconv.Atoi(number)
	if !found || err != nil || row < 1 {
		return importer.Edit{}, false
	}
	switch kind {
	case "cell", "officer":
		index, err := strconv.Atoi(column)
		return importer.Edit{Row: row, Column: index}, err == nil && index >= 0 && index <= lastColumn
	case "new", "newofficer":
		return importer.Edit{Row: row, Column: -1, Header: column}, column != ""
	}
	return importer.Edit{}, false
}

func isOfficers(name string) bool {
	return strings.HasPrefix(name, "officer-") || strings.HasPrefix(name, "newofficer-")
}

// quoteAnew prepares and quotes a sheet once more.
func (s *Site) quoteAnew(v *visit) error {
	u, err := s.theSheet(v)
	if err != nil {
		return err
	}
	s.desk.forget(u.ID)
	if u.Batch != "" {
		if err := s.Ledger.PreparedUpload(v.ctx(), u.ID, u.Version, u.Batch, nil); err != nil {
			return err
		}
	}
	return v.goTo("/sheets/" + u.ID)
}

// handIn says yes to what was looked at: for good, or for a second person.
func (s *Site) handIn(v *visit) error {
	u, err := s.theSheet(v)
	if err != nil {
		return err
	}
	if u.Batch == "" {
		return ledger.ErrStale
	}
	b, err := s.Ledger.Batch(v.ctx(), u.Batch)
	if err != nil {
		return err
	}
	if b.Open {
		if err := s.Ledger.DropUpload(v.ctx(), u.ID); err != nil && !errors.Is(err, ledger.ErrNotFound) {
			return err
		}
		v.say("note", "It was handed in meanwhile: this is its batch. Nothing was ordered twice.")
		return v.goTo("/batches/" + b.ID)
	}
	was, err := quoteOf(u)
	if err != nil {
		return err
	}
	q := s.quote(v.ctx(), u.Batch, false, func(stage) {})
	if was != nil {
		q.Notes = was.Notes
	}
	if q.Trouble != "" {
		return wrong("It cannot be said what it costs: %s. Nothing was handed in.", q.Trouble)
	}
	if q.Plan != v.r.PostForm.Get("plan") {
		body, err := json.Marshal(q)
		if err != nil {
			return fmt.Errorf("keep the quote: %w", err)
		}
		if err := s.Ledger.PreparedUpload(v.ctx(), u.ID, u.Version, u.Batch, body); err != nil {
			return err
		}
		v.say("warn", "What it costs has changed since you looked: it is %s now. Look again, then say yes. Nothing was sent.", q.Total)
		return v.goTo("/sheets/" + u.ID)
	}
	firm, err := s.Ledger.Firm(v.ctx())
	if err != nil {
		return err
	}
	err = s.Ledger.HandIn(v.acting("hand-in", u.Batch, fmt.Sprintf("%s, %s, %s, plan %s", u.File, count(q.Rows, "filing"), q.Total, q.Plan)), u.Batch, q.Plan, v.who(), firm.SecondPerson)
	if err != nil && !errors.Is(err, ledger.ErrHandedIn) {
		return err
	}
	if err := s.Ledger.DropUpload(v.ctx(), u.ID); err != nil && !errors.Is(err, ledger.ErrNotFound) {
		return err
	}
	if firm.SecondPerson {
		v.say("ok", "Handed in. It waits for a second person to approve it: send them this page.")
	} else {
		v.say("ok", "Handed in: it is being placed.")
	}
	return v.goTo("/batches/" + u.Batch)
}

func (s *Site) dropSheet(v *visit) error {
	u, err := s.uploadOf(v)
	if err != nil {
		return err
	}
	if err := s.Ledger.DropUpload(v.acting("drop", u.File, "a sheet that was not handed in"), u.ID); err != nil {
		return err
	}
	v.say("ok", "%s was forgotten. Nothing of it was placed.", u.File)
	return v.goTo("/")
}

// markedSheet gives the sheet back with its cells at fault marked.
func (s *Site) markedSheet(v *visit) error {
	u, err := s.uploadOf(v)
	if err != nil {
		return err
	}
	return v.download(baseName(u.File)+".checked.xlsx", func(path string) error {
		leave, err := s.desk.look(v.ctx())
		if err != nil {
			return err
		}
		defer leave() // before the first byte is sent
		im, err := s.openUpload(v.ctx(), u)
		if err != nil {
			return wrong("%s", err)
		}
		defer im.Close()
		if err := im.WriteChecked(v.ctx(), path); err != nil {
			return err
		}
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return wrong("No cell of %s is at fault: there is nothing to mark.", u.File)
		}
		return nil
	})
}

// emptySheet gives a template to fill in.
func (s *Site) emptySheet(v *visit) error {
	product := filing.Product(strings.TrimSuffix(v.r.PathValue("product"), ".xlsx"))
	if !slices.Contains(importer.Templates(), product) {
		return errNoPage
	}
	return v.download(string(product)+".xlsx", func(path string) error { return importer.WriteTemplate(product, path) })
}

// download sends a file that is made for it, and removed.
func (v *visit) download(name string, write func(path string) error) error {
	dir, err := os.MkdirTemp("", "bulkfiling-page-")
	if err != nil {
		return fmt.Errorf("make room for a download: %w", err)
	}
	defer os.RemoveAll(dir)
	// Not its own name: what a sheet is called is nothing for a path.
	path := filepath.Join(dir, "download"+filepath.Ext(name))
	if err := write(path); err != nil {
		return err
	}
	content, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("open a download: %w", err)
	}
	defer content.Close()
	if err := http.NewResponseController(v.w).SetWriteDeadline(time.Now().Add(15 * time.Minute)); err != nil {
		return fmt.Errorf("wait for a download: %w", err)
	}
	h := v.w.Header()
	h.Set("Content-Type", mimeOf(name))
	h.Set("Content-Disposition", attachment(name))
	http.ServeContent(v.w, v.r, "", time.Time{}, content)
	return nil
}

func mimeOf(name string) string {
	switch filepath.Ext(name) {
	case ".xlsx":
		return "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
	case ".csv":
		return "text/csv; charset=utf-8"
	case ".zip":
		return "application/zip"
	}
	return "application/octet-stream"
}

// attachment names a download, in letters that every browser knows and in all.
func attachment(name string) string {
	plain := strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' || strings.ContainsRune(`"\/;%`, r) {
			return '_'
		}
		return r
	}, name)
	return `attachment; filename="` + plain + `"; filename*=UTF-8''` + strings.ReplaceAll(url.QueryEscape(name), "+", "%20")
}

func baseName(file string) string { return strings.TrimSuffix(file, filepath.Ext(file)) }
