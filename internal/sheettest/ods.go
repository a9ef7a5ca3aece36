package sheettest

import (
	"archive/zip"
	"bytes"
	"io"
	"strings"
)

const odsType = "application/vnd.oasis.opendocument.spreadsheet"

const odsHead = `<?xml version="1.0"?><office:document-content ` +
	`xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" ` +
	`xmlns:style="urn:oasis:names:tc:opendocument:xmlns:style:1.0" ` +
	`xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0" ` +
	`xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0" ` +
	`xmlns:calcext="urn:org:documentfoundation:names:experimental:calc:xmlns:calcext:1.0">`

const odsTail = `</office:spreadsheet></office:body></office:document-content>`

// ODS is an OpenDocument spreadsheet with the given automatic styles and tables.
func ODS(styles, tables string) []byte {
	return odsOf(part{head: odsHead + `<office:automatic-styles>` + styles +
		`</office:automatic-styles><office:body><office:spreadsheet>` + tables + odsTail})
}

// odsOf packs a content into a spreadsheet of at most MaxBytes.
func odsOf(content part) []byte {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	out, err := w.CreateHeader(&zip.FileHeader{Name: "mimetype", Method: zip.Store})
	must(err)
	_, err = io.WriteString(out, odsType)
	must(err)
	out, err = w.Create("content.xml")
	must(err)
	must(content.write(out))
	must(w.Close())
	return b.Bytes()
}

// odsFiles are the hostile ones.
func odsFiles() []File {
	table := func(rows string) string { return `<table:table table:name="A">` + rows + `</table:table>` }
	body := odsHead + `<office:body><office:spreadsheet>`
	cell := `<table:table-cell office:value-type="string"><text:p>Acme LLC</text:p></table:table-cell>`
	ods := func(name string, content part) File {
		return File{name + ".ods", func() []byte { return odsOf(content) }}
	}
	return []File{
		ods("ods-rows-repeated", part{head: body + table(
			`<table:table-row table:number-rows-repeated="1048576">`+cell+`</table:table-row>`) + odsTail}),
		ods("ods-cells-repeated", part{
			head: body + `<table:table table:name="A">`,
			body: `<table:table-row table:number-rows-repeated="60000">` +
				strings.Replace(cell, "<table:table-cell",
					`<table:table-cell table:number-columns-repeated="16384"`, 1) +
				`</table:table-row>`,
			times: 100, tail: `</table:table>` + odsTail,
		}),
		ods("ods-cells-beyond", part{head: body + table(
			`<table:table-row><table:table-cell table:number-columns-repeated="2147483647" office:value-type="float" `+
				`office:value="1"><text:p>1</text:p></table:table-cell></table:table-row>`) + odsTail}),
		ods("ods-long-text-repeated", part{head: body + table(
			`<table:table-row table:number-rows-repeated="1000"><table:table-cell `+
				`table:number-columns-repeated="1000" office:value-type="string"><text:p>`+
				strings.Repeat("All work. ", 9000)+
				`</text:p></table:table-cell></table:table-row>`) + odsTail}),
		ods("ods-text", some(70<<20, body+`<table:table table:name="A"><table:table-row><table:table-cell `+
			`office:value-type="string"><text:p>`, "a",
			`</text:p></table:table-cell></table:table-row></table:table>`+odsTail)),
		ods("ods-attributes", some(40<<20, body+`<table:table table:name="A"><table:table-row><table:table-cell`,
			` a=""`,
			`/></table:table-row></table:table>`+odsTail)),
		ods("ods-tables", part{
			head: body, body: `<table:table table:name="A"/>`, times: 100_000, tail: odsTail,
		}),
		ods("ods-rows", some(60<<20, body+`<table:table table:name="A">`, `<table:table-row>`+cell+`</table:table-row>`,
			`</table:table>`+odsTail)),
		ods("ods-depth", some(20<<20, body, `<table:table>`, odsTail)),
		ods("ods-spaces", some(30<<20, body+`<table:table table:name="A"><table:table-row><table:table-cell `+
			`office:value-type="string"><text:p>x`, `<text:s text:c="2147483647"/>`,
			`</text:p></table:table-cell></table:table-row></table:table>`+odsTail)),
		ods("ods-doctype", part{
			head: `<!DOCTYPE a [<!ENTITY b "` + strings.Repeat("c", 1000) + `">]>` + body + table("") + odsTail,
		}),
		ods("ods-truncated", part{head: body + `<table:table table:name="A"><table:table-row>` + cell}),
	}
}
