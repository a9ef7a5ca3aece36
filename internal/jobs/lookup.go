package jobs

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/filingapi"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

// Records is what a look-up needs of the filing service. Its methods only read:
// what runs before an approval has no more than this.
type Records interface {
	Company(ctx context.Context, idOrSlug string) (filing.Company, error)
	User(ctx context.Context, idOrEmail string) (filing.User, error)
}

// lookup finds users and companies at the filing service, and remembers them in the
// ledger. It only reads.
type lookup struct {
	service  Records
	ledger   *ledger.Ledger
	slots    chan struct{} // look-ups in flight
	throttle Throttle
	state    *sendState // says whether the service may be asked
	now      func() time.Time
	flights  singleflight.Group // by reference

	mu        sync.RWMutex
	companies map[string]filing.Company
	users     map[string]filing.User
	asked     map[string]time.Time // when the service answered for a company, by reference
}

func newLookup(s Records, l *ledger.Ledger, concurrency int, throttle Throttle, state *sendState,
	now func() time.Time) *lookup {
	return &lookup{
		service:   s,
		ledger:    l,
		slots:     make(chan struct{}, concurrency),
		throttle:  orUnlimited(throttle),
		state:     state,
		now:       now,
		companies: make(map[string]filing.Company),
		users:     make(map[string]filing.User),
		asked:     make(map[string]time.Time),
	}
}

// lookupError is why a row cannot be sent: for good (Rejected), or for now (Ready,
// with the wait before the next try).
type lookupError struct {
	next    filing.Result
	message string
	after   time.Duration
	wait    filing.Key // of a row that waits for another row's purchase
	err     error
}

func (o *lookupError) Error() string { return o.message }

// errHalted is returned for a request that was not sent: see sendState.
var errHalted = errors.New("the filing service may not be asked now")

// loadKnown loads the users and companies of rows from the ledger, in two queries
// for all of them. A company that lacks a fact is forgotten and asked for again:
// it may have been completed since.
func (f *lookup) loadKnown(ctx context.Context, rows []ledger.Row) error {
	var companies, users []string
	f.mu.Lock()
	for _, r := range rows {
		if c, known := f.companies[r.Request.Company.Ref]; known && !hasFacts(c) {
			delete(f.companies, r.Request.Company.Ref)
		} else if !known && r.Request.Company.Ref != "" {
			companies = append(companies, r.Request.Company.Ref)
		}
		if _, known := f.users[r.Request.User.Ref()]; !known && r.Request.User.ID == "" {
			users = append(users, r.Request.User.Ref())
		}
	}
	f.mu.Unlock()
	knownCompanies, err := f.ledger.Companies().Find(ctx, companies)
	if err != nil {
		return err
	}
	knownUsers, err := f.ledger.Companies().FindUsers(ctx, users)
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for ref, c := range knownCompanies {
		if hasFacts(c) {
			f.companies[ref] = c
		}
	}
	for ref, u := range knownUsers {
		f.users[ref] = u
	}
	return nil
}

// hasFacts reports whether a company has what fees depend on.
// Source: spec section 4, rules 9 and 10.
func hasFacts(c filing.Company) bool { return c.EntityType != "" && c.FormationState != "" }

// askForUser asks the filing service for a user. It returns a *lookupError or
// filingapi.ErrNotFound.
func (f *lookup) askForUser(ctx context.Context, email string) (filing.User, error) {
	u, err := ask(ctx, f, func() (filing.User, error) { return f.service.User(ctx, email) })
	if errors.Is(err, filingapi.ErrNotFound) {
		return u, err
	}
	return u, toLookupError(err, "user", email)
}

// findUser makes sure that a user is known. It returns a *lookupError or
// filingapi.ErrNotFound.
func (f *lookup) findUser(ctx context.Context, ref filing.UserRef) error {
	if _, known := f.knownUser(ref.Ref()); known {
		return nil
	}
	u, err := f.askForUser(ctx, ref.Email)
	if err != nil {
		return err
	}
	return f.keepUser(ctx, ref.Ref(), u)
}

func (f *lookup) knownUser(ref string) (filing.User, bool) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	u, known := f.users[ref]
	return u, known
}

// keepUser remembers a user.
func (f *lookup) keepUser(ctx context.Context, ref string, u filing.User) error {
	if err := f.ledger.Companies().RememberUser(ctx, ref, u); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.users[ref] = u
	return nil
}

// needsCompanyRecord reports whether an order needs more of its company than the
// spreadsheet has: the id behind a slug, the facts that the state's fee depends on,
// or the name to compare.
func needsCompanyRecord(r *filing.Request) bool {
	return r.Order.Formation == nil && r.Company.Ref != "" &&
		(r.NeedsCompanyFacts() || r.LegalName() != "" || !filing.IsCompanyID(r.Company.Ref))
}

// findCompany returns a company as it is remembered or, if it is not, as the filing
// service has it.
func (f *lookup) findCompany(ctx context.Context, ref string) (filing.Company, error) {
	c, known, askedAt := f.cachedCompany(ref)
	if known {
		return c, nil
	}
	return f.askForCompany(ctx, ref, askedAt)
}

