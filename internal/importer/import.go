package importer

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/sheet"
	"github.com/bulkfiling/bulkfiling/internal/text"
)

// Options are the options for reading a file. All except OnPage and Now are part of the batch's
// identity.
type Options struct {
	// Product is detected from the columns if it is empty.
	Product filing.Product
	// State limits the batch to companies of this state. If no column has the state, State is the
	// state of all rows.
	State filing.State
	// FilingYear is the year for rows without one. It has four digits.
	FilingYear string
	// User is the user for rows without one. It is user_… or an email address.
	User string
	// Map maps their headers, or columns such as "F:F", to ours. A column that maps to "" is
	// ignored.
	Map map[string]string
	// Sheet is the sheet to read. If it is empty, the sheet with the filings is read.
	Sheet     string
	HeaderRow HeaderRow
	// VisibleOnly skips rows that are hidden by hand or by a filter.
	VisibleOnly bool
	// Again is the reason to repeat orders that were placed before. If it is empty, they are not
	// repeated.
	Again string
	// Run is the run of a schedule that reads the file, or nil.
	Run *ScheduleRun
	// Edits replace cells. The last of several edits of one cell counts.
	Edits []Edit
	// EditSalt is a secret. It prevents guessing the edits from their hash.
	EditSalt string
	// Excluded are the rows to skip, and the remarks in spite of which a row is filed.
	Excluded Exclusions

	// Exclude and Include are columns that are not sent and texts, such as "Status=Void". Rows with
	// a text of Exclude are skipped. A text of Include does not speak against its row.
	Exclude, Include []string

	// OnPage makes messages name the fields of the page instead of a command's flags.
	OnPage bool
	// Now decides which filing years are unlikely. Zero is the present.
	Now time.Time

	// ours are the columns that a results workbook added.
	ours []int
}

// ScheduleRun describes how a run of a schedule reads its company list.
type ScheduleRun struct {
	// ID identifies the run. Every run is a batch.
	ID string
	// RowOf returns how the run files the row with a number. If it returns false, the row is not
	// part of the batch.
	RowOf func(row int) (RunRow, bool)
}

// RunRow is how a run files a row.
type RunRow struct {
	// FilingYear has four digits. If it is empty, the year of the options applies.
	FilingYear string
	// Priority is the priority in the ledger. Lower numbers go first.
	Priority int64
}

// Import is an open file with a sheet of filings. Its rows can be read several times. The caller
// must close it.
type Import struct {
	options Options
	file    *sheet.File
	matcher *matcher
	edits   edits
	// sheet is empty for a CSV.
	sheet   string
	layout  *layout
	product filing.Product
	mapping *mapping
	// detected reports whether the product was detected from the columns.
	detected bool
	head     []sheet.Row
	// headCells is the number of cells in the first rows of all sheets. It is counted only if there
	// are many sheets.
	headCells int

	// attention and results are the sheets of a results workbook. They are empty for other files.
	attention, results string
	// origin is the origin of a results workbook. Nil for other files.
	origin *ledger.Origin
	// messageColumn and rowColumn are the headings that a results workbook added, or -1.
	messageColumn, rowColumn int
	// resultColumn and ordersColumn are columns of a results sheet, or -1.
	resultColumn, ordersColumn int
	// target is the destination of the columns. Nil until Record is called.
	target *target

	// comments are the comments on the cells of the sheet that is read, by row.
	comments map[int][]sheet.Comment
	// selected are the filters that selected a row.
	selected map[string]bool
	// repeats is nil until the rows are read.
	repeats *repeats

	// dayFirst are cells with a date whose first number can only be the day, by column.
	dayFirst map[int]cellText
	// shortYear is how the first date with a year of two digits is read.
	shortYear string

	// notes are the notes on the file.
	notes []string
	// found are the notes on its rows.
	found []string
}

// Open opens a file and finds the sheet, the header row below any titles, the columns and the
// product. It returns a *sheet.FormatError if the file is at fault.
func Open(path string, o Options) (*Import, error) { return o.open(sheet.Open(path, sheet.Limits{})) }

