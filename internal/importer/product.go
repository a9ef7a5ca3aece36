package importer

import (
	"slices"

	"github.com/bulkfiling/bulkfiling/internal/filing"
)

// productOf detects the product from the columns.
//
// A product with only a yes-or-no column can be ordered with any other product. A row with several
// such columns orders the products with a yes. It does not matter then which of them is the product
// of the sheet.
func productOf(l *layout, o *Options) (filing.Product, error) {
	s := productSigns{
		suggested: map[filing.Product]bool{},
		alone:     map[filing.Product]bool{},
		has:       map[columnID]bool{},
	}
	for _, h := range l.resolve() {
		if h.column != none {
			s.add(h.column)
		}
	}
	s.combine(o.FilingYear != "")
	if s.suggested[filing.Formation] && !s.alone[filing.AnnualReport] {
		return filing.Formation, nil
	}
	of := func(is map[filing.Product]bool, all []filing.Product) []filing.Product {
		return slices.DeleteFunc(slices.Clone(all), func(p filing.Product) bool { return !is[p] })
	}
	products := of(s.suggested, filing.Products)
	mains := of(s.alone, products)
	switch {
	case len(products) == 0:
		return "", l.noProduct(o)
	case len(mains) == 1:
		return mains[0], nil
	case len(mains) == 0:
		return products[0], nil
	}
	slices.Sort(mains)
	return "", l.severalProducts(mains, o)
}

// productSigns are the hints that the columns give of the product.
type productSigns struct {
	suggested map[filing.Product]bool
	// alone are the products that more than a yes-or-no column suggests.
	alone map[filing.Product]bool
	has   map[columnID]bool
	// describes reports whether the sheet describes companies completely.
	describes bool
}

func (s *productSigns) add(id columnID) {
	c := &columns[id]
	s.has[id] = true
	if c.suggests != "" {
		s.suggested[c.suggests] = true
		if flags[c.suggests] != id && c.part != ofEIN {
			s.alone[c.suggests] = true
		}
	}
	s.describes = s.describes || c.part == ofOfficers || id == structureType || id == taxElection
}

// combine decides the product from all the columns together. hasYear reports whether the options
// give the filing year.
func (s *productSigns) combine(hasYear bool) {
	told, alone, has := s.suggested, s.alone, s.has
	if told[filing.EIN] && !has[orderEIN] {
		alone[filing.EIN] = true
	}
	if hasYear && !told[filing.EIN] && !told[filing.ForeignQualification] && !told[filing.Formation] {
		told[filing.AnnualReport], alone[filing.AnnualReport] = true, !has[orderAnnualReport]
	}
	if has[orderAnnualReport] {
		alone[filing.AnnualReport] = false
	}
	if s.describes && !has[companyID] && !has[formationDate] && !alone[filing.AnnualReport] {
		told[filing.Formation] = true
	}
	// An agent may be ordered together with any product. A change of agent is the more specific of
	// the two agent orders.
	if told[filing.AgentChange] && ((has[orderAgent] && (told[filing.AnnualReport] || told[filing.EIN])) ||
		told[filing.ForeignQualification] || told[filing.Formation]) {
		delete(told, filing.AgentChange)
	}
	if len(told) > 1 {
		delete(told, filing.RegisteredAgent)
	}
}
