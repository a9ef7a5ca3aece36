package report_test

import (
	"archive/zip"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/xuri/excelize/v2"

	"github.com/bulkfiling/bulkfiling/internal/importer"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/ledgertest"
	"github.com/bulkfiling/bulkfiling/internal/report"
	"github.com/bulkfiling/bulkfiling/internal/sheettest"
)

// writeResults records a file and writes its results to a file of the given ending.
func writeResults(t testing.TB, path, ending string, o importer.Options) string {
	t.Helper()
	l, id := recordFile(t, path, o)
	out := filepath.Join(t.TempDir(), "results"+ending)
	if _, err := report.Write(t.Context(), l, id, out); err != nil {
		t.Fatal(err)
	}
	return out
}

// recordFile records a file in a new ledger, and returns the ledger and the batch.
func recordFile(t testing.TB, path string, o importer.Options) (*ledger.Ledger, string) {
	t.Helper()
	l := ledgertest.Open(t, ledger.Config{})
	im, err := importer.Open(path, o)
	must(t, err)
	defer im.Close()
	id, _, err := im.Record(t.Context(), l, "ana")
	must(t, err)
	return l, id
}

// allParts returns the unpacked parts of a workbook.
func allParts(t testing.TB, path string) map[string]string {
	t.Helper()
	r, err := zip.OpenReader(path)
	must(t, err)
	defer r.Close()
	parts := map[string]string{}
	for _, f := range r.File {
		in, err := f.Open()
		must(t, err)
		data, err := io.ReadAll(in)
		must(t, err)
		parts[f.Name] = string(data)
	}
	return parts
}

func TestResultsAreTheWorkbookItself(t *testing.T) {
	in := filepath.Join(t.TempDir(), "clients.xlsm")
	must(t, os.WriteFile(in, sheettest.Office(), 0o600))
	out := writeResults(t, in, ".xlsx", importer.Options{Product: "annual-report", Edits: []importer.Edit{
		{Row: 5, Column: 3, Text: "NJ"}, {Row: 6, Column: 4, Text: "2027"},
		{Row: 7, Column: -1, Header: "Client", Text: "C-7"}}})
	if keep := os.Getenv("KEEP"); keep != "" {
		data, _ := os.ReadFile(out)
		_ = os.WriteFile(filepath.Join(keep, "office.results.xlsx"), data, 0o600)
		_ = os.WriteFile(filepath.Join(keep, "office.xlsx"), sheettest.Office(), 0o600)
	}
	checkHidden(t, out)
	f, err := excelize.OpenFile(out)
	must(t, err)
	defer f.Close()
	checkOfficeCells(t, f)
	checkOfficeLook(t, f)
	checkFilter(t, out)
	origin, err := report.OriginOf(out)
	if err != nil || origin == nil || origin.Results != sheettest.OfficeSheet {
		t.Errorf("origin %+v (%v)", origin, err)
	}
	// It is known again when it is uploaded.
	im, err := importer.Open(out, importer.Options{})
	must(t, err)
	defer im.Close()
	if im.Sheet() != "Needs Attention" {
		t.Errorf("uploaded again, %s was read", im.Sheet())
	}
}

