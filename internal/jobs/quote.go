package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"bulkfiling/internal/filing"
	"bulkfiling/internal/filingapi"
	"bulkfiling/internal/ledger"
	"bulkfiling/internal/money"
	"bulkfiling/internal/pricing"
)

// LookUp looks the users and companies of a batch's ready rows up ahead of its
// quote, each once, and remembers them. It only reads, for nobody has said yes
// yet: a user who is not there and a company that lacks something are left for
// the placer, and whatever stands in a row's way for the row's own answer.
//
// at is told how many of the rows have been gone through, and of how many; nil
// where nobody wants to know.
func LookUp(ctx context.Context, s Records, l *ledger.Ledger, pace Throttle, concurrency int, batch string,
	at func(done, total int)) error {
	counts, err := l.Counts(ctx, batch)
	if err != nil {
		return err
	}
	done := 0
	if pace == nil {
		pace = unlimited{}
	}
	f := newLookup(s, l, concurrency, pace, &gate{}, time.Now)
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(concurrency)
	asked := make(map[string]bool)
	mayBeSent := func(r *ledger.Row) bool { return r.Result == filing.Ready || r.HeldBack() }
	for page, err := range pagesOf(ctx, l, batch, mayBeSent) {
		if err == nil {
			err = f.loadKnown(ctx, page)
		}
		if err != nil {
			return errors.Join(err, g.Wait())
		}
		for _, row := range page {
			if at != nil {
				at(done, counts[filing.Ready])
			}
			done++
			if user := row.Request.User; user.ID == "" && !asked["user "+user.Ref()] {
				asked["user "+user.Ref()] = true
				g.Go(func() error { return ignoreLookupError(f.findUser(ctx, user)) })
			}
			if ref := row.Request.Company.Ref; needsCompanyRecord(row.Request) && !asked["company "+ref] {
				asked["company "+ref] = true
				g.Go(func() error {
					_, err := f.findCompany(ctx, ref)
					return ignoreLookupError(err)
				})
			}
		}
	}
	return g.Wait()
}

// unhindered is the error of a look-up but for what only stands in a row's way.
func ignoreLookupError(err error) error {
	if o := (*lookupError)(nil); errors.As(err, &o) || errors.Is(err, errHalted) || errors.Is(err, filingapi.ErrNotFound) {
		return nil
	}
	return err
}

// BatchQuote is what the ready rows of a batch will cost, as far as is known.
type BatchQuote struct {
	Rows   int
	Before int // ready rows besides that others have bought before, or that a subscription covers

	Covered  Some // those of them that a subscription covers, with its order
	Canceled Some // those of them whose filing was canceled since
	Lapsed   Some // rows to be ordered although there is a subscription, and why it does not cover them

	Total money.Cost
	Lines []ProductQuote // by product, in the order of filing.Products
	Kinds []KindQuote    // by product and, where the state charges, by whose fee it is
}

// ProductQuote sums one product up.
type ProductQuote struct {
	Product filing.Product
	Count   int
	Total   money.Cost
}

// QuoteBatch quotes every ready row of a batch from what the sheet and the
// ledger know, keeps each row's quote, and sums them up. What was bought before
// costs nothing and is not counted. It asks the service nothing.
func QuoteBatch(ctx context.Context, l *ledger.Ledger, quoter Quoter, batch string) (BatchQuote, error) {
	var q BatchQuote
	b, err := l.Batch(ctx, batch)
	if err != nil {
		return q, err
	}
	for page, err := range readyPages(ctx, l, batch) {
		if err != nil {
			return q, err
		}
		p, err := whatIsLeft(ctx, l, b, page)
		if err != nil {
			return q, err
		}
		quotes := make([]ledger.RowQuote, len(page))
		for i, row := range page {
			order, by := p.of(row)
			if by == nil && len(order.Products()) == 0 {
				by = p.buyer(row)
			}
			q.tell(row, &p)
			if quotes[i].Row = row.ID; by != nil {
				q.Before++
				quotes[i].Note = boughtBefore(by)
				continue
			}
			quote := quoter.Quote(&order, p.facts(row), nil)
			quotes[i].Cost, quotes[i].Missing = quote.Total, missing(quote)
			if err := q.add(quote); err != nil {
				return q, fmt.Errorf("sum the quote of batch %s up: %w", batch, err)
			}
		}
		if err := l.KeepQuotes(ctx, quotes); err != nil {
			return q, err
		}
	}
	return q, q.keep(ctx, l, batch)
}

