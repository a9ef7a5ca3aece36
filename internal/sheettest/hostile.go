// Package sheettest makes hostile spreadsheets for tests: files of less than a
// megabyte that cost a careless reader gigabytes or minutes, one for each part
// of a workbook and each trick of a CSV.
package sheettest

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"unicode/utf16"
)

// MaxBytes is the size that no hostile file exceeds. Limits grow with the size
// of a file, so most are padded up to it.
const MaxBytes = 1_000_000

// File is a hostile spreadsheet.
type File struct {
	Name string // with its extension; it says what is too large
	make func() []byte
}

// Bytes makes the content of the file, the same at every call.
func (f File) Bytes() []byte { return f.make() }

// Flood is a workbook of which a part consists of a text that is repeated,
// between two others: for fuzzers, which find texts that cost more than they
// seem to. It is padded to MaxBytes where it is not longer than that by itself.
func Flood(name, head, body string, times int, tail string) []byte {
	return workbook(map[string]part{name: {head: head, body: body, times: times, tail: tail}})
}

// The parts that a hostile file replaces.
const (
	Types   = "[Content_Types].xml"
	Root    = "_rels/.rels"
	Book    = "xl/workbook.xml"
	Rels    = "xl/_rels/workbook.xml.rels"
	Styles  = "xl/styles.xml"
	Strings = "xl/sharedStrings.xml"
	Sheet   = "xl/worksheets/sheet1.xml"
)

// A part is text with a run that is repeated: <head> body × times <tail>.
type part struct {
	head, body string
	times      int
	tail       string
	each       func(i int) string // in place of body
}

func (p part) write(w io.Writer) error {
	b := bytes.NewBufferString(p.head)
	for i := range p.times {
		if p.each != nil {
			b.WriteString(p.each(i))
		} else {
			b.WriteString(p.body)
		}
		if b.Len() > 1<<20 {
			if _, err := b.WriteTo(w); err != nil {
				return err
			}
		}
	}
	b.WriteString(p.tail)
	_, err := b.WriteTo(w)
	return err
}

const (
	mainSpace = `xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"`
	relSpace  = `xmlns="http://schemas.openxmlformats.org/package/2006/relationships"`
	officeRel = `http://schemas.openxmlformats.org/officeDocument/2006/relationships`

	sheetHead = `<worksheet ` + mainSpace + `><sheetData>`
	sheetTail = `</sheetData></worksheet>`
	bookHead  = `<workbook ` + mainSpace + ` xmlns:r="` + officeRel + `">`
	oneSheet  = `<sheets><sheet name="Sheet1" sheetId="1" r:id="rId1"/></sheets>`
	relsHead  = `<Relationships ` + relSpace + `>` +
		`<Relationship Id="rId1" Type="` + officeRel + `/worksheet" Target="worksheets/sheet1.xml"/>` +
		`<Relationship Id="rId2" Type="` + officeRel + `/styles" Target="styles.xml"/>` +
		`<Relationship Id="rId3" Type="` + officeRel + `/sharedStrings" Target="sharedStrings.xml"/>`

	// header and company are the rows of an honest sheet of annual reports.
	header = `<row r="1"><c r="A1" t="inlineStr"><is><t>Company ID</t></is></c><c r="B1" t="inlineStr"><is>` +
		`<t>User Email</t></is></c>` +
		`<c r="C1" t="inlineStr"><is><t>Filing State</t></is></c><c r="D1" t="inlineStr"><is><t>Filing Year</t>` +
		`</is></c></row>`
	csvHead = "Company ID,User Email,Filing State,Filing Year\n"
	company = `<row><c t="inlineStr"><is><t>comp_00000001</t></is></c><c t="inlineStr"><is><t>a@example.com</t>` +
		`</is></c><c t="inlineStr"><is><t>DE</t></is></c><c t="inlineStr"><is><t>2026</t></is></c></row>`
)

var honest = map[string]part{
	Types: {
		head: `<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">` +
			`<Default Extension="xml" ContentType="application/xml"/></Types>`,
	},
	Root: {
		head: `<Relationships ` + relSpace + `><Relationship Id="rId1" Type="` + officeRel +
			`/officeDocument" Target="xl/workbook.xml"/></Relationships>`,
	},
	Book:  {head: bookHead + oneSheet + `</workbook>`},
	Rels:  {head: relsHead + `</Relationships>`},
	Sheet: {head: sheetHead + header + company + sheetTail},
}

