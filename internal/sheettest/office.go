package sheettest

import (
	"archive/zip"
	"bytes"
	"io"
	"strings"

	"github.com/xuri/excelize/v2"
)

// SSN is the number that Office hides in every kind of place. Its parts occur in no other text of
// the workbook.
const SSN = "519-47-3862"

// The sheets of Office.
const (
	OfficeSheet = "Clients 2026"
	// OfficeHeader is the row of the header.
	OfficeHeader = 4
	OfficeRows   = 12
)

// Office returns a workbook such as an accounting firm has. It has title rows, styles, formulas,
// comments, drop-downs, conditional formats, charts, several sheets, macros and a link to another
// workbook. SSN is in cells, comments, names, properties and caches.
func Office() []byte {
	f := excelize.NewFile()
	defer f.Close()
	s := OfficeSheet
	must(f.SetSheetName("Sheet1", s))
	style := func(s *excelize.Style) int {
		id, err := f.NewStyle(s)
		must(err)
		return id
	}
	fill := func(color string) excelize.Fill {
		return excelize.Fill{Type: "pattern", Pattern: 1, Color: []string{color}}
	}
	money, day := `$#,##0.00`, `d mmm yyyy`
	title := style(&excelize.Style{Font: &excelize.Font{Bold: true, Size: 18, Color: "7030A0"}})
	head := style(&excelize.Style{Font: &excelize.Font{Bold: true, Color: "FFFFFF"}, Fill: fill("548235")})
	fee := style(&excelize.Style{CustomNumFmt: &money})
	date := style(&excelize.Style{CustomNumFmt: &day})
	yellow := style(&excelize.Style{Fill: fill("FFF2CC")})
	must(f.SetCellValue(s, "A1", "Harbor & Light LLP: annual reports"))
	must(f.SetCellStyle(s, "A1", "A1", title))
	must(f.MergeCell(s, "A1", "H1"))
	must(f.SetCellValue(s, "A2", "Prepared by Ana, see <notes>"))
	must(f.SetRowHeight(s, 1, 30))
	headers := []any{"Company ID", "Legal Name", "User Email", "Filing State", "Filing Year", "Fee", "Since",
		"Owner SSN"}
	must(f.SetSheetRow(s, "A4", &headers))
	must(f.SetCellStyle(s, "A4", "H4", head))
	for i := range OfficeRows {
		row := OfficeHeader + 1 + i
		if i >= 6 {
			row++ // a blank row in the middle
		}
		cell := func(col int) string {
			name, err := excelize.CoordinatesToCellName(col, row)
			must(err)
			return name
		}
		name := []string{"Acme", "Bluebird", "Cedar", "Delta", "Ember", "Fjord"}[i%6]
		values := []any{"comp_" + strings.ToLower(name) + string(rune('a'+i)), name + " & Sons LLC",
			"owner@" + strings.ToLower(name) + ".example", []string{"DE", "NY", "CA"}[i%3], 2026, 50.5 + float64(i),
			45000 + i}
		must(f.SetSheetRow(s, cell(1), &values))
		must(f.SetCellStyle(s, cell(6), cell(6), fee))
		must(f.SetCellStyle(s, cell(7), cell(7), date))
		must(f.SetCellStyle(s, cell(2), cell(2), yellow))
		switch i {
		case 2:
			must(f.SetCellValue(s, cell(8), SSN))
		case 3:
			must(f.SetCellValue(s, cell(8), 519473862))
		}
	}
	must(f.SetCellFormula(s, "F20", "SUM(F5:F17)"))
	must(f.SetCellValue(s, "E20", "Total"))
	must(f.AddComment(s, excelize.Comment{Cell: "B6", Author: "Ana", Paragraph: []excelize.RichTextRun{
		{Text: "Her number is 519-"}, {Text: "47-3862", Font: &excelize.Font{Bold: true}}}}))
	must(f.SetCellRichText(s, "B7", []excelize.RichTextRun{{Text: "Cedar "},
		{Text: "& Sons LLC", Font: &excelize.Font{Italic: true}}}))
	must(f.SetColWidth(s, "B", "B", 34))
	must(f.SetColWidth(s, "H", "Z", 14))
	must(f.SetPanes(s, &excelize.Panes{
		Freeze:      true,
		XSplit:      2,
		YSplit:      OfficeHeader,
		TopLeftCell: "C5",
		ActivePane:  "bottomRight",
	}))
	drop := excelize.NewDataValidation(true)
	drop.Sqref = "D5:D100"
	must(drop.SetDropList([]string{"DE", "NY", "CA"}))
	must(f.AddDataValidation(s, drop))
	red, err := f.NewConditionalStyle(&excelize.Style{Font: &excelize.Font{Color: "C00000"}})
	must(err)
	must(f.SetConditionalFormat(s, "F5:F17", []excelize.ConditionalFormatOptions{
		{Type: "cell", Criteria: ">", Format: &red, Value: "55"}}))
	must(f.AutoFilter(s, "A4:H17", nil))
	must(f.SetDefinedName(&excelize.DefinedName{Name: "Fees", RefersTo: "'" + s + "'!$F$5:$F$17"}))
	must(f.SetDefinedName(&excelize.DefinedName{Name: "Owner", RefersTo: `"` + SSN + `"`}))
	must(f.SetCellHyperLink(s, "C5", "https://example.com/clients", "External"))
	_, err = f.NewSheet("Owners")
	must(err)
	must(f.SetSheetRow("Owners", "A1", &[]any{"Owner", "SSN", "EIN", "Note"}))
	must(f.SetSheetRow("Owners", "A2", &[]any{"Ana", 519473862, 123456789, "called; says " + SSN}))
	must(f.SetCellFormula("Owners", "D3", `"519-47-"&"3862"`))
	must(f.SetCellFormula("Owners", "E2", "B2*1"))
	must(f.AddChart("Owners", "F2", &excelize.Chart{Type: excelize.Col, Title: excelize.ChartTitle{
		Paragraph: []excelize.RichTextRun{{Text: "Fees of " + SSN}}},
		Series: []excelize.ChartSeries{{Name: "Fees", Values: "'" + s + "'!$F$5:$F$10"}}}))
	_, err = f.NewSheet("Secret")
	must(err)
	must(f.SetCellValue("Secret", "A1", "hidden, but "+SSN))
	must(f.SetSheetVisible("Secret", false))
	must(f.SetDocProps(&excelize.DocProperties{Creator: "Ana", Title: "Clients of " + SSN}))
	must(f.SetCustomProps(excelize.CustomProperty{Name: "Client", Value: SSN}))
	f.SetActiveSheet(0)
	var out bytes.Buffer
	must(f.Write(&out))
	return withPrograms(out.Bytes())
}

