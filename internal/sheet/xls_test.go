package sheet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/sheettest"
)

// xlsStream is a workbook with every kind of record.
func xlsStream() []byte {
	rec := sheettest.XLSRecord
	text := sheettest.XLSText
	var sst []byte
	sst = append(sst, text("Legal Name", false)...)
	sst = append(sst, text("Café 𝄞", true)...)
	// A rich text with two runs, and how it is read.
	rich := []byte{4, 0, 0x0C, 2, 0, 3, 0, 0, 0}
	sst = append(append(append(sst, rich...), "Acme"...), make([]byte, 2*4+3)...)
	// The letters of the last text change their size where the record ends.
	sst = binary.LittleEndian.AppendUint16(sst, 6)
	sst = append(append(sst, 0), "abc"...)
	globals := bytes.Join([][]byte{
		rec(0x0022, 0),
		rec(0x0031, 200, 0), rec(0x0031, 200, 0), rec(0x0031, 200, 0), rec(0x0031, 200, 0),
		rec(0x0031, 200, 8), // the font of the number 5
		rec(0x041E, 164, text("00000", false)), rec(0x041E, 165, text("yyyy", false)),
		rec(0x00E0, 0, 0), rec(0x00E0, 0, 14), rec(0x00E0, 0, 164), rec(0x00E0, 0, 165), rec(0x00E0, 5, 0),
		rec(0x00FC, uint32(4), uint32(4), sst),
		rec(0x003C, []byte{1, 'd', 0, 0xE9, 0, 'f', 0}),
	}, nil)
	none := [8]byte{0, 0, 0, 0, 0, 0, 0xFF, 0xFF}
	formula := func(col int, result any) []byte { return rec(0x0006, 2, col, 0, result, 0, uint32(0), 0) }
	clients := bytes.Join([][]byte{
		rec(0x0208, 1, 0, 9, 255, 0, 0, 0x20, 0), // hidden
		rec(0x00FD, 0, 0, 0, uint32(0)), rec(0x00FD, 0, 1, 0, uint32(1)), rec(0x00FD, 0, 2, 0, uint32(2)),
		rec(0x00FD, 0, 3, 0, uint32(3)), rec(0x0204, 0, 4, 0, text("label", false)),
		rec(0x0203, 1, 0, 0, sheettest.XLSFloat(0.1)), rec(0x0203, 1, 1, 1, sheettest.XLSFloat(46082)),
		rec(0x027E, 1, 2, 2, uint32(2134<<2|2)), rec(0x027E, 1, 3, 0, uint32(5050<<2|3)),
		rec(0x00BD, 1, 4, 0, uint32(7<<2|2), 3, uint32(46082<<2|2), 5),
		rec(0x0205, 1, 6, 0, []byte{1, 0}), rec(0x0205, 1, 7, 0, []byte{0x2A, 1}), rec(0x0201, 1, 8, 0),
		formula(0, sheettest.XLSFloat(41.5)), formula(1, none), rec(0x04BC, 0), rec(0x0207, text("answer", false)),
		formula(2, [8]byte{1, 0, 1, 0, 0, 0, 0xFF, 0xFF}), formula(3, [8]byte{2, 0, 7, 0, 0, 0, 0xFF, 0xFF}),
		formula(4, [8]byte{3, 0, 0, 0, 0, 0, 0xFF, 0xFF}),
		rec(0x0809, 0x0600, 0x20), rec(0x0203, 9, 9, 0, sheettest.XLSFloat(1)), rec(0x000A), // a chart in the sheet
		rec(0x00FD, 4, 0, 4, uint32(2)), rec(0x00FD, 3, 1, 0, uint32(2)), // out of order
	}, nil)
	return sheettest.XLSStream(globals, sheettest.XLSSheet{Name: "Clients", Records: clients},
		sheettest.XLSSheet{Name: "Old", State: 1}, sheettest.XLSSheet{Name: "Chart", Kind: 2})
}

func TestXLS(t *testing.T) {
	for name, data := range map[string][]byte{
		"a compound file":  sheettest.Compound("Workbook", xlsStream()),
		"the stream alone": xlsStream(),
	} {
		f, err := OpenReader("clients.csv", bytes.NewReader(data), int64(len(data)), Limits{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := fmt.Sprint(f.Format(), f.Sheets(),
			f.Notes()); got != `xls[{Clients true} {Old false}] [Hidden sheets: "Old". `+
			`Sheets without cells (charts, dialogs, macros) were left out: "Chart".]` {
			t.Errorf("%s: %s", name, got)
		}
		rows, err := readSheet(f, "Clients")
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		checkRows(t, rows)
		want := "1 A=text(Legal Name) B=text(Café 𝄞) C=text(Acme) D=text(abcdéf) E=text(label)\n" +
			"2h A=number(0.1) B=date(2026-03-01) C=number(02134) D=number(50.5) E=number(7) F=date(2026-03-01)y " +
			"G=bool(TRUE) H=error(#N/A)\n" +
			"3 A=number(41.5) B=text(answer) C=bool(TRUE) D=error(#DIV/0!)\n" +
			"4 B=text(Acme)\n5s A=text(Acme)\n"
		if got := listRows(rows); got != want {
			t.Errorf("%s: got\n%swant\n%s", name, got, want)
		}
	}
}

func TestXLSRefused(t *testing.T) {
	rec := sheettest.XLSRecord
	for want, data := range map[string][]byte{
		"password":               sheettest.Compound("Workbook", sheettest.XLSStream(rec(0x002F, 1, 1))),
		"a workbook of Excel 95": sheettest.Compound("Book", []byte{1}),
		"no sheet with cells":    sheettest.Compound("Workbook", sheettest.XLSStream(nil)),
		"damaged":                sheettest.Compound("Workbook", []byte{1}),
		"Word document":          sheettest.Compound("WordDocument", []byte{1}),
	} {
		_, err := OpenReader("a.xls", bytes.NewReader(data), int64(len(data)), Limits{})
		var refused *FormatError
		if !errors.As(err, &refused) || refused.Remedy == "" || !strings.Contains(refused.Reason, want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

func FuzzXLS(f *testing.F) {
	stream := xlsStream()
	f.Add(stream)
	f.Add(sheettest.Compound("Workbook", stream))
	f.Fuzz(fuzzFile)
}