// A CSV comes back with its delimiter, in UTF-8.
func TestResultsOfACSVHaveItsDelimiter(t *testing.T) {
	var utf16Text []byte
	for _, u := range utf16.Encode([]rune("\ufeffCompany ID\tLegal Name\tUser Email\tFiling State\tFiling " +
		"Year\r\ncomp_a\tCafé\ta@example.com\tDE\t2026\r\n")) {
		utf16Text = append(utf16Text, byte(u), byte(u>>8))
	}
	for _, c := range []struct {
		name, in string
		want     []string // pieces of the result, in order
		edits    []importer.Edit
	}{
		{
			name: "Windows-1252 with semicolons",
			in: "Clients of 2026\r\n\r\nCompany ID;Legal Name;User Email;Filing State;Filing Year;SSN\r\n" +
				"comp_a;Caf\xe9 LLC;a@example.com;DE;2026;519-47-3862\r\n\r\ncomp_b;Short;b@example.com;DE;2026\r\n",
			want: []string{"\ufeffCompany ID;Legal Name;User Email;Filing State;Filing Year;SSN;Result;Message;" +
				"Order IDs;Filing Status;Filing Date;Cost;Attempts;Updated At;Subscription\n" +
				"comp_a;Café LLC;a@example.com;DE;2026;***-**-3862;ready;",
				"\ncomp_b;Short;b@example.com;DE;2026;;ready;"},
		},
		{
			name: "commas, with corrections",
			in: "\"Company ID\",\"Legal Name\",\"User Email\",\"Filing State\",\"Filing " +
				"Year\"\n\"comp_a\",\"Acme, \"\"Best\"\"\",\"a@example.com\",\"DE\",\"25\"\n",
			edits: []importer.Edit{
				{Row: 2, Column: 4, Text: "2026"}, {Row: 2, Column: -1, Header: "Client", Text: "C;1"},
			},
			want: []string{"Company ID,Legal Name,User Email,Filing State,Filing Year,Client,Result,",
				"\ncomp_a,\"Acme, \"\"Best\"\"\",a@example.com,DE,2026,\"C;1\",ready,"},
		},
		{
			name: "tabs and formulas",
			in: "Company ID\tLegal Name\tUser Email\tFiling State\tFiling Year\tNote\ncomp_a\t+1 " +
				"Fitness\ta@example.com\tDE\t2026\t-5.50\n",
			want: []string{"Company ID\tLegal Name\tUser Email\tFiling State\tFiling Year\tNote\tResult\t",
				"\ncomp_a\t'+1 Fitness\ta@example.com\tDE\t2026\t-5.50\tready\t"},
		},
		{
			name: "UTF-16",
			in:   string(utf16Text),
			want: []string{"\ufeffCompany ID\tLegal Name\tUser Email\tFiling State\tFiling Year\tResult\t",
				"\ncomp_a\tCafé\ta@example.com\tDE\t2026\tready\t"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := filepath.Join(t.TempDir(), "clients.csv")
			must(t, os.WriteFile(in, []byte(c.in), 0o600))
			got, err := os.ReadFile(writeResults(t, in, ".csv",
				importer.Options{Product: "annual-report", Edits: c.edits}))
			must(t, err)
			rest := string(got)
			for i, want := range c.want {
				at := strings.Index(rest, want)
				if at < 0 || i == 0 && at > 0 {
					t.Fatalf("%q is not in %q", want, rest)
				}
				rest = rest[at+len(want):]
			}
		})
	}
}

// checkHidden searches all parts of a workbook for what must not be in it.
func checkHidden(t *testing.T, out string) {
	t.Helper()
	parts := allParts(t, out)
	for name, content := range parts {
		for _, digits := range []string{"519-47-3862", "519473862", "519-47", "47-3862"} {
			if strings.Contains(content, digits) {
				at := strings.Index(content, digits)
				t.Errorf("%s holds %s: %s", name, digits, content[max(0, at-80):min(len(content), at+80)])
			}
		}
		if strings.Contains(name, "vbaProject") || strings.Contains(content, `Target="vbaProject`) ||
			strings.Contains(content, "macroEnabled") {
			t.Errorf("%s has macros: %s", name, content)
		}
	}
}

