package reconcile

import (
	"slices"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/money"
)

// none stands for a line that belongs to no purchase.
const none = -1

// slot is an item of a purchase: a line matches at most one.
type slot struct{ purchase, item int }

// matcher finds the purchase of each line.
type matcher struct {
	statement *Statement
	book      *Book
	byOrder   map[string]slot
	named     map[string]bool   // order ids that the ledger knows
	byCompany map[string][]slot // by company id, and by folded name
	taken     map[slot]int      // the line that has the slot, by index
	of        []slot            // of each line; purchase is none for a foreign one
	known     []int             // the stored line that each line is, by index; none for a new one
	repeated  map[int]int       // lines that repeat another's charge, to that line
	unclear   map[int][]slot    // lines that may be one of several uncertain orders, or something else
	possible  map[int]bool      // purchases that a line fits and need not be about, by index
	folded    map[string]string
	byRow     map[int64]int
	ours      bool // a line names an order or a company of ours
}

func newMatcher(s *Statement, b *Book) *matcher {
	m := &matcher{
		statement: s,
		book:      b,
		byOrder:   make(map[string]slot),
		named:     make(map[string]bool),
		byCompany: make(map[string][]slot),
		taken:     make(map[slot]int),
		of:        make([]slot, len(s.Lines)),
		known:     make([]int, len(s.Lines)),
		repeated:  make(map[int]int),
		unclear:   make(map[int][]slot),
		possible:  make(map[int]bool),
		folded:    make(map[string]string),
	}
	for i := range b.Purchases {
		p := &b.Purchases[i]
		for j, item := range p.Items {
			at := slot{i, j}
			if item.OrderID != "" {
				m.byOrder[item.OrderID], m.named[item.OrderID] = at, true
			}
			if p.CompanyID != "" {
				m.byCompany[p.CompanyID] = append(m.byCompany[p.CompanyID], at)
			}
			if p.Company != "" {
				name := m.fold(p.Company)
				m.byCompany[name] = append(m.byCompany[name], at)
			}
		}
	}
	return m
}

// fold folds a name, once for all lines that have it.
func (m *matcher) fold(name string) string {
	folded, ok := m.folded[name]
	if !ok {
		folded = "name " + filing.FoldLegalName(name)
		m.folded[name] = folded
	}
	return folded
}

// match finds the purchases of all lines: by order id first, then by company.
func (m *matcher) match() {
	for i := range m.statement.Lines {
		m.of[i], m.known[i] = slot{none, 0}, none
	}
	byCompany := make([]int, 0, len(m.statement.Lines))
	for i := range m.statement.Lines {
		line := &m.statement.Lines[i]
		at, found := m.byOrder[line.OrderID]
		switch {
		case line.Kind == Deposit:
		case found && line.OrderID != "":
			m.ours = true
			m.assign(i, at)
		default:
			byCompany = append(byCompany, i)
		}
	}
	for _, kind := range []Kind{Charge, Refund} { // a refund belongs to a charge
		for _, i := range byCompany {
			if m.statement.Lines[i].Kind == kind {
				m.matchCompany(i)
			}
		}
	}
	m.matchStored()
}

// lacksOurs counts the placed orders that the statement should name and does not, where
// it names others and none that is ours: 0 for a statement of this account. An order of
// its first or last day may be on another statement.
func (m *matcher) lacksOurs() (lacks int) {
	names := false
	for i := range m.statement.Lines {
		line := &m.statement.Lines[i]
		if line.OrderID == "" || line.Kind != Charge {
			continue
		}
		if names = true; m.named[line.OrderID] {
			return 0
		}
	}
	for i := range m.book.Purchases {
		p := &m.book.Purchases[i]
		inside := m.statement.covers(p.At.AddDate(0, 0, -1)) && m.statement.covers(p.At.AddDate(0, 0, 1))
		if names && inside && p.Recorded() != 0 && slices.ContainsFunc(p.Items, func(item Item) bool {
			return item.OrderID != ""
		}) {
			lacks++
		}
	}
	return lacks
}

// assign gives a line its slot. A second charge of a slot repeats the first.
func (m *matcher) assign(i int, at slot) {
	m.of[i] = at
	if order := m.statement.Lines[i].OrderID; order != "" {
		m.byOrder[order] = at // its other lines follow
	}
	if m.statement.Lines[i].Kind != Charge {
		return
	}
	if first, taken := m.taken[at]; taken {
		m.repeated[i] = first
		return
	}
	m.taken[at] = i
}

// companySlots are the slots of the company that a line names.
func (m *matcher) companySlots(line *Line) []slot {
	if id := line.CompanyID; id != "" {
		if found := m.byCompany[id]; len(found) > 0 {
			return found
		}
	}
	if id := m.book.Companies[line.OrderID]; id != "" && line.OrderID != "" {
		if found := m.byCompany[id]; len(found) > 0 {
			return found
		}
	}
	if line.Company != "" {
		return m.byCompany[m.fold(line.Company)]
	}
	for _, part := range line.parts {
		if found := m.byCompany[m.fold(part)]; len(found) > 0 {
			return found
		}
	}
	return nil
}