// tell notes what a person should know of a row's subscriptions and earlier
// purchases before they approve.
func (q *BatchQuote) tell(row ledger.Row, p *left) {
	name := fmt.Sprintf("row %d", row.Number)
	if legal := row.Request.LegalName(); legal != "" {
		name = legal + " (" + name + ")"
	}
	for _, c := range p.claims(row) {
		switch h, taken := p.held[c.Key]; {
		case taken && h.Batch == p.batch:
		case taken && h.Covers && p.again == "":
			q.Covered.add(fmt.Sprintf("%s: %s, order %s", name, c.Product.Title(),
				cmp.Or(h.Order, fmt.Sprintf("of row %d of batch %s", h.Number, h.Batch))))
		case taken && h.Canceled:
			q.Canceled.add(fmt.Sprintf("%s: %s, bought by row %d of batch %s", name, c.Product.Title(), h.Number,
				h.Batch))
		}
		if s, lapsed := p.lapsed[c.Key]; lapsed && p.again == "" && s.Batch != p.batch {
			q.Lapsed.add(fmt.Sprintf("%s: the subscription of order %s: %s", name,
				cmp.Or(s.Order, fmt.Sprintf("(row %d of batch %s)", s.Number, s.Batch)), s.Lapsed))
		}
	}
}

// Notes are what a person should know before they approve, the headings with up
// to a few of the rows below each.
func (q BatchQuote) Notes() []Remark {
	var all []Remark
	for _, r := range []Remark{
		{"not ordered: an annual subscription covers them", q.Covered},
		{"not ordered: bought before and canceled since; --again=\"why\" orders them again", q.Canceled},
		{"ordered although an annual subscription was opened before", q.Lapsed},
	} {
		if r.Count > 0 {
			all = append(all, r)
		}
	}
	return all
}

// add adds the quote of a row.
func (q *BatchQuote) add(quote pricing.Quote) (err error) {
	q.Rows++
	if q.Total, err = q.Total.Plus(quote.Total); err != nil {
		return err
	}
	for _, line := range quote.Lines {
		i, found := slices.BinarySearchFunc(q.Lines, line.Product, func(l ProductQuote, p filing.Product) int {
			return slices.Index(filing.Products, l.Product) - slices.Index(filing.Products, p)
		})
		if !found {
			q.Lines = slices.Insert(q.Lines, i, ProductQuote{Product: line.Product})
		}
		q.Lines[i].Count++
		if q.Lines[i].Total, err = q.Lines[i].Total.Plus(line.Cost()); err != nil {
			return err
		}
		if err := q.addKind(line); err != nil {
			return err
		}
	}
	return nil
}

// left is what is left to buy of some rows' orders, as far as the ledger knows.
type left struct {
	batch     string
	again     string
	companies map[string]filing.Company
	users     map[string]filing.User
	named     map[filing.Key]ledger.NamedCompany // those that rows describe, and that are known here
	held      map[filing.Key]ledger.Holding
	lapsed    map[filing.Key]ledger.Subscription
}

// whatIsLeft looks the ready ones of the rows up.
func whatIsLeft(ctx context.Context, l *ledger.Ledger, b ledger.Batch, rows []ledger.Row) (left, error) {
	some := left{batch: b.ID, again: repeatReason(b)}
	var refs, emails []string
	for _, r := range rows {
		if r.Result == filing.Ready {
			refs = append(refs, r.Request.Company.Ref)
			if r.Request.User.ID == "" {
				emails = append(emails, r.Request.User.Ref())
			}
		}
	}
	var err error
	if some.companies, err = l.Companies(ctx, refs); err != nil {
		return some, err
	}
	if some.users, err = l.Users(ctx, emails); err != nil {
		return some, err
	}
	var described []filing.NewCompany
	for _, r := range rows {
		if r.Result != filing.Ready || !r.Request.CreatesCompany() {
			continue
		}
		if user := some.user(r); user != "" {
			described = append(described, r.Request.Company.Sheet.ForUser(user))
		}
	}
	if some.named, err = l.CompaniesNamed(ctx, described); err != nil {
		return some, err
	}
	var all []ledger.Claim
	for _, r := range rows {
		if r.Result == filing.Ready {
			all = append(all, some.claims(r)...)
		}
	}
	if some.held, err = l.Holdings(ctx, all); err != nil {
		return some, err
	}
	some.lapsed, err = l.Lapsed(ctx, all)
	return some, err
}

// buyer is who has bought what a row orders; the first of them, where several
// have.
func (s *left) buyer(r ledger.Row) *ledger.Holding {
	for _, c := range s.claims(r) {
		if h, taken := s.held[c.Key]; taken {
			return &h
		}
	}
	return &ledger.Holding{}
}

