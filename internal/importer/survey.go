package importer

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"

	"bulkfiling/internal/filing"
	"bulkfiling/internal/sheet"
)

// Survey is how a file is understood by its first rows: what a person needs to
// see, and to correct by Options.Map, Options.Sheet and Options.Product.
type Survey struct {
	File      string // its name without folders
	Sheets    []SheetSurvey
	Sheet     string         // that is read, or would most likely be; empty for a CSV
	HeaderRow int            // its number; where none was recognised, the likeliest; 0 where no row can be one
	Head      []HeadRow      // the rows of which one may be the header, without those that are blank
	Columns   []ColumnSurvey // but for those that are blank throughout
	Rows      int            // that are not blank below the header; -1 for more than the 2,000 that are counted
	// stands for the headers in their order, whatever the rows, the options and
	// the edits; empty without a header
	Shape   string
	Product filing.Product // empty where it was neither named nor can be told
	Notes   []string       // on the file; see [Import.Notes]
	// with which Open would refuse the file, as far as its first rows tell; a
	// *sheet.FormatError as a rule
	Err error
}

// HeadRow is one of the first rows of a sheet, which may be its header.
type HeadRow struct {
	Number int
	Texts  []string // of the first cells that are not blank, shortened, Social Security numbers hidden
}

// SheetSurvey is a sheet of the file. A CSV has one without a name.
type SheetSurvey struct {
	Name    string
	Visible bool
	Filings bool // has the header of a sheet of filings
}

// ColumnSurvey is a column and what it is read as.
type ColumnSurvey struct {
	Index   int      // from 0
	Letter  string   // "C"
	Header  string   // as it was given; empty where there is none
	Map     string   // what Options.Map calls it
	Column  string   // ours that it is read as; empty where it is not used
	How     string   // by what right: [ByName], [ByWording], [ByMap], or empty
	Note    string   // why it is not used, or when; a clause without a full stop
	Suggest string   // ours that it may be meant for
	Samples []string // up to three values, shortened, Social Security numbers hidden
	Secret  bool     // holds Social Security numbers
}

// By what right a column is read as one of ours.
const (
	ByName    = "name"    // its header is ours, or the service's field
	ByWording = "wording" // its header is another wording
	ByMap     = "map"     // a person said so
)

// SurveyReader looks at the first rows of a file and says how they are
// understood, also where Open would refuse it: where no header is recognised,
// the product cannot be told, or several sheets hold filings. The error is for
// options that are wrong and for content that is no sheet at all.
func SurveyReader(name string, r io.ReaderAt, size int64, o Options) (*Survey, error) {
	im, m, err := o.begin(func() (*sheet.File, error) { return sheet.OpenReader(name, r, size, o.Limits) })
	if err != nil {
		return nil, hideInError(err)
	}
	defer im.Close()
	s := &Survey{File: im.file.Name(), Rows: -1, Err: hideInError(im.recognize(m))}
	all := im.readCandidates(m, s)
	if im.layout == nil {
		if !im.guessHeader(m, all) {
			s.Notes = im.Notes()
			return s, nil
		}
	}
	if im.product == "" {
		_ = im.findProduct() // why it cannot be told is s.Err, unless something worse is
	}
	if im.mapping == nil && im.product != "" {
		im.mapping, _, _ = bind(im.layout, im.product, &im.options, s.File, im.sheet)
	}
	s.Sheet, s.HeaderRow, s.Product = im.sheet, im.layout.row, im.product
	s.Rows = im.countRows()
	if s.HeaderRow > 0 {
		if s.Shape, err = im.shape(); err != nil {
			return nil, err
		}
	}
	s.Head = im.surveyHead()
	s.Columns = im.surveyColumns()
	s.Notes = im.Notes()
	return s, nil
}

// lookAtAll looks at every sheet, whichever is read.
func (im *Import) readCandidates(m *matcher, s *Survey) (all []candidate) {
	if im.headCells > maxHeadCells {
		return nil // why is s.Err
	}
	im.headCells = 0
	for _, info := range im.file.Sheets() {
		c, err := im.readCandidate(m, info)
		if err != nil && s.Err == nil {
			s.Notes = append(s.Notes, hideInError(err).Error())
		}
		s.Sheets = append(s.Sheets, SheetSurvey{
			Name:    info.Name,
			Visible: info.Visible,
			Filings: c.layout != nil && !isOfficersSheet(info.Name),
		})
		all = append(all, c)
	}
	return all
}

