package importer

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/sheet"
)

func surveyed(t testing.TB, text string, o Options) *Survey {
	t.Helper()
	o.Now = july
	s, err := SurveyReader("in", strings.NewReader(text), int64(len(text)), o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func contentOf(t testing.TB, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// surveyCase is a case of TestSurveySaysWhereTheFilingsAre.
type surveyCase struct {
	why, text string
	o         Options
	want      string // the sheet, those that hold filings, and what is read of the first
	err       string
}

// What is said of the sheets of a workbook, also where Open refuses it.
func TestSurveySaysWhereTheFilingsAre(t *testing.T) {
	filings := [][]sheet.OutCell{texts("June 2026"), texts("Company ID", "User ID", "Filing State", "Filing Year"),
		texts("comp_1", "user_1", "DE", "2026")}
	prose := [][]sheet.OutCell{texts("Read me"), texts("This workbook was made in June.")}
	june, july, notes := tab{
		name: "June",
		rows: filings,
	}, tab{name: "July", rows: filings}, tab{name: "Notes", rows: prose}
	old := july
	old.hidden = true
	foreign := tab{
		name: "Firmen",
		rows: [][]sheet.OutCell{texts("Kunden 2026"), texts("Nummer", "Firma", "Staat", "Jahr"),
			texts("comp_1", "Acme", "DE", "2026")},
	}
	const usual = "Company ID,User ID,Filing State"
	for _, c := range []surveyCase{
		{"one sheet", contentOf(t, workbook(t, notes, june)), Options{},
			"June [June] header 2, 1 rows, 4 columns annual-report", ""},
		{"two sheets", contentOf(t, workbook(t, notes, june, july)), Options{},
			"June [June July] header 2, 1 rows, 4 columns annual-report", "several sheets contain filings"},
		{"one of two named", contentOf(t, workbook(t, notes, june, july)), Options{Sheet: "july"},
			"July [June July] header 2, 1 rows, 4 columns annual-report", ""},
		{"a hidden one", contentOf(t, workbook(t, notes, old)), Options{},
			"Notes [July] header 1, 1 rows, 1 columns ", `--sheet "July"`},
		{"none of that name", contentOf(t, workbook(t, june)), Options{Sheet: "May"},
			"June [June] header 2, 1 rows, 4 columns annual-report", "no sheet"},
		{"foreign words", contentOf(t, workbook(t, foreign)), Options{}, "Firmen [] header 2, 1 rows, 4 columns ",
			"none of the first 30 rows"},
		{"more rows than are looked at", usual + "\n" + strings.Repeat("comp_1,user_1,DE\n", 9999),
			Options{Product: filing.EIN}, " [] header 1, -1 rows, 3 columns ein", ""},
	} {
		t.Run(c.why, c.run)
	}
}

func (c surveyCase) run(t *testing.T) {
	s := surveyed(t, c.text, c.o)
	var holds []string
	for _, info := range s.Sheets {
		if info.Filings && info.Name != "" {
			holds = append(holds, info.Name)
		}
	}
	if got := fmt.Sprintf("%s %v header %d, %d rows, %d columns %s", s.Sheet, holds, s.HeaderRow, s.Rows,
		len(s.Columns), s.Product); got != c.want {
		t.Errorf("%s, want %s; %+v", got, c.want, s)
	}
	im, err := OpenReader("in", strings.NewReader(c.text), int64(len(c.text)), c.o)
	if err == nil {
		im.Close()
	}
	if (c.err == "") != (s.Err == nil) || s.Err != nil && !strings.Contains(s.Err.Error(), c.err) ||
		fmt.Sprint(err) != fmt.Sprint(s.Err) {
		t.Errorf("%v\nOpen: %v", s.Err, err)
	}
	var format *sheet.FormatError
	if s.Err != nil && !errors.As(s.Err, &format) {
		t.Errorf("%T", s.Err)
	}
}

// Content that is no sheet, and options that are wrong, are errors.
func TestSurveyOfNoSheet(t *testing.T) {
	for text, o := range map[string]Options{
		"<html><table></table></html>": {}, "": {}, "Company ID\n": {Product: "annual"},
		"Company ID": {Map: map[string]string{"Company ID": "Colour"}},
	} {
		if s, err := SurveyReader("in", strings.NewReader(text), int64(len(text)), o); err == nil {
			t.Errorf("%q: %+v", text, s)
		}
	}
}

// A sheet of foreign words is mapped by hand, column by column, as the survey
// has them, and becomes the orders that it says.
func TestForeignSheetIsMappedByHand(t *testing.T) {
	const text = "Kundenliste;;;;;;;\nStand " +
		"Juli;;;;;;;\n\nNr.;Kennung;Firma;Ansprechpartner;Bundesstaat;Berichtsjahr;Farbe;住所\n" +
		"1;comp_1;Acme LLC;a@example.com;Delaware;2026;rot;x\n2;comp_2;Bolt LLC;a@example.com;DE;2026;blau;y\n"
	o := Options{Product: filing.AnnualReport, Map: map[string]string{}, Now: july}
	means := map[string]string{"Kennung": "Company ID", "Firma": "Legal Name", "Ansprechpartner": "User Email",
		"Bundesstaat": "Filing State", "Berichtsjahr": "Filing Year"}
	s := surveyed(t, text, o)
	if s.HeaderRow != 4 || len(s.Columns) != 8 || s.Err == nil || s.Columns[7].Header != "住所" ||
		!slices.Equal(s.Columns[1].Samples, []string{"comp_1", "comp_2"}) {
		t.Fatalf("%+v", s)
	}
	for _, c := range s.Columns { // one by one, and at no step is the header lost
		if means[c.Header] == "" {
			continue
		}
		o.Map[c.Header] = means[c.Header]
		again := surveyed(t, text, o)
		if at := again.Columns[c.Index]; again.HeaderRow != 4 || at.Column != means[c.Header] {
			t.Errorf("after %s: %+v", c.Header, again)
		}
	}
	im, err := inMemory(t, "in.csv", text, o)
	if err != nil {
		t.Fatal(err)
	}
	tally, err := im.Check(context.Background(), func(p Problem) error { t.Error(p); return nil })
	if err != nil || tally != (Tally{Rows: 2, Ready: 2}) {
		t.Errorf("%+v %v", tally, err)
	}
	// Two columns of one header are told apart by an edit of the header.
	const twice = "Wert,Wert,Staat,Jahr,Nutzer\ncomp_1,Acme,DE,2026,user_1\n"
	by := Options{
		Product: filing.AnnualReport,
		Edits:   []Edit{{Row: 1, Column: 0, Text: "Company ID"}, {Row: 1, Column: 1, Text: "Legal Name"}},
		Map:     map[string]string{"Staat": "Filing State", "Jahr": "Filing Year", "Nutzer": "User ID"},
	}
	if im, err = inMemory(t, "in.csv", twice, by); err != nil {
		t.Fatal(err)
	}
	if tally, err = im.Check(context.Background(), func(p Problem) error { t.Error(p); return nil }); err != nil ||
		tally.Ready != 1 {
		t.Errorf("%+v %v", tally, err)
	}
}
