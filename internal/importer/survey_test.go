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

// What a column is read as, by what right, and why it is not.
func TestSurveySaysWhatAColumnIs(t *testing.T) {
	const rest = ",Company ID,User ID,Filing State,Filing Year\n"
	const row = ",comp_1,user_1,DE,2026\n"
	for _, c := range []struct {
		why    string
		text   string
		o      Options
		column int
		want   ColumnSurvey // Index and Letter follow; Samples are not compared where there are none
	}{
		{"our name", "Legal Name" + rest + "Acme" + row, Options{}, 0,
			ColumnSurvey{Header: "Legal Name", Column: "Legal Name", Certain: true, Samples: []string{"Acme"}}},
		{"the service's field", "entityType" + rest + "LLC" + row, Options{}, 0,
			ColumnSurvey{Header: "entityType", Column: "Entity Type", Certain: true}},
		{"another wording", "Entity Name" + rest + "Acme" + row, Options{}, 0,
			ColumnSurvey{Header: "Entity Name", Column: "Legal Name"}},
		{"said by hand", "Firma" + rest + "Acme" + row, Options{Map: map[string]string{"Firma": "Legal Name"}}, 0,
			ColumnSurvey{Header: "Firma", Column: "Legal Name"}},
		{"left out by hand", "Legal Name" + rest + "Acme" + row, Options{Map: map[string]string{"Legal Name": ""}}, 0,
			ColumnSurvey{Header: "Legal Name", Note: "left out by hand"}},
		{"not known", "Colour" + rest + "red" + row, Options{}, 0, ColumnSurvey{Header: "Colour", Note: "not known"}},
		{"a near miss", "Legal Nmae" + rest + "Acme" + row, Options{}, 0,
			ColumnSurvey{Header: "Legal Nmae", Note: "not known", Suggest: "Legal Name"}},
		{"an answer of ours", "Message" + rest + "bad" + row, Options{}, 0,
			ColumnSurvey{Header: "Message", Note: "a result column, which is filled in again"}},
		{"of another product", "Alternative Names" + rest + "x" + row, Options{Product: filing.AnnualReport}, 0,
			ColumnSurvey{
				Header:  "Alternative Names",
				Certain: true,
				Note:    "Alternative Names is not used for an annual report",
			}},
		{"a state of either kind",
			"Jurisdiction,Company ID,User ID,Year\nNY,comp_1,user_1,2026\nOntario,comp_2,user_1,2026\n",
			Options{}, 0, ColumnSurvey{
				Header:  "Jurisdiction",
				Note:    "the state of each filing, or that in which the company was formed",
				Suggest: "Filing State",
			}},
		{"a status is not a state", "Company_Status" + rest + "NY" + row, Options{}, 0,
			ColumnSurvey{Header: "Company_Status", Note: "not known"}},
		{"said less exactly", "Filing Jurisdiction" + rest + "NY" + row, Options{}, 0,
			ColumnSurvey{
				Header: "Filing Jurisdiction",
				Note:   `"Filing State" (D1) is a closer match for Filing State`,
			}},
		{"one of two that say the same", "Client Email,Contact Email" + rest + "a,b" + row, Options{}, 0,
			ColumnSurvey{
				Header: "Client Email",
				Note:   `"Contact Email" (B1) also matches User Email`,
			}},
		{"the officers of new companies", "Officer 1 City" + rest + "Dover" + row,
			Options{Product: filing.AnnualReport}, 0,
			ColumnSurvey{
				Header:  "Officer 1 City",
				Column:  "Officer 1 City",
				Certain: true,
				Note:    "used only for rows without a Company ID, whose companies are created",
			}},
		{"told by its values", "Mandant,Sitz,User ID,Jahr\ncomp_1,DE,user_1,2026\ncomp_2,New York,user_1,2025\n",
			Options{}, 0, ColumnSurvey{Header: "Mandant", Note: "not known", Suggest: "Company ID"}},
		{"states", "Mandant,Sitz,User ID,Jahr\ncomp_1,DE,user_1,2026\ncomp_2,New York,user_1,2025\n", Options{}, 1,
			ColumnSurvey{Header: "Sitz", Note: "not known", Suggest: "Filing State"}},
		{"not all of its values are states",
			"Mandant,Sitz,User ID,Jahr\ncomp_1,DE,user_1,2026\ncomp_2,Berlin,user_1,2025\n", Options{}, 1,
			ColumnSurvey{Header: "Sitz", Note: "not known"}},
		{"a date, not a state", "Inc. Date" + rest + "3/4/2019" + row + "2020-05-06" + row, Options{}, 0,
			ColumnSurvey{Header: "Inc. Date", Note: "not known", Suggest: "Formation Date"}},
		{"dates of something else", "Due" + rest + "3/4/2019" + row, Options{}, 0,
			ColumnSurvey{Header: "Due", Note: "not known"}},
		{"entity types", "Type" + rest + "LLC" + row + "Corp" + row, Options{}, 0,
			ColumnSurvey{Header: "Type", Note: "not known", Suggest: "Entity Type"}},
		{"email addresses are no names",
			"Contact,Company ID,Filing State,Filing Year\nana@example.com,comp_1,DE,2026\n",
			Options{}, 0, ColumnSurvey{Header: "Contact", Column: "User Email", ByContent: true}},
		{"names stay names", "Contact,User Email,Company ID,Filing State,Filing Year\nAna " +
			"Silva,a@example.com,comp_1,DE,2026\n",
			Options{}, 0, ColumnSurvey{Header: "Contact", Column: "User Name"}},
		{"email addresses beside the user's",
			"Contact,User Email,Company ID,Filing State,Filing Year\nb@example.com,a@example.com,comp_1,DE,2026\n",
			Options{}, 0, ColumnSurvey{Header: "Contact", Note: "not known"}},
		{"email addresses under our own header",
			"User Name,Company ID,Filing State,Filing Year\nb@example.com,comp_1,DE,2026\n",
			Options{}, 0, ColumnSurvey{Header: "User Name", Column: "User Name", Certain: true}},
		{"users, without headers", "comp_1,ana@example.com\n", Options{}, 1,
			ColumnSurvey{Note: "it has no header", Suggest: "User Email"}},
		{"what another column is already", "Home" + rest + "DE" + row, Options{}, 0,
			ColumnSurvey{Header: "Home", Note: "not known"}},
		{"no header", "" + rest + "x" + row, Options{}, 0,
			ColumnSurvey{Note: "it has no header", Samples: []string{"x"}}},
		{"beyond the last header", "Legal Name" + rest + "Acme,comp_1,user_1,DE,2026,beyond\n", Options{}, 5,
			ColumnSurvey{Note: "it has no header", Samples: []string{"beyond"}}},
		{"a number that is secret", "SSN" + rest + "078-05-1120" + row, Options{Product: filing.EIN}, 0, ColumnSurvey{
			Header:  "SSN",
			Column:  "Responsible Party SSN",
			Secret:  true,
			Samples: []string{"***-**-1120"},
		}},
		{"one that the table does not know", "Owner's SSN" + rest + "078051120" + row, Options{}, 0, ColumnSurvey{
			Header:  "Owner's SSN",
			Note:    "not known",
			Suggest: "",
			Secret:  true,
			Samples: []string{"***-**-1120"},
		}},
		{"one that slipped out of its column",
			"Remark" + rest + "078051120" + row + "see 078-05-1120" + row + "98-7654321" + row, Options{}, 0,
			ColumnSurvey{
				Header:  "Remark",
				Note:    "not known",
				Samples: []string{"***-**-1120", "see ***-**-1120", "98-7654321"},
			}},
		{"three values, each once, shortened",
			"Legal Name" + rest + "a" + row + "a" + row + strings.Repeat("b", 99) + row + "c" + row + "d" + row,
			Options{}, 0, ColumnSurvey{
				Header:  "Legal Name",
				Column:  "Legal Name",
				Certain: true,
				Samples: []string{"a", strings.Repeat("b", 30) + "…", "c"},
			}},
	} {
		t.Run(c.why, func(t *testing.T) {
			s := surveyed(t, c.text, c.o)
			at := slices.IndexFunc(s.Columns, func(got ColumnSurvey) bool { return got.Index == c.column })
			if at < 0 {
				t.Fatalf("%+v", s.Columns)
			}
			got := s.Columns[at]
			c.want.Index, c.want.Letter = c.column, sheet.ColumnName(c.column)
			if c.want.Map = c.want.Header; c.want.Header == "" {
				c.want.Map = c.want.Letter + ":" + c.want.Letter
			}
			if c.want.Samples == nil {
				got.Samples = nil
			}
			if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", c.want) {
				t.Errorf("%+v\nwant %+v", got, c.want)
			}
		})
	}
}