// guess chooses the sheet, and the row in it, that are the likeliest to be the
// sheet of filings and its header. It is false where no row has anything in it.
func (im *Import) guessHeader(m *matcher, all []candidate) bool {
	best := -1
	rank := func(c *candidate) int {
		switch {
		case c.Name != "" && strings.EqualFold(c.Name, im.options.Sheet):
			return 4
		case c.layout != nil && c.Visible:
			return 3
		case c.Visible:
			return 2
		}
		return 1
	}
	for i := range all {
		if len(all[i].head) > 0 && (best < 0 || rank(&all[i]) > rank(&all[best])) {
			best = i
		}
	}
	if best < 0 {
		return false
	}
	c := all[best]
	im.sheet, im.layout, im.head = c.Name, c.layout, c.head
	if im.layout != nil {
		return true
	}
	at, ok := likelyHeader(c.head)
	if m.headerRow > 0 {
		at = slices.IndexFunc(c.head, func(r sheet.Row) bool { return r.Number == int(m.headerRow) })
		ok = at >= 0
	}
	if !ok || m.headerRow == NoHeader {
		im.layout = m.layoutWithoutHeader(c.head)
		return true
	}
	im.layout = m.read(c.head[at].Cells, nil)
	m.applyMap(im.layout, c.head)
	im.layout.row, im.layout.rows = c.head[at].Number, len(c.head)-at-1
	return true
}

// firstRows are those of which one may be the header.
func (im *Import) surveyHead() (all []HeadRow) {
	const most = 8 // cells
	for i := range im.head[:min(len(im.head), headRows)] {
		row := HeadRow{Number: im.head[i].Number}
		for _, c := range im.head[i].Cells {
			if c.Kind != sheet.Blank && len(row.Texts) < most {
				row.Texts = append(row.Texts, im.sample(&heading{wording: wording{none, unknown}}, c.Text, true))
			}
		}
		if row.Number <= headRows && row.Texts != nil {
			all = append(all, row)
		}
	}
	return all
}

// countRows counts the rows below the header, if they are not too many.
func (im *Import) countRows() int {
	const most = 2000
	r, err := im.headOf(im.sheet)
	if err != nil {
		return -1
	}
	defer r.Close()
	for n := 0; n <= most; {
		var block sheet.Block
		switch err := r.Read(&block); {
		case errors.Is(err, io.EOF):
			return n
		case err != nil:
			return -1
		}
		for i := range block.Rows {
			n += oneIf(block.Rows[i].Number > im.layout.row)
		}
	}
	return -1
}

// likelyHeader finds the row that is the likeliest to be a header though
// nothing in it is known: the first that has nearly as many words as any has,
// and is not itself one of the rows below it.
func likelyHeader(rows []sheet.Row) (at int, ok bool) {
	words := make([]int, min(len(rows), headRows))
	most := 0
	for i := range words {
		words[i] = countWords(rows[i].Cells, rows[i+1:min(len(rows), i+1+headRows)])
		most = max(most, words[i])
	}
	for i, n := range words {
		if n > 0 && n*3 >= most*2 {
			return i, true
		}
	}
	return 0, false
}

// wordsOf counts the cells of a row that may head a column; none where too much
// speaks against a header: an address, an id, values that come again below.
func countWords(cells []sheet.Cell, below []sheet.Row) (words int) {
	filled, again := 0, 0
	for i, c := range cells {
		if c.Kind == sheet.Blank {
			continue
		}
		filled++
		if filing.IsEmail(c.Text) || filing.IsCompanyID(c.Text) || filing.IsUserID(c.Text) {
			return 0
		}
		words += oneIf(isWord(c))
		again += oneIf(slices.ContainsFunc(below, func(r sheet.Row) bool {
			return i < len(r.Cells) && r.Cells[i].Kind != sheet.Blank && strings.EqualFold(r.Cells[i].Text, c.Text)
		}))
	}
	if words*2 < filled || again*4 > filled {
		return 0
	}
	return words
}

