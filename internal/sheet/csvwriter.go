package sheet

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// CSVFile writes a CSV file.
//
// Text that a spreadsheet program could take for a formula gets an apostrophe
// in front, which this package removes when it reads the file. A file with
// letters beyond ASCII begins with a byte order mark; without it Excel garbles
// them.
type CSVFile struct {
	// Delimiter stands between the fields. It is a comma unless it is changed before
	// the first row.
	Delimiter rune

	path  string
	file  *atomicFile
	buf   *bufio.Writer
	ascii bool
}

// CreateCSV creates a CSV file. It appears under its name with Save.
func CreateCSV(path string) (*CSVFile, error) {
	file, err := createAtomic(path)
	if err != nil {
		return nil, fmt.Errorf("create %s: %w", path, err)
	}
	buf := bufio.NewWriterSize(file, 64<<10)
	return &CSVFile{path: path, file: file, buf: buf, Delimiter: ',', ascii: true}, nil
}

// Row writes the next row.
func (f *CSVFile) Row(cells ...OutCell) error {
	for i, c := range cells {
		text := c.Text
		if c.Kind == Text {
			text = Guard(text)
		}
		f.ascii = f.ascii && isASCII(text)
		if i > 0 {
			f.buf.WriteRune(f.Delimiter)
		}
		f.field(text, len(cells) == 1)
	}
	return f.buf.WriteByte('\n') // errors of a buffer stay
}

// field writes a field, in quotes where any program could divide it: one that
// takes the semicolon for the delimiter, as in most of Europe, would take what
// follows one for a cell of its own, and perhaps for a formula.
func (f *CSVFile) field(text string, alone bool) {
	plain := text != "" || !alone // a line of nothing is no row
	plain = plain && !strings.ContainsAny(text, ",;\t|\"\r\n") && !strings.ContainsRune(text, f.Delimiter)
	if plain = plain && text != `\.`; plain {
		first, _ := utf8.DecodeRuneInString(text)
		plain = text == "" || !unicode.IsSpace(first)
	}
	if plain {
		f.buf.WriteString(text)
		return
	}
	f.buf.WriteByte('"')
	f.buf.WriteString(strings.ReplaceAll(text, `"`, `""`))
	f.buf.WriteByte('"')
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// Save renames the file to its target. It leaves no temporary file, whether it
// succeeds or not.
func (f *CSVFile) Save() error {
	err := f.buf.Flush()
	if err == nil && !f.ascii {
		err = f.mark()
	}
	if err == nil {
		err = f.file.commit()
	}
	if err != nil {
		f.file.abort()
		return fmt.Errorf("save %s: %w", f.path, err)
	}
	return nil
}

// mark rewrites the file with a byte order mark in front: only at the end is it
// known whether it needs one.
func (f *CSVFile) mark() error {
	if err := f.buf.Flush(); err != nil {
		return err
	}
	marked, err := createAtomic(f.path)
	if err != nil {
		return err
	}
	if _, err = marked.WriteString("\ufeff"); err == nil {
		if _, err = f.file.Seek(0, io.SeekStart); err == nil {
			_, err = io.Copy(marked, f.file)
		}
	}
	if err != nil {
		marked.abort()
		return err
	}
	f.file.abort()
	f.file = marked
	return nil
}

// Abort removes the temporary file. After Save it does nothing.
func (f *CSVFile) Abort() { f.file.abort() }
