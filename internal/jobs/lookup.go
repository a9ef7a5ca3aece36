package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/filingapi"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

// Records reads users and companies of the filing service. Look-ups before an approval use
// nothing else, so they cannot change anything.
type Records interface {
	Company(ctx context.Context, idOrSlug string) (filing.Company, error)
	User(ctx context.Context, idOrEmail string) (filing.User, error)
}

// lookup finds users and companies at the filing service and remembers them in the ledger.
type lookup struct {
	service Records
	ledger  *ledger.Ledger
	// slots limits the look-ups in flight.
	slots    chan struct{}
	throttle Throttle
	state    *sendState
	now      func() time.Time
	// flights merges concurrent look-ups of the same reference.
	flights singleflight.Group

	mu        sync.RWMutex
	companies map[companyKey]cachedCompany
	users     map[string]filing.User
}

// companyKey is a company as the rows of a batch refer to it. Each batch looks up its companies
// itself, because records may have changed since an earlier batch.
type companyKey struct{ batch, ref string }

// cachedCompany is the record of a company.
type cachedCompany struct {
	filing.Company
	// asked is when this process received the record. Records from the ledger have no time.
	asked time.Time
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
		companies: make(map[companyKey]cachedCompany),
		users:     make(map[string]filing.User),
	}
}

// lookupError is the error of a row that cannot be sent.
type lookupError struct {
	// next is Rejected, or Ready if the row is tried again later.
	next    filing.Result
	message string
	// after is how long to wait before the next attempt.
	after time.Duration
	// wait is the key of another row's purchase that the row has to wait for.
	wait filing.Key
	err  error
}

func (o *lookupError) Error() string { return o.message }

// errHalted is the error of a request that was not sent because of sendState.
var errHalted = errors.New("the filing service may not be asked now")

// loadKnown loads from the ledger the users of rows and the companies that were looked up for
// their batches.
func (f *lookup) loadKnown(ctx context.Context, rows []ledger.Row) error {
	companies := make(map[string][]string) // by batch
	var users []string
	for _, r := range rows {
		companies[r.Batch] = append(companies[r.Batch], r.Request.Company.Ref)
		if _, known := f.knownUser(r.Request.User.Ref()); !known && r.Request.User.ID == "" {
			users = append(users, r.Request.User.Ref())
		}
	}
	for batch, refs := range companies {
		if err := f.loadCompanies(ctx, batch, refs...); err != nil {
			return err
		}
	}
	known, err := f.ledger.Companies().FindUsers(ctx, users)
	f.mu.Lock()
	defer f.mu.Unlock()
	maps.Copy(f.users, known)
	return err
}

// loadCompanies loads from the ledger the companies that were looked up for a batch.
func (f *lookup) loadCompanies(ctx context.Context, batch string, refs ...string) error {
	refs = slices.DeleteFunc(refs, func(ref string) bool {
		return ref == "" || f.isCached(companyKey{batch, ref})
	})
	found, err := f.ledger.Companies().FindSince(ctx, batch, refs)
	for ref, c := range found {
		f.cacheCompany(companyKey{batch, ref}, cachedCompany{Company: c})
	}
	return err
}

// identify returns the requests of rows of one batch, with the Company ID if the ledger knows the
// company that a row describes. named are the known companies by the keys of their creation.
func (f *lookup) identify(ctx context.Context, rows []ledger.Row) (requests []*filing.Request,
	named map[filing.Key]ledger.NamedCompany, err error) {
	requests = make([]*filing.Request, len(rows))
	keys := make([]string, len(rows)) // empty if the row describes no company
	var wanted []filing.NewCompany
	for i, row := range rows {
		requests[i] = row.Request
		if row.Request.CreatesCompany() {
			described := row.Request.Company.Sheet.ForUser("")
			wanted, keys[i] = append(wanted, described), string(described.Key())
		}
	}
	if len(wanted) == 0 {
		return requests, nil, nil
	}
	if named, err = f.ledger.Companies().FindNamed(ctx, wanted); err != nil {
		return nil, nil, err
	}
	var refs []string
	for i, key := range keys {
		n := named[filing.Key(key)]
		if key == "" || n.Company.ID == "" {
			continue
		}
		r := *requests[i]
		r.Company.Ref = n.Company.ID
		if filing.FoldLegalName(n.Company.LegalName) != filing.FoldLegalName(r.LegalName()) {
			// A person confirmed the row's name for the company that had this one.
			r.Company.Confirmed = cmp.Or(r.Company.Confirmed, n.Company.LegalName)
		}
		requests[i], refs = &r, append(refs, r.Company.Ref)
	}
	batch := rows[0].Batch
	if err := f.loadCompanies(ctx, batch, refs...); err != nil {
		return nil, nil, err
	}
	// A company that was created for the batch needs no look-up.
	created, err := f.ledger.Companies().FindSince(ctx, batch, keys)
	for _, c := range created {
		if key := (companyKey{batch, c.ID}); !f.isCached(key) {
			f.cacheCompany(key, cachedCompany{Company: c})
		}
	}
	return requests, named, err
}