// freshFor is how long the filing service's answer about a company counts as
// current.
const freshFor = time.Minute

// findFreshCompany returns the filing service's current record of a company,
// whatever is remembered of it.
func (f *lookup) findFreshCompany(ctx context.Context, ref string) (filing.Company, error) {
	c, known, askedAt := f.cachedCompany(ref)
	if known && f.now().Sub(askedAt) < freshFor {
		return c, nil
	}
	return f.askForCompany(ctx, ref, askedAt)
}

// askForCompany asks the filing service for a company. Rows of one company share a
// request: askedAt is when the company was last asked for as the caller looked for it
// in memory, and an answer that came since serves the caller, too.
func (f *lookup) askForCompany(ctx context.Context, ref string, askedAt time.Time) (filing.Company, error) {
	found, err, _ := f.flights.Do("company "+ref, func() (any, error) {
		before, known, at := f.cachedCompany(ref)
		if known && at != askedAt {
			return before, nil
		}
		c, err := ask(ctx, f, func() (filing.Company, error) { return f.service.Company(ctx, ref) })
		if errors.Is(err, filingapi.ErrNotFound) {
			return c, &lookupError{
				next:    filing.Rejected,
				message: fmt.Sprintf("the filing service has no company %s: correct the Company ID", ref),
			}
		}
		if err := toLookupError(err, "company", ref); err != nil {
			return c, err
		}
		if filing.IsCompanyID(ref) && c.ID != ref {
			return c, &lookupError{
				next: filing.Rejected,
				message: fmt.Sprintf("the filing service answered for the company %s when it was asked for %s: "+
					"correct the Company ID", c.ID, ref),
			}
		}
		f.mu.Lock()
		f.asked[ref] = f.now()
		// A company that was completed meanwhile is completed again, which costs nothing.
		f.companies[ref] = c
		f.mu.Unlock()
		return c, f.ledger.Companies().Remember(ctx, ref, c)
	})
	if err != nil {
		return filing.Company{}, err
	}
	return found.(filing.Company), nil
}

func (f *lookup) knownCompany(ref string) (filing.Company, bool) {
	c, known, _ := f.cachedCompany(ref)
	return c, known
}

// cachedCompany returns a company in memory, and when the filing service answered for
// it. The time is zero for a company that was read from the ledger alone.
func (f *lookup) cachedCompany(ref string) (c filing.Company, known bool, askedAt time.Time) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	c, known = f.companies[ref]
	return c, known, f.asked[ref]
}

// keepCompany remembers a company, also one that lacks facts: those that it has
// count in a quote.
func (f *lookup) keepCompany(ctx context.Context, ref string, c filing.Company) error {
	f.cacheCompany(ref, c)
	return f.ledger.Companies().Remember(ctx, ref, c)
}

// cacheCompany keeps a company in memory.
func (f *lookup) cacheCompany(ref string, c filing.Company) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.companies[ref] = c
}

// cacheMissing keeps a company that was read from the ledger, and returns the one in
// memory: a company that another row cached meanwhile is newer and stays.
func (f *lookup) cacheMissing(ref string, c filing.Company) filing.Company {
	f.mu.Lock()
	defer f.mu.Unlock()
	if known, ok := f.companies[ref]; ok {
		return known
	}
	f.companies[ref] = c
	return c
}

// ask sends a request through a look-up slot and the throttle, and records whether
// the filing service answered.
func ask[T any](ctx context.Context, f *lookup, call func() (T, error)) (T, error) {
	var none T
	select {
	case f.slots <- struct{}{}:
	case <-ctx.Done():
		return none, ctx.Err()
	}
	defer func() { <-f.slots }()
	if err := f.throttle.Wait(ctx); err != nil {
		return none, err
	}
	if !f.state.mayAsk(f.now()) {
		return none, errHalted
	}
	v, err := call()
	f.state.observeLookup(f.now(), err)
	return v, err
}

// toLookupError turns an error of filingapi into what it means for the row.
func toLookupError(err error, kind, ref string) error {
	var answered *filingapi.Error
	switch {
	case err == nil:
		return nil
	case errors.Is(err, filingapi.ErrRefused), errors.Is(err, filingapi.ErrConflict):
		if errors.As(err, &answered) {
			return &lookupError{
				next:    filing.Rejected,
				message: fmt.Sprintf("the filing service refuses the %s %s: %s", kind, ref, answered.Message),
				err:     err,
			}
		}
	case errors.Is(err, filingapi.ErrKeyRefused), errors.Is(err, filingapi.ErrBusy):
		waits := &lookupError{next: filing.Ready, message: "waits for the filing service", err: err}
		if errors.As(err, &answered) {
			waits.after, waits.message = answered.RetryAfter, answered.Message
		}
		return waits
	case errors.Is(err, filingapi.ErrUnavailable):
		return &lookupError{
			next:    filing.Ready,
			message: "the filing service cannot be reached",
			after:   time.Second,
			err:     err,
		}
	}
	return err
}
