package importer

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"slices"
	"strings"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/sheet"
	"github.com/bulkfiling/bulkfiling/internal/text"
)

// key identifies an item that a row orders. It is the beginning of the SHA-256 of a [filing.Key].
type key [16]byte

// identify sets the values by which a ready row is compared with other rows.
func (r *Row) identify() {
	named := r.Request.SheetKeys()
	r.Request.Named, r.keys, r.name = named[0], appendKeys(r.keys[:0], named), 0
	name, c := filing.FoldLegalName(r.Request.LegalName()), &r.Request.Company
	if name != "" {
		r.name = maphash.String(seed, name)
	}
	r.whole = maphash.Comparable(seed, struct {
		items                              int
		name, confirmed, entityType, state string
	}{len(named), name, c.Confirmed, string(c.Sheet.EntityType), string(c.Sheet.FormationState)})
}

func appendKeys(keys []key, all []filing.Key) []key {
	for _, k := range all {
		sum := sha256.Sum256([]byte(k))
		keys = append(keys, key(sum[:16]))
	}
	return keys
}

// seed is the seed of the hashes below. They live as long as the process.
var seed = maphash.MakeSeed()

// wish is the first row that orders an item, and the first rows that differ from it. It has hashes
// of the data that the row sends for the item, of the name of its company, and of the company and
// the number of items that it orders.
type wish struct {
	row        int32
	sent, name uint64
	whole      uint64
	// otherSent is the first row that sends different data, or 0.
	otherSent int32
	// otherName is the first row that sends the same data for a company of another name, or 0.
	otherName int32
}

// repeats has the items that the rows of a sheet order, and the companies that the rows identify by
// an ID.
type repeats struct {
	im *Import
	// named is indexed by folded name.
	named  map[string][]namesake
	wishes map[key]wish
	// cells are the cells of the first rows that other rows contradict.
	cells map[int32][]sheet.Cell
}

// findRepeats reads all rows before Each reports the first one, because the first of several
// contradictory rows is as wrong as the last one. It reads the rows again if a row describes a
// company that another row may identify by an ID, or if a date shows how other dates must be read.
// each calls do with every row in order.
func (im *Import) findRepeats(each func(do func(*Row) error) error) (*repeats, error) {
	s := &repeats{
		im:     im,
		named:  make(map[string][]namesake),
		wishes: make(map[key]wish),
		cells:  make(map[int32][]sheet.Cell),
	}
	describes, datesRead := false, len(im.dayFirst)
	err := each(func(r *Row) error {
		describes = describes || r.createsCompany
		return s.add(r)
	})
	if describes = describes && im.mapping.binding(companyID) != nil; describes && err == nil {
		err = each(s.addNamesake)
	}
	if (len(s.named) > 0 || len(im.dayFirst) > datesRead) && err == nil {
		clear(s.wishes)
		err = each(func(r *Row) error {
			s.assignCompany(r)
			return s.add(r)
		})
	}
	return s, err
}

// add adds the items that a row orders. A formation counts even if its row has an error. A sheet
// with one officer per row has several rows for one company, and a complete row must not form the
// company alone.
func (s *repeats) add(r *Row) error {
	request, keys := r.Request, r.keys
	switch {
	case r.formsUnready():
		request, keys = r.Read, appendKeys(nil, r.Read.SheetKeys())
	case r.Result != filing.Ready:
		return nil
	}
	sent, err := hashSent(request)
	if err != nil {
		return err
	}
	for i, k := range keys {
		w, known := s.wishes[k]
		switch {
		case !known:
			w = wish{row: int32(r.Number), sent: sent[i], name: r.name, whole: r.whole}
		case w.otherSent == 0 && w.sent != sent[i]:
			w.otherSent = int32(r.Number)
		case w.name == 0 || w.otherName == 0 && !sameName(w.name, r.name):
			if w.name != 0 {
				w.otherName = int32(r.Number)
			}
			w.name = cmp.Or(w.name, r.name)
		default:
			continue
		}
		s.wishes[k] = w
	}
	return nil
}

// formsUnready reports whether a row forms a company but has an error other than a remark.
func (r *Row) formsUnready() bool {
	return r.Result == filing.Invalid && r.Read != nil && r.Read.Order.Formation != nil && r.Read.LegalName() != "" &&
		slices.ContainsFunc(r.Problems, func(p Problem) bool { return p.Severity == Error && p.Remark == "" })
}

// sameName reports whether two companies may have one name. Zero means that the row has no name.
func sameName(a, b uint64) bool { return a == b || a == 0 || b == 0 }

