package season

import "github.com/bulkfiling/bulkfiling/internal/filing"

// Row is a company of a company list in one filing state.
type Row struct {
	// CompanyID is comp_<id> or a slug, empty if unknown.
	CompanyID string
	// LegalName is empty if only the ID is known.
	LegalName string
	Facts     Facts
	// Number is the position in the company list, by which a row is found again.
	Number int
}

// Key returns the company and the state. The company is the ID, or the folded legal name without
// one.
func (r Row) Key() string {
	if r.CompanyID != "" {
		return r.CompanyID + "|" + string(r.Facts.State)
	}
	return filing.FoldLegalName(r.LegalName) + "|" + string(r.Facts.State)
}

// Added lists the rows of a company list whose company is not in another list. Two rows have the
// same company if state and ID agree. If one of them has no ID, because its company is not created
// yet, the state and the legal name folded by filing.FoldLegalName must agree. A row with neither
// is never in a list.
func Added(this, other []Row) (added []Row) {
	type key struct {
		text string
		// hasID reports whether the row of a name has an ID.
		hasID bool
	}
	nameOf := func(r Row) string { return Row{LegalName: r.LegalName, Facts: r.Facts}.Key() }
	known := make(map[key]bool, 2*len(other))
	for _, r := range other {
		if r.CompanyID != "" {
			known[key{text: r.Key()}] = true
		}
		if r.LegalName != "" {
			known[key{nameOf(r), r.CompanyID != ""}] = true
		}
	}
	for _, r := range this {
		same := known[key{nameOf(r), false}] // the other row has no ID
		if r.CompanyID != "" {
			same = same || known[key{text: r.Key()}]
		} else {
			same = same || known[key{nameOf(r), true}]
		}
		if !same {
			added = append(added, r)
		}
	}
	return added
}