// OpenReader is Open for content that is not a file, such as an upload. See [sheet.OpenReader]. The
// same content and options make the same batch.
func OpenReader(name string, r io.ReaderAt, size int64, o Options) (*Import, error) {
	return o.open(sheet.OpenReader(name, r, size, sheet.Limits{}))
}

// open reads a file. It closes the file if the file cannot be read.
func (o Options) open(f *sheet.File, err error) (*Import, error) {
	if err != nil {
		return nil, hideInError(err)
	}
	im, err := o.openOn(f)
	if err != nil {
		f.Close()
	}
	return im, err
}

// openOn is open, but does not close the file.
func (o Options) openOn(f *sheet.File) (*Import, error) {
	im, err := o.begin(f)
	if err == nil {
		err = im.recognize()
	}
	if err != nil {
		return nil, hideInError(err)
	}
	return im, nil
}

// begin checks the options. It reads no rows.
func (o Options) begin(f *sheet.File) (*Import, error) {
	if o.Now.IsZero() {
		o.Now = time.Now()
	}
	if err := o.check(); err != nil {
		return nil, err
	}
	f.Rename(filing.HideSSNsInName)
	o.Sheet = filing.HideSSNsInName(o.Sheet)
	im := &Import{options: o, file: f}
	var err error
	if im.matcher, err = newMatcher(&o); err != nil {
		return nil, err
	}
	if im.attention, im.results, err = resultsSheets(f); err != nil {
		return nil, err
	}
	if im.attention != "" {
		// The header row was given for the file that this results workbook belongs to.
		im.matcher.headerRow = 0
	}
	im.edits, err = newEdits(&o, f)
	return im, err
}

// note adds a note on the file.
func (im *Import) note(format string, args ...any) {
	im.notes = append(im.notes, fmt.Sprintf(format, args...))
}

// refused returns the error for a sheet that cannot be read. A caller adds the place.
func refused(format string, args ...any) error {
	return &sheet.FormatError{Reason: fmt.Sprintf(format, args...)}
}

func (o *Options) check() error {
	if o.Product != "" && !o.Product.Valid() {
		return fmt.Errorf("there is no product %q: it is one of %s", o.Product,
			filing.JoinProducts(filing.Products, ", "))
	}
	if err := new(HeaderRow).Set(o.HeaderRow.String()); err != nil {
		return err
	}
	if o.HeaderRow == NoHeader {
		for theirs := range o.Map {
			if !isAddress(theirs) {
				return fmt.Errorf(
					"--map %q names a header, but the header row is set to none: name the column instead, such as A:A",
					theirs)
			}
		}
	}
	if o.State != "" {
		state, ok := filing.ParseState(string(o.State))
		if !ok {
			return fmt.Errorf("%q is not a US state: enter a two-letter code such as DE", string(o.State))
		}
		o.State = state
	}
	if o.FilingYear != "" && (len(o.FilingYear) != 4 || !isDigits(o.FilingYear)) {
		return fmt.Errorf("the filing year %q is not four digits, such as %d", o.FilingYear, o.Now.Year())
	}
	if o.User != "" && !filing.IsUserID(o.User) && !filing.IsEmail(o.User) {
		return fmt.Errorf("the user %q is neither a user id (user_…) nor an email address", o.User)
	}
	return nil
}

// Close closes the file.
func (im *Import) Close() error { return im.file.Close() }

// Product returns the main product of the rows.
func (im *Import) Product() filing.Product { return im.product }

// Sheet returns the name of the sheet that is read. It is empty for a CSV.
func (im *Import) Sheet() string { return im.sheet }

// HoldsSecrets reports whether a column holds Social Security numbers.
func (im *Import) HoldsSecrets() bool { return len(im.mapping.secret) > 0 }

// Columns returns the headers as given, in order.
func (im *Import) Columns() []string { return im.layout.headers() }

