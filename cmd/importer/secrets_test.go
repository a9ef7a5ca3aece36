package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/xuri/excelize/v2"
)

// strayForms are ways in which people write a Social Security number into a cell,
// %[1]s to %[3]s being its parts.
var strayForms = []string{
	"SSN#%[1]s%[2]s%[3]s", "%[1]s-%[2]s%[3]s", "%[1]s/%[2]s/%[3]s", "%[1]s_%[2]s_%[3]s", "%[1]s-%[2]s-%[3]sx",
	"x%[1]s-%[2]s-%[3]s", "%[1]s - %[2]s - %[3]s",
	"%[1]s–%[2]s–%[3]s", "%[1]s‑%[2]s‑%[3]s", "%[1]s.%[2]s.%[3]s", "%[1]s\u00a0%[2]s\u00a0%[3]s",
	"owner's number is %[1]s %[2]s %[3]s, keep it", "ITIN 9%[1]s-70-%[3]s", "%[1]s%[2]s%[3]s",
}

// strayNumber is the n-th number, in one of the forms.
func strayNumber(n int) string {
	form := strayForms[n%len(strayForms)]
	area := fmt.Sprint(501 + n%90)
	if strings.HasPrefix(form, "ITIN") {
		area = fmt.Sprintf("%02d", 10+n%90)
	}
	return fmt.Sprintf(form, area, "31", fmt.Sprintf("%04d", 7100+n))
}

// strewNumbers writes a sheet with Social Security numbers where none belong: in
// the title, headers, columns that are read and columns that are not, and in the
// name of the sheet, the first half of the rows but in the notes alone. The numbers
// are listed in in/numbers.
//
//	strew in/odd.xlsx sample.csv
func strewNumbers(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: strew FILE.xlsx FILE")
	}
	n := 0
	var numbers []string
	next := func() string {
		n++
		number := strayNumber(n)
		eachNumber([]byte(number), func(digits string, _ int) { numbers = append(numbers, digits) })
		return number
	}
	rows := readSheet(ts, args[1])
	header := 0
	for i := range rows {
		if len(rows[i]) > 3 {
			header = i
			break
		}
	}
	width := len(rows[header])
	notes := []string{"Notes", "Client", "Matter", "Client ID", "Notes of " + next(), next()}
	for i := range rows {
		for i >= header && len(rows[i]) < width {
			rows[i] = append(rows[i], "")
		}
		switch {
		case i == header:
			rows[i] = append(rows[i], notes...)
		case i > header:
			for range notes {
				rows[i] = append(rows[i], next())
			}
			if i > len(rows)/2 {
				rows[i][1+i%(width-1)] = next()
			}
		}
	}
	book := excelize.NewFile()
	defer book.Close()
	const sheet = "Owner 520-31-7109"
	ts.Check(book.SetSheetName("Sheet1", sheet))
	numbers = append(numbers, "520317109")
	title := []string{"Companies of " + next()}
	ts.Check(book.SetSheetRow(sheet, "A1", &title))
	for r, row := range rows[header:] {
		cell, err := excelize.CoordinatesToCellName(1, r+3)
		ts.Check(err)
		ts.Check(book.SetSheetRow(sheet, cell, &row))
	}
	ts.Check(book.SaveAs(ts.MkAbs(args[0])))
	ts.Check(os.WriteFile(ts.MkAbs("in/numbers"), []byte(strings.Join(numbers, "\n")), 0o600))
	ts.Logf("%d numbers are in %s", len(numbers), filepath.Base(args[0]))
}

// noStray searches every file of the script's folder, as nowhere does, and the
// names of the files, for the numbers that strewNumbers has listed, whatever is
// between their digits and whatever script these are of:
//
//	nostray in/numbers
func noStray(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: nostray LIST")
	}
	numbers := make(map[string]bool)
	for _, n := range strings.Fields(ts.ReadFile(args[0])) {
		numbers[n] = true
	}
	found := 0
	searchFiles(ts, func(name string, content []byte) {
		for _, text := range [][]byte{[]byte(filepath.Base(name)), content} {
			eachNumber(text, func(n string, at int) {
				if numbers[n] && found < 20 {
					found++
					ts.Logf("%s stands in %s: %q", n, name, text[max(0, at-80):min(len(text), at+10)])
				}
			})
		}
	})
	if found > 0 {
		ts.Fatalf("%d numbers of %d", found, len(numbers))
	}
}

// eachNumber hands over every nine digits that follow each other with no more than
// a few bytes between two of them that are neither digits nor letters.
func eachNumber(text []byte, do func(number string, at int)) {
	var last []byte
	gap := 0
	for i := 0; i < len(text); i++ {
		c := text[i]
		if i+2 < len(text) && c == 0xef && text[i+1] == 0xbc && text[i+2] >= 0x90 && text[i+2] <= 0x99 { // full-width
			c, i = text[i+2]-0x90+'0', i+2
		}
		switch {
		case c >= '0' && c <= '9':
			if gap = 0; len(last) == 9 {
				last = append(last[:0], last[1:]...)
			}
			if last = append(last, c); len(last) == 9 {
				do(string(last), i)
			}
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c == '*', gap == 8:
			last, gap = last[:0], 0
		default:
			gap++
		}
	}
}
