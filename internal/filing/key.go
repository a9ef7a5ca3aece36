package filing

import "strings"

// Key is the business key of one purchase. The ledger holds each key at most once, forever, for
// every row, file, run, worker and schedule.
type Key string

// Keys returns the business key of each item of the order by product. The order's CompanyID must
// be resolved, because a slug and an ID may refer to the same company.
func (o *Order) Keys() map[Product]Key {
	keys := make(map[Product]Key, 2)
	for _, p := range o.Products() {
		keys[p] = o.key(p)
	}
	return keys
}

// key returns the business key of one item:
//
//   - annual report: company, state, year
//   - appointment or change of agent: company, state
//   - EIN: company
//   - foreign qualification: company, state
//   - formation: folded legal name, state
func (o *Order) key(p Product) Key {
	state := string(o.FilingState)
	switch p {
	case AnnualReport:
		return join("annual-report", o.party(), state, o.AnnualReport.FilingYear)
	case EIN:
		return join("ein", o.party())
	case Formation:
		return formationKey(o.Formation.Company.LegalName, o.FilingState)
	case RegisteredAgent, AgentChange:
		return join("registered-agent", o.party(), state)
	default:
		return join(string(p), o.party(), state)
	}
}

// party returns the company, or the key of its formation.
func (o *Order) party() string {
	if o.CompanyID == "" && o.Formation != nil {
		return string(o.key(Formation))
	}
	return o.CompanyID
}

func formationKey(name string, in State) Key {
	return join(string(Formation), FoldLegalName(name), string(in))
}

func join(parts ...string) Key { return Key(strings.Join(parts, "|")) }