// Notes returns the notes for the user about unused columns, hidden rows, rows that are not filings
// and the encoding. They are complete after all rows were read.
func (im *Import) Notes() []string {
	var all []string
	for _, n := range slices.Concat(im.file.Notes(), im.notes, im.found, im.unselected()) {
		n = filing.HideSSNs(n)
		if !slices.Contains(all, n) {
			all = append(all, n)
		}
	}
	return all
}

// recognize finds the meaning of the columns from the first rows alone.
func (im *Import) recognize() error {
	err := im.findSheet()
	if err == nil {
		err = im.recognizeColumns()
	}
	if e, is := errors.AsType[*sheet.FormatError](err); is && e.File == "" {
		e.File, e.Sheet = im.file.Name(), im.sheet
	}
	return err
}

func (im *Import) recognizeColumns() error {
	if err := im.readOrigin(); err != nil {
		return err
	}
	if h, found := im.layout.tooManyOfficers(); found {
		return refused("the column %s is beyond the %d officers that fit in a row: form a company with more officers in "+
			"the filing service's dashboard", h.name(im.layout.row), maxOfficers)
	}
	if err := im.checkMap(); err != nil {
		return err
	}
	if err := im.findProduct(); err != nil {
		return err
	}
	if im.layout.rows == 0 {
		return refused("there are no rows below the header in row %d", im.layout.row)
	}
	if im.product == filing.Formation {
		im.layout.readJurisdiction(im.head)
	}
	bound, notes, err := bind(im.layout, im.product, &im.options)
	if err != nil {
		return err
	}
	im.mapping = bound
	if err := im.refuseOfficersSheet(); err != nil {
		return err
	}
	if err := im.checkFilters(); err != nil {
		return err
	}
	if err := im.readComments(); err != nil {
		return err
	}
	if err := im.checkState(); err != nil {
		return err
	}
	missing, err := im.layout.missing(bound, &im.options, im.head)
	if err != nil {
		return err
	}
	if row := im.skippedHeader(); row > 0 {
		im.note("ATTENTION: row %d looks like the header row. It and everything above row %d are not read. %s.", row,
			im.layout.row, im.options.remedyText(dropHeaderRow))
	}
	im.notes = slices.Concat(im.notes, missing, im.layout.noteOutside(), im.layout.ignored(&im.options, im.head), notes)
	if im.detected {
		im.note("Detected: %s (from the column headers).", im.product.Title())
	}
	return nil
}

// checkState returns an error if the batch is limited to a state and the only column of states is
// part of an address. The column may hold the state of the filing or of the office.
func (im *Import) checkState() error {
	if im.options.State == "" || im.product == filing.Formation || im.mapping.binding(filingState) != nil ||
		im.mapping.binding(formationState) != nil {
		return nil
	}
	for _, h := range im.layout.resolve() {
		if h.column != principalState || h.strength != weak && !h.followsAddress {
			continue
		}
		return &sheet.FormatError{
			Cell: im.layout.cell(h.index),
			Reason: fmt.Sprintf(
				"the batch is limited to %s, but the only state column, %s, is part of an address",
				im.options.State, h.name(im.layout.row)),
			Remedy: fmt.Sprintf(
				"If it is the state of each filing, %s; if it is the state of the office, %s, and every row is "+
					"filed in %s", im.layout.readAs(&h, filingState, &im.options),
				im.layout.readAs(&h, principalState, &im.options), im.options.State),
		}
	}
	return nil
}

// skippedHeader returns a row above the given header row that looks like the header, or 0.
func (im *Import) skippedHeader() int {
	if im.matcher.headerRow <= 0 {
		return 0
	}
	free := *im.matcher
	free.headerRow = 0
	if l := free.layoutOf(im.head); l != nil && l.row < im.layout.row {
		return l.row
	}
	return 0
}

// findProduct takes the product from the options or detects it from the columns.
func (im *Import) findProduct() error {
	if im.product = im.options.Product; im.product != "" {
		return nil
	}
	product, err := productOf(im.layout, &im.options)
	if err != nil {
		return err
	}
	im.product, im.detected = product, true
	return nil
}

// The sheets of a results workbook.
const (
	resultsSheet   = "Results"
	attentionSheet = "Needs Attention"
)

