package season

import "github.com/bulkfiling/bulkfiling/internal/filing"

// Row is a company of a company list, in one filing state.
type Row struct {
	CompanyID string // comp_<id> or slug; "" where it is not known
	LegalName string // "" where only the id is known
	Facts     Facts
	Hash      string // of the content that makes its order: another one is a change
	Number    int    // its place in the company list, to find it again
}

// Key is the company, by its id or else by its legal name folded, and the state.
func (r Row) Key() string {
	if r.CompanyID != "" {
		return r.CompanyID + "|" + string(r.Facts.State)
	}
	return filing.FoldLegalName(r.LegalName) + "|" + string(r.Facts.State)
}

// Plan is a company list compared with the one before. Each row of the new list is
// in one of New, Changed, Unchanged and Repeated.
type Plan struct {
	New       []Row
	Changed   []Change
	Unchanged []Row
	Repeated  []Row // the company and state are in the same list before
	Missing   []Row // of the list before, and not of this one
}

// Change is a company that is in both lists, with other content.
type Change struct{ Row, Last Row }

// Compare compares two company lists. Two rows are one company where state and id agree or,
// where one of them has no id (a company has none before it is created), state
// and legal name as filing.FoldLegalName has it. A row with neither is new.
func Compare(this, last []Row) Plan {
	var plan Plan
	before := newRegister(len(last))
	for i := range last {
		if before.find(&last[i]) == nil {
			before.add(&last[i])
		}
	}
	now, met := newRegister(len(this)), make(map[*Row]bool, len(last))
	for i := range this {
		row := &this[i]
		if now.find(row) != nil {
			plan.Repeated = append(plan.Repeated, *row)
			continue
		}
		now.add(row)
		switch old := before.find(row); {
		case old == nil || met[old]:
			plan.New = append(plan.New, *row)
		default:
			met[old] = true
			if old.Hash == row.Hash {
				plan.Unchanged = append(plan.Unchanged, *row)
			} else {
				plan.Changed = append(plan.Changed, Change{*row, *old})
			}
		}
	}
	for i := range last {
		// A repeat within the list before counts once.
		if old := before.find(&last[i]); old == nil || (old == &last[i] && !met[old]) {
			plan.Missing = append(plan.Missing, last[i])
		}
	}
	return plan
}

// register finds rows by company and state.
type register struct {
	byID   map[string]*Row
	byName map[string]*Row
	noID   map[string]*Row // by name, those without an id
}

func newRegister(rows int) register {
	return register{make(map[string]*Row, rows), make(map[string]*Row, rows), make(map[string]*Row)}
}

func (r register) add(row *Row) {
	name := Row{LegalName: row.LegalName, Facts: row.Facts}.Key()
	if row.CompanyID != "" {
		r.byID[row.Key()] = row
	} else if row.LegalName != "" {
		r.noID[name] = row
	}
	if _, taken := r.byName[name]; !taken && row.LegalName != "" {
		r.byName[name] = row
	}
}

// find returns the row of the same company, nil for none.
func (r register) find(row *Row) *Row {
	if row.CompanyID == "" {
		return r.byName[row.Key()]
	}
	if same := r.byID[row.Key()]; same != nil {
		return same
	}
	return r.noID[Row{LegalName: row.LegalName, Facts: row.Facts}.Key()]
}
