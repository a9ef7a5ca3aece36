// Package lookup finds, creates and compares the users and companies of the filing service.
//
// A Lookup finds them and remembers them in the ledger. Compare compares the rows of a batch with
// the records of their companies before the batch is approved, and changes nothing at the filing
// service. A Resolver creates missing users and completes companies for the orders that follow.
package lookup

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
	"github.com/bulkfiling/bulkfiling/internal/retry"
)

// Records reads users and companies of the filing service. Look-ups before an approval use
// nothing else, so they cannot change anything.
type Records interface {
	Company(ctx context.Context, idOrSlug string) (filing.Company, error)
	User(ctx context.Context, idOrEmail string) (filing.User, error)
}

// Breaker decides whether requests may be sent, and observes their results.
type Breaker interface {
	// MayAsk reports whether a look-up may be sent now.
	MayAsk() bool
	// ObserveLookup records the result of a look-up.
	ObserveLookup(err error)
}

// Config configures a Lookup.
type Config struct {
	Ledger *ledger.Ledger
	// Concurrency is the number of look-ups in flight.
	Concurrency int
	// Throttle spaces requests out. There is no limit if it is nil.
	Throttle *Throttle
	// Breaker may be nil.
	Breaker Breaker
	// Now is the ledger's clock by default.
	Now func() time.Time
}

// Lookup finds users and companies at the filing service and remembers them in the ledger.
type Lookup struct {
	Config
	records Records
	// slots limits the look-ups in flight.
	slots chan struct{}
	// flights merges concurrent look-ups of the same reference.
	flights singleflight.Group

	mu        sync.RWMutex
	companies map[companyKey]cachedCompany
	users     map[string]filing.User
	// pausedUntil is the end of the pause after the key was refused.
	pausedUntil time.Time
	// busyUntil is the time until which the filing service asked to wait. busyWait is the wait that
	// follows if it named no time.
	busyUntil time.Time
	busyWait  retry.Backoff
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

// New returns a Lookup of records.
func New(records Records, c Config) *Lookup {
	if c.Now == nil {
		c.Now = c.Ledger.Now
	}
	return &Lookup{
		Config:    c,
		records:   records,
		slots:     make(chan struct{}, c.Concurrency),
		companies: make(map[companyKey]cachedCompany),
		users:     make(map[string]filing.User),
		busyWait:  retry.Backoff{First: pauseFor, Max: time.Minute},
	}
}

// Load loads from the ledger the users of rows and the companies that were looked up for their
// batches.
func (l *Lookup) Load(ctx context.Context, rows []ledger.Row) error {
	companies := make(map[string][]string) // by batch
	var users []string
	for _, r := range rows {
		companies[r.Batch] = append(companies[r.Batch], r.Request.Company.Ref)
		if _, known := l.knownUser(r.Request.User.Ref()); !known && r.Request.User.ID == "" {
			users = append(users, r.Request.User.Ref())
		}
	}
	for batch, refs := range companies {
		if err := l.loadCompanies(ctx, batch, refs...); err != nil {
			return err
		}
	}
	known, err := l.Ledger.Companies().FindUsers(ctx, users)
	l.mu.Lock()
	defer l.mu.Unlock()
	maps.Copy(l.users, known)
	return err
}

// loadCompanies loads from the ledger the companies that were looked up for a batch.
func (l *Lookup) loadCompanies(ctx context.Context, batch string, refs ...string) error {
	refs = slices.DeleteFunc(refs, func(ref string) bool {
		_, known := l.cached(companyKey{batch, ref})
		return ref == "" || known
	})
	found, err := l.Ledger.Companies().FindSince(ctx, batch, refs)
	for ref, c := range found {
		l.cache(companyKey{batch, ref}, cachedCompany{Company: c})
	}
	return err
}

// Identify returns the requests of rows of one batch, with the Company ID if the ledger knows the
// company that a row describes. named are the known companies by the keys of their creation.
func (l *Lookup) Identify(ctx context.Context, rows []ledger.Row) (requests []*filing.Request,
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
	if named, err = l.Ledger.Companies().FindNamed(ctx, wanted); err != nil {
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
	if err := l.loadCompanies(ctx, batch, refs...); err != nil {
		return nil, nil, err
	}
	// A company that was created for the batch needs no look-up.
	created, err := l.Ledger.Companies().FindSince(ctx, batch, keys)
	for _, c := range created {
		key := companyKey{batch, c.ID}
		if _, known := l.cached(key); !known {
			l.cache(key, cachedCompany{Company: c})
		}
	}
	return requests, named, err
}

// hasFacts reports whether a company has the facts that state fees depend on.
// Source: spec section 4, rules 9 and 10.
func hasFacts(c filing.Company) bool { return c.EntityType != "" && c.FormationState != "" }

// askForUser asks the filing service for a user. It returns an *Error or filingapi.ErrNotFound.
func (l *Lookup) askForUser(ctx context.Context, email string) (filing.User, error) {
	u, err := Ask(ctx, l, func() (filing.User, error) { return l.records.User(ctx, email) })
	if errors.Is(err, filingapi.ErrNotFound) {
		return u, err
	}
	return u, convertError(err, "user", email)
}

func (l *Lookup) knownUser(ref string) (filing.User, bool) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	u, known := l.users[ref]
	return u, known
}

// keepUser remembers a user.
func (l *Lookup) keepUser(ctx context.Context, ref string, u filing.User) error {
	if err := l.Ledger.Companies().RememberUser(ctx, ref, u); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.users[ref] = u
	return nil
}

// isUsable reports whether an order can be sent with a company's record: the record does not
// contradict the row and has the facts that the fee depends on.
func isUsable(r *filing.Request, c filing.Company) bool {
	return (hasFacts(c) || !r.NeedsCompanyFacts()) && CheckRecord(r, c) == nil
}

// freshFor is how long a company is not looked up again although its record is not usable.
const freshFor = time.Minute

// Company returns the record of a row's company that was looked up for the row's batch. It looks
// up a record again that is not usable, because it may have been corrected. The error may be an
// *Error or ErrHalted.
func (l *Lookup) Company(ctx context.Context, batch string, r *filing.Request) (filing.Company, error) {
	key := companyKey{batch, r.Company.Ref}
	known, cached := l.cached(key)
	if cached && (isUsable(r, known.Company) || l.Now().Sub(known.asked) < freshFor) {
		return known.Company, nil
	}
	// Rows of one company share a request.
	found, err, _ := l.flights.Do("company "+key.batch+" "+key.ref, func() (any, error) {
		if now, cached := l.cached(key); cached && now.asked != known.asked {
			return now.Company, nil // received since
		}
		c, err := Ask(ctx, l, func() (filing.Company, error) { return l.records.Company(ctx, key.ref) })
		if errors.Is(err, filingapi.ErrNotFound) {
			missing := Reject("the filing service has no company %s: correct the Company ID", key.ref)
			missing.Err = err
			return c, missing
		}
		if err := convertError(err, "company", key.ref); err != nil {
			return c, err
		}
		return c, l.keepCompany(ctx, key, c)
	})
	company, _ := found.(filing.Company)
	return company, err
}

func (l *Lookup) cached(key companyKey) (c cachedCompany, known bool) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	c, known = l.companies[key]
	return c, known
}