// candidate is a sheet with its header.
type candidate struct {
	sheet.Info
	layout *layout
	head   []sheet.Row
}

// checkMap returns an error if the mapping names a column that the sheet does not have. A typo
// would otherwise leave a column unread.
func (im *Import) checkMap() error {
	headers := im.layout.headers()
	for _, theirs := range slices.Sorted(maps.Keys(im.options.Map)) {
		if i, ok := columnAddress(theirs); ok {
			if i >= len(headers) {
				return refused("--map names column %s, but the last column of the sheet is %s", sheet.ColumnName(i),
					sheet.ColumnName(len(headers)-1))
			}
			continue
		}
		if !slices.ContainsFunc(im.layout.headings, func(h heading) bool {
			return h.folded == foldHeader(theirs) || foldHeader(h.text) == foldHeader(theirs)
		}) {
			return refused("--map names a column %q, which the sheet does not have; it has %s", theirs,
				quotedList(headers))
		}
	}
	return nil
}

// quotedList quotes the first twenty names that are not blank.
func quotedList(names []string) string {
	var quoted []string
	for _, name := range names {
		if name = strings.TrimSpace(name); name != "" {
			quoted = append(quoted, strconv.Quote(name))
		}
	}
	return text.FirstOf(quoted, maxListed)
}

// ErrNoRowsNeedAttention is returned for a results workbook without rows that need attention.
var ErrNoRowsNeedAttention = errors.New("no rows need attention")

type noRowsError struct{ sheet.FormatError }

func (a *noRowsError) Is(target error) bool { return target == ErrNoRowsNeedAttention }
func (a *noRowsError) Unwrap() error        { return &a.FormatError }

// findSheet chooses the sheet to read. It returns an error if several sheets have filings, because
// one of them would be left out unnoticed.
func (im *Import) findSheet() error {
	sheets := im.file.Sheets()
	if im.options.Sheet != "" {
		return im.findNamedSheet(sheets)
	}
	var all, visible, hidden []candidate
	for _, info := range sheets {
		c, err := im.readCandidate(info)
		if err != nil {
			return err
		}
		all = append(all, c)
		switch {
		case c.layout == nil:
		case !info.Visible:
			hidden = append(hidden, c)
		default:
			visible = append(visible, c)
		}
	}
	if im.results != "" {
		i := slices.IndexFunc(all, func(c candidate) bool { return c.Visible && c.Name == im.attention })
		properties, err := im.file.Properties()
		if err == nil {
			err = im.refuseChangedResults(ledger.OriginOf(properties))
		}
		if err != nil {
			return err
		}
		if all[i].layout == nil || all[i].layout.rows == 0 {
			return &noRowsError{sheet.FormatError{
				File: im.file.Name(), Sheet: im.attention,
				Reason: "this is a results workbook in which no rows need attention",
				Remedy: "To process all of its rows again, " + im.options.remedyText(chooseSheet, im.results) +
					"; rows marked as placed are not sent again",
			}}
		}
		if err := im.selectSheet(all[i]); err != nil {
			return err
		}
		im.note("This is a results workbook: its sheet %q was read.", im.attention)
		return nil
	}
	if withRows := slices.DeleteFunc(slices.Clone(visible),
		func(c candidate) bool { return c.layout.rows == 0 }); len(withRows) > 0 {
		visible = withRows
	}
	visible = im.dropProse(visible)
	if len(visible) > 1 {
		visible = slices.DeleteFunc(visible, func(c candidate) bool { return isOfficersSheet(c.Name) })
	}
	for _, c := range hidden {
		im.note("The hidden sheet %q also contains filings and was not read: %s to read it.", c.Name,
			im.options.remedyText(chooseSheet, c.Name))
	}
	switch len(visible) {
	case 1:
		return im.selectSheet(visible[0])
	case 0:
		return im.noHeader(all, hidden)
	}
	var names []string
	for _, c := range visible {
		names = append(names, c.Name)
	}
	return &sheet.FormatError{
		Reason: "several sheets contain filings: " + quotedList(names),
		Remedy: im.options.remedyText(eitherSheet, quotedList(names), strconv.Quote(names[0])),
	}
}

