package importer

import (
	"cmp"
	"crypto/sha256"
	"strings"

	"github.com/bulkfiling/bulkfiling/internal/filing"
)

// key identifies what a row orders: the beginning of the SHA-256 of a [filing.Key].
type key [16]byte

// appendKeys appends the key of each item of an order, with the user and company as
// the sheet names them; see [filing.Order.Keys]. A company ID is exact; a slug is
// part of a web address and ignores case. Only the ledger can know that an ID
// and a slug, or an ID and an email address, are the same.
func appendKeys(keys []key, r *filing.Request) []key {
	o := r.Order
	o.UserID = cmp.Or(r.User.ID, strings.ToLower(r.User.Email))
	switch ref := r.Company.Ref; {
	case o.Formation != nil:
	case ref == "":
		o.CompanyID = "new|" + filing.FoldLegalName(r.Company.Sheet.LegalName) + "|" +
			string(r.Company.Sheet.FormationState)
	case strings.HasPrefix(ref, "comp_"):
		o.CompanyID = ref
	default:
		o.CompanyID = strings.ToLower(ref)
	}
	all := o.Keys()
	for _, p := range o.Products() {
		sum := sha256.Sum256([]byte(all[p]))
		keys = append(keys, key(sum[:16]))
	}
	return keys
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
