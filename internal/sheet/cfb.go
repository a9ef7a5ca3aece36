package sheet

import (
	"bytes"
	"encoding/binary"
	"strings"
	"unicode/utf16"
)

// A compound file holds streams in chains of sectors. Source: [MS-CFB].

const (
	cfbHeader     = 512
	cfbEntry      = 128
	cfbEnd        = 0xFFFFFFFA // and above: no sector
	cfbFirstTable = 109        // entries of the table of tables in the header
)

// compoundFile is a compound file in memory.
type compoundFile struct {
	data       []byte
	sectorSize int
	fat        []uint32
	mini       []byte   // the stream that holds the short streams
	miniFAT    []uint32 // its chains
	cutoff     uint64   // streams below this size are short
	directory  []byte
}

func (c *compoundFile) u32(at int) uint32 {
	if at+4 > len(c.data) {
		return cfbEnd
	}
	return binary.LittleEndian.Uint32(c.data[at:])
}

// sector returns the bytes of a sector; nil if the file ends before it.
func (c *compoundFile) sector(n uint32) []byte {
	start := (int64(n) + 1) * int64(c.sectorSize)
	if n >= cfbEnd || start >= int64(len(c.data)) {
		return nil
	}
	return c.data[start:min(start+int64(c.sectorSize), int64(len(c.data)))]
}

// openCompound reads the tables of a compound file. Everything that it allocates
// is at most as large as the file.
func openCompound(data []byte) (*compoundFile, error) {
	if len(data) < cfbHeader {
		return nil, damaged("it is cut short", nil)
	}
	c := &compoundFile{data: data}
	shift := binary.LittleEndian.Uint16(data[30:])
	if shift != 9 && shift != 12 {
		return nil, damaged("its sectors have an unknown size", nil)
	}
	c.sectorSize = 1 << shift
	c.readFAT()
	c.cutoff = uint64(c.u32(56))
	var err error
	if c.directory, err = c.chain(c.u32(48), int64(len(data))); err != nil {
		return nil, err
	}
	if len(c.directory) < cfbEntry {
		return nil, damaged("it has no directory", nil)
	}
	if first := c.u32(60); first < cfbEnd {
		table, err := c.chain(first, int64(len(data)))
		if err != nil {
			return nil, err
		}
		for i := 0; i+4 <= len(table); i += 4 {
			c.miniFAT = append(c.miniFAT, binary.LittleEndian.Uint32(table[i:]))
		}
		if c.mini, err = c.chain(c.entryStart(0), int64(len(data))); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// readFAT reads the table that chains the sectors.
func (c *compoundFile) readFAT() {
	sectors := len(c.data) / c.sectorSize
	var tables []uint32
	for i := range cfbFirstTable {
		if n := c.u32(76 + 4*i); n < cfbEnd {
			tables = append(tables, n)
		}
	}
	next := c.u32(68)
	for range sectors {
		s := c.sector(next)
		if len(s) < c.sectorSize {
			break
		}
		for i := 0; i < c.sectorSize-4 && len(tables) <= sectors; i += 4 {
			if n := binary.LittleEndian.Uint32(s[i:]); n < cfbEnd {
				tables = append(tables, n)
			}
		}
		next = binary.LittleEndian.Uint32(s[c.sectorSize-4:])
	}
	for _, n := range tables {
		s := c.sector(n)
		for i := 0; i+4 <= len(s) && len(c.fat) <= sectors; i += 4 {
			c.fat = append(c.fat, binary.LittleEndian.Uint32(s[i:]))
		}
	}
}

// chain returns the bytes of a chain of sectors, up to a size.
func (c *compoundFile) chain(first uint32, size int64) ([]byte, error) {
	var out []byte
	n := first
	for steps := 0; n < cfbEnd && int64(len(out)) < size; steps++ {
		s := c.sector(n)
		if s == nil || int(n) >= len(c.fat) || steps > len(c.fat) {
			return nil, damaged("a chain of its sectors is broken", nil)
		}
		out = append(out, s...)
		n = c.fat[n]
	}
	return out[:min(int64(len(out)), size)], nil
}

// miniSector is the size of the sectors of short streams.
const miniSector = 64

func (c *compoundFile) miniChain(first uint32, size int64) ([]byte, error) {
	var out []byte
	n := first
	for steps := 0; n < cfbEnd && int64(len(out)) < size; steps++ {
		start := int64(n) * miniSector
		if start >= int64(len(c.mini)) || int(n) >= len(c.miniFAT) || steps > len(c.miniFAT) {
			return nil, damaged("a chain of its sectors is broken", nil)
		}
		out = append(out, c.mini[start:min(start+miniSector, int64(len(c.mini)))]...)
		n = c.miniFAT[n]
	}
	return out[:min(int64(len(out)), size)], nil
}

func (c *compoundFile) entry(i uint32) []byte {
	if start := int64(i) * cfbEntry; start+cfbEntry <= int64(len(c.directory)) {
		return c.directory[start : start+cfbEntry]
	}
	return nil
}

func (c *compoundFile) entryStart(i uint32) uint32 {
	return binary.LittleEndian.Uint32(c.entry(i)[116:])
}

// entryName returns the name of an entry of the directory.
func entryName(e []byte) string {
	length := min(int(binary.LittleEndian.Uint16(e[64:])), 64)
	units := make([]uint16, 0, 32)
	for i := 0; i+2 < length; i += 2 { // without the zero at its end
		units = append(units, binary.LittleEndian.Uint16(e[i:]))
	}
	return string(utf16.Decode(units))
}

// streams lists the streams of the top level by their names in lower case.
// Those of embedded objects are further in.
func (c *compoundFile) streams() map[string]uint32 {
	found := map[string]uint32{}
	seen := map[uint32]bool{}
	pending := []uint32{binary.LittleEndian.Uint32(c.entry(0)[76:])}
	for len(pending) > 0 {
		i := pending[len(pending)-1]
		pending = pending[:len(pending)-1]
		e := c.entry(i)
		if e == nil || seen[i] {
			continue
		}
		seen[i] = true
		if e[66] == 2 {
			found[strings.ToLower(entryName(e))] = i
		}
		pending = append(pending, binary.LittleEndian.Uint32(e[68:]), binary.LittleEndian.Uint32(e[72:]))
	}
	return found
}

// stream returns the content of a stream.
func (c *compoundFile) stream(i uint32) ([]byte, error) {
	e := c.entry(i)
	size := binary.LittleEndian.Uint64(e[120:])
	if c.sectorSize == 512 {
		size &= 0xFFFFFFFF // the upper half means nothing there
	}
	if size > uint64(len(c.data)) {
		return nil, damaged("it is cut short", nil)
	}
	read := c.chain
	if size < c.cutoff {
		read = c.miniChain
	}
	content, err := read(c.entryStart(i), int64(size))
	if err == nil && uint64(len(content)) < size {
		err = damaged("it is cut short", nil)
	}
	return content, err
}

// isCompound reports whether a content is a compound file.
func isCompound(head []byte) bool { return bytes.HasPrefix(head, []byte("\xd0\xcf\x11\xe0")) }
