package sheet

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// csvBody is an open CSV file.
type csvBody struct {
	owner   *File
	file    io.ReaderAt
	size    int64
	limits  Limits
	charset charset
	comma   rune
	// crOnly reports whether lines end with a carriage return alone.
	crOnly bool
	// spaced reports whether a space precedes quotation marks: "Acme", "DE".
	spaced bool
	// sepLine reports whether the first line is Excel's delimiter line, which is not a row.
	sepLine bool
}

func openCSV(owner *File, file io.ReaderAt, size int64, limits Limits) (*csvBody, error) {
	c := &csvBody{
		owner:  owner,
		file:   file,
		size:   size,
		limits: limits,
		comma:  ',',
	}
	head, err := readHead(file, size)
	if err != nil {
		return nil, err
	}
	if c.charset, err = findCharset(file, size, head); err != nil {
		return nil, err
	}
	head = make([]byte, headBytes)
	n, err := io.ReadFull(c.charset.reader(file, size), head)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return nil, err
	}
	text := string(head[:n])
	if err := textError(text); err != nil {
		return nil, err
	}
	if whole := n < headBytes; !whole {
		text = text[:strings.LastIndexAny(text, "\r\n")+1]
	}
	if sep, ok := sepLine(text); ok {
		c.comma, c.sepLine = sep, true
	} else {
		c.comma = findDelimiter(text)
	}
	c.crOnly = endsWithCR(text)
	c.spaced = c.comma != '\t' && strings.Contains(text, string(c.comma)+` "`)
	c.noteFindings(text)
	return c, nil
}

func (c *csvBody) noteFindings(head string) {
	switch c.charset.name {
	case "UTF-8":
	case "Windows-1252":
		c.owner.note(
			"Read as Windows-1252 text, for it is not UTF-8. If accented letters look wrong, save the sheet as " +
				"CSV UTF-8.")
	default:
		c.owner.note("Read as " + c.charset.name + " text.")
	}
	if name, ok := delimiterNames[c.comma]; ok {
		c.owner.note("Columns are divided by " + name + ".")
	} else if c.comma != ',' {
		c.owner.note(fmt.Sprintf("Columns are divided by %q.", c.comma))
	}
	if strings.ContainsRune(head, 0) {
		c.owner.note("NUL characters were left out.")
	}
}

var delimiterNames = map[rune]string{';': "semicolons", '\t': "tabs", '|': "vertical bars"}

// sepLine parses the first line with which a CSV names its delimiter to Excel: sep= and the
// delimiter.
func sepLine(text string) (rune, bool) {
	line, _, _ := strings.Cut(text, "\n")
	line = strings.Trim(strings.TrimRight(line, "\r"), `"`)
	if len(line) < 5 || !strings.EqualFold(line[:4], "sep=") {
		return 0, false
	}
	sep, size := utf8.DecodeRuneInString(line[4:])
	if size != len(line)-4 || sep == utf8.RuneError || sep == '"' || sep == '\r' {
		return 0, false
	}
	return sep, true
}

// findDelimiter chooses the delimiter under which most records of the text agree on a number of
// fields. Among those, it prefers the delimiter whose first two agreeing records in a row come
// earliest: a header splits at the delimiter and rarely at another character, and a title above it
// may split too, but into another number of fields. Then it prefers more fields in agreeing
// records. If no delimiter has a majority, it chooses the one that splits a record into the most
// fields.
func findDelimiter(text string) rune {
	best, bestFirst, bestFields := ',', -1, 0
	widest, width := ',', 1
	for _, comma := range []byte{',', '\t', ';', '|'} {
		counts := fieldCounts(text, comma)
		seen := map[int]int{}
		usual := 0
		for _, n := range counts {
			seen[n]++
			if seen[n] > seen[usual] || seen[n] == seen[usual] && n > usual {
				usual = n
			}
			if n > width {
				widest, width = rune(comma), n
			}
		}
		if usual < 2 || seen[usual]*2 <= len(counts) {
			continue
		}
		first, fields := slices.Index(counts, usual), seen[usual]*(usual-1)
		for i := range len(counts) - 1 {
			if counts[i] == usual && counts[i+1] == usual {
				first = i
				break
			}
		}
		if bestFirst < 0 || first < bestFirst || first == bestFirst && fields > bestFields {
			best, bestFirst, bestFields = rune(comma), first, fields
		}
	}
	if bestFirst < 0 {
		return widest
	}
	return best
}

// fieldCounts counts the fields of the first records that are not blank.
func fieldCounts(text string, comma byte) []int {
	const records = 200
	var counts []int
	// fresh reports whether the next character starts a field.
	fields, blank, quoted, fresh := 1, true, false, true
	for i := 0; i < len(text) && len(counts) < records; i++ {
		switch c := text[i]; {
		case quoted:
			// A doubled quote closes the field and opens it again.
			quoted = c != '"'
			fresh = !quoted
		case c == '"' && fresh:
			quoted, blank = true, false
		case c == comma:
			fields++
			fresh = true
		case c == '\n' || c == '\r':
			if !blank {
				counts = append(counts, fields)
			}
			fields, blank, fresh = 1, true, true
		case c != ' ':
			blank, fresh = false, false
		}
	}
	if !blank && !quoted && len(counts) < records {
		counts = append(counts, fields)
	}
	return counts
}

