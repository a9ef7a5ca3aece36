package importer

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
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
	file    *editedFile
	finder  sheetFinder
	// sheet is empty for a CSV.
	sheet   string
	layout  *layout
	product filing.Product
	mapping *mapping
	// detected reports whether the product was detected from the columns.
	detected bool
	head     []sheet.Row

	// own are the columns of our own workbooks.
	own ownColumns

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
	m, err := newMatcher(&o)
	if err != nil {
		return nil, err
	}
	properties, err := f.Properties()
	if err != nil {
		return nil, err
	}
	if ledger.IsRehearsal(properties) {
		return nil, &sheet.FormatError{
			File:   f.Name(),
			Reason: "this is the workbook of a rehearsal. None of its orders was placed",
			Remedy: "Use the spreadsheet that was rehearsed",
		}
	}
	im := &Import{options: o, own: ownColumns{origin: ledger.OriginOf(properties)}}
	im.file, err = newEditedFile(&o, f)
	im.finder = sheetFinder{file: im.file, options: &im.options, matcher: m}
	if from := im.own.origin; from != nil && from.Rows > 0 {
		// The header row was given for the file that this results workbook belongs to.
		m.headerRow = 0
		if isVisible(f, from.Sheet) && isVisible(f, from.Results) {
			im.finder.attention, im.finder.results = from.Sheet, from.Results
		}
	}
	return im, err
}

func isVisible(f *sheet.File, name string) bool {
	return slices.Contains(f.Sheets(), sheet.Info{Name: name, Visible: true})
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
	for _, n := range slices.Concat(im.file.Notes(), im.finder.notes, im.notes, im.found, im.unselected()) {
		n = filing.HideSSNs(n)
		if !slices.Contains(all, n) {
			all = append(all, n)
		}
	}
	return all
}

// recognize finds the meaning of the columns from the first rows alone.
func (im *Import) recognize() error {
	err := im.refuseChangedResults()
	if err == nil {
		var c candidate
		c, err = im.finder.find()
		im.sheet, im.layout, im.head = c.Name, c.layout, c.head
	}
	if err == nil {
		err = im.recognizeColumns()
	}
	if e, is := errors.AsType[*sheet.FormatError](err); is && e.File == "" {
		e.File, e.Sheet = im.file.Name(), im.sheet
	}
	return err
}

func (im *Import) recognizeColumns() error {
	im.own.find(im.layout, im.sheet)
	if h, found := im.layout.tooManyOfficers(); found {
		return refused("the column %s is beyond the %d officers that fit in a row: form a company with more officers "+
			"in the filing service's dashboard", h.name(im.layout.row), maxOfficers)
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
	for _, check := range []func() error{im.refuseOfficersSheet, im.checkFilters, im.readComments, im.checkState} {
		if err := check(); err != nil {
			return err
		}
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
	free := *im.finder.matcher
	if free.headerRow <= 0 {
		return 0
	}
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
				text.FirstQuoted(headers, maxListed))
		}
	}
	return nil
}