// workbook packs parts over those of an honest workbook, padded by a part that
// no one reads.
func workbook(parts map[string]part) []byte {
	all := maps.Clone(honest)
	maps.Copy(all, parts)
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	w.RegisterCompressor(zip.Deflate,
		func(out io.Writer) (io.WriteCloser, error) { return flate.NewWriter(out, flate.BestCompression) })
	for _, name := range slices.Sorted(maps.Keys(all)) {
		out, err := w.Create(name)
		if err == nil {
			err = all[name].write(out)
		}
		must(err)
	}
	out, err := w.CreateHeader(&zip.FileHeader{Name: "xl/media/image1.png", Method: zip.Store}) // ends the part before
	must(err)
	must(w.Flush())
	const entry = 128 // of the archive's directory, which is written last
	if spare := MaxBytes - b.Len() - entry*(len(all)+1) - 4096; spare > 0 {
		_, err = out.Write(noise(spare))
		must(err)
	}
	must(w.Close())
	return b.Bytes()
}

func noise(n int) []byte {
	random := rand.NewChaCha8([32]byte{1})
	b := make([]byte, n)
	_, _ = random.Read(b)
	return b
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func xlsx(name string, parts map[string]part) File {
	return File{name + ".xlsx", func() []byte { return workbook(parts) }}
}

func csv(name string, data func() []byte) File {
	return File{name + ".csv", data}
}

// unpacked is how many bytes a flood unpacks to: more than a file of a megabyte may.
const unpacked = 72 << 20

// flood repeats a text until it fills a part, or only a piece of it.
func flood(head, body, tail string) part {
	return part{head: head, body: body, times: unpacked / len(body), tail: tail}
}

// some repeats a text until so many bytes are full.
func some(n int, head, body, tail string) part {
	return part{head: head, body: body, times: n / len(body), tail: tail}
}

// Files are all hostile files.
func Files() []File {
	long := strings.Repeat("All work and no play. ", 5900) // just below the longest text of a cell
	files := []File{
		xlsx("styles-attributes", map[string]part{
			Styles: flood(`<styleSheet `+mainSpace+`><cellXfs><xf`, ` a=""`, `/></cellXfs></styleSheet>`),
		}),
		xlsx("styles-attributes-32MB",
			map[string]part{
				Styles: some(31<<20, `<styleSheet `+mainSpace+`><cellXfs><xf`, ` a=""`, `/></cellXfs></styleSheet>`),
			}),
		xlsx("styles-attributes-1MB", map[string]part{Styles: {
			head: `<styleSheet ` + mainSpace + `><cellXfs>`, body: `<xf` + strings.Repeat(` a=""`, 200_000) + `/>`,
			times: 30, tail: `</cellXfs></styleSheet>`,
		}}),
		xlsx("styles-formats", map[string]part{
			Styles: flood(`<styleSheet `+mainSpace+`><cellXfs>`, `<xf/>`, `</cellXfs></styleSheet>`),
		}),
		xlsx("styles-fonts", map[string]part{
			Styles: some(3<<20, `<styleSheet `+mainSpace+`><fonts>`, `<font/>`, `</fonts></styleSheet>`),
		}),
		xlsx("styles-number-formats", map[string]part{
			Styles: {
				head: `<styleSheet ` + mainSpace + `>`, times: 24_000, tail: `</styleSheet>`,
				each: func(i int) string {
					return fmt.Sprintf(
						`<numFmts><numFmt numFmtId="%d" formatCode="[&lt;%[1]d]%s"/></numFmts>`+
							`<cellXfs><xf numFmtId="%[1]d"/></cellXfs>`, i+200, strings.Repeat("0-", 40))
				},
			},
		}),
		xlsx("styles-name", map[string]part{Styles: some(30<<20, `<`, `a`, `/>`)}),
		xlsx("workbook-attributes", map[string]part{Book: some(31<<20, `<workbook`, ` a=""`, `/>`)}),
		xlsx("workbook-sheets", map[string]part{
			Book: some(3<<20, bookHead+`<sheets>`, `<sheet name="a" r:id="rId1"/>`, `</sheets></workbook>`),
		}),
		xlsx("workbook-sheet-name", map[string]part{
			Book: some(900<<10, bookHead+`<sheets><sheet r:id="rId1" name="`, `a`, `"/></sheets></workbook>`),
		}),
		xlsx("workbook-defined-names",
			map[string]part{
				Book: flood(bookHead+oneSheet+`<definedNames>`, `<definedName name="a">1</definedName>`,
					`</definedNames></workbook>`),
			}),
		xlsx("workbook-many-sheets", sheets(400)),
		xlsx("workbook-500-sheets", map[string]part{
			Book: {
				head:  bookHead + `<sheets>`,
				times: 500,
				each:  func(i int) string { return fmt.Sprintf(`<sheet name="S%d" r:id="rId1"/>`, i) },
				tail:  `</sheets></workbook>`,
			},
			Sheet: {head: sheetHead + header, body: company, times: 20_000, tail: sheetTail},
		}),
		xlsx("root-relations-attributes", map[string]part{Root: some(31<<20, `<Relationships`, ` a=""`, `/>`)}),
		xlsx("relations", map[string]part{Rels: {
			head: relsHead, times: 200_000, tail: `</Relationships>`,
			each: func(i int) string { return fmt.Sprintf(`<Relationship Id="a%d" Type="b" Target="c"/>`, i) },
		}}),
		xlsx("relations-attributes", map[string]part{Rels: some(31<<20, `<Relationships`, ` a=""`, `/>`)}),
		xlsx("content-types", map[string]part{Types: flood(`<Types`, ` a=""`, `/>`)}),
		xlsx("strings-attributes", map[string]part{
			Strings: flood(`<sst><si`, ` a=""`, `/></sst>`),
			Sheet:   {head: sheetHead + `<row><c t="s"><v>0</v></c></row>` + sheetTail},
		}),
		xlsx("strings-empty", map[string]part{Strings: flood(`<sst>`, `<si/>`, `</sst>`)}),
		xlsx("strings-long", map[string]part{
			Strings: {head: `<sst>`, body: `<si><t>` + long + `</t></si>`, times: 1500, tail: `</sst>`},
		}),
		xlsx("strings-long-shown", map[string]part{
			Strings: {head: `<sst>`, body: `<si><t>` + long + `</t></si>`, times: 200, tail: `</sst>`},
			Sheet: {
				head:  sheetHead + header,
				each:  func(i int) string { return fmt.Sprintf(`<row><c t="s"><v>%d</v></c></row>`, i%200) },
				times: 100_000,
				tail:  sheetTail,
			},
		}),
		xlsx("strings-entities", map[string]part{Strings: flood(`<sst><si><t>`, `&amp;`, `</t></si></sst>`)}),
		xlsx("strings-runs", map[string]part{Strings: flood(`<sst><si>`, `<r><t/></r>`, `</si></sst>`)}),
		xlsx("strings-short", map[string]part{Strings: some(60<<20, `<sst>`, `<si><t>a</t></si>`, `</sst>`)}),
		xlsx("inline-long", map[string]part{
			Sheet: {
				head:  sheetHead + header,
				body:  `<row><c t="inlineStr"><is><t>` + long + `</t></is></c></row>`,
				times: 1500,
				tail:  sheetTail,
			},
		}),
		xlsx("inline-long-few", map[string]part{
			Sheet: {
				head:  sheetHead + header,
				body:  `<row><c t="inlineStr"><is><t>` + long + `</t></is></c></row>`,
				times: 350,
				tail:  sheetTail,
			},
		}),
		xlsx("inline-long-wide", map[string]part{Sheet: {
			head: sheetHead + header + `<row>`, body: `<c t="inlineStr"><is><t>` + long + `</t></is></c>`, times: 1500,
			tail: `</row>` + sheetTail,
		}}),
		xlsx("long-names", map[string]part{Sheet: {
			head: sheetHead + `<row><c t="inlineStr"><is><t>Company ID</t></is></c><c t="inlineStr"><is>` +
				`<t>Legal Name</t></is></c><c t="inlineStr"><is><t>Notes</t></is></c></row>`,
			body: `<row><c t="inlineStr"><is><t>comp_00000001</t></is></c><c t="inlineStr"><is><t>` + long +
				`</t></is></c><c t="inlineStr"><is><t>` + long + `</t></is></c></row>`, times: 170, tail: sheetTail,
		}}),
		xlsx("long-headers", map[string]part{Sheet: {
			head: sheetHead + `<row><c t="inlineStr"><is><t>Company ID</t></is></c>`,
			body: `<c t="inlineStr"><is><t>` + long + `</t></is></c>`, times: 350,
			tail: `</row><row><c><v>1</v></c></row>` + sheetTail,
		}}),
		xlsx("rows-empty", map[string]part{Sheet: flood(sheetHead, `<row/>`, sheetTail)}),
		xlsx("rows-short", map[string]part{
			Sheet: some(70<<20, sheetHead+header, `<row><c><v>1</v></c></row>`, sheetTail),
		}),
		xlsx("rows-honest", map[string]part{Sheet: some(75<<20, sheetHead+header, company, sheetTail)}),
		xlsx("rows-all-different", map[string]part{Sheet: {
			head: sheetHead + header, times: 140_000, tail: sheetTail,
			each: func(i int) string { return strings.ReplaceAll(company, "00000001", fmt.Sprintf("%08d", i)) },
		}}),
		xlsx("row-attributes", map[string]part{Sheet: flood(sheetHead+`<row`, ` a=""`, `/>`+sheetTail)}),
		xlsx("cells-empty", map[string]part{
			Sheet: some(75<<20, sheetHead+header, `<row>`+strings.Repeat(`<c/>`, 16_000)+`</row>`, sheetTail),
		}),
		xlsx("cells-far", map[string]part{Sheet: {
			head: sheetHead + header, each: func(i int) string {
				return fmt.Sprintf(`<row><c r="XFD%d"><v>1</v></c></row>`, i+2)
			}, times: 60_000, tail: sheetTail,
		}}),
		xlsx("cells-far-few", map[string]part{Sheet: {
			head: sheetHead + header, each: func(i int) string {
				return fmt.Sprintf(`<row><c r="XFD%d"><v>1</v></c></row>`, i+2)
			}, times: 240, tail: sheetTail,
		}}),
		xlsx("cells-wide", map[string]part{
			Sheet: some(70<<20, sheetHead+header, `<row>`+strings.Repeat(`<c><v>1</v></c>`, 16_000)+`</row>`,
				sheetTail),
		}),
		xlsx("headers-alike", map[string]part{Sheet: {
			head: sheetHead, body: `<row>` + strings.Repeat(`<c t="inlineStr"><is><t>Legal Nam</t></is></c>`, 16_000) +
				`</row>`, times: 40, tail: sheetTail,
		}}),
		xlsx("headers-known", map[string]part{Sheet: {
			head: sheetHead, body: `<row>` +
				strings.Repeat(
					`<c t="inlineStr"><is><t>State</t></is></c><c t="inlineStr"><is><t>Company ID</t></is></c>`,
					8_000) + `</row>`, times: 40, tail: sheetTail,
		}}),
		xlsx("headers-different", map[string]part{Sheet: {
			head: sheetHead, each: func(i int) string {
				var b strings.Builder
				b.WriteString(
					`<row><c t="inlineStr"><is><t>Company ID</t></is></c><c t="inlineStr"><is><t>User Email</t>` +
						`</is></c>`)
				for c := range 12_000 {
					fmt.Fprintf(&b, `<c t="inlineStr"><is><t>Lgal Name%d</t></is></c>`, c+i)
				}
				b.WriteString(`</row>`)
				return b.String()
			}, times: 8, tail: sheetTail,
		}}),
		xlsx("columns", map[string]part{
			Sheet: flood(`<worksheet `+mainSpace+`><cols>`, `<col min="1" max="2"/>`,
				`</cols><sheetData/></worksheet>`),
		}),
		xlsx("columns-60MB", map[string]part{
			Sheet: some(60<<20, `<worksheet `+mainSpace+`><cols>`, `<col min="1" max="2"/>`,
				`</cols><sheetData>`+header+company+`</sheetData></worksheet>`),
		}),
		xlsx("merged-cells", map[string]part{
			Sheet: flood(sheetHead+header+company+`</sheetData><mergeCells>`, `<mergeCell ref="A1:B2"/>`,
				`</mergeCells></worksheet>`),
		}),
		xlsx("merged-cells-60MB", map[string]part{
			Sheet: some(60<<20, sheetHead+header+company+`</sheetData><mergeCells>`, `<mergeCell ref="A1:B2"/>`,
				`</mergeCells></worksheet>`),
		}),
		xlsx("validations", map[string]part{
			Sheet: flood(sheetHead+header+company+`</sheetData><dataValidations>`,
				`<dataValidation><formula1>1</formula1></dataValidation>`, `</dataValidations></worksheet>`),
		}),
		xlsx("hyperlinks", map[string]part{
			Sheet: flood(sheetHead+header+company+`</sheetData><hyperlinks>`, `<hyperlink ref="A1" r:id="a"/>`,
				`</hyperlinks></worksheet>`),
		}),
		xlsx("comments", map[string]part{"xl/comments1.xml": flood(`<comments>`, `<comment/>`, `</comments>`)}),
		xlsx("theme", map[string]part{"xl/theme/theme1.xml": flood(`<theme`, ` a=""`, `/>`)}),
		xlsx("depth", map[string]part{Sheet: flood(``, `<a>`, ``)}),
		xlsx("blanks", map[string]part{Sheet: flood(sheetHead, ` `, sheetTail)}),
		xlsx("blanks-60MB", map[string]part{
			Sheet: some(60<<20, `<worksheet `+mainSpace+`>`, ` `, `<sheetData>`+header+company+sheetTail),
		}),
		xlsx("xml-comment", map[string]part{Sheet: flood(`<!--`, `a`, `-->`+sheetHead+sheetTail)}),
		xlsx("formulas", map[string]part{
			Sheet: some(70<<20, sheetHead+header, `<row><c><f>1</f></c></row>`, sheetTail),
		}),
		xlsx("dates", map[string]part{
			Styles: {head: `<styleSheet ` + mainSpace + `><cellXfs><xf numFmtId="22"/></cellXfs></styleSheet>`},
			Sheet:  some(70<<20, sheetHead+header, `<row><c s="0"><v>46082.51</v></c></row>`, sheetTail),
		}),
		xlsx("officers", map[string]part{
			Book: {
				head: bookHead + `<sheets><sheet name="Formations" r:id="rId1"/>` +
					`<sheet name="Officers" r:id="rId9"/></sheets>` +
					`</workbook>`,
			},
			Rels: {
				head: relsHead + `<Relationship Id="rId9" Type="` + officeRel +
					`/worksheet" Target="worksheets/sheet2.xml"/></Relationships>`,
			},
			Sheet: {
				head: sheetHead + texts("Legal Name", "Entity Type", "Formation State", "User Email"), times: 20_000,
				tail: sheetTail,
				each: func(i int) string {
					return texts(fmt.Sprintf("Acme Holdings %d LLC", i), "LLC", "DE", "a@example.com")
				},
			},
			"xl/worksheets/sheet2.xml": {
				head: sheetHead + texts("Legal Name", "First Name", "Last Name", "Title"), times: 20_000,
				tail: sheetTail,
				each: func(i int) string {
					return texts(fmt.Sprintf("Acme Holding %d LLC", i+100_000), "Ann", "Lee", "CEO")
				},
			},
		}),
		xlsx("officers-long", map[string]part{
			Book: {
				head: bookHead + `<sheets><sheet name="Formations" r:id="rId1"/>` +
					`<sheet name="Officers" r:id="rId9"/></sheets>` +
					`</workbook>`,
			},
			Rels: {
				head: relsHead + `<Relationship Id="rId9" Type="` + officeRel +
					`/worksheet" Target="worksheets/sheet2.xml"/></Relationships>`,
			},
			Sheet: {
				head: sheetHead + texts("Legal Name", "Entity Type", "Formation State", "User Email") + texts(long,
					"LLC", "DE", "a@example.com") + sheetTail,
			},
			"xl/worksheets/sheet2.xml": {
				head: sheetHead + texts("Legal Name", "First Name", "Last Name", "Title") +
					texts("x"+long[:len(long)-30], "Ann", "Lee", "CEO") + sheetTail,
			},
		}),
		xlsx("officers-shared", map[string]part{
			Book: {
				head: bookHead + `<sheets><sheet name="Formations" r:id="rId1"/>` +
					`<sheet name="Officers" r:id="rId9"/></sheets>` +
					`</workbook>`,
			},
			Rels: {
				head: relsHead + `<Relationship Id="rId9" Type="` + officeRel +
					`/worksheet" Target="worksheets/sheet2.xml"/></Relationships>`,
			},
			Sheet: {
				head:  sheetHead + texts("Legal Name", "Entity Type", "Formation State", "User Email"),
				body:  texts("Acme LLC", "LLC", "DE", "a@example.com"),
				times: 20_000,
				tail:  sheetTail,
			},
			"xl/worksheets/sheet2.xml": {
				head:  sheetHead + texts("Legal Name", "First Name", "Last Name", "Title"),
				body:  texts("Acme LLC", "Ann", "Lee", "CEO"),
				times: 20_000,
				tail:  sheetTail,
			},
		}),
		// These stay just below the limits.
		xlsx("most-rows", map[string]part{
			Sheet: {head: sheetHead + header, body: company, times: 84_000, tail: sheetTail},
		}),
		xlsx("most-faults", map[string]part{
			Sheet: {
				head:  sheetHead + header,
				body:  texts("comp 1", "nobody", "ZZ", "26"),
				times: 84_000,
				tail:  sheetTail,
			},
		}),
		xlsx("most-cells", map[string]part{Sheet: {
			head: sheetHead + header, body: `<row>` + strings.Repeat(`<c><v>1</v></c>`, 16_000) + `</row>`, times: 24,
			tail: sheetTail,
		}}),
		xlsx("most-cells-narrow", map[string]part{Sheet: {
			head: sheetHead + header, body: `<row>` + strings.Repeat(`<c><v>1</v></c>`, 7) + `</row>`, times: 55_000,
			tail: sheetTail,
		}}),
		xlsx("most-blanks", map[string]part{Sheet: {
			head: sheetHead + header, each: func(i int) string {
				return fmt.Sprintf(`<row><c r="A%d"><v>1</v></c><c r="XFD%[1]d"><v>1</v></c></row>`, i+2)
			}, times: 140, tail: sheetTail,
		}}),
		xlsx("most-text", map[string]part{Sheet: {
			head: sheetHead + texts("Company ID", "User Email", "Filing State", "Filing Year", "Notes"), times: 8_600,
			tail: sheetTail,
			body: texts("comp_00000001", "a@example.com", "DE", "2026", strings.Repeat("123-45-678 call 7-", 60)),
		}}),
		xlsx("most-text-shared", map[string]part{
			Strings: {head: `<sst>`, body: `<si><t>` + long + `</t></si>`, times: 1, tail: `</sst>`},
			Sheet:   {head: sheetHead + header, body: `<row><c t="s"><v>0</v></c></row>`, times: 74, tail: sheetTail},
		}),
		xlsx("most-strings", map[string]part{
			Strings: {head: `<sst>`, body: `<si><t>Acme Holdings</t></si>`, times: 1_060_000, tail: `</sst>`},
			Sheet: {
				head:  sheetHead + header,
				body:  `<row><c t="s"><v>7</v></c></row>`,
				times: 84_000,
				tail:  sheetTail,
			},
		}),
		xlsx("properties", map[string]part{
			Book: {
				head: bookHead + `<sheets><sheet name="Sheet1" r:id="rId1"/>` +
					`<sheet name="Bulkfiling" state="veryHidden" ` +
					`r:id="rId9"/></sheets></workbook>`,
			},
			Rels: {
				head: relsHead + `<Relationship Id="rId9" Type="` + officeRel +
					`/worksheet" Target="worksheets/sheet2.xml"/></Relationships>`,
			},
			"xl/worksheets/sheet2.xml": {
				head:  sheetHead + texts("bulkfiling properties"),
				body:  `<row><c t="inlineStr"><is><t>` + long + `</t></is></c></row>`,
				times: 350,
				tail:  sheetTail,
			},
		}),
		{"zip-overlap.xlsx", overlapping},
		{"zip-directory.xlsx", directory},
		{"zip-lying-size.xlsx", lying},
		csv("columns", func() []byte { return bytes.Repeat([]byte(","), MaxBytes) }),
		csv("columns-each-row", func() []byte {
			return append([]byte(csvHead), bytes.Repeat([]byte(strings.Repeat(",", 16_000)+"x\n"), 60)...)
		}),
		csv("quote-open", func() []byte {
			return append([]byte(csvHead+"\""), bytes.Repeat([]byte("a\n"), 495_000)...)
		}),
		csv("quotes", func() []byte {
			return append([]byte(csvHead), bytes.Repeat([]byte("\"a\"b\" \" \"\n"), 99_000)...)
		}),
		csv("quotes-one-line", func() []byte {
			return append([]byte(csvHead+"\""), bytes.Repeat([]byte("\" "), 495_000)...)
		}),
		csv("rows", func() []byte {
			return append([]byte(csvHead), bytes.Repeat([]byte("a\n"), 495_000)...)
		}),
		csv("rows-different", func() []byte {
			b := []byte(csvHead)
			for i := 0; len(b) < MaxBytes-10; i++ {
				b = fmt.Appendf(b, "c%d,a@b.co,DE,2026\n", i)
			}
			return b
		}),
		csv("lines-empty", func() []byte {
			return append([]byte(csvHead), bytes.Repeat([]byte("\n"), 990_000)...)
		}),
		csv("carriage-returns", func() []byte {
			return append([]byte(strings.Replace(csvHead, "\n", "\r", 1)), bytes.Repeat([]byte("a\r"), 495_000)...)
		}),
		csv("utf-16", func() []byte { return utf16Of(strings.Repeat(",", 495_000)) }),
		csv("utf-16-rows", func() []byte { return utf16Of(csvHead + strings.Repeat("\u20ac\n", 240_000)) }),
		csv("utf-32", func() []byte {
			return append([]byte("\xff\xfe\x00\x00"), bytes.Repeat([]byte("a\x00\x00\x00"), 249_000)...)
		}),
		csv("high-bytes", func() []byte {
			return append([]byte(csvHead), bytes.Repeat([]byte("\xff\n"), 495_000)...)
		}),
		csv("nul", func() []byte {
			return append([]byte(csvHead+strings.Repeat("a,b\n", 20_000)), bytes.Repeat([]byte("\x00"), 900_000)...)
		}),
		csv("json", func() []byte { return bytes.Repeat([]byte("["), MaxBytes) }),
	}
	return files
}

// sheets are parts of a workbook with so many sheets, each with rows that may be filings.
func sheets(n int) map[string]part {
	parts := map[string]part{
		Book: {head: bookHead + `<sheets>`, times: n, tail: `</sheets></workbook>`, each: func(i int) string {
			return fmt.Sprintf(`<sheet name="S%d" r:id="s%[1]d"/>`, i)
		}},
		Rels: {head: relsHead, times: n, tail: `</Relationships>`, each: func(i int) string {
			return fmt.Sprintf(`<Relationship Id="s%d" Type="%s/worksheet" Target="worksheets/s%[1]d.xml"/>`, i,
				officeRel)
		}},
	}
	for i := range n {
		parts[fmt.Sprintf("xl/worksheets/s%d.xml", i)] = part{
			head: sheetHead + header, body: `<row>` + strings.Repeat(`<c><v>1</v></c>`, 300) + `</row>`, times: 32,
			tail: sheetTail,
		}
	}
	return parts
}

// texts is a row of inline texts.
func texts(all ...string) string {
	var b strings.Builder
	b.WriteString("<row>")
	for _, t := range all {
		b.WriteString(`<c t="inlineStr"><is><t>` + t + `</t></is></c>`)
	}
	b.WriteString("</row>")
	return b.String()
}

func utf16Of(text string) []byte {
	b := []byte("\xff\xfe")
	for _, u := range utf16.Encode([]rune(text)) {
		b = binary.LittleEndian.AppendUint16(b, u)
	}
	return b
}

// overlapping is a workbook of which 10,000 sheets share one compressed part of 40 MB.
func overlapping() []byte {
	var packed bytes.Buffer
	deflate, err := flate.NewWriter(&packed, flate.BestCompression)
	must(err)
	sum := crc32.NewIEEE()
	size := 0
	write := func(text string) {
		size += len(text)
		_, _ = sum.Write([]byte(text))
		_, err := deflate.Write([]byte(text))
		must(err)
	}
	write(sheetHead + `<row><c t="inlineStr"><is><t>`)
	for range 40 << 10 {
		write(strings.Repeat(" ", 1<<10))
	}
	write(`</t></is></c></row>` + sheetTail)
	must(deflate.Close())

	var book, rels strings.Builder
	book.WriteString(bookHead + `<sheets>`)
	rels.WriteString(relsHead)
	for i := range 490 {
		fmt.Fprintf(&book, `<sheet name="S%d" r:id="s%d"/>`, i, i)
		fmt.Fprintf(&rels, `<Relationship Id="s%d" Type="%s/worksheet" Target="worksheets/s%d.xml"/>`, i, officeRel, i)
	}
	book.WriteString(`</sheets></workbook>`)
	rels.WriteString(`</Relationships>`)

	var b, central bytes.Buffer
	entries := 0
	add := func(name string, method uint16, crc uint32, packed, unpacked, offset int) {
		entries++
		central.Write(directoryEntry(name, method, crc, packed, unpacked, offset))
	}
	local := func(name string, method uint16, crc uint32, data []byte, unpacked int) int {
		offset := b.Len()
		b.Write(localHeader(name, method, crc, len(data), unpacked))
		b.Write(data)
		return offset
	}
	for name, text := range map[string]string{Root: honest[Root].head, Book: book.String(), Rels: rels.String()} {
		crc := crc32.ChecksumIEEE([]byte(text))
		add(name, zip.Store, crc, len(text), len(text), local(name, zip.Store, crc, []byte(text), len(text)))
	}
	at := local("xl/worksheets/s0.xml", zip.Deflate, sum.Sum32(), packed.Bytes(), size)
	for i := range 490 {
		add(fmt.Sprintf("xl/worksheets/s%d.xml", i), zip.Deflate, sum.Sum32(), packed.Len(), size, at)
	}
	return finished(&b, &central, entries)
}

// directory is an archive of nothing but its directory.
func directory() []byte {
	var b, central bytes.Buffer
	text := honest[Root].head
	crc := crc32.ChecksumIEEE([]byte(text))
	b.Write(localHeader(Root, zip.Store, crc, len(text), len(text)))
	b.WriteString(text)
	central.Write(directoryEntry(Root, zip.Store, crc, len(text), len(text), 0))
	entries := 1
	for ; b.Len()+central.Len() < MaxBytes-100; entries++ {
		central.Write(directoryEntry(fmt.Sprint(entries), zip.Store, 0, 0, 0, 0))
	}
	return finished(&b, &central, entries)
}

// lying is a workbook whose styles say that they are small.
func lying() []byte {
	data := workbook(map[string]part{
		Styles: some(500<<20, `<styleSheet><cellXfs>`, `<xf/>`, `</cellXfs></styleSheet>`),
	})
	for at := bytes.Index(data, []byte("PK\x01\x02")); at >= 0; {
		n := int(binary.LittleEndian.Uint16(data[at+28:]))
		if string(data[at+46:at+46+n]) == Styles {
			binary.LittleEndian.PutUint32(data[at+24:], 100)
		}
		next := bytes.Index(data[at+4:], []byte("PK\x01\x02"))
		if next < 0 {
			break
		}
		at += 4 + next
	}
	return data
}

func localHeader(name string, method uint16, crc uint32, packed, unpacked int) []byte {
	b := []byte("PK\x03\x04\x14\x00\x00\x00")
	b = binary.LittleEndian.AppendUint16(b, method)
	b = append(b, 0, 0, 0x21, 0)
	b = binary.LittleEndian.AppendUint32(b, crc)
	b = binary.LittleEndian.AppendUint32(b, uint32(packed))
	b = binary.LittleEndian.AppendUint32(b, uint32(unpacked))
	b = binary.LittleEndian.AppendUint16(b, uint16(len(name)))
	b = append(b, 0, 0)
	return append(b, name...)
}

func directoryEntry(name string, method uint16, crc uint32, packed, unpacked, offset int) []byte {
	b := []byte("PK\x01\x02\x14\x00\x14\x00\x00\x00")
	b = binary.LittleEndian.AppendUint16(b, method)
	b = append(b, 0, 0, 0x21, 0)
	b = binary.LittleEndian.AppendUint32(b, crc)
	b = binary.LittleEndian.AppendUint32(b, uint32(packed))
	b = binary.LittleEndian.AppendUint32(b, uint32(unpacked))
	b = binary.LittleEndian.AppendUint16(b, uint16(len(name)))
	b = append(b, make([]byte, 12)...)
	b = binary.LittleEndian.AppendUint32(b, uint32(offset))
	return append(b, name...)
}

func finished(b, central *bytes.Buffer, entries int) []byte {
	start, size := b.Len(), central.Len()
	b.Write(central.Bytes())
	b.WriteString("PK\x05\x06\x00\x00\x00\x00")
	end := binary.LittleEndian.AppendUint16(nil, uint16(entries))
	end = binary.LittleEndian.AppendUint16(end, uint16(entries))
	end = binary.LittleEndian.AppendUint32(end, uint32(size))
	end = binary.LittleEndian.AppendUint32(end, uint32(start))
	b.Write(append(end, 0, 0))
	return b.Bytes()
}
