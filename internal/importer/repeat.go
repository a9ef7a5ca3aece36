package importer

import (
	"strings"

	"github.com/cespare/xxhash/v2"

	"bulkfiling/internal/filing"
)

// key stands for what a row buys. It has 128 bits, so that two different
// filings of a file of a million share one with a chance of 1 in 10^27.
type key [2]uint64

// keyMaker makes keys. It is not for concurrent use.
type keyMaker struct{ buf []byte }

// of adds the key of each item of an order whose user and company are still
// named as in the sheet; see [filing.Order.Keys]. A company id is exact; a slug
// is part of a web address and has no case. That an id and a slug, or an id and
// an email address, are one, only the ledger can know.
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

// repeats finds rows that buy what earlier rows of the file buy.
type firstRows map[key]int32

// of returns the row that has the first of the keys already, if every one of
// them is had, and notes the keys that are new. A row that buys one thing more
// is no repeat; what it buys again, the ledger leaves out.
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
