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

// of makes the key of an order whose company is still named as in the sheet:
// (company, state, year) of an annual report, (company, state) of an agent.
// A company id is exact; a slug is part of a web address and has no case. That
// an id and a slug may be one company, only the ledger can know.
func (k *keyMaker) of(r *filing.Request) key {
	b := k.buf[:0]
	if r.Order.AnnualReport != nil {
		b = append(b, filing.AnnualReport...)
		b = append(b, '|')
		b = append(b, r.Order.AnnualReport.FilingYear...)
	} else {
		b = append(b, filing.RegisteredAgent...)
	}
	b = append(b, '|')
	b = append(b, r.Order.FilingState...)
	b = append(b, '|')
	if ref := r.Company.Ref; strings.HasPrefix(ref, "comp_") {
		b = append(b, ref...)
	} else {
		b = append(b, strings.ToLower(ref)...)
	}
	first := xxhash.Sum64(b)
	b = append(b, '|') // the second half is the hash of another text
	k.buf = b
	return key{first, xxhash.Sum64(b)}
}

// repeats finds rows that buy what an earlier row of the file buys.
type repeats map[key]int32

// of returns the row that has the key already, or notes that this one has.
func (seen repeats) of(k key, row int) (first int, repeated bool) {
	if first, repeated := seen[k]; repeated {
		return int(first), true
	}
	seen[k] = int32(row)
	return 0, false
}
