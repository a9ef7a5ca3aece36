package sheet

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/runes"
	"golang.org/x/text/transform"
)

// CSVRow says what changes in a row of a CSV that is copied.
type CSVRow struct {
	Replace map[int]string // fields with another text, by column
	Added   []string       // fields that are added; nil for none
}

// CSVEdit says how a CSV is copied.
type CSVEdit struct {
	// First is the column of the fields that are added. What a row has there and
	// behind is left out; shorter rows get empty fields.
	First int
	// Row returns what changes in a row; its fields are as they are written.
	Row func(number int, fields []string) CSVRow
	// More returns rows that follow the last; nil for none.
	More func() [][]string
}

// SaveCSV writes a copy of a CSV with changed fields to a file. It has the
// delimiter, the quotation marks, the encoding and the line ends of the original.
// The file appears under its name only when it is complete.
func (f *File) SaveCSV(path string, e CSVEdit) error {
	file, err := createAtomic(path)
	if err != nil {
		return fmt.Errorf("create %s: %w", path, err)
	}
	if err = f.copyCSV(file, e); err == nil {
		err = file.commit()
	}
	if err != nil {
		file.abort()
		return fmt.Errorf("save %s: %w", path, err)
	}
	return nil
}

// writeCSV writes a copy of a CSV with the masked fields.
func (c *copier) writeCSV(w io.Writer) error {
	masks := c.masks[""]
	return c.file.copyCSV(w, CSVEdit{First: -1, Row: func(number int, fields []string) CSVRow {
		replace := map[int]string{}
		for i, field := range fields {
			shown, isMasked := masks[cellAddress{number, i}]
			if !isMasked {
				shown = c.hideSecrets(field)
			}
			if shown != field {
				replace[i] = shown
			}
		}
		return CSVRow{Replace: replace}
	}})
}

// csvCopier writes a CSV in the form of another.
type csvCopier struct {
	CSVEdit
	body   *csvBody
	out    *bufio.Writer
	eol    string
	ended  bool // the last row ends with a line end
	quoted bool // the last row has all its fields in quotation marks
}

func (f *File) copyCSV(w io.Writer, e CSVEdit) error {
	body, ok := f.body.(*csvBody)
	if !ok {
		return errors.New("the file is not a CSV")
	}
	mark := make([]byte, body.charset.bom)
	if _, err := body.file.ReadAt(mark, 0); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if _, err := w.Write(mark); err != nil {
		return err
	}
	if body.charset.encoder != nil {
		encoder := transform.NewWriter(w, transform.Chain(runes.Map(body.charset.encodable), body.charset.encoder()))
		defer encoder.Close()
		w = encoder
	}
	if body.crOnly {
		w = carriageReturns{w}
	}
	c := &csvCopier{CSVEdit: e, body: body, out: bufio.NewWriterSize(w, 64<<10), eol: "\n", ended: true}
	if err := c.run(); err != nil {
		return err
	}
	return c.out.Flush()
}

// carriageReturns writes the line ends of an old Macintosh text.
type carriageReturns struct{ w io.Writer }

func (c carriageReturns) Write(p []byte) (int, error) {
	return c.w.Write(bytes.ReplaceAll(p, []byte("\n"), []byte("\r")))
}

func (c *csvCopier) run() error {
	s, err := c.body.records("")
	if err != nil {
		return err
	}
	if c.body.sepLine {
		line, err := bufio.NewReader(c.body.charset.reader(c.body.file, c.body.size)).ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		c.out.WriteString(line)
	}
	s.onRecord = c.writeRecord
	var b Block
	for {
		b.reset()
		start := s.csv.InputOffset()
		if err := s.fill(&b); errors.Is(err, io.EOF) {
			end := s.tape.start + int64(len(s.tape.kept))
			rest := s.tape.between(s.tape.origin+max(start, s.csv.InputOffset()), end)
			c.writeFollowing(len(rest) > 0)
			_, err := c.out.Write(rest) // blank lines
			return err
		} else if err != nil {
			return err
		}
	}
}

// writeFollowing writes the rows that follow the last.
func (c *csvCopier) writeFollowing(blankLines bool) {
	if c.More == nil {
		return
	}
	for _, fields := range c.More() {
		if !c.ended && !blankLines {
			c.out.WriteString(c.eol)
		}
		c.writeFields(fields)
		c.ended = false
	}
	if !c.ended && blankLines {
		c.out.WriteString(c.eol)
	}
}

