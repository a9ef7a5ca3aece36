// Package sheettest generates hostile spreadsheets for tests. Each is smaller than a megabyte and
// costs a careless reader gigabytes or minutes. There is one for each limit of the reader, and some
// just below the limits.
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
)

// MaxBytes is the maximum size of a hostile file. Limits grow with the size of a file, so most
// files are padded to it.
const MaxBytes = 1_000_000

// File is a hostile spreadsheet.
type File struct {
	// Name has the extension and names the oversized part.
	Name string
	make func() []byte
}

// Bytes returns the content of the file, which is the same at every call.
func (f File) Bytes() []byte { return f.make() }

// Flood returns a workbook in which one part is a repeated text between two others. Fuzzers use it
// to find texts that are unexpectedly expensive. It is padded to MaxBytes if it is shorter.
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

// part is text with a repeated section: head, body × times, tail.
type part struct {
	head, body string
	times      int
	tail       string
	// each replaces body.
	each func(i int) string
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

	// csvHead is the header of an honest CSV file of annual reports.
	csvHead = "Company ID,User Email,Filing State,Filing Year\n"
)

// header and company are the rows of an honest sheet of annual reports.
var (
	header = strings.Replace(texts("Company ID", "User Email", "Filing State", "Filing Year"), "<row>",
		`<row r="1">`, 1)
	company = texts("comp_00000001", "a@example.com", "DE", "2026")
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

// workbook packs parts over the parts of an honest workbook, padded with a part that readers
// ignore.
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
	// A header ends the previous part.
	out, err := w.CreateHeader(&zip.FileHeader{Name: "xl/media/image1.png", Method: zip.Store})
	must(err)
	must(w.Flush())
	// entry is the size of an entry in the archive's directory, which is written last.
	const entry = 128
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

// unpacked is the unpacked size of a flood in bytes. It exceeds the limit for a file of a megabyte.
const unpacked = 72 << 20

// flood returns a part that repeats a text up to unpacked bytes.
func flood(head, body, tail string) part {
	return part{head: head, body: body, times: unpacked / len(body), tail: tail}
}

// some returns a part that repeats a text up to n bytes.
func some(n int, head, body, tail string) part {
	return part{head: head, body: body, times: n / len(body), tail: tail}
}

// only returns a workbook with one replaced part.
func only(name, which string, p part) File { return xlsx(name, map[string]part{which: p}) }

// rows returns a workbook with a number of equal rows below its header.
func rows(name string, times int, row string) File {
	return only(name, Sheet, part{head: sheetHead + header, body: row, times: times, tail: sheetTail})
}

// eachRow returns a workbook with a number of different rows below its header.
func eachRow(name string, times int, row func(i int) string) File {
	return only(name, Sheet, part{head: sheetHead + header, each: row, times: times, tail: sheetTail})
}

// Files returns all hostile files.
func Files() []File {
	return slices.Concat(bookFiles(), sheetFiles(), mostFiles(), archiveFiles(), csvFiles())
}

// bookFiles returns workbooks with oversized parts beside the sheets.
func bookFiles() []File {
	return []File{
		only("styles-attributes-32MB", Styles,
			some(31<<20, `<styleSheet `+mainSpace+`><cellXfs><xf`, ` a=""`, `/></cellXfs></styleSheet>`)),
		only("workbook-sheets", Book,
			some(3<<20, bookHead+`<sheets>`, `<sheet name="a" r:id="rId1"/>`, `</sheets></workbook>`)),
		xlsx("workbook-many-sheets", sheets(400)),
		xlsx("workbook-500-sheets", map[string]part{
			Book: {head: bookHead + `<sheets>`, times: 500, tail: `</sheets></workbook>`,
				each: func(i int) string { return fmt.Sprintf(`<sheet name="S%d" r:id="rId1"/>`, i) }},
			Sheet: {head: sheetHead + header, body: company, times: 20_000, tail: sheetTail},
		}),
		only("strings-empty", Strings, flood(`<sst>`, `<si/>`, `</sst>`)),
		xlsx("strings-long-shown", map[string]part{
			Strings: {head: `<sst>`, body: `<si><t>` + long + `</t></si>`, times: 200, tail: `</sst>`},
			Sheet: {head: sheetHead + header, times: 100_000, tail: sheetTail,
				each: func(i int) string { return fmt.Sprintf(`<row><c t="s"><v>%d</v></c></row>`, i%200) }},
		}),
		only("strings-short", Strings, some(60<<20, `<sst>`, `<si><t>a</t></si>`, `</sst>`)),
	}
}

// long is a text just below the maximum length of a cell.
var long = strings.Repeat("All work and no play. ", 5900)

// sheetFiles returns workbooks with an oversized sheet.
func sheetFiles() []File {
	return []File{
		only("long-names", Sheet, part{head: sheetHead + texts("Company ID", "Legal Name", "Notes"),
			body: texts("comp_00000001", long, long), times: 170, tail: sheetTail}),
		only("long-headers", Sheet, part{head: sheetHead + `<row>` + inline("Company ID"), body: inline(long),
			times: 350, tail: `</row><row><c><v>1</v></c></row>` + sheetTail}),
		only("rows-empty", Sheet, flood(sheetHead, `<row/>`, sheetTail)),
		eachRow("rows-all-different", 140_000, func(i int) string {
			return strings.ReplaceAll(company, "00000001", fmt.Sprintf("%08d", i))
		}),
		eachRow("cells-far", 60_000, func(i int) string {
			return fmt.Sprintf(`<row><c r="XFD%d"><v>1</v></c></row>`, i+2)
		}),
		only("headers-known", Sheet, part{head: sheetHead, times: 40, tail: sheetTail,
			body: `<row>` + strings.Repeat(inline("State")+inline("Company ID"), 8_000) + `</row>`}),
		only("headers-different", Sheet, part{head: sheetHead, times: 8, tail: sheetTail, each: func(i int) string {
			all := []string{"Company ID", "User Email"}
			for c := range 12_000 {
				all = append(all, fmt.Sprintf("Lgal Name%d", c+i))
			}
			return texts(all...)
		}}),
		only("columns-60MB", Sheet, some(60<<20, `<worksheet `+mainSpace+`><cols>`, `<col min="1" max="2"/>`,
			`</cols><sheetData>`+header+company+`</sheetData></worksheet>`)),
		xlsx("properties", map[string]part{
			Book: {head: bookHead + `<sheets><sheet name="Sheet1" r:id="rId1"/><sheet name="Bulkfiling" ` +
				`state="veryHidden" r:id="rId9"/></sheets></workbook>`},
			Rels: {head: relsHead + `<Relationship Id="rId9" Type="` + officeRel +
				`/worksheet" Target="worksheets/sheet2.xml"/></Relationships>`},
			Sheet: honest[Sheet],
			"xl/worksheets/sheet2.xml": {
				head: sheetHead + texts("bulkfiling properties"), body: texts(long), times: 350, tail: sheetTail,
			},
		}),
	}
}

// mostFiles returns files just below the limits.
func mostFiles() []File {
	return []File{
		rows("most-rows", 84_000, company),
		rows("most-faults", 84_000, texts("comp 1", "nobody", "ZZ", "26")),
		rows("most-cells", 24, `<row>`+strings.Repeat(`<c><v>1</v></c>`, 16_000)+`</row>`),
		eachRow("most-blanks", 140, func(i int) string {
			return fmt.Sprintf(`<row><c r="A%d"><v>1</v></c><c r="XFD%[1]d"><v>1</v></c></row>`, i+2)
		}),
		only("most-text", Sheet, part{
			head: sheetHead + texts("Company ID", "User Email", "Filing State", "Filing Year", "Notes"), times: 8_600,
			body: texts("comp_00000001", "a@example.com", "DE", "2026", strings.Repeat("123-45-678 call 7-", 60)),
			tail: sheetTail,
		}),
		xlsx("most-strings", map[string]part{
			Strings: {head: `<sst>`, body: `<si><t>Acme Holdings</t></si>`, times: 1_060_000, tail: `</sst>`},
			Sheet: {head: sheetHead + header, body: `<row><c t="s"><v>7</v></c></row>`, times: 84_000,
				tail: sheetTail},
		}),
	}
}

// archiveFiles returns archives with false sizes or structures.
func archiveFiles() []File {
	return []File{{"zip-overlap.xlsx", overlapping}, {"zip-directory.xlsx", directory}, {"zip-lying-size.xlsx", lying}}
}

// csvFiles returns CSV files, each with a head and a repeated body.
func csvFiles() []File {
	repeat := func(name, head, body string, times int) File {
		return File{name + ".csv", func() []byte { return []byte(head + strings.Repeat(body, times)) }}
	}
	return []File{
		repeat("columns", "", ",", MaxBytes),
		repeat("columns-each-row", csvHead, strings.Repeat(",", 16_000)+"x\n", 60),
		repeat("quote-open", csvHead+"\"", "a\n", 495_000),
		repeat("quotes-one-line", csvHead+"\"", "\" ", 495_000),
		repeat("rows", csvHead, "a\n", 495_000),
		repeat("lines-empty", csvHead, "\n", 990_000),
		repeat("utf-32", "\xff\xfe\x00\x00", "a\x00\x00\x00", 249_000),
	}
}

// sheets returns the parts of a workbook with n sheets, each with rows that may be filings.
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

func inline(text string) string { return `<c t="inlineStr"><is><t>` + text + `</t></is></c>` }

// texts returns a row of inline texts.
func texts(all ...string) string {
	var b strings.Builder
	b.WriteString("<row>")
	for _, t := range all {
		b.WriteString(inline(t))
	}
	b.WriteString("</row>")
	return b.String()
}

// overlapping returns a workbook in which 10,000 sheets share one compressed part of 40 MB.
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

	var b bytes.Buffer
	w := zip.NewWriter(&b)
	add := func(name string, method uint16, data []byte) {
		out, err := w.CreateRaw(&zip.FileHeader{
			Name:               name,
			Method:             method,
			CRC32:              crc32.ChecksumIEEE(data),
			CompressedSize64:   uint64(len(data)),
			UncompressedSize64: uint64(len(data)),
		})
		must(err)
		_, err = out.Write(data)
		must(err)
	}
	const first = "xl/worksheets/s0.xml"
	add(first, zip.Deflate, packed.Bytes())
	for i := range 489 {
		add(fmt.Sprintf("xl/worksheets/s%d.xml", i+1), zip.Deflate, nil)
	}
	add(Root, zip.Store, []byte(honest[Root].head))
	add(Book, zip.Store, []byte(book.String()))
	add(Rels, zip.Store, []byte(rels.String()))
	must(w.Close())
	return patched(b.Bytes(), func(name string, entry []byte) {
		if strings.HasPrefix(name, "xl/worksheets/") {
			binary.LittleEndian.PutUint32(entry[16:], sum.Sum32())
			binary.LittleEndian.PutUint32(entry[20:], uint32(packed.Len()))
			binary.LittleEndian.PutUint32(entry[24:], uint32(size))
			binary.LittleEndian.PutUint32(entry[42:], 0) // the offset of the first part
		}
	})
}

// directory returns an archive that has only its directory.
func directory() []byte {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for i := 0; i < MaxBytes/100; i++ {
		_, err := w.CreateRaw(&zip.FileHeader{Name: fmt.Sprint(i)})
		must(err)
	}
	must(w.Close())
	return b.Bytes()
}

// lying returns a workbook whose styles have a false small size.
func lying() []byte {
	return patched(workbook(map[string]part{
		Styles: some(500<<20, `<styleSheet><cellXfs>`, `<xf/>`, `</cellXfs></styleSheet>`),
	}), func(name string, entry []byte) {
		if name == Styles {
			binary.LittleEndian.PutUint32(entry[24:], 100)
		}
	})
}

// patched changes the entries of an archive's directory.
func patched(data []byte, change func(name string, entry []byte)) []byte {
	for at := bytes.Index(data, []byte("PK\x01\x02")); at >= 0; {
		n := int(binary.LittleEndian.Uint16(data[at+28:]))
		change(string(data[at+46:at+46+n]), data[at:])
		next := bytes.Index(data[at+4:], []byte("PK\x01\x02"))
		if next < 0 {
			break
		}
		at += 4 + next
	}
	return data
}
