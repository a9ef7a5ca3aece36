package sheettest

import (
	"bytes"
	"encoding/binary"
	"math"
	"unicode/utf16"
)

// XLSRecord is a record of an .xls stream: its kind, and its data.
func XLSRecord(kind int, data ...any) []byte {
	var d bytes.Buffer
	for _, v := range data {
		switch v := v.(type) {
		case int:
			must(binary.Write(&d, binary.LittleEndian, uint16(v)))
		case string:
			d.WriteString(v)
		case []byte:
			d.Write(v)
		default:
			must(binary.Write(&d, binary.LittleEndian, v))
		}
	}
	out := binary.LittleEndian.AppendUint16(nil, uint16(kind))
	out = binary.LittleEndian.AppendUint16(out, uint16(d.Len()))
	return append(out, d.Bytes()...)
}

// XLSText is a text with its length in two bytes, its letters of one byte each or,
// if wide, of two.
func XLSText(text string, wide bool) []byte {
	units := utf16.Encode([]rune(text))
	out := binary.LittleEndian.AppendUint16(nil, uint16(len(units)))
	if !wide {
		return append(append(out, 0), text...)
	}
	out = append(out, 1)
	for _, u := range units {
		out = binary.LittleEndian.AppendUint16(out, u)
	}
	return out
}

// XLSSheet is a sheet of an .xls file.
type XLSSheet struct {
	Name    string
	State   byte // 1: hidden, 2: very hidden
	Kind    byte // 2: a chart
	Records []byte
}

// xlsBOF begins a part of a stream.
func xlsBOF(of int) []byte {
	return XLSRecord(0x0809, 0x0600, of, 0x0DBB, 0x07CC, uint32(0), uint32(6))
}

// XLSStream is the stream of a workbook of Excel 97: what belongs to all sheets,
// and the sheets.
func XLSStream(globals []byte, sheets ...XLSSheet) []byte {
	end := XLSRecord(0x000A)
	size := len(xlsBOF(5)) + len(globals) + len(end)
	for _, s := range sheets {
		size += 4 + 8 + len(s.Name)
	}
	var head, body bytes.Buffer
	head.Write(xlsBOF(5))
	for _, s := range sheets {
		head.Write(XLSRecord(0x0085, uint32(size+body.Len()), []byte{s.State, s.Kind, byte(len(s.Name)), 0}, s.Name))
		body.Write(xlsBOF(0x10))
		body.Write(s.Records)
		body.Write(end)
	}
	head.Write(globals)
	head.Write(end)
	return append(head.Bytes(), body.Bytes()...)
}

// XLSFloat is a number as a record holds it.
func XLSFloat(v float64) uint64 { return math.Float64bits(v) }

// Compound packs a stream into a compound file, under a name.
func Compound(name string, stream []byte) []byte {
	const sector, end = 512, 0xFFFFFFFE
	stream = append(bytes.Clone(stream), make([]byte, max(4096-len(stream), 0))...)
	size := len(stream)
	n := (size + sector - 1) / sector
	tables := 1
	for tables*sector/4 < n+1+tables {
		tables++
	}
	head := make([]byte, sector)
	copy(head, "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")
	le := binary.LittleEndian
	le.PutUint16(head[24:], 0x3E)
	le.PutUint16(head[26:], 3)
	le.PutUint16(head[28:], 0xFFFE)
	le.PutUint16(head[30:], 9)
	le.PutUint16(head[32:], 6)
	le.PutUint32(head[44:], uint32(tables))
	le.PutUint32(head[48:], uint32(n)) // the directory follows the stream
	le.PutUint32(head[56:], 4096)
	le.PutUint32(head[60:], end)
	le.PutUint32(head[68:], end)
	for i := range 109 {
		at := uint32(0xFFFFFFFF)
		if i < tables {
			at = uint32(n + 1 + i)
		}
		le.PutUint32(head[76+4*i:], at)
	}
	out := append(head, stream...)
	out = append(out, make([]byte, n*sector-size)...)
	directory := make([]byte, sector)
	entry := func(i int, name string, kind byte, child, start uint32, size int) {
		e := directory[i*128:]
		units := utf16.Encode([]rune(name))
		for j, u := range units {
			le.PutUint16(e[2*j:], u)
		}
		le.PutUint16(e[64:], uint16(2*len(units)+2))
		e[66] = kind
		le.PutUint32(e[68:], 0xFFFFFFFF)
		le.PutUint32(e[72:], 0xFFFFFFFF)
		le.PutUint32(e[76:], child)
		le.PutUint32(e[116:], start)
		le.PutUint64(e[120:], uint64(size))
	}
	entry(0, "Root Entry", 5, 1, end, 0)
	entry(1, name, 2, 0xFFFFFFFF, 0, size)
	out = append(out, directory...)
	fat := make([]byte, tables*sector)
	for i := range tables * sector / 4 {
		next := uint32(0xFFFFFFFF)
		switch {
		case i < n-1:
			next = uint32(i + 1)
		case i == n-1, i == n:
			next = end
		case i < n+1+tables:
			next = 0xFFFFFFFD
		}
		le.PutUint32(fat[4*i:], next)
	}
	return append(out, fat...)
}