func checkOfficeCells(t *testing.T, f *excelize.File) {
	t.Helper()
	if got := strings.Join(f.GetSheetList(), ", "); got !=
		"Clients 2026, Owners, Secret, Needs Attention, Summary, Bulkfiling" {
		t.Errorf("sheets %s", got)
	}
	for cell, want := range map[string]string{
		"A1": "Harbor & Light LLP: annual reports", "H4": "Owner SSN", "I4": "Client", "J4": "Result", "K4": "Message",
		"O4": "Cost", "D5": "NJ", "E6": "2027", "I7": "C-7", "B7": "Cedar & Sons LLC", "H7": "***-**-3862",
		"H8": "***-**-3862", "J5": "ready", "J12": "ready", "J11": "", "F5": "$50.50", "G5": "15 Mar 2023",
		"A22": "41.5",
	} {
		if got, err := f.GetCellValue(sheettest.OfficeSheet, cell); err != nil || got != want {
			t.Errorf("%s is %q, want %q (%v)", cell, got, want, err)
		}
	}
	if got, _ := f.GetCellFormula(sheettest.OfficeSheet, "F20"); got != "SUM(F5:F17)" {
		t.Errorf("the formula is %q", got)
	}
	for cell, want := range map[string]string{"B2": "***-**-3862", "C2": "123456789",
		"D2": "called; says ***-**-3862"} {
		if got, _ := f.GetCellValue("Owners", cell); got != want {
			t.Errorf("Owners %s is %q, want %q", cell, got, want)
		}
	}
}

// checkFilter wants the filter of the headers, and its name, to have all columns.
func checkFilter(t *testing.T, out string) {
	t.Helper()
	last := ""
	for _, content := range allParts(t, out) {
		if m := regexp.MustCompile(`autoFilter ref="A4:([A-Z]+)17"`).FindStringSubmatch(content); m != nil {
			last = m[1]
			if !strings.Contains(content, `r="`+last+`4"`) {
				t.Errorf("the filter ends at %s, which has no header", last)
			}
		}
	}
	if last == "" {
		t.Fatal("no filter of the headers goes beyond their columns")
	}
	if main := allParts(t, out)["xl/workbook.xml"]; !strings.Contains(main, "$A$4:$"+last+"$17<") ||
		strings.Contains(main, "$A$4:$H$17") {
		t.Errorf("the name of the filter has another range:\n%s", main)
	}
}

func checkOfficeLook(t *testing.T, f *excelize.File) {
	t.Helper()
	if got, _ := f.GetColWidth(sheettest.OfficeSheet, "B"); got != 34 {
		t.Errorf("the width is %v", got)
	}
	if got, _ := f.GetColWidth(sheettest.OfficeSheet, "X"); got != 14 {
		t.Errorf("the width beyond is %v", got)
	}
	if got, _ := f.GetColWidth(sheettest.OfficeSheet, "K"); got < 20 {
		t.Errorf("the width of the messages is %v", got)
	}
	if got, _ := f.GetPanes(sheettest.OfficeSheet); !got.Freeze || got.YSplit != 4 || got.XSplit != 2 {
		t.Errorf("panes %+v", got)
	}
	if got, _ := f.GetDataValidations(sheettest.OfficeSheet); len(got) != 1 || got[0].Sqref != "D5:D100" {
		t.Errorf("drop-downs %+v", got)
	}
	if got, _ := f.GetConditionalFormats(sheettest.OfficeSheet); len(got) != 1 {
		t.Errorf("conditional formats %+v", got)
	}
	if got, _ := f.GetMergeCells(sheettest.OfficeSheet); len(got) != 1 || got[0].GetEndAxis() != "H1" {
		t.Errorf("merged %+v", got)
	}
	comments, err := f.GetComments(sheettest.OfficeSheet)
	if err != nil || len(comments) != 1 || len(comments[0].Paragraph) != 2 ||
		comments[0].Paragraph[0].Text+comments[0].Paragraph[1].Text != "Her number is ***-**-3862" {
		t.Errorf("comments %+v (%v)", comments, err)
	}
	for cell, want := range map[string]string{"A1": "7030A0", "J4": "FFFFFF"} {
		id, _ := f.GetCellStyle(sheettest.OfficeSheet, cell)
		if style, err := f.GetStyle(id); err != nil || style.Font == nil || !strings.HasSuffix(style.Font.Color, want) {
			t.Errorf("the style of %s is %+v (%v)", cell, style, err)
		}
	}
}
