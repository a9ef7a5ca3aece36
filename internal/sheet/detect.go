package sheet

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"strings"
)

// headBytes is the number of bytes read to detect the format, encoding and delimiter of a file.
const headBytes = 64 << 10

// textSheets matches the beginnings of SYLK and DIF sheets. For SYLK it matches the first two
// records, because the first alone may be the header of a CSV.
var textSheets = regexp.MustCompile(`^(ID;P\w*(;[NE])*[\r\n]+(P;P|F;P|O;|B;[XY]|C;[XY])|TABLE\r?\n0,1)`)

// workbookStream matches an old workbook without a container by its first record, for any version
// from Excel 2 on.
var workbookStream = regexp.MustCompile(`^\x09[\x00\x02\x04\x08][\x04\x06\x08\x10]\x00`)

func notASheet(what string) *FormatError {
	return refused("this is "+what+", which cannot be read here", remedySaveAs)
}

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
	case bytes.HasPrefix(head, []byte("%PDF-")):
		return "", notASheet("a PDF document")
	case textSheets.Match(head):
		return "", notASheet("a sheet in another form of text (.slk, .dif)")
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
	{"WordDocument", notASheet("a Word document")},
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
	return notASheet("an old Office document (or a damaged one)")
}

// packages are zip files other than XLSX, recognized by the name of a part.
var packages = []struct {
	part, what string
}{
	{"xl/workbook.bin", "a binary Excel workbook (.xlsb)"},
	{"word/document.xml", "a Word document (.docx)"},
	{"index/document.iwa", "an Apple Numbers document"},
	{"content.xml", "an OpenDocument file (.ods, .odt)"},
}

// packageError returns the error for a zip file without a workbook.
func packageError(parts map[string]*zip.File) error {
	for _, p := range packages {
		if parts[p.part] != nil {
			return notASheet(p.what)
		}
	}
	for name := range parts {
		switch {
		case strings.HasSuffix(name, ".iwa"), strings.HasSuffix(name, "/index.zip"):
			return notASheet("an Apple Numbers document")
		case strings.HasSuffix(name, ".csv"), strings.HasSuffix(name, ".xlsx"):
			return refused("this is a zip archive that holds other files, not a workbook",
				"Unpack it and use the file inside")
		}
	}
	return refused("this is a zip file without an Excel workbook in it", remedySaveAs)
}

// The beginnings of text that is not a CSV.
var (
	isHTML = regexp.MustCompile(`(?i)^<(!doctype|!--|html|head|body|meta|style|table|div)`)
	isXML  = regexp.MustCompile(`(?i)^<(\?xml|workbook)`)
)

// textError refuses text that is not a CSV: markup, JSON, or bytes that are not text.
func textError(head string) error {
	start := strings.TrimLeft(head, " \t\r\n\v\f")
	if start == "" {
		return refused("the file holds nothing but blanks", "Check that it was saved, or exported, completely")
	}
	switch {
	case strings.HasPrefix(start, "<") && strings.Contains(head, "urn:schemas-microsoft-com:office:spreadsheet"):
		return notASheet("an XML spreadsheet of Excel 2003")
	case isHTML.MatchString(start):
		return notASheet("a web page (HTML)")
	case isXML.MatchString(start):
		return notASheet("an XML file")
	}
	if isJSON(start) {
		return notASheet("a JSON file")
	}
	control := 0
	for i := range len(head) {
		if c := head[i]; c < ' ' && !strings.ContainsRune("\t\n\v\f\r\x1a", rune(c)) {
			control++
		}
	}
	// A few control characters are removed later.
	if control > 4+len(head)/50 {
		return refused("this is a binary file, neither a workbook nor text", remedySaveAs)
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