// hasFacts reports whether a company has the facts that state fees depend on.
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

// isUsable reports whether an order can be sent with a company's record: the record does not
// contradict the row and has the facts that the fee depends on.
func isUsable(r *filing.Request, c filing.Company) bool {
	return (hasFacts(c) || !r.NeedsCompanyFacts()) && !slices.ContainsFunc(r.Differences(c), isBlocking)
}

func isBlocking(d filing.Difference) bool { return !d.Warning }

// freshFor is how long a company is not looked up again although its record is not usable.
const freshFor = time.Minute

// findCompany returns the record of a row's company that was looked up for the row's batch. It
// looks a record up again that is not usable, because it may have been corrected. The error may
// be a *lookupError.
func (f *lookup) findCompany(ctx context.Context, batch string, r *filing.Request) (filing.Company, error) {
	key := companyKey{batch, r.Company.Ref}
	c, known := f.cachedCompany(key)
	if known && (isUsable(r, c.Company) || f.now().Sub(c.asked) < freshFor) {
		return c.Company, nil
	}
	return f.askForCompany(ctx, key, c.asked)
}

// askForCompany looks up a company at the filing service. Rows of one company share a request.
// askedAt is the time of the record that the caller found in the cache, and a record that has
// been received since is returned without a request.
func (f *lookup) askForCompany(ctx context.Context, key companyKey, askedAt time.Time) (filing.Company, error) {
	found, err, _ := f.flights.Do("company "+key.batch+" "+key.ref, func() (any, error) {
		if before, known := f.cachedCompany(key); known && before.asked != askedAt {
			return before.Company, nil
		}
		c, err := ask(ctx, f, func() (filing.Company, error) { return f.service.Company(ctx, key.ref) })
		if errors.Is(err, filingapi.ErrNotFound) {
			return c, &lookupError{
				next:    filing.Rejected,
				message: fmt.Sprintf("the filing service has no company %s: correct the Company ID", key.ref),
			}
		}
		if err := toLookupError(err, "company", key.ref); err != nil {
			return c, err
		}
		return c, f.keepCompany(ctx, key, c)
	})
	if err != nil {
		return filing.Company{}, err
	}
	return found.(filing.Company), nil
}

func (f *lookup) cachedCompany(key companyKey) (c cachedCompany, known bool) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	c, known = f.companies[key]
	return c, known
}

func (f *lookup) isCached(key companyKey) bool {
	_, known := f.cachedCompany(key)
	return known
}

func (f *lookup) cacheCompany(key companyKey, c cachedCompany) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.companies[key] = c
}

// keepCompany remembers a record that was just received, even if facts are missing, because quotes
// use the facts that it has.
func (f *lookup) keepCompany(ctx context.Context, key companyKey, c filing.Company) error {
	f.cacheCompany(key, cachedCompany{c, f.now()})
	return f.ledger.Companies().Remember(ctx, key.ref, c)
}

// ask sends a request through a look-up slot and the throttle. It records whether the filing
// service answered.
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

// toLookupError converts an error of filingapi to the lookupError of the row.
func toLookupError(err error, kind, ref string) error {
	var answered *filingapi.Error
	switch {
	case err == nil:
		return nil
	case errors.Is(err, filingapi.ErrOtherCompany):
		if errors.As(err, &answered) {
			return &lookupError{
				next:    filing.Rejected,
				message: answered.Message + ": correct the Company ID",
				err:     err,
			}
		}
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

// ignoreLookupError ignores errors that only concern the row.
func ignoreLookupError(err error) error {
	if o := (*lookupError)(nil); errors.As(err, &o) || errors.Is(err, errHalted) ||
		errors.Is(err, filingapi.ErrNotFound) {
		return nil
	}
	return err
}