// xlsFiles are the hostile ones.
func xlsFiles() []File {
	xls := func(name string, data func() []byte) File { return File{name + ".xls", data} }
	sst := func(count uint32, rest ...any) []byte {
		return XLSRecord(0x00FC, append([]any{count, count}, rest...)...)
	}
	one := XLSSheet{Name: "A", Records: XLSRecord(0x00FD, 0, 0, 0, uint32(0))}
	return []File{
		xls("xls-texts-claimed", func() []byte { return Compound("Workbook", XLSStream(sst(math.MaxUint32), one)) }),
		xls("xls-text-runs", func() []byte {
			return Compound("Workbook", XLSStream(sst(1, 1, []byte{0x0C}, 0xFFFF, uint32(math.MaxUint32), "a"), one))
		}),
		xls("xls-texts-empty", func() []byte {
			var all []byte
			for range 110 {
				all = append(all, XLSRecord(0x003C, bytes.Repeat([]byte{0, 0, 0}, 2740))...)
			}
			return Compound("Workbook", XLSStream(append(sst(math.MaxUint32), all...), one))
		}),
		xls("xls-sheets", func() []byte {
			sheets := make([]XLSSheet, 5000)
			for i := range sheets {
				sheets[i].Name = "A"
			}
			return Compound("Workbook", XLSStream(nil, sheets...))
		}),
		xls("xls-cell-beyond", func() []byte {
			return Compound("Workbook", XLSStream(nil, XLSSheet{Name: "A",
				Records: XLSRecord(0x0203, 1, 0xFFFF, 0, XLSFloat(1))}))
		}),
		xls("xls-long-text-shown", func() []byte {
			var cells []byte
			for i := range 60_000 {
				cells = append(cells, XLSRecord(0x00FD, i, 0, 0, uint32(0))...)
			}
			return Compound("Workbook", XLSStream(sst(1, 8000, []byte{0}, bytes.Repeat([]byte("a"), 8000)),
				XLSSheet{Name: "A", Records: cells}))
		}),
		xls("xls-cells-reversed", func() []byte { // each at the end of its row
			var cells []byte
			for i := range 50_000 {
				cells = append(cells, XLSRecord(0x027E, 65535-i, 16000, 0, uint32(6))...)
			}
			return Compound("Workbook", XLSStream(nil, XLSSheet{Name: "A", Records: cells}))
		}),
		xls("xls-chain", func() []byte { // a chain of sectors without an end
			data := Compound("Workbook", XLSStream(nil, one))
			sectors := len(data)/512 - 1
			binary.LittleEndian.PutUint32(data[512*sectors:], 0)
			binary.LittleEndian.PutUint64(data[512*(1+8)+128+120:], uint64(len(data)))
			return data
		}),
		xls("xls-truncated", func() []byte { return Compound("Workbook", XLSStream(nil, one))[:2000] }),
	}
}