// isWord reports whether a cell may head a column.
func isWord(c sheet.Cell) bool {
	if c.Kind != sheet.Text {
		return false
	}
	letters, digits := 0, 0
	for _, r := range c.Text {
		switch {
		case unicode.IsLetter(r):
			letters++
		case unicode.IsDigit(r):
			digits++
		}
	}
	return letters > digits
}

// shape stands for the headers as the file has them.
func (im *Import) shape() (string, error) {
	r, err := im.file.Rows(im.sheet)
	if err != nil {
		return "", err
	}
	defer r.Close()
	whole := sha256.New()
	for rows := 0; rows <= headRows; {
		var block sheet.Block
		if err := r.Read(&block); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return "", err
		}
		rows += len(block.Rows)
		for _, row := range block.Rows {
			if row.Number != im.layout.row {
				continue
			}
			for _, c := range row.Cells {
				fmt.Fprintf(whole, "%q,", foldHeader(c.Text))
			}
		}
	}
	return hex.EncodeToString(whole.Sum(nil))[:16], nil
}

// survey says of each column what it is read as.
func (im *Import) surveyColumns() (all []ColumnSurvey) {
	resolved := im.layout.resolve()
	claims := make(map[columnID][]heading)
	secrets := false
	for _, h := range resolved {
		if h.column != none {
			claims[h.column] = append(claims[h.column], h)
		}
		secrets = secrets || h.isSecret()
	}
	width := len(resolved)
	for i := range im.head {
		if im.head[i].Number > im.layout.row {
			width = max(width, len(im.head[i].Cells))
		}
	}
	for i := range width {
		h := heading{index: i, wording: wording{none, unknown}}
		if i < len(resolved) {
			h = resolved[i]
		}
		c := ColumnSurvey{
			Index:  i,
			Letter: sheet.ColumnName(i),
			Header: h.text,
			Map:    im.layout.mapName(&h),
			Secret: h.isSecret(),
		}
		if im.layout.row == 0 {
			c.Header = ""
		}
		c.Samples = im.samples(&h, secrets)
		if c.Header == "" && c.Samples == nil {
			continue
		}
		switch h.strength {
		case exact:
			c.How = ByName
		case weak, alias:
			c.How = ByWording
		case mapped:
			c.How = ByMap
		}
		if h.column == none {
			im.describeUnused(&c, &h)
			if id := im.guessByValues(&h); c.Suggest == "" && h.strength == unknown && id != none && claims[id] == nil {
				c.Suggest = columns[id].header
			}
		} else {
			im.describeUsed(&c, &h, claims)
		}
		all = append(all, c)
	}
	return all
}

// tellingValues are columns that their values give away, whatever their headers.
var tellingValues = []struct {
	column columnID
	is     func(string) bool
}{
	{companyID, filing.IsCompanyID},
	{userID, filing.IsUserID},
	{userEmail, filing.IsEmail},
	{filingState, func(s string) bool { _, ok := filing.ParseState(s); return ok }},
	{filingYear, func(s string) bool { return len(s) == 4 && isDigits(s) && strings.HasPrefix(s, "20") }},
}

// valuesTell tells from all the values of a column what it may be; none where they
// do not say.
func (im *Import) guessByValues(h *heading) columnID {
	for _, t := range tellingValues {
		seen, all := 0, true
		for i := range im.head {
			if row := &im.head[i]; row.Number > im.layout.row && h.index < len(row.Cells) &&
				row.Cells[h.index].Kind != sheet.Blank {
				seen++
				all = all && t.is(row.Cells[h.index].Text)
			}
		}
		if seen > 0 && all {
			return t.column
		}
	}
	return none
}

// isSecret reports whether a column holds Social Security numbers.
func (h *heading) isSecret() bool {
	return h.column != none && columns[h.column].kind == ssnKind || filing.IsSSNHeader(h.text)
}

// unused says why a column means nothing to us.
func (im *Import) describeUnused(c *ColumnSurvey, h *heading) {
	switch near, ok := im.layout.suggest(h, im.head); {
	case h.strength == mapped:
		c.Note = "left out by hand"
	case c.Header == "":
		c.Note = "it has no header"
	case h.strength == weak:
		c.Note = "another column is a closer match"
	case resultColumns[h.folded]:
		c.Note = "a result column, which is filled in again"
	case ok:
		c.Note, c.Suggest = "not known", columns[near].header
	default:
		c.Note = "not known"
	}
}

