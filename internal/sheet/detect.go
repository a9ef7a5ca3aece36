package sheet

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"strings"
)

// headBytes is the number of bytes read to detect the format, encoding and delimiter of a file.
const headBytes = 64 << 10

// otherText matches the beginnings of PDF documents and of SYLK and DIF sheets. For SYLK it matches
// the first two records, because the first alone may be the header of a CSV.
var otherText = regexp.MustCompile(`^(%PDF-|ID;P\w*(;[NE])*[\r\n]+(P;P|F;P|O;|B;[XY]|C;[XY])|TABLE\r?\n0,1)`)

// workbookStream matches an old workbook without a container by its first record, for any version
// from Excel 2 on.
var workbookStream = regexp.MustCompile(`^\x09[\x00\x02\x04\x08][\x04\x06\x08\x10]\x00`)

// detect detects the format of a file from its content.
func detect(file io.ReaderAt, size int64) (Format, error) {
	head, err := readHead(file, size)
	if err != nil {
		return "", err
	}
	if len(head) == 0 {
		return "", refused("the file is empty", "Check that it was saved, or exported, completely")
	}
	switch {
	case otherText.Match(head):
		return "", errNoSheet
	case bytes.HasPrefix(head, []byte("\xd0\xcf\x11\xe0")):
		return "", compoundError(io.NewSectionReader(file, 0, size))
	case workbookStream.Match(head):
		return "", errXLS
	case bytes.Contains(head[:min(len(head), 256)], []byte(odsType)):
		return "", errODS
	case bytes.HasPrefix(head, []byte("PK\x03\x04")), bytes.HasPrefix(head, []byte("PK\x05\x06")):
		return XLSX, nil
	}
	return CSV, nil
}

func readHead(file io.ReaderAt, size int64) ([]byte, error) {
	head := make([]byte, min(size, headBytes))
	n, err := file.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return head[:n], nil
}

// remedyXLSX is the remedy for workbooks of other formats.
const remedyXLSX = "Open it in Excel or LibreOffice and save it as .xlsx"

var (
	errXLS = refused("this is an old Excel workbook (.xls)", remedyXLSX)
	errODS = refused("this is an OpenDocument spreadsheet (.ods)", remedyXLSX)
	// errNoSheet is returned for all other files, such as documents, web pages and archives.
	errNoSheet = refused("this is neither an Excel workbook (.xlsx) nor a CSV file", remedySaveAs)
)

// odsType is the content of the first part of an OpenDocument spreadsheet, which is not compressed.
// Spreadsheet templates append to it.
const odsType = "mimetypeapplication/vnd.oasis.opendocument.spreadsheet"

// compoundStreams are the stream names that identify a compound file (OLE2). The directory with the
// names may be anywhere in the file and may be damaged, so the search is for the names alone.
var compoundStreams = []struct {
	stream string
	err    *FormatError
}{
	{"EncryptedPackage", refused("the workbook is protected with a password (encrypted)",
		"Open it in Excel, remove the password under File > Info > Protect Workbook > Encrypt with "+
			"Password, and save it")},
	{"Workbook", errXLS},
	{"WORKBOOK", errXLS},
	{"Book", errXLS},
	{"BOOK", errXLS},
}

// compoundBytes is how much of a compound file is searched for the names of its streams.
const compoundBytes = 64 << 20

// compoundError returns the error for a compound file, by its kind.
func compoundError(r io.Reader) error {
	content, err := io.ReadAll(io.LimitReader(r, compoundBytes))
	if err != nil {
		return err
	}
	for _, s := range compoundStreams {
		if name, _ := utf16LE.NewEncoder().String(s.stream); bytes.Contains(content, []byte(name)) {
			return s.err
		}
	}
	return errNoSheet
}

// otherMarkup matches the beginnings of web pages and XML files.
var otherMarkup = regexp.MustCompile(`(?i)^<(!doctype|!--|html|head|body|meta|style|table|div|\?xml|workbook)`)

// textError refuses text that is not a CSV: markup, JSON, or bytes that are not text.
func textError(head string) error {
	start := strings.TrimLeft(head, " \t\r\n\v\f")
	if start == "" {
		return refused("the file holds nothing but blanks", "Check that it was saved, or exported, completely")
	}
	control := 0
	for i := range len(head) {
		if c := head[i]; c < ' ' && !strings.ContainsRune("\t\n\v\f\r\x1a", rune(c)) {
			control++
		}
	}
	// A few control characters are removed later.
	if otherMarkup.MatchString(start) || isJSON(start) || control > 4+len(head)/50 {
		return errNoSheet
	}
	return nil
}

// isJSON reports whether text begins as a JSON object, or as an array that a CSV header would not
// resemble.
func isJSON(text string) bool {
	if text[0] != '{' && text[0] != '[' {
		return false
	}
	decoder := json.NewDecoder(strings.NewReader(text))
	for range 3 {
		if _, err := decoder.Token(); err != nil {
			return errors.Is(err, io.EOF)
		}
	}
	return true
}