// writeRecord writes a record with its changes. raw is the record as it is written,
// with the blank lines before it.
func (c *csvCopier) writeRecord(number int, raw []byte, fields []string) {
	text := string(raw)
	blank := len(text) - len(strings.TrimLeft(text, "\r\n"))
	c.out.WriteString(text[:blank])
	text = text[blank:]
	end := ""
	for _, e := range []string{"\r\n", "\n"} {
		if strings.HasSuffix(text, e) {
			end, c.eol = e, e
			break
		}
	}
	text = strings.TrimSuffix(text, end)
	c.ended = end != ""
	change := c.Row(number, fields)
	spans, ok := fieldSpans(text, c.body.comma, c.body.spaced)
	if !ok || len(spans) != len(fields) { // its quotation marks are out of order
		if len(change.Replace) == 0 && change.Added == nil && !slices.ContainsFunc(fields, needsGuard) {
			c.out.WriteString(text + end)
			return
		}
		spans = nil
	}
	c.quoted = spans != nil
	for _, s := range spans {
		c.quoted = c.quoted && strings.HasPrefix(strings.TrimLeft(text[s.start:s.end], " "), `"`)
	}
	if c.First >= 0 {
		fields = fields[:min(len(fields), c.First)]
	}
	for i, field := range fields {
		if i > 0 {
			c.out.WriteRune(c.body.comma)
		}
		shown, changed := change.Replace[i]
		switch {
		case changed:
			c.writeField(shown)
		case spans != nil && !needsGuard(field):
			c.out.WriteString(text[spans[i].start:spans[i].end])
		default:
			c.writeField(field)
		}
	}
	c.writeAdded(len(fields), change)
	c.out.WriteString(end)
}

// writeAdded writes the fields that are added to a row of so many fields.
func (c *csvCopier) writeAdded(width int, change CSVRow) {
	if change.Added == nil {
		return
	}
	for i := width; i < c.First; i++ {
		if i > 0 {
			c.out.WriteRune(c.body.comma)
		}
		if shown, changed := change.Replace[i]; changed {
			c.writeField(shown)
		}
	}
	for _, field := range change.Added {
		c.out.WriteRune(c.body.comma)
		c.writeField(field)
	}
}

// writeFields writes a row of fields.
func (c *csvCopier) writeFields(fields []string) {
	for i, field := range fields {
		if i > 0 {
			c.out.WriteRune(c.body.comma)
		}
		c.writeField(field)
	}
}

// writeField writes a field, in quotation marks where the fields of the row are or
// where any program could divide it.
func (c *csvCopier) writeField(text string) {
	if needsGuard(text) {
		text = "'" + text
	}
	first, _ := utf8.DecodeRuneInString(text)
	plain := !c.quoted && !strings.ContainsAny(text, ",;\t|\"\r\n") && !strings.ContainsRune(text, c.body.comma) &&
		first != ' '
	if plain {
		c.out.WriteString(text)
		return
	}
	c.out.WriteString(`"` + strings.ReplaceAll(text, `"`, `""`) + `"`)
}

// needsGuard reports whether a spreadsheet program could take a field for a
// formula. A number with a sign is none.
func needsGuard(text string) bool {
	if !looksLikeFormula(text) || text[0] == '\'' {
		return false
	}
	return strings.Trim(text[1:], "0123456789.,") != "" || strings.HasPrefix(text, "=") || strings.HasPrefix(text, "@")
}

// fieldSpan is where a field lies in its record.
type fieldSpan struct{ start, end int }

// fieldSpans finds the fields of a record whose quotation marks are in order.
func fieldSpans(text string, comma rune, spaced bool) (spans []fieldSpan, ok bool) {
	delimiter := string(comma)
	for at := 0; ; {
		from := at
		if spaced {
			from += len(text[at:]) - len(strings.TrimLeft(text[at:], " "))
		}
		end := from
		if strings.HasPrefix(text[from:], `"`) {
			for end++; ; {
				quote := strings.IndexByte(text[end:], '"')
				if quote < 0 {
					return nil, false
				}
				end += quote + 1
				if !strings.HasPrefix(text[end:], `"`) {
					break
				}
				end++
			}
			if end < len(text) && !strings.HasPrefix(text[end:], delimiter) {
				return nil, false
			}
		} else if next := strings.Index(text[from:], delimiter); next >= 0 {
			end = from + next
		} else {
			end = len(text)
		}
		spans = append(spans, fieldSpan{at, end})
		if end == len(text) {
			return spans, true
		}
		at = end + len(delimiter)
	}
}
