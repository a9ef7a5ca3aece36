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
// Text that a spreadsheet program could read as a formula gets an apostrophe in front, which this
// package removes when it reads the file. A file with letters beyond ASCII begins with a byte order
// mark, because Excel garbles them without it.
type CSVFile struct {
	// Delimiter separates the fields. The default is a comma. It must not change after the first
	// row.
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
	// The buffer keeps its error until Flush.
	return f.buf.WriteByte('\n')
}

// field writes a field. It adds quotes if any program could split the field. A program that splits
// at semicolons, as in most of Europe, would read the text after one as another cell, and perhaps
// as a formula.
func (f *CSVFile) field(text string, alone bool) {
	// An empty line is not a row.
	plain := text != "" || !alone
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

// Save renames the file to its target. It leaves no temporary file, even if it fails.
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

// mark rewrites the file with a byte order mark in front. Whether the file needs one is known only
// at the end.
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