// boughtBefore says why nothing will be ordered for a row.
func boughtBefore(by *ledger.Holding) string {
	switch {
	case by.Covers:
		return fmt.Sprintf("%s: the annual subscription of order %s (row %d of batch %s) covers it",
			ledger.BoughtBefore, cmp.Or(by.Order, "without an id"), by.Number, by.Batch)
	case by.Canceled:
		return fmt.Sprintf(
			"%s, by row %d of batch %s, and canceled since: nothing will be ordered; --again=\"why\" orders it again",
			ledger.BoughtBefore, by.Number, by.Batch)
	case by.Batch == "":
		return ledger.BoughtBefore + ": nothing will be ordered"
	}
	return fmt.Sprintf("%s, by row %d of batch %s: nothing will be ordered", ledger.BoughtBefore, by.Number, by.Batch)
}

// user is the id of a row's user, where it is known.
func (s *left) user(r ledger.Row) string {
	return cmp.Or(r.Request.User.ID, s.users[r.Request.User.Ref()].ID)
}

// company is a row's company, as far as it is known here.
func (s *left) company(r ledger.Row) filing.Company {
	switch user := s.user(r); {
	case r.Request.Company.Ref != "":
		return s.companies[r.Request.Company.Ref]
	case user != "" && r.Request.CreatesCompany():
		return s.named[r.Request.Company.Sheet.ForUser(user).Key()].Company
	}
	return filing.Company{}
}

// heldBack is why a row is not to be sent, as far as the record of its company
// is known here.
func (s *left) heldBack(r ledger.Row) (filing.Difference, bool) {
	for _, d := range r.Request.Differences(s.companies[r.Request.Company.Ref]) {
		if !d.Warning {
			return d, true
		}
	}
	return filing.Difference{}, false
}

// order is a row's order with the ids that are known.
func (s *left) order(r ledger.Row) filing.Order {
	o := r.Request.Order
	o.UserID, o.CompanyID = s.user(r), cmp.Or(s.company(r).ID, r.Request.Company.Ref)
	for _, p := range r.Dropped {
		o = o.Drop(p)
	}
	return o
}

// claims are those of a row that names its company: of another nobody can tell
// before it is looked up.
func (s *left) claims(r ledger.Row) []ledger.Claim {
	o := s.order(r)
	if o.CompanyID == "" && (o.Formation == nil || o.UserID == "") {
		return nil
	}
	return ledger.ClaimsOf(&o, s.again)
}

// of is a row's order without what was bought before, in another batch, or is
// covered by a subscription; by is that subscription where nothing else is left.
func (s *left) of(r ledger.Row) (rest filing.Order, by *ledger.Holding) {
	rest = s.order(r)
	for _, c := range s.claims(r) {
		switch h, taken := s.held[c.Key]; {
		case !taken || h.Batch == s.batch:
		case h.Covers && s.again == "":
			rest, by = rest.Drop(c.Product), &h
		case h.Bought && c.Product == filing.Formation:
			return filing.Order{}, nil // what comes with it is not ordered either
		case h.Bought && !h.Covers:
			rest = rest.Drop(c.Product)
		}
	}
	if len(rest.Products()) > 0 {
		by = nil // what is left is ordered
	}
	return rest, by
}

func (s *left) facts(r ledger.Row) pricing.Facts {
	return factsOf(s.company(r), r.Request.Company.Sheet)
}

// factsOf takes what the service knows of a company, and the sheet's word for
// what it does not.
func factsOf(service, sheet filing.Company) pricing.Facts {
	f := pricing.Facts{EntityType: service.EntityType, FormationState: service.FormationState}
	if f.EntityType == "" {
		f.EntityType = sheet.EntityType
	}
	if f.FormationState == "" {
		f.FormationState = sheet.FormationState
	}
	return f
}

// readyPages streams the ready rows of a batch in pages.
func readyPages(ctx context.Context, l *ledger.Ledger, batch string) func(yield func([]ledger.Row, error) bool) {
	return pagesOf(ctx, l, batch, func(r *ledger.Row) bool { return r.Result == filing.Ready })
}

// pagesOf streams those rows of a batch in pages that are wanted.
func pagesOf(ctx context.Context, l *ledger.Ledger, batch string,
	wanted func(*ledger.Row) bool) func(yield func([]ledger.Row, error) bool) {
	return func(yield func([]ledger.Row, error) bool) {
		var page []ledger.Row
		for row, err := range l.Rows(ctx, batch) {
			if err != nil {
				yield(nil, err)
				return
			}
			if !wanted(&row) {
				continue
			}
			if page = append(page, row); len(page) == 1000 {
				if !yield(slices.Clip(page), nil) {
					return
				}
				page = nil
			}
		}
		if len(page) > 0 {
			yield(page, nil)
		}
	}
}