// surveyCase is a case of TestSurveySaysWhereTheFilingsAre.
type surveyCase struct {
	why, text string
	o         Options
	want      string // the sheet, those that hold filings, and what is read of the first
	err       string
}

// What is said of the whole file, also where Open refuses it.
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
		{"no header at all", "comp_1,user_1,DE,2026\ncomp_2,user_1,DE,2026\n", Options{},
			" [] header 0, 2 rows, 4 columns ", "none of the first 30 rows"},
		{"the product cannot be told", usual + "\ncomp_1,user_1,DE\n", Options{},
			" [] header 1, 1 rows, 3 columns ", "--product"},
		{"the product is named", usual + "\ncomp_1,user_1,DE\n", Options{Product: filing.EIN},
			" [] header 1, 1 rows, 3 columns ein", ""},
		{"nothing below the header", usual + "\n", Options{Product: filing.EIN},
			" [] header 1, 0 rows, 3 columns ein", "no rows below"},
		{"two columns for one", usual + ",Filing State\ncomp_1,user_1,DE,NY\n", Options{Product: filing.EIN},
			" [] header 1, 1 rows, 4 columns ein", "several columns match Filing State"},
		{"a mapping that the sheet does not have", usual + "\ncomp_1,user_1,DE\n",
			Options{Product: filing.EIN, Map: map[string]string{"Firma": "Legal Name"}},
			" [] header 1, 1 rows, 3 columns ein", `"Firma"`},
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
