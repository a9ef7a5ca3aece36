package jobs

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"bulkfiling/internal/filing"
	"bulkfiling/internal/filingapi"
	"bulkfiling/internal/ledger"

	"golang.org/x/sync/singleflight"
)

// directory resolves the users and companies of orders: once each, ahead of
// placement, remembered in the ledger.
type directory struct {
	service Service
	ledger  *ledger.Ledger
	slots   chan struct{} // look-ups in flight
	pace    Pace
	gate    *gate // closed while the service is not to be asked
	now     func() time.Time
	flights singleflight.Group // by reference

	mu        sync.RWMutex
	companies map[string]filing.Company
	users     map[string]filing.User
}

func newDirectory(s Service, l *ledger.Ledger, concurrency int, pace Pace, g *gate, now func() time.Time) *directory {
	return &directory{
		service: s, ledger: l, slots: make(chan struct{}, concurrency), pace: pace, gate: g, now: now,
		companies: make(map[string]filing.Company), users: make(map[string]filing.User),
	}
}

// obstacle is why an order cannot be made now: for good (Rejected), or for a
// while (Ready, with the time to come back).
type obstacle struct {
	next    filing.Result
	message string
	after   time.Duration
	err     error
}

func (o *obstacle) Error() string { return o.message }

// errHalted is why nothing was asked: the key is refused, or the service wants
// to be left alone for a moment.
var errHalted = errors.New("the service is not to be asked now")

// recall brings what the ledger knows of these rows' parties into memory, in
// two queries rather than two a row.
func (d *directory) recall(ctx context.Context, rows []ledger.Row) error {
	var companies, users []string
	d.mu.RLock()
	for _, r := range rows {
		if _, known := d.companies[r.Request.Company.Ref]; !known && r.Request.Company.Ref != "" {
			companies = append(companies, r.Request.Company.Ref)
		}
		if _, known := d.users[r.Request.User.Ref()]; !known && r.Request.User.ID == "" {
			users = append(users, r.Request.User.Ref())
		}
	}
	d.mu.RUnlock()
	knownCompanies, err := d.ledger.Companies(ctx, companies)
	if err != nil {
		return err
	}
	knownUsers, err := d.ledger.Users(ctx, users)
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for ref, c := range knownCompanies {
		d.companies[ref] = c
	}
	for ref, u := range knownUsers {
		d.users[ref] = u
	}
	return nil
}

// resolve finds the ids that the order is sent with, and the company's facts
// where the order depends on them.
func (d *directory) resolve(ctx context.Context, r *filing.Request) (userID string, company filing.Company, err error) {
	if userID, err = d.user(ctx, r.User); err != nil {
		return "", filing.Company{}, err
	}
	if r.Order.Formation != nil {
		return userID, filing.Company{}, nil
	}
	if r.CreatesCompany() {
		created, err := d.created(ctx, r.Company.Sheet.ForUser(userID).Key())
		return userID, created, err
	}
	if filing.IsCompanyID(r.Company.Ref) && !r.NeedsCompanyFacts() {
		return userID, filing.Company{ID: r.Company.Ref}, nil
	}
	company, err = d.company(ctx, r.Company.Ref)
	if err == nil && r.NeedsCompanyFacts() {
		company, err = d.complete(ctx, r.Company, company)
	}
	return userID, company, err
}

func (d *directory) user(ctx context.Context, ref filing.UserRef) (string, error) {
	if ref.ID != "" {
		return ref.ID, nil
	}
	d.mu.RLock()
	u, known := d.users[ref.Ref()]
	d.mu.RUnlock()
	if known {
		return u.ID, nil
	}
	found, err, _ := d.flights.Do("user "+ref.Ref(), func() (any, error) {
		u, err := d.findOrCreateUser(ctx, ref)
		if err != nil {
			return nil, err
		}
		if err := d.ledger.RememberUser(ctx, ref.Ref(), u); err != nil {
			return nil, err
		}
		d.mu.Lock()
		d.users[ref.Ref()] = u
		d.mu.Unlock()
		return u.ID, nil
	})
	if err != nil {
		return "", err
	}
	return found.(string), nil
}

// findOrCreateUser asks for the user by e-mail and creates one where the sheet
// has the name for it. A 409 on creation means that somebody else was quicker,
// and the look-up then finds the user; where it does not, the phone number is
// somebody else's. Source: spec section 7.
func (d *directory) findOrCreateUser(ctx context.Context, ref filing.UserRef) (filing.User, error) {
	u, err := ask(d, ctx, func() (filing.User, error) { return d.service.User(ctx, ref.Email) })
	if !errors.Is(err, filingapi.ErrNotFound) {
		return u, d.obstacle(err, "user", ref.Email)
	}
	if ref.Name == "" {
		return u, &obstacle{next: filing.Rejected, message: fmt.Sprintf("the service has no user %s: correct the e-mail, or give a User Name so that the user can be created", ref.Email)}
	}
	created := filing.User{FullName: ref.Name, Email: ref.Email, PhoneNumber: ref.Phone}
	u, err = ask(d, ctx, func() (filing.User, error) { return d.service.CreateUser(ctx, created) })
	if !errors.Is(err, filingapi.ErrConflict) {
		return u, d.obstacle(err, "user", ref.Email)
	}
	u, err = ask(d, ctx, func() (filing.User, error) { return d.service.User(ctx, ref.Email) })
	switch {
	case errors.Is(err, filingapi.ErrNotFound) && ref.Phone == "":
		return u, &obstacle{next: filing.Rejected, message: fmt.Sprintf("the user %s cannot be created: the e-mail belongs to a user whom the service does not show to this organization", ref.Email)}
	case errors.Is(err, filingapi.ErrNotFound):
		return u, &obstacle{next: filing.Rejected, message: fmt.Sprintf("the user %s cannot be created: the phone number %s belongs to another user of the service", ref.Email, ref.Phone)}
	}
	return u, d.obstacle(err, "user", ref.Email)
}