// matchCompany matches a line by its company, state, product, year, amount and date.
func (m *matcher) matchCompany(i int) {
	line := &m.statement.Lines[i]
	if at, found := m.byOrder[line.OrderID]; found && line.OrderID != "" {
		m.assign(i, at)
		return
	}
	var fits []slot
	for _, at := range m.companySlots(line) {
		if !m.sameCompany(line, at) {
			continue
		}
		m.ours = true
		if m.fits(line, at) {
			fits = append(fits, at)
			m.possible[at.purchase] = true
		}
	}
	if line.Kind == Charge {
		free := slices.DeleteFunc(slices.Clone(fits), func(at slot) bool { _, taken := m.taken[at]; return taken })
		if len(free) == 0 && len(fits) > 0 && line.OrderID == "" {
			m.assign(i, fits[0]) // charged once more
			return
		}
		fits = free
	}
	if len(fits) == 0 {
		return
	}
	best, sure := m.nearest(line, fits)
	if !sure || line.Kind == Charge && !m.isEvidence(line, best) {
		m.unclear[i] = fits
		return
	}
	m.assign(i, best)
}

// isEvidence reports whether a charge that fits an open item is for it: it names the
// product, or has its price. Anything else of the company may be charged, too.
func (m *matcher) isEvidence(line *Line, at slot) bool {
	p := &m.book.Purchases[at.purchase]
	return !p.Items[at.item].Open || line.Product != "" || line.Charged() == m.expected(p)
}

// sameCompany reports whether the ids of two companies differ nowhere: several companies
// may have one name.
func (m *matcher) sameCompany(line *Line, at slot) bool {
	theirs := line.CompanyID
	if theirs == "" && line.OrderID != "" {
		theirs = m.book.Companies[line.OrderID]
	}
	ours := m.book.Purchases[at.purchase].CompanyID
	return theirs == "" || ours == "" || theirs == ours
}

// lateDays is how long after its attempt an order that was marked as not placed may be
// charged. A later charge is that of another order.
const lateDays = 7 * 24 * time.Hour

// matchDismissed finds the foreign charges, by index, that are orders which a person
// marked as not placed.
func (m *matcher) matchDismissed() map[int]*Purchase {
	if len(m.book.Dismissed) == 0 {
		return nil
	}
	d := newMatcher(m.statement, &Book{Purchases: m.book.Dismissed, Companies: m.book.Companies})
	late := make(map[int]*Purchase)
	for i := range m.statement.Lines {
		line := &m.statement.Lines[i]
		d.of[i] = slot{none, 0}
		if m.of[i].purchase != none || m.known[i] != none || len(m.unclear[i]) > 0 || line.Kind != Charge {
			continue
		}
		d.matchCompany(i)
		at := d.of[i].purchase
		if at == none && len(d.unclear[i]) > 0 {
			at = d.unclear[i][0].purchase
		}
		if at == none || line.At.IsZero() || line.At.After(d.book.Purchases[at].Ended.Add(lateDays)) {
			continue
		}
		late[i], m.ours = &d.book.Purchases[at], true
		if d.of[i].purchase == none {
			several := d.book.Purchases[at]
			several.CompanyID = "" // a person decides
			late[i] = &several
		}
	}
	return late
}

// fits reports whether a line can be about an item: nothing that both state differs.
func (m *matcher) fits(line *Line, at slot) bool {
	p := &m.book.Purchases[at.purchase]
	item := &p.Items[at.item]
	switch {
	case line.OrderID != "" && item.OrderID != "":
		return false // two orders
	case p.Creating:
		return false // its order was not sent
	case line.Product != "" && !sameProduct(line.Product, item.Product):
		return false
	case line.State != "" && p.State != "" && line.State != p.State:
		return false
	case line.Year != "" && p.Year != "" && item.Product == filing.AnnualReport && line.Year != p.Year:
		return false
	case !line.At.IsZero() && !p.At.IsZero() && line.At.Before(p.At.Truncate(24*time.Hour).Add(-24*time.Hour)):
		return false // charged before it was ordered
	}
	return true
}

// sameProduct reports whether a statement may write the one for the other.
func sameProduct(a, b filing.Product) bool {
	agent := func(p filing.Product) bool { return p == filing.RegisteredAgent || p == filing.AgentChange }
	return a == b || agent(a) && agent(b)
}

