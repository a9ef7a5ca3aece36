package resolve

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/filingapi"
	"github.com/bulkfiling/bulkfiling/internal/jobs"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/pricing"
	"github.com/bulkfiling/bulkfiling/internal/text"
)

// Marked counts the results of MarkRestored.
type Marked struct {
	Uncertain int
	// Unsent counts rows that cannot have been sent. Either another row has their purchase, or the
	// service has no such company or user.
	Unsent int
	// Waiting counts rows that share an item with another uncertain row. They stay unchecked until
	// that row is resolved.
	Waiting int
	// Failed names the rows that could not be checked, with the reasons.
	Failed []string
}

// MarkRestored makes unchecked rows of a restored ledger uncertain, because they may have been sent
// since the backup. It calls the service for rows that do not name their company or user by ID, and
// for the prices of rows that take several orders or have no quote.
func (s *Service) MarkRestored(ctx context.Context, rows []ledger.Row, since time.Time) (Marked, error) {
	m := marking{Service: s, prices: sync.OnceValues(func() (pricing.Quoter, error) { return s.Prices(ctx) })}
	assumed, err := m.assume(ctx, rows)
	why := fmt.Sprintf("may have been sent since %s and is missing in the ledger, according to %s on %s. Check the "+
		"company's dashboard, then resolve the row on the page under Uncertain or with importer resolve; it is not "+
		"sent before that", since.UTC().Format("2006-01-02 15:04 MST"), s.By,
		time.Now().UTC().Format("2006-01-02 15:04 MST"))
	for err == nil && len(assumed) > 0 {
		assumed, err = m.record(ctx, assumed, since, why)
	}
	if err != nil {
		return m.did, err
	}
	m.did.Unsent = len(m.unsent)
	return m.did, s.Ledger.Restores().MarkChecked(ctx, m.unsent...)
}

// marking is a run of MarkRestored.
type marking struct {
	*Service
	prices func() (pricing.Quoter, error)
	did    Marked
	// unsent are the rows that cannot have been sent.
	unsent []int64
}

// assume returns the orders of rows that may have been sent.
func (m *marking) assume(ctx context.Context, rows []ledger.Row) (assumed []assumption, err error) {
	p, err := m.loadParties(ctx, rows)
	if err != nil {
		return nil, err
	}
	unpriced := 0
	batches := make(map[string]ledger.Batch)
	for _, row := range rows {
		b, ok := batches[row.Batch]
		if !ok {
			if b, err = m.Ledger.Batch(ctx, row.Batch); err != nil {
				return nil, err
			}
			batches[row.Batch] = b
		}
		user, company, err := p.of(row)
		switch {
		case errors.Is(err, filingapi.ErrNotFound), errors.Is(err, filingapi.ErrRefused):
			m.unsent = append(m.unsent, row.ID)
			continue
		case err != nil:
			m.did.Failed = append(m.did.Failed, fmt.Sprintf("row %d of batch %s: %v", row.Number, row.Batch, err))
			continue
		}
		a := assumption{jobs.IntentFor(row, b, user, company), row.Left(user, company), p.facts(row)}
		if a.needsQuote() {
			quoter, err := m.prices()
			if err != nil {
				unpriced++
				continue
			}
			a.quote(quoter)
		}
		assumed = append(assumed, a)
	}
	if unpriced > 0 {
		_, err := m.prices()
		m.did.Failed = append(m.did.Failed, fmt.Sprintf("%s without a cost: the prices could not be read: %v",
			text.Count(unpriced, "row"), err))
	}
	return assumed, nil
}

// record records that orders may have been sent. It returns what may have been sent of orders of
// which another row has an item.
func (m *marking) record(ctx context.Context, assumed []assumption, since time.Time, why string) ([]assumption,
	error) {
	intents := make([]ledger.Intent, len(assumed))
	for i, a := range assumed {
		intents[i] = a.Intent
	}
	all, err := m.Ledger.Resolutions().AssumeSent(ctx, intents, since, why)
	if err != nil {
		return nil, err
	}
	var again []assumption
	for i, begun := range all {
		if begun.Attempt > 0 {
			m.did.Uncertain++
		}
		if begun.Attempt > 0 || begun.Lost { // a lost row is no longer ready
			continue
		}
		rest, left := assumed[i].without(begun.Taken[0])
		switch {
		case left:
			quoter, err := m.prices()
			if err != nil {
				return nil, fmt.Errorf("read prices: %w", err)
			}
			rest.quote(quoter)
			again = append(again, rest)
		case begun.Taken[0].Bought:
			m.unsent = append(m.unsent, intents[i].Row)
		default:
			m.did.Waiting++
		}
	}
	return again, nil
}

// assumption is an order that may have been sent.
type assumption struct {
	ledger.Intent
	// left are the items of this order and of the row's later orders.
	left  filing.Order
	facts pricing.Facts
}

// needsQuote reports whether the cost of the row is not that of this order. A row that was held back
// has lost its cost.
func (a *assumption) needsQuote() bool {
	return a.Cost.IsUnknown() || a.Cost.Amount == 0 || !a.Creating && len(a.Rest) > 0
}

// quote sets the cost of this order, and apart from it that of the later orders, so that only its own
// cost is charged if it was sent.
func (a *assumption) quote(quoter pricing.Quoter) {
	sent, rest := a.left, a.left
	if !a.Creating {
		for _, p := range a.Rest {
			sent = sent.Drop(p)
		}
		for _, claim := range a.Claims {
			rest = rest.Drop(claim.Product)
		}
		a.RestCost = quoter.Quote(&rest, a.facts).Total
	}
	a.Cost = quoter.Quote(&sent, a.facts).Total
}

