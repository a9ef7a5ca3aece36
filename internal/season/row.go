package season

import "github.com/bulkfiling/bulkfiling/internal/filing"

// Row is a company of a company list, in one filing state.
type Row struct {
	CompanyID string // comp_<id> or slug; "" where it is not known
	LegalName string // "" where only the id is known
	Facts     Facts
	Number    int // its place in the company list, to find it again
}

// Key is the company, by its id or else by its legal name folded, and the state.
func (r Row) Key() string {
	if r.CompanyID != "" {
		return r.CompanyID + "|" + string(r.Facts.State)
	}
	return filing.FoldLegalName(r.LegalName) + "|" + string(r.Facts.State)
}

// Added lists the rows of a company list whose company is not in another list. Two rows
// are one company where state and id agree or, where one of them has no id (a company has
// none before it is created), state and legal name as filing.FoldLegalName has it. A row
// with neither is in no list.
func Added(this, other []Row) (added []Row) {
	type key struct {
		text  string
		hasID bool // of a name: its row has an id
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
		same := known[key{nameOf(r), false}] // by the name of a row without an id
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