// resultsSheets returns the names of two sheets of a results workbook, with the rows that need
// attention and with the results. It returns empty names for other files. A results workbook that
// lost its properties is recognized by its sheets.
func resultsSheets(f *sheet.File) (attention, results string, err error) {
	properties, err := f.Properties()
	if err != nil {
		return "", "", err
	}
	has := func(name string) bool {
		return slices.ContainsFunc(f.Sheets(), func(s sheet.Info) bool { return s.Visible && s.Name == name })
	}
	if o := ledger.OriginOf(properties); o != nil && o.Results != "" && has(o.Sheet) && has(o.Results) {
		return o.Sheet, o.Results, nil
	}
	switch {
	case has(attentionSheet) && has(resultsSheet):
		return attentionSheet, resultsSheet, nil
	case has(attentionSheet):
		return attentionSheet, "", nil
	}
	return "", "", nil
}

// dropProse removes notes and legends if another sheet clearly has filings. A note or legend is a
// sheet with one or two of our words, or with only a mapped one.
func (im *Import) dropProse(visible []candidate) []candidate {
	// Both limits are numbers of columns.
	const clearly, hardly = 5, 2
	has := func(is func(*layout) bool) bool {
		return slices.ContainsFunc(visible, func(c candidate) bool { return is(c.layout) })
	}
	isClear := has(func(l *layout) bool { return l.known >= clearly })
	isHeader := has(func(l *layout) bool { return !l.onlyMapped })
	return slices.DeleteFunc(visible, func(c candidate) bool {
		if (!isClear || c.layout.known > hardly) && (!isHeader || !c.layout.onlyMapped) {
			return false
		}
		im.note("The sheet %q looks like notes and was not read: %s if it contains filings.", c.Name,
			im.options.remedyText(chooseSheet, c.Name))
		return true
	})
}

// selectSheet makes a sheet the one to read. Edits without a sheet apply to it, and columns that
// edits add are added to it.
func (im *Import) selectSheet(c candidate) error {
	if im.edits.assignTo(c.Name) {
		var err error
		if c, err = im.readCandidate(c.Info); err != nil {
			return err
		}
		if c.layout == nil {
			return im.noHeader([]candidate{c}, nil)
		}
	}
	im.sheet, im.layout, im.head = c.Name, c.layout, c.head
	o := im.edits.of(c.Name)
	if o == nil {
		return nil
	}
	if err := im.addTo(im.layout, o); err != nil {
		return err
	}
	var err error
	if im.head, err = im.readHead(c.Info); err != nil {
		return err
	}
	im.layout.rows = 0
	for i := range im.head {
		im.layout.rows += oneIf(im.head[i].Number > im.layout.row)
	}
	return nil
}

// findNamedSheet selects the sheet that the options name.
func (im *Import) findNamedSheet(sheets []sheet.Info) error {
	i := sheetNamed(sheets, im.options.Sheet)
	if i < 0 {
		e := &sheet.FormatError{
			Reason: fmt.Sprintf("there is no sheet %q", im.options.Sheet),
			Remedy: im.options.remedyText(noSheet),
		}
		if im.file.Format() == sheet.XLSX {
			var names []string
			for _, s := range sheets {
				names = append(names, s.Name)
			}
			e.Remedy = "It has " + quotedList(names)
		}
		return e
	}
	c, err := im.readCandidate(sheets[i])
	if err != nil {
		return err
	}
	if c.layout == nil {
		return im.noHeader([]candidate{c}, nil)
	}
	return im.selectSheet(c)
}