// without returns the part of the order that may have been sent, given that another row has one of
// its items. If another row creates the company, every row of the company may have sent its order.
func (a assumption) without(t ledger.Taken) (rest assumption, left bool) {
	if !a.Creating && (!t.Bought || t.Covers || len(a.Claims) < 2 || t.Claim.Product == filing.Formation) {
		return a, false
	}
	a.Claims = slices.DeleteFunc(slices.Clone(a.Claims), func(c ledger.Claim) bool { return c.Key == t.Claim.Key })
	if t.Claim.Product != filing.CompanyRecord {
		a.left = a.left.Drop(t.Claim.Product)
	}
	return a, true
}

// lookupsAtOnce limits the parallel lookups, because the filing service receives orders at the same
// time.
const lookupsAtOnce = 4

// parties are the IDs of users and companies by the references of rows.
type parties struct {
	users     map[string]filing.User
	companies map[string]filing.Company
	// errs are the errors of failed lookups by reference.
	errs map[string]error
}

// of returns the user and company IDs of a row's purchases. The user matters only if there is no
// company yet.
func (p *parties) of(row ledger.Row) (user, company string, err error) {
	r := row.Request
	if ref := r.Company.Ref; r.Order.Formation == nil && ref != "" {
		if filing.IsCompanyID(ref) {
			return r.User.ID, ref, nil
		}
		return r.User.ID, p.companies[ref].ID, p.errs[ref]
	}
	user = r.User.ID
	if user == "" {
		if err := p.errs[r.User.Ref()]; err != nil {
			return "", "", err
		}
		user = p.users[r.User.Ref()].ID
	}
	if r.CreatesCompany() {
		company = p.companies[string(r.Company.Sheet.ForUser(user).Key())].ID
	}
	return user, company, nil
}

// facts returns what is known about a row's company.
func (p *parties) facts(row ledger.Row) pricing.Facts {
	return pricing.FactsOf(p.companies[row.Request.Company.Ref], row.Request.Company.Sheet)
}

// loadParties finds the users and companies of rows in the ledger, or else at the service.
func (s *Service) loadParties(ctx context.Context, rows []ledger.Row) (*parties, error) {
	users, companies, ids := make(map[string]bool), make(map[string]bool), make(map[string]bool)
	for _, row := range rows {
		r := row.Request
		switch ref := r.Company.Ref; {
		case r.Order.Formation == nil && filing.IsCompanyID(ref):
			ids[ref] = true
		case r.Order.Formation == nil && ref != "":
			companies[ref] = true
		case r.User.ID == "":
			users[r.User.Ref()] = true
		}
	}
	p := &parties{errs: make(map[string]error)}
	var err error
	if p.users, err = s.Ledger.Companies().FindUsers(ctx, slices.Sorted(maps.Keys(users))); err != nil {
		return nil, err
	}
	if p.companies, err = s.Ledger.Companies().Find(ctx, slices.Sorted(maps.Keys(companies))); err != nil {
		return nil, err
	}
	if err := s.lookUpMissing(ctx, p, users, companies); err != nil {
		return nil, err
	}
	// The prices depend on the records of companies with an ID.
	for _, row := range rows {
		if user, _, err := p.of(row); err == nil && row.Request.CreatesCompany() {
			ids[string(row.Request.Company.Sheet.ForUser(user).Key())] = true
		}
	}
	known, err := s.Ledger.Companies().Find(ctx, slices.Sorted(maps.Keys(ids)))
	maps.Copy(p.companies, known)
	return p, err
}

// lookUpMissing looks up the users and companies that are not in the ledger.
func (s *Service) lookUpMissing(ctx context.Context, p *parties, users, companies map[string]bool) error {
	maps.DeleteFunc(users, func(ref string, _ bool) bool { _, known := p.users[ref]; return known })
	maps.DeleteFunc(companies, func(ref string, _ bool) bool { _, known := p.companies[ref]; return known })
	if len(users)+len(companies) == 0 {
		return nil
	}
	client, err := s.Client()
	if err != nil {
		for ref := range users {
			p.errs[ref] = err
		}
		for ref := range companies {
			p.errs[ref] = err
		}
		return nil
	}
	var mu sync.Mutex
	var group errgroup.Group
	group.SetLimit(lookupsAtOnce)
	lookUp(&group, &mu, users, p.users, p.errs, func(ref string) (filing.User, error) {
		user, err := client.User(ctx, ref)
		if err == nil {
			err = s.Ledger.Companies().RememberUser(ctx, ref, user)
		}
		return user, err
	})
	lookUp(&group, &mu, companies, p.companies, p.errs, func(ref string) (filing.Company, error) {
		company, err := client.Company(ctx, ref)
		if err == nil {
			err = s.Ledger.Companies().Remember(ctx, ref, company)
		}
		return company, err
	})
	group.Wait()
	return context.Cause(ctx)
}

// lookUp has a group look up references, and keeps what was found and the errors under mu.
func lookUp[T any](group *errgroup.Group, mu *sync.Mutex, refs map[string]bool, found map[string]T,
	errs map[string]error, ask func(ref string) (T, error)) {
	for ref := range refs {
		group.Go(func() error {
			answer, err := ask(ref)
			mu.Lock()
			defer mu.Unlock()
			found[ref], errs[ref] = answer, err
			return nil
		})
	}
}