func (d *directory) company(ctx context.Context, ref string) (filing.Company, error) {
	d.mu.RLock()
	c, known := d.companies[ref]
	d.mu.RUnlock()
	if known {
		return c, nil
	}
	found, err, _ := d.flights.Do("company "+ref, func() (any, error) {
		c, err := ask(d, ctx, func() (filing.Company, error) { return d.service.Company(ctx, ref) })
		if errors.Is(err, filingapi.ErrNotFound) {
			return c, &obstacle{next: filing.Rejected, message: fmt.Sprintf("the service has no company %s: correct the Company ID", ref)}
		}
		if err := d.obstacle(err, "company", ref); err != nil {
			return c, err
		}
		return c, d.keep(ctx, ref, c)
	})
	if err != nil {
		return filing.Company{}, err
	}
	return found.(filing.Company), nil
}

// created finds a company that was created for a row, this one or another.
func (d *directory) created(ctx context.Context, key filing.Key) (filing.Company, error) {
	d.mu.RLock()
	c, known := d.companies[string(key)]
	d.mu.RUnlock()
	if known {
		return c, nil
	}
	recalled, err := d.ledger.Companies(ctx, []string{string(key)})
	if err != nil {
		return filing.Company{}, err
	}
	if c, known = recalled[string(key)]; known {
		d.learn(string(key), c)
	}
	return c, nil
}

// learn keeps a company in memory.
func (d *directory) learn(ref string, c filing.Company) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.companies[ref] = c
}

// keep remembers a company: for this run in any case, for the next ones only
// when nothing is left to complete.
func (d *directory) keep(ctx context.Context, ref string, c filing.Company) error {
	d.learn(ref, c)
	if c.EntityType == "" || c.FormationState == "" {
		return nil
	}
	return d.ledger.RememberCompany(ctx, ref, c)
}

// complete sees to it that the service knows the company's entity type and
// formation state, on which the state's fee depends, from the sheet if need be.
// Source: spec section 4, rules 9 and 10.
func (d *directory) complete(ctx context.Context, ref filing.CompanyRef, c filing.Company) (filing.Company, error) {
	if c.EntityType != "" && c.FormationState != "" {
		return c, nil
	}
	// What this row's sheet does not say is this row's affair: another row of the
	// company may say it.
	for _, fact := range []struct {
		column  string
		missing bool
	}{
		{"Entity Type", c.EntityType == "" && ref.Sheet.EntityType == ""},
		{"Formation State", c.FormationState == "" && ref.Sheet.FormationState == ""},
	} {
		if fact.missing {
			return c, &obstacle{next: filing.Rejected, message: fmt.Sprintf("the service does not know the company's %s and the sheet does not say it: fill the column %q and run the corrected sheet", fact.column, fact.column)}
		}
	}
	found, err, _ := d.flights.Do("complete "+c.ID, func() (any, error) {
		d.mu.RLock()
		c := d.companies[ref.Ref]
		d.mu.RUnlock()
		var patch filing.Company
		if c.EntityType == "" {
			patch.EntityType = ref.Sheet.EntityType
		}
		if c.FormationState == "" {
			patch.FormationState = ref.Sheet.FormationState
		}
		if patch.EntityType == "" && patch.FormationState == "" {
			return c, nil // completed meanwhile
		}
		c, err := ask(d, ctx, func() (filing.Company, error) { return d.service.UpdateCompany(ctx, c.ID, patch) })
		if err := d.obstacle(err, "company", ref.Ref); err != nil {
			return c, err
		}
		return c, d.keep(ctx, ref.Ref, c)
	})
	if err != nil {
		return c, err
	}
	return found.(filing.Company), nil
}

// ask takes a look-up slot and notes that the service answered.
func ask[T any](d *directory, ctx context.Context, call func() (T, error)) (T, error) {
	var none T
	select {
	case d.slots <- struct{}{}:
	case <-ctx.Done():
		return none, ctx.Err()
	}
	defer func() { <-d.slots }()
	if err := d.pace.Wait(ctx); err != nil {
		return none, err
	}
	if !d.gate.open(d.now()) {
		return none, errHalted
	}
	v, err := call()
	d.gate.heed(d.now(), err)
	return v, err
}

// obstacle turns a look-up's error into what it means for the row.
func (d *directory) obstacle(err error, kind, ref string) error {
	var answered *filingapi.Error
	switch {
	case err == nil:
		return nil
	case errors.Is(err, filingapi.ErrRefused), errors.Is(err, filingapi.ErrConflict):
		if errors.As(err, &answered) {
			return &obstacle{next: filing.Rejected, message: fmt.Sprintf("the service refuses the %s %s: %s", kind, ref, answered.Message), err: err}
		}
	case errors.Is(err, filingapi.ErrKeyRefused), errors.Is(err, filingapi.ErrBusy):
		o := &obstacle{next: filing.Ready, message: "waits for the service", err: err}
		if errors.As(err, &answered) {
			o.after, o.message = answered.RetryAfter, answered.Message
		}
		return o
	case errors.Is(err, filingapi.ErrUnavailable):
		return &obstacle{next: filing.Ready, message: "the service cannot be reached", after: time.Second, err: err}
	}
	return err
}
