package sheet

import (
	"archive/zip"
	"maps"
	"os"
	"slices"
	"strings"
)

// The parts that a workbook of one sheet needs; a test replaces or adds what it
// is about. An empty part is left out.
var minimalPackage = map[string]string{
	"[Content_Types].xml": `<?xml version="1.0" encoding="UTF-8"?><Types ` +
		`xmlns="http://schemas.openxmlformats.org/package/2006/content-types">` +
		`<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>` +
		`<Default Extension="xml" ContentType="application/xml"/>` +
		`<Override PartName="/xl/workbook.xml" ` +
		`ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/>` +
		`<Override PartName="/xl/worksheets/sheet1.xml" ` +
		`ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml"/>` +
		`<Override PartName="/xl/sharedStrings.xml" ` +
		`ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sharedStrings+xml"/>` +
		`<Override PartName="/xl/styles.xml" ` +
		`ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.styles+xml"/></Types>`,
	"_rels/.rels": `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">` +
		`<Relationship Id="rId1" ` +
		`Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" ` +
		`Target="xl/workbook.xml"/></Relationships>`,
	"xl/workbook.xml": `<workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" ` +
		`xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships">` +
		`<sheets><sheet name="Sheet1" sheetId="1" r:id="rId1"/></sheets></workbook>`,
	"xl/_rels/workbook.xml.rels": `<Relationships ` +
		`xmlns="http://schemas.openxmlformats.org/package/2006/relationships">` +
		`<Relationship Id="rId1" ` +
		`Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet" ` +
		`Target="worksheets/sheet1.xml"/>` +
		`<Relationship Id="rId2" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/styles" ` +
		`Target="styles.xml"/>` +
		`<Relationship Id="rId3" ` +
		`Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/sharedStrings" ` +
		`Target="sharedStrings.xml"/></Relationships>`,
	"xl/worksheets/sheet1.xml": worksheet(``),
}

// worksheet is a sheet with the given rows.
func worksheet(rows string) string {
	return `<?xml version="1.0" encoding="UTF-8" standalone="yes"?>` + "\n" +
		`<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>` + rows +
		`</sheetData></worksheet>`
}

// packageOf completes parts to a workbook.
func packageOf(parts map[string]string) []byte {
	all := maps.Clone(minimalPackage)
	maps.Copy(all, parts)
	var b strings.Builder
	w := zip.NewWriter(&b)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if all[name] == "" {
			continue
		}
		part, err := w.Create(name)
		if err == nil {
			_, err = part.Write([]byte(all[name]))
		}
		if err != nil {
			panic(err)
		}
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	return []byte(b.String())
}

func writePackage(path string, parts map[string]string) error {
	return os.WriteFile(path, packageOf(parts), 0o600)
}