// readCandidate reads the first rows of a sheet and looks for the header in them.
func (im *Import) readCandidate(info sheet.Info) (candidate, error) {
	c := candidate{Info: info}
	if im.headCells > maxHeadCells {
		return c, &sheet.FormatError{
			Reason: "the file is too large: its many sheets begin with too many cells",
			Remedy: "Save the sheet that holds filings as a workbook of its own",
		}
	}
	var err error
	if c.head, err = im.readHead(info); err != nil {
		return c, err
	}
	if len(im.file.Sheets()) > manySheets {
		c.head = compact(c.head)
		for i := range c.head {
			im.headCells += len(c.head[i].Cells)
		}
	}
	c.layout = im.matcher.layoutOf(c.head)
	return c, nil
}

// The limits of the rows in memory. If a workbook has many sheets, only the possible header rows of
// each and a few rows below them are kept.
const (
	manySheets = 20
	// maxHeadCells is a limit for all sheets of the workbook.
	maxHeadCells = 1 << 19
)

// compact copies the first rows of a head, so that the memory of the whole block can be freed.
func compact(head []sheet.Row) []sheet.Row {
	head = slices.Clone(head[:min(len(head), 2*headRows)])
	for i := range head {
		head[i].Cells = slices.Clone(head[i].Cells)
		for c := range head[i].Cells {
			head[i].Cells[c].Text = strings.Clone(head[i].Cells[c].Text)
		}
	}
	return head
}

// readHead reads the first rows of a sheet.
func (im *Import) readHead(info sheet.Info) (head []sheet.Row, err error) {
	r, err := im.headOf(info.Name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	for len(head) <= headRows {
		var block sheet.Block
		if err := r.Read(&block); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		head = append(head, block.Rows...)
	}
	return head, nil
}

// noHeader returns the error for a file without a recognized header. It lists the rows that were
// found.
func (im *Import) noHeader(all, hidden []candidate) error {
	var found []string
	for _, c := range all {
		if !c.Visible && len(all) > 1 {
			continue
		}
		content := "no rows"
		if widest := widestRow(c.head); widest != nil {
			var cells []string
			for _, cell := range widest.Cells {
				if cell.Text != "" {
					cells = append(cells, strconv.Quote(shorten(filing.HideSSNs(cell.Text))))
				}
			}
			content = fmt.Sprintf("row %d with %s", widest.Number, text.FirstOf(cells, 8))
		}
		if c.Name != "" {
			content += fmt.Sprintf(" in sheet %q", c.Name)
		}
		if found = append(found, content); len(found) == 5 {
			break
		}
	}
	e := &sheet.FormatError{
		Reason: fmt.Sprintf(
			"none of the first %d rows is a header row with columns such as Company ID, Filing State and Filing "+
				"Year; found %s", headRows, strings.Join(found, "; ")),
		Remedy: im.options.remedyText(nameColumns),
	}
	switch {
	case im.options.HeaderRow > 0:
		e.Reason = fmt.Sprintf("row %d has no recognized headers; found %s", im.options.HeaderRow,
			strings.Join(found, "; "))
	case im.options.HeaderRow == NoHeader:
		e.Reason = "there are no headers, so the columns are unknown; found " + strings.Join(found, "; ")
		e.Remedy = im.options.remedyText(nameAddresses)
	case slices.ContainsFunc(slices.Collect(maps.Keys(im.options.Map)), isAddress):
		e.Remedy = im.options.remedyText(chooseHeaderRow)
	}
	if len(hidden) > 0 {
		e.Remedy = fmt.Sprintf("The hidden sheet %q contains filings: %s to read it", hidden[0].Name,
			im.options.remedyText(chooseSheet, hidden[0].Name))
	}
	return e
}

// widestRow returns the row that is most likely the header of a sheet without a recognized header.
// By default it is the first row with the most cells.
func widestRow(rows []sheet.Row) *sheet.Row {
	if at, ok := likelyHeader(rows); ok {
		return &rows[at]
	}
	var best *sheet.Row
	most := 0
	for i := range rows[:min(len(rows), headRows)] {
		filled := 0
		for _, c := range rows[i].Cells {
			filled += oneIf(c.Text != "")
		}
		if filled > most {
			best, most = &rows[i], filled
		}
	}
	return best
}

// shorten cuts the text of a cell for a message.
func shorten(s string) string { return text.Shorten(s, 31) }
