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

// headBytes is how much of a file is read to detect its format, encoding and
// delimiter.
const headBytes = 64 << 10

// textSheets matches the beginnings of sheets in a text of another form: of a SYLK
// sheet its first two records, for the first alone may be the header of a CSV, and of
// a DIF sheet.
var textSheets = regexp.MustCompile(`^(ID;P\w*(;[NE])*[\r\n]+(P;P|F;P|O;|B;[XY]|C;[XY])|TABLE\r?\n0,1)`)

// workbookStream matches the stream of an old workbook that has no container: its
// first record, of any version from Excel 2 on.
var workbookStream = regexp.MustCompile(`^\x09[\x00\x02\x04\x08][\x04\x06\x08\x10]\x00`)

func notASheet(what string) *FormatError {
	return refused("this is "+what+", which cannot be read here", remedySaveAs)
}

// detect finds the format of a file from its content.
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

// odsType is the content of the first part of an OpenDocument spreadsheet, which
// is not compressed. The templates of spreadsheets add to it.
const odsType = "mimetypeapplication/vnd.oasis.opendocument.spreadsheet"

// compoundStreams are the names of streams by which a compound file (OLE2) is
// told. The directory that holds them may lie anywhere in the file, and may be
// broken, so the names alone are looked for.
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

// compoundError says what a compound file is.
func compoundError(r io.Reader) error {
	found := len(compoundStreams)
	buf := make([]byte, headBytes)
	kept := 0
	for {
		n, err := io.ReadFull(r, buf[kept:])
		window := buf[:kept+n]
		for i, s := range compoundStreams[:found] {
			if bytes.Contains(window, utf16le(s.stream)) {
				found = i
				break
			}
		}
		if err != nil || found == 0 {
			break
		}
		kept = copy(buf, window[len(window)-64:]) // a name may lie across two windows
	}
	if found < len(compoundStreams) {
		return compoundStreams[found].err
	}
	return notASheet("an old Office document (or a damaged one)")
}

func utf16le(s string) []byte {
	b := make([]byte, 0, 2*len(s))
	for i := range len(s) {
		b = append(b, s[i], 0)
	}
	return b
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

// packageError names what a zip file without a workbook is.
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

// textError refuses text that is not a CSV: markup, JSON, or bytes that are not
// text.
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
	if control > 4+len(head)/50 { // a stray one is left out later
		return refused("this is a binary file, neither a workbook nor text", remedySaveAs)
	}
	return nil
}

// isJSON reports whether text begins as a JSON object, or as an array of
// something that a CSV header would not be.
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