// used says what a column is read as, or why it is not although it is known.
func (im *Import) describeUsed(c *ColumnSurvey, h *heading, claims map[columnID][]heading) {
	column := &columns[h.column]
	winner, rivals := strongest(claims[h.column])
	switch {
	case im.mapping == nil && im.product == "":
		c.Column = column.header
	case im.mapping == nil && !column.has(im.product), im.mapping != nil && im.mapping.binding(h.column) == nil:
		c.Note = fmt.Sprintf("%s is not used for %s", column.header, article(im.product))
		return
	default:
		c.Column = column.header
	}
	switch {
	case winner.index != h.index && h.strength < winner.strength:
		c.Column, c.Note = "", fmt.Sprintf("%s is a closer match for %s", winner.name(im.layout.row),
			column.header)
	case len(rivals) > 0 && (im.mapping == nil || im.mapping.binding(h.column).index != h.index):
		other := winner
		if winner.index == h.index {
			other = rivals[0]
		}
		c.Column, c.Note = "", fmt.Sprintf("%s also matches %s", other.name(im.layout.row), column.header)
	case im.mapping != nil && im.product != filing.Formation &&
		(column.part == ofCompany && im.mapping.partOf(column) == ofCompany || column.part == ofOfficers) &&
		im.mapping.binding(companyID) != nil:
		c.Note = "used only for rows without a Company ID, whose companies are created"
	}
}

// samples are some values of a column.
func (im *Import) samples(h *heading, secrets bool) (all []string) {
	const most = 3
	for i := range im.head {
		row := &im.head[i]
		if row.Number <= im.layout.row || h.index >= len(row.Cells) {
			continue
		}
		text := row.Cells[h.index].Text
		if text == "" {
			continue
		}
		if shown := im.sample(h, text, secrets); !slices.Contains(all, shown) {
			all = append(all, shown)
		}
		if len(all) == most {
			break
		}
	}
	return all
}

// sample is a value that may be shown. Nine digits in a column that is not
// known, or of a sheet that has Social Security numbers, may be one.
func (im *Import) sample(h *heading, text string, secrets bool) string {
	if h.isSecret() {
		return filing.MaskSSN(text)
	}
	stray := len(text) == 9 && isDigits(text) &&
		(h.column != none && secrets && columns[h.column].kind != zipKind && columns[h.column].kind != companyKind)
	if stray {
		return filing.MaskSSN(text)
	}
	return shorten(h.hiding().hide(h.text, text))
}

// ColumnInfo is a column that a person can say another stands for.
type ColumnInfo struct {
	Name     string // "Filing State"
	About    string // one or two sentences for the person who fills it in
	Example  string // empty where there is none
	Group    string // "Company", "Addresses", "User", "Filing", "Agent", "EIN", "Billing", "Officer 1" …
	Required bool   // every row needs it; of the columns that name the user, any
}

// ColumnsOf lists the columns that a product has use for, by their groups. For
// no product it lists all.
func ColumnsOf(p filing.Product) []ColumnInfo {
	var all []ColumnInfo
	for id := range columnID(len(columns)) {
		c := &columns[id]
		if p != "" && !c.has(p) {
			continue
		}
		all = append(all, ColumnInfo{
			Name:     c.header,
			About:    c.about,
			Example:  c.example,
			Group:    groupOf(id),
			Required: slices.Contains(templates[p].needed, id),
		})
	}
	order := make(map[string]int)
	for i, c := range all {
		if _, seen := order[c.Group]; !seen {
			order[c.Group] = i
		}
	}
	slices.SortStableFunc(all, func(a, b ColumnInfo) int { return order[a.Group] - order[b.Group] })
	return all
}

func groupOf(id columnID) string {
	switch {
	case id >= firstOfficer:
		return fmt.Sprintf("Officer %d", (id-firstOfficer)/officerColumnCount+1)
	case columns[id].unsent:
		return "Billing"
	case id == orderEIN, id >= businessCategory:
		return "EIN"
	case id == orderAgent, id == changeOfAgent, id >= agentType && id <= agentZIP:
		return "Agent"
	case id >= principalLine1 && id <= mailingCountry:
		return "Addresses"
	case id >= userID && id <= userPhone:
		return "User"
	case id < principalLine1:
		return "Company"
	}
	return "Filing"
}
