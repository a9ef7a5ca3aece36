package main

import (
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/xuri/excelize/v2"
)

// showSheet prints a sheet as CSV, all of it or some columns by their headers.
// It reads workbooks with a reader that is not ours:
//
//	sheet roster.results.xlsx!Results 'Company ID' Result Cost
//	sheet results.csv
func showSheet(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: sheet FILE[!SHEET] [column...]")
	}
	rows := readSheet(ts, args[0])
	lines := csv.NewWriter(ts.Stdout())
	if len(args) == 1 {
		ts.Check(lines.WriteAll(rows))
		return
	}
	var at []int
	for _, name := range args[1:] {
		i := slices.Index(rows[0], name)
		if i < 0 {
			ts.Fatalf("%s has no column %q: it has %q", args[0], name, rows[0])
		}
		at = append(at, i)
	}
	for _, row := range rows {
		var cells []string
		for _, i := range at {
			text := ""
			if i < len(row) {
				text = row[i]
			}
			cells = append(cells, text)
		}
		ts.Check(lines.Write(cells))
	}
	lines.Flush()
}

func readSheet(ts *testscript.TestScript, file string) [][]string {
	name, sheet, isWorkbook := strings.Cut(file, "!")
	if !isWorkbook {
		text := strings.TrimPrefix(ts.ReadFile(name), "\ufeff")
		lines := csv.NewReader(strings.NewReader(text))
		lines.FieldsPerRecord = -1
		if first, _, _ := strings.Cut(text, "\n"); !strings.Contains(first, ",") {
			lines.Comma = ';'
		}
		rows, err := lines.ReadAll()
		ts.Check(err)
		return rows
	}
	book, err := excelize.OpenFile(ts.MkAbs(name))
	ts.Check(err)
	defer book.Close()
	rows, err := book.GetRows(sheet)
	ts.Check(err)
	if len(rows) == 0 {
		ts.Fatalf("sheet %s of %s is empty", sheet, name)
	}
	return rows
}

// writeXLSX makes a workbook of CSV files, a sheet each, all cells as text:
//
//	xlsx roster.xlsx roster.csv [other.csv...]
func writeXLSX(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: xlsx FILE.xlsx FILE.csv...")
	}
	book := excelize.NewFile()
	defer book.Close()
	for i, file := range args[1:] {
		sheet := strings.TrimSuffix(filepath.Base(file), ".csv")
		if i == 0 {
			ts.Check(book.SetSheetName("Sheet1", sheet))
		} else {
			_, err := book.NewSheet(sheet)
			ts.Check(err)
		}
		for r, row := range readSheet(ts, file) {
			cell, err := excelize.CoordinatesToCellName(1, r+1)
			ts.Check(err)
			ts.Check(book.SetSheetRow(sheet, cell, &row))
		}
	}
	ts.Check(book.SaveAs(ts.MkAbs(args[0])))
}

// writeBytes makes a file of quoted pieces; a piece after "utf16:" is written
// as Windows writes text within its own formats:
//
//	bytes old.xls '\xd0\xcf\x11\xe0' utf16:Workbook
func writeBytes(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: bytes FILE piece...")
	}
	var content []byte
	for _, piece := range args[1:] {
		if text, ok := strings.CutPrefix(piece, "utf16:"); ok {
			for _, unit := range utf16.Encode([]rune(text)) {
				content = append(content, byte(unit), byte(unit>>8))
			}
			continue
		}
		text, err := strconv.Unquote(`"` + piece + `"`)
		ts.Check(err)
		content = append(content, text...)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), content, 0o644))
}

// jsonLast holds the last line of a file against claims:
//
//	jsonlast stdout rows==4 placed==3 spent==975.00
func jsonLast(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: jsonlast FILE key==value...")
	}
	last := lastLine(ts, args[0])
	for _, claim := range args[1:] {
		if ok, got := compare(claim, func(key string) (string, bool) { v, known := last[key]; return v, known }); !ok {
			ts.Fatalf("%s does not hold: %s", claim, got)
		}
	}
}

// keep puts a key of stdout's last line of JSON into a variable:
//
//	keep BATCH batch
func keep(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: keep VARIABLE key")
	}
	value, known := lastLine(ts, "stdout")[args[1]]
	if !known {
		ts.Fatalf("stdout's last line has no key %s", args[1])
	}
	ts.Setenv(args[0], value)
}

// lastLine is the last line of a file of JSON lines, its values as text.
func lastLine(ts *testscript.TestScript, file string) map[string]string {
	lines := strings.Split(strings.TrimSpace(ts.ReadFile(file)), "\n")
	decoder := json.NewDecoder(strings.NewReader(lines[len(lines)-1]))
	decoder.UseNumber()
	var values map[string]any
	ts.Check(decoder.Decode(&values))
	texts := make(map[string]string, len(values))
	for key, value := range values {
		switch v := value.(type) {
		case string:
			texts[key] = v
		case json.Number:
			texts[key] = v.String()
		}
	}
	return texts
}

// editSheet types texts into cells of a workbook, as a person with another program
// does:
//
//	edit roster.results.xlsx!'Needs Attention' C2 DE D3 2026
func editSheet(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 || len(args)%2 == 0 {
		ts.Fatalf("usage: edit FILE!SHEET [CELL TEXT]...")
	}
	name, sheet, _ := strings.Cut(args[0], "!")
	book, err := excelize.OpenFile(ts.MkAbs(name))
	ts.Check(err)
	defer book.Close()
	for i := 1; i < len(args); i += 2 {
		ts.Check(book.SetCellStr(sheet, args[i], args[i+1]))
	}
	ts.Check(book.Save())
}