// endsWithCR reports whether lines end with carriage returns alone. Line feeds inside quotes are
// ignored, because such a text has them within its cells.
func endsWithCR(text string) bool {
	returns, quoted := 0, false
	for i := range len(text) {
		switch c := text[i]; {
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '\n':
			return false
		case c == '\r':
			if i+1 < len(text) && text[i+1] == '\n' {
				return false
			}
			returns++
		}
	}
	return returns > 0
}

func (c *csvBody) sheets() []Info { return []Info{{Visible: true}} }

func (c *csvBody) rows(sheet string) (source, error) {
	if sheet != "" {
		return nil, noSheet(sheet)
	}
	text := c.charset.reader(c.file, c.size)
	if c.crOnly {
		text = &lineFeeds{r: text}
	}
	tape := &tape{r: text}
	buffered := bufio.NewReaderSize(tape, headBytes)
	s := &csvSource{
		csvBody:  c,
		tape:     tape,
		nextLine: 1,
		tally:    tally{limits: c.limits},
	}
	if c.sepLine {
		line, err := buffered.ReadSlice('\n')
		if err != nil && err != io.EOF {
			return nil, err
		}
		tape.forget(int64(len(line)))
		tape.origin = int64(len(line))
		s.skippedLines = 1
	}
	s.csv = csv.NewReader(buffered)
	s.csv.Comma = c.comma
	s.csv.FieldsPerRecord = -1
	s.csv.ReuseRecord = true
	s.csv.TrimLeadingSpace = c.spaced
	return s, nil
}

// csvSource reads the records of a CSV.
type csvSource struct {
	*csvBody
	csv  *csv.Reader
	tape *tape

	// number is the number of the last row.
	number int
	// nextLine is the line after the last record, as encoding/csv counts.
	nextLine int
	// skippedLines counts the lines before the text that encoding/csv reads.
	skippedLines int
	// width is the number of fields in the last record.
	width int
	// loose reports whether a record was read loosely.
	loose bool
	tally tally
	buf   []byte
}

func (s *csvSource) close() error { return nil }