func (l *Lookup) cache(key companyKey, c cachedCompany) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.companies[key] = c
}

// keepCompany remembers a record that was just received, even if facts are missing, because quotes
// use the facts that it has.
func (l *Lookup) keepCompany(ctx context.Context, key companyKey, c filing.Company) error {
	l.cache(key, cachedCompany{c, l.Now()})
	return l.Ledger.Companies().Remember(ctx, key.ref, c)
}

// pauseFor is how long no look-up is sent after the key was refused, and at least after the filing
// service asked to wait. The caller records either for the fleet.
const pauseFor = time.Second

// errBusy is ErrHalted while the filing service has asked to wait.
var errBusy = fmt.Errorf("%w: it asked to wait", ErrHalted)

// Ask sends a request through a look-up slot and the throttle. It returns ErrHalted if requests may
// not be sent now.
func Ask[T any](ctx context.Context, l *Lookup, call func() (T, error)) (T, error) {
	var none T
	select {
	case l.slots <- struct{}{}:
	case <-ctx.Done():
		return none, ctx.Err()
	}
	defer func() { <-l.slots }()
	if err := l.Throttle.Wait(ctx); err != nil {
		return none, err
	}
	err := l.paused()
	if err == nil && l.Breaker != nil && !l.Breaker.MayAsk() {
		err = ErrHalted
	}
	if err != nil {
		l.Throttle.Release()
		return none, err
	}
	v, err := call()
	l.pause(err)
	if l.Breaker != nil {
		l.Breaker.ObserveLookup(err)
	}
	return v, err
}

// paused returns ErrHalted or errBusy while no look-up may be sent.
func (l *Lookup) paused() error {
	l.mu.RLock()
	defer l.mu.RUnlock()
	switch now := l.Now(); {
	case now.Before(l.busyUntil):
		return errBusy
	case now.Before(l.pausedUntil):
		return ErrHalted
	}
	return nil
}

// pause pauses the look-ups after an answer that asks for it.
func (l *Lookup) pause(err error) {
	refused, busy := errors.Is(err, filingapi.ErrKeyRefused), errors.Is(err, filingapi.ErrBusy)
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.Now()
	switch {
	case refused:
		l.pausedUntil = now.Add(pauseFor)
	case busy:
		if !now.Before(l.busyUntil) { // requests in flight are one reason to wait longer, not several
			l.busyUntil = now.Add(l.busyWait.Next())
		}
		if answered := (*filingapi.Error)(nil); errors.As(err, &answered) && answered.RetryAfter > 0 {
			l.busyUntil = latest(l.busyUntil, now.Add(answered.RetryAfter))
		}
	case err == nil:
		l.busyWait.Reset()
	}
}

// waitUntil pauses the look-ups until a time.
func (l *Lookup) waitUntil(at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.busyUntil = latest(l.busyUntil, at)
}

// busyFor returns how long the filing service has asked to wait from now on.
func (l *Lookup) busyFor() time.Duration {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.busyUntil.Sub(l.Now())
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