// withPrograms adds macros, links and other parts that a copy must not contain.
func withPrograms(data []byte) []byte {
	in, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	must(err)
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	const rel = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
	insert := func(text, before, what string) string { return strings.Replace(text, before, what+before, 1) }
	for _, part := range in.File {
		r, err := part.Open()
		must(err)
		content, err := io.ReadAll(r)
		must(err)
		text := string(content)
		switch part.Name {
		case Types:
			text = strings.Replace(text, "spreadsheetml.sheet.main+xml", "ms-excel.sheet.macroEnabled.main+xml", 1)
			text = strings.Replace(text, "application/vnd.openxmlformats-officedocument.ms-excel",
				"application/vnd.ms-excel", 1)
			text = insert(text, "</Types>",
				`<Default Extension="bin" ContentType="application/vnd.ms-office.vbaProject"/>`+
					`<Override PartName="/xl/externalLinks/externalLink1.xml" ContentType="application/`+
					`vnd.openxmlformats-officedocument.spreadsheetml.externalLink+xml"/>`)
		case Rels:
			text = insert(text, "</Relationships>",
				`<Relationship Id="rIdVba" Type="http://schemas.microsoft.com/office/2006/relationships/vbaP`+
					`roject" `+
					`Target="vbaProject.bin"/>`+
					`<Relationship Id="rIdExt" Type="`+rel+`/externalLink" Target="externalLinks/externalLink1.`+
					`xml"/>`)
		case Book:
			text = strings.Replace(text, "</sheets>", `</sheets><externalReferences><externalReference `+
				`xmlns:r="`+rel+
				`" r:id="rIdExt"/></externalReferences>`, 1)
			text = strings.Replace(text, "</definedNames>",
				`<definedName name="Rates">[1]Rates!$A$1:$B$9</definedName></definedNames>`, 1)
		case Sheet:
			text = strings.Replace(text, "</sheetData>", `<row r="22"><c r="A22"><f>[1]Rates!$A$1*2</f>`+
				`<v>41.5</v></c></row></sheetData>`, 1)
		}
		to, err := w.Create(part.Name)
		must(err)
		_, err = io.WriteString(to, text)
		must(err)
	}
	for name, content := range map[string]string{
		"xl/vbaProject.bin": "Sub Auto_Open() ' " + SSN,
		"xl/externalLinks/externalLink1.xml": `<?xml version="1.0"?><externalLink ` +
			`xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><externalBook/></externalLink>`,
		"customXml/item1.xml": "<client>" + SSN + "</client>",
	} {
		to, err := w.Create(name)
		must(err)
		_, err = io.WriteString(to, content)
		must(err)
	}
	must(w.Close())
	return out.Bytes()
}