// hashSent hashes the data that a row sends for each of its keys. For a company with an ID, it
// ignores the name and other facts about the company. Different spellings of a name have the same
// hash.
func hashSent(r *filing.Request) (sums []uint64, err error) {
	one, described := *r, r.Company.Sheet
	one.Company, one.Named = filing.CompanyRef{}, ""
	add := func(v any) {
		body, e := json.Marshal(v)
		err = cmp.Or(err, e)
		sums = append(sums, maphash.Bytes(seed, body))
	}
	products := r.Order.Products()
	for _, p := range products {
		one.Order = r.Order
		for _, other := range products {
			if other != p {
				one.Order = one.Order.Drop(other)
			}
		}
		if f := one.Order.Formation; f != nil {
			folded := *f
			folded.Company.LegalName = filing.FoldLegalName(f.Company.LegalName)
			one.Order.Formation = &folded
		}
		one.Product = p
		add(one)
	}
	if r.CreatesCompany() {
		described.LegalName = filing.FoldLegalName(described.LegalName)
		add(described)
	}
	return sums, err
}

// judge skips a row that orders exactly the same as an earlier row, and rejects rows that order the
// same but send different data for it. Rows that have different facts about their company, or that
// order a part of another row, stay. The earlier row may never be bought, and only one of them can
// be.
func (s *repeats) judge(r *Row) {
	if r.Result != filing.Ready {
		return
	}
	repeated, renamed, first := true, 0, s.wishes[r.keys[0]].row
	for _, k := range r.keys {
		w := s.wishes[k]
		if w.otherSent != 0 {
			s.refuse(r, &w)
			return
		}
		if w.otherName != 0 {
			renamed = int(w.row)
			if renamed == r.Number {
				renamed = int(w.otherName)
			}
		}
		repeated = repeated && w.row == first && int(first) != r.Number && w.whole == r.whole
	}
	switch {
	case repeated:
		ofCompany := slices.DeleteFunc(slices.Clone(r.Problems),
			func(p Problem) bool { return p.Rule != namesakeRule })
		r.skip(fmt.Sprintf("duplicate of row %d", first))
		r.repeats = int(first)
		r.Problems = append(append(r.Problems, ofCompany...), Problem{
			Sheet:       s.im.sheet,
			Row:         r.Number,
			ColumnIndex: -1,
			Severity:    Warning,
			Rule:        "row.repeat",
			Message:     r.Message + "; this row is skipped",
		})
	case renamed != 0:
		r.Problems = append(r.Problems, s.im.problemAt(r, companyID, Warning, "row.other-name",
			fmt.Sprintf("row %d orders the same for a company of another name, and one of the two is ordered: check "+
				"the Company IDs", renamed)))
	}
}

// sameText reports whether two cells differ at most in their spelling.
func sameText(a, b string) bool {
	if a, ok := filing.ParseState(a); ok {
		b, same := filing.ParseState(b)
		return same && a == b
	}
	return filing.FoldLegalName(a) == filing.FoldLegalName(b)
}

// keyColumn returns the column by which rows name their company.
func (im *Import) keyColumn() columnID {
	if im.mapping.binding(companyID) != nil {
		return companyID
	}
	return legalName
}

// refuse rejects a row that another row contradicts. The message of the later row lists the
// differences.
func (s *repeats) refuse(r *Row, w *wish) {
	other, details := int(w.otherSent), ""
	if int(w.row) == r.Number {
		first := slices.Clone(r.Cells)
		for i := range first {
			first[i].Text = strings.Clone(first[i].Text)
		}
		s.cells[w.row] = first
	} else {
		other = int(w.row)
		first := s.cells[w.row]
		var differs []string
		for _, b := range s.im.mapping.bindings {
			if b != nil && first != nil && !sameText(cellIn(r.Cells, b.index).Text, cellIn(first, b.index).Text) {
				differs = append(differs, b.header)
			}
		}
		if len(differs) > 0 {
			details = " (" + text.FirstOf(differs, maxListed) + ")"
		}
	}
	remedy := "make the rows alike, or leave one of them out"
	if r.Request.Order.Formation != nil {
		remedy += ". All officers of a company belong in one row"
	}
	p := s.im.problemAt(r, s.im.keyColumn(), Error, "row.contradiction",
		fmt.Sprintf("row %d orders the same with other details%s: %s", other, details, remedy))
	r.Problems = append(r.Problems, p)
	r.Result, r.Message, r.Request = filing.Invalid, r.message(), nil
}
