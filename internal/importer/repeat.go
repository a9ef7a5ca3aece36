package importer

import (
	"strings"

	"github.com/cespare/xxhash/v2"

	"github.com/bulkfiling/bulkfiling/internal/filing"
)

// key identifies what a row orders. It has 128 bits: two different filings
// among a million share one with a probability of 1 in 10^27.
type key [2]uint64

// keyMaker makes keys. It is not for concurrent use.
type keyMaker struct{ buf []byte }

// of appends the key of each item of an order, with the user and company as the
// sheet names them; see [filing.Order.Keys]. A company ID is exact; a slug is
// part of a web address and ignores case. Only the ledger can know that an ID
// and a slug, or an ID and an email address, are the same.
func (k *keyMaker) of(r *filing.Request, keys []key) []key {
	o := &r.Order
	state := string(o.FilingState)
	if o.Formation != nil {
		keys = k.add(keys, filing.Formation, "", r)
	}
	if o.AnnualReport != nil {
		keys = k.add(keys, filing.AnnualReport, state, r)
	}
	if o.ForeignQualification != nil {
		keys = k.add(keys, filing.ForeignQualification, state, r)
	}
	if o.EIN != nil {
		keys = k.add(keys, filing.EIN, "", r)
	}
	if o.RegisteredAgent != nil {
		keys = k.add(keys, filing.RegisteredAgent, state, r)
	}
	return keys
}

func (k *keyMaker) add(keys []key, p filing.Product, state string, r *filing.Request) []key {
	b := append(k.buf[:0], p...)
	b = append(b, '|')
	if p == filing.AnnualReport {
		b = append(b, r.Order.AnnualReport.FilingYear...)
	}
	b = append(b, '|')
	b = append(b, state...)
	b = append(b, '|')
	switch ref := r.Company.Ref; {
	case r.Order.Formation != nil:
		b = append(b, r.User.ID...)
		if r.User.ID == "" {
			b = append(b, strings.ToLower(r.User.Email)...)
		}
		b = append(b, '|')
		b = append(b, filing.FoldLegalName(r.Order.Formation.Company.LegalName)...)
		b = append(b, '|')
		b = append(b, r.Order.FilingState...)
	case ref == "":
		b = append(b, "new|"...)
		b = append(b, filing.FoldLegalName(r.Company.Sheet.LegalName)...)
		b = append(b, '|')
		b = append(b, r.Company.Sheet.FormationState...)
	case strings.HasPrefix(ref, "comp_"):
		b = append(b, ref...)
	default:
		b = append(b, strings.ToLower(ref)...)
	}
	first := xxhash.Sum64(b)
	b = append(b, '|') // the second half is the hash of another text
	k.buf = b
	return append(keys, key{first, xxhash.Sum64(b)})
}

// firstRows are the first rows that order each key. It finds rows that order
// what earlier rows of the file order.
type firstRows map[key]int32

// of returns the row that orders the first of the keys, if earlier rows order
// all of them, and records the new keys. A row that orders one thing more is
// not a duplicate; the ledger leaves out what is ordered already.
func (seen firstRows) of(keys []key, row int) (first int, repeated bool) {
	repeated = true
	for i, k := range keys {
		had, known := seen[k]
		switch {
		case !known:
			seen[k] = int32(row)
			repeated = false
		case i == 0:
			first = int(had)
		}
	}
	return first, repeated
}
