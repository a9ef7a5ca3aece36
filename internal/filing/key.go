package filing

import "strings"

// Key is the business key of one purchase: the ledger holds each key at most
// once, for ever, whatever the row, file, run, worker or season.
type Key string

// Keys returns the business key of each item of the order, by product. The
// order's UserID and CompanyID must be resolved, for a slug and an id of one
// company are one company.
func (o *Order) Keys() map[Product]Key {
	keys := make(map[Product]Key, 2)
	for _, p := range o.Products() {
		keys[p] = o.key(p)
	}
	return keys
}

// key builds the business key of one item:
// annual report (company, state, year); agent (company, state), appointed or
// changed alike, for both buy the one service; EIN (company); foreign
// qualification (company, state); formation (user, legal name folded, state).
func (o *Order) key(p Product) Key {
	state := string(o.FilingState)
	switch p {
	case AnnualReport:
		return join("annual-report", o.party(), state, o.AnnualReport.FilingYear)
	case EIN:
		return join("ein", o.party())
	case Formation:
		return join("formation", o.UserID, FoldLegalName(o.Formation.Company.LegalName), state)
	case RegisteredAgent, AgentChange:
		return join("registered-agent", o.party(), state)
	default:
		return join(string(p), o.party(), state)
	}
}

// party is the company, or the formation that will become one.
func (o *Order) party() string {
	if o.CompanyID == "" && o.Formation != nil {
		return string(o.key(Formation))
	}
	return o.CompanyID
}

func join(parts ...string) Key { return Key(strings.Join(parts, "|")) }

// FoldLegalName folds a legal name so that wordings of one company compare
// equal: case, punctuation and the common spellings of the entity ending.
func FoldLegalName(name string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(name) {
		switch {
		case r == '&':
			b.WriteString(" and ")
		case r == '.' || r == '\'' || r == '’' || r == '‘':
		case r == ' ' || r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r > 127:
			b.WriteRune(r)
		default:
			b.WriteByte(' ')
		}
	}
	words := strings.Fields(b.String())
	folded := strings.Join(words, " ")
	for _, e := range legalEndings {
		if cut, ok := strings.CutSuffix(folded, e.written); ok {
			return cut + e.means
		}
	}
	return folded
}

var legalEndings = []struct{ written, means string }{
	{" limited liability company", " llc"}, {" limited liability co", " llc"}, {" l l c", " llc"},
	{" incorporated", " inc"}, {" corporation", " corp"},
}