// nearest chooses among the items that a line fits: the one with the amount, then the
// one that was ordered last before the line. It is not sure where the line decides
// between orders of which one is uncertain.
func (m *matcher) nearest(line *Line, fits []slot) (best slot, sure bool) {
	if len(fits) == 1 {
		return fits[0], true
	}
	exact := slices.DeleteFunc(slices.Clone(fits), func(at slot) bool {
		p := &m.book.Purchases[at.purchase]
		return m.expected(p) != line.Charged()
	})
	if len(exact) == 1 {
		return exact[0], true
	}
	if len(exact) > 1 {
		fits = exact
	}
	best = fits[0]
	open := false
	for _, at := range fits {
		p := &m.book.Purchases[at.purchase]
		open = open || p.Items[at.item].Open
		if !line.At.IsZero() && p.At.After(m.book.Purchases[best.purchase].At) &&
			!p.At.After(line.At.Add(24*time.Hour)) {
			best = at
		}
	}
	sameRow := !slices.ContainsFunc(fits, func(at slot) bool { return at.purchase != best.purchase })
	return best, !open || sameRow
}

// expected is what a purchase is expected to be charged.
func (m *matcher) expected(p *Purchase) money.Cents {
	if p.IsUncertain() {
		return p.Spent.Amount + p.Reserved
	}
	return p.Recorded()
}

// storedKey finds the stored lines that a line can be.
type storedKey struct {
	row    int64
	amount money.Cents
	day    string
	order  string
}

// matchStored finds the lines that an earlier statement has: of the same file by their
// numbers, of another by what they say. A line that says less than the other is the
// same if nothing differs.
func (m *matcher) matchStored() {
	if len(m.book.Stored) == 0 {
		return
	}
	exact, loose := make(map[storedKey][]int), make(map[storedKey][]int)
	same := make(map[int]int)
	for i := range m.book.Stored {
		s := &m.book.Stored[i]
		if s.Statement == m.statement.Hash {
			same[s.Number] = i
			continue
		}
		k := storedKey{s.Row, s.Amount, dayOf(s.At), s.OrderID}
		exact[k] = append(exact[k], i)
	}
	if len(same) > 0 {
		m.matchSame(same)
		return
	}
	used := make(map[int]bool)
	take := func(all map[storedKey][]int, k storedKey, i int) bool {
		for n, at := range all[k] {
			if used[at] || !sameLine(&m.statement.Lines[i], &m.book.Stored[at]) {
				continue
			}
			used[at] = true
			all[k] = slices.Delete(all[k], n, n+1)
			m.known[i] = at
			m.adopt(i, &m.book.Stored[at])
			return true
		}
		return false
	}
	key := func(i int, order string) storedKey {
		line := &m.statement.Lines[i]
		return storedKey{m.rowOf(i), line.Amount, line.Day(), order}
	}
	for i := range m.statement.Lines {
		order := m.statement.Lines[i].OrderID
		if !take(exact, key(i, order), i) && m.rowOf(i) != 0 {
			k := key(i, order)
			k.row = 0 // it was foreign when the statement came
			take(exact, k, i)
		}
	}
	for i := range m.book.Stored {
		if s := &m.book.Stored[i]; !used[i] {
			k := storedKey{s.Row, s.Amount, dayOf(s.At), ""}
			loose[k] = append(loose[k], i)
		}
	}
	for i := range m.statement.Lines {
		if m.known[i] == none {
			take(loose, key(i, ""), i)
		}
	}
}

// matchSame gives each line the stored line of its number.
func (m *matcher) matchSame(same map[int]int) {
	for i := range m.statement.Lines {
		if at, ok := same[m.statement.Lines[i].Number]; ok {
			m.known[i] = at
			m.adopt(i, &m.book.Stored[at])
		}
	}
}

// adopt gives a line the purchase that it has as a stored line.
func (m *matcher) adopt(i int, s *StoredLine) {
	if s.Row == 0 || m.rowOf(i) == s.Row {
		return
	}
	if m.byRow == nil {
		m.byRow = make(map[int64]int, len(m.book.Purchases))
		for at := range m.book.Purchases {
			m.byRow[m.book.Purchases[at].Row] = at
		}
	}
	if at, ok := m.byRow[s.Row]; ok {
		m.of[i] = slot{at, 0}
		delete(m.unclear, i)
	}
}

func (m *matcher) rowOf(i int) int64 {
	if m.of[i].purchase == none {
		return 0
	}
	return m.book.Purchases[m.of[i].purchase].Row
}

func dayOf(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.UTC().Format(time.DateOnly)
}

// sameLine reports whether two lines of two statements can be one: nothing that both
// state differs.
func sameLine(l *Line, s *StoredLine) bool {
	differ := func(a, b string) bool { return a != "" && b != "" && a != b }
	switch {
	case differ(l.OrderID, s.OrderID), differ(l.CompanyID, s.CompanyID), differ(string(l.State), string(s.State)),
		differ(filing.FoldLegalName(l.Company), filing.FoldLegalName(s.Company)),
		l.Product != "" && s.Product != "" && !sameProduct(l.Product, s.Product),
		(l.Kind == Deposit) != (s.Kind == Deposit):
		return false
	}
	return true
}