func (s *csvSource) fill(b *block) error {
	for !b.full() {
		err := s.record(b)
		if err == io.EOF && len(b.rows) > 0 {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *csvSource) record(b *block) error {
	start := s.csv.InputOffset()
	s.tape.forget(s.tape.origin + start)
	fields, err := s.csv.Read()
	// line is the first line of the record, and lines is their number.
	var line, lines int
	if err == nil {
		line, _ = s.csv.FieldPos(0)
		last := len(fields) - 1
		lastLine, _ := s.csv.FieldPos(last)
		lines = lastLine - line + 1 + strings.Count(fields[last], "\n")
	} else if fields, line, lines, err = s.readLoosely(start, err); err != nil {
		return err
	}
	// encoding/csv skips empty lines.
	s.number += 1 + line - s.nextLine
	s.nextLine = line + lines
	row := Row{Number: s.number, Line: line + s.skippedLines}
	if row.Number > s.limits.Rows {
		return refused(fmt.Sprintf("there are more than %d rows", s.limits.Rows), remedySplit)
	}
	if len(fields) > s.limits.Columns {
		return refused(fmt.Sprintf("row %d (line %d) has %d columns; at most %d are possible", row.Number, row.Line,
			len(fields), s.limits.Columns),
			"Check the delimiter and the line ends of the file")
	}
	s.width = len(fields)
	for i, field := range fields {
		if len(field) > s.limits.CellBytes {
			return &FormatError{
				Cell: CellName(i, row.Number),
				Reason: fmt.Sprintf("the text is longer than a cell can be (%s, on line %d)",
					byteCount(int64(len(field))), row.Line),
				Remedy: "Check whether a quotation mark before it is never closed",
			}
		}
		if field = s.clean(field); field == "" {
			b.cells = append(b.cells, Cell{})
			continue
		}
		if err := s.tally.cell(len(field)); err != nil {
			return err
		}
		b.text += len(field)
		b.cells = append(b.cells, Cell{Text: field, Kind: Text})
	}
	return s.tally.row(len(fields), b.endRow(row))
}

const noteUnreadable = "Some letters were lost before and show as \uFFFD."

// clean removes the apostrophe in front of text that looks like a formula, and normalizes white
// space. It allocates only if it changes the text.
func (s *csvSource) clean(field string) string {
	field = removeGuard(field)
	if isPlain(field) {
		return field
	}
	s.buf = appendClean(s.buf[:0], []byte(field))
	if bytes.ContainsRune(s.buf, utf8.RuneError) {
		s.owner.note(noteUnreadable)
	}
	if string(s.buf) == field {
		return field
	}
	return string(s.buf)
}

// removeGuard removes the apostrophe in front of text that looks like a formula.
func removeGuard(field string) string {
	if field != "" && field[0] == '\'' && looksLikeFormula(field[1:]) {
		return field[1:]
	}
	return field
}

// Guard returns text for a CSV, with an apostrophe in front if it looks like a formula.
func Guard(text string) string {
	if looksLikeFormula(text) {
		return "'" + text
	}
	return text
}

// looksLikeFormula reports whether a spreadsheet program that opens a CSV may read the text as a
// formula. It ignores apostrophes in front, so that text that begins with them is guarded and read
// back like any other. East Asian programs also accept the full-width signs.
func looksLikeFormula(text string) bool {
	text = strings.TrimLeft(text, "'")
	first, _ := utf8.DecodeRuneInString(text)
	return text != "" && strings.ContainsRune("=+-@\t\r＝＋－＠", first)
}

func (s *csvSource) unclosed(line int) error {
	return refused(fmt.Sprintf("a quotation mark is opened on or after line %d and not properly closed",
		line+s.skippedLines),
		`Close it, or double it ("") where it belongs to the text`)
}

// readLoosely reads a record again that encoding/csv refused because of its quotation marks. It
// returns the first line of the record and its number of lines. It refuses a quotation that spans
// several lines and does not end properly, because it may have swallowed rows.
func (s *csvSource) readLoosely(start int64, err error) (fields []string, line, lines int, _ error) {
	var refused *csv.ParseError
	switch {
	case errors.Is(err, errRecordTooLong):
		return nil, 0, 0, s.unclosed(s.nextLine)
	case !errors.As(err, &refused):
		return nil, 0, 0, err
	case errors.Is(refused.Err, csv.ErrQuote) && refused.Line > refused.StartLine:
		return nil, 0, 0, s.unclosed(refused.StartLine)
	}
	raw := s.tape.between(s.tape.origin+start, s.tape.origin+s.csv.InputOffset())
	text := strings.TrimLeft(string(raw), "\r\n")
	for _, rule := range []closingRule{closeAtDelimiter, closeAtQuote} {
		found, ok := splitLoosely(text, s.comma, rule)
		if !ok {
			continue
		}
		fields = found
		if s.width == 0 || len(fields) == s.width {
			break
		}
	}
	if fields == nil {
		return nil, 0, 0, s.unclosed(refused.StartLine)
	}
	if !s.loose {
		s.loose = true
		s.owner.note(fmt.Sprintf("Quotation marks inside cells were read as they stand, first on line %d.",
			refused.Line+s.skippedLines))
	}
	return fields, refused.StartLine, refused.Line - refused.StartLine + 1, nil
}

// closingRule selects the quotation mark that closes a quoted field.
type closingRule bool

const (
	// closeAtDelimiter closes at the first mark before a delimiter: "Acme "Best" LLC",DE
	closeAtDelimiter closingRule = false
	// closeAtQuote closes at the first mark. The rest of the field is plain, as in Excel: "Big"
	// Al's LLC,DE
	closeAtQuote closingRule = true
)

// splitLoosely splits a record with malformed quotation marks. ok is false if a quotation does not
// end, or if the record ends before the text does.
func splitLoosely(text string, comma rune, rule closingRule) (fields []string, ok bool) {
	delimiter := string(comma)
	text = strings.TrimSuffix(strings.TrimSuffix(text, "\n"), "\r")
	for {
		var field strings.Builder
		if comma != '\t' {
			text = strings.TrimLeft(text, " ")
		}
		if strings.HasPrefix(text, `"`) {
			text = text[1:]
			for {
				end := strings.IndexByte(text, '"')
				if end < 0 {
					return nil, false
				}
				field.WriteString(text[:end])
				text = text[end+1:]
				if strings.HasPrefix(text, `"`) {
					field.WriteByte('"')
					text = text[1:]
					continue
				}
				if rule == closeAtQuote || text == "" || strings.HasPrefix(strings.TrimLeft(text, " "), delimiter) {
					break
				}
				field.WriteByte('"')
			}
		}
		plain, rest, more := strings.Cut(text, delimiter)
		if strings.ContainsAny(plain, "\n") {
			return nil, false
		}
		field.WriteString(plain)
		fields = append(fields, field.String())
		if !more {
			return fields, true
		}
		text = rest
	}
}

var errRecordTooLong = errors.New("record too long")

// tape keeps the bytes since the last record, so that a record that encoding/csv refuses can be
// read again.
type tape struct {
	r io.Reader
	// origin is the offset at which encoding/csv began to read.
	origin int64
	kept   []byte
	// start is the offset of kept.
	start int64
	// needed is the offset of the first byte that must be kept.
	needed int64
}

func (t *tape) Read(p []byte) (int, error) {
	if n := t.needed - t.start; n > 0 {
		t.kept = t.kept[:copy(t.kept, t.kept[n:])]
		t.start = t.needed
	}
	if len(t.kept) > rowBytes+headBytes {
		return 0, errRecordTooLong
	}
	n, err := t.r.Read(p)
	t.kept = append(t.kept, p[:n]...)
	return n, err
}

func (t *tape) forget(offset int64) { t.needed = offset }

func (t *tape) between(from, to int64) []byte { return t.kept[from-t.start : to-t.start] }
