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
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/text"
)

// ErrNotSubmitted is returned for a batch of which nothing can have been sent
// from this ledger: its rows are not open yet.
var ErrNotSubmitted = errors.New("the batch is not submitted: submit it first, while no worker runs")

// RestoreCheck is what of a batch may have been sent without the ledger knowing
// of it, as after a backup was restored.
type RestoreCheck struct {
	Batch         ledger.Batch
	Since         time.Time
	Rows          []ledger.Row // ready ones
	AtService     int          // rows whose answer is awaited: they stay as they are
	Checked       int          // rows that were checked since the restore: they stay
	Resolved      int          // rows that were assumed to have been sent before, and resolved: they stay
	ResolvedSince time.Time    // since when those were assumed to have been sent, the latest
}

// Reserves is what the rows of a check will reserve that they do not reserve now.
func (c *RestoreCheck) Reserves() money.Cents {
	var sum money.Cents
	for _, r := range c.Rows {
		sum += max(r.Cost.Amount-r.Reserved, 0)
	}
	return sum
}

// CheckRestore lists the rows of a batch that may have been sent since: those
// that are ready, or only some of them by their numbers. A row that was assumed
// to have been sent then, or later, and was resolved, is not listed again;
// without a since, none that ever was. It returns ErrNotSubmitted.
func (s *Service) CheckRestore(ctx context.Context, b ledger.Batch, numbers []int,
	since time.Time) (*RestoreCheck, error) {
	if !b.Open {
		return nil, fmt.Errorf("batch %s: %w", b.ID, ErrNotSubmitted)
	}
	from, err := s.firstUnknown(ctx, b, since)
	if err != nil {
		return nil, err
	}
	c := &RestoreCheck{Batch: b, Since: from}
	before, err := s.Ledger.Resolutions().ListAssumedSent(ctx, b.ID)
	if err != nil {
		return nil, err
	}
	unchecked, checking, err := s.Ledger.Restores().ListUnchecked(ctx, b.ID)
	if err != nil {
		return nil, err
	}
	found := make(map[int]bool)
	for row, err := range s.Ledger.Rows(ctx, b.ID) {
		if err != nil {
			return nil, err
		}
		named := slices.Contains(numbers, row.Number)
		if len(numbers) > 0 && !named {
			continue
		}
		found[row.Number] = true
		at, assumed := before[row.ID]
		switch {
		case row.Result == filing.Placing && named:
			return nil, fmt.Errorf(
				"row %d of batch %s is being sent now: wait for its answer, or stop the worker",
				row.Number, b.ID)
		case row.Result == filing.Placing:
			c.AtService++
		case row.Result == filing.Uncertain:
		case row.Result != filing.Ready && named:
			return nil, fmt.Errorf("row %d of batch %s is %s: only ready rows can be marked as uncertain",
				row.Number, b.ID,
				row.Result)
		case row.Result != filing.Ready:
		case checking && !unchecked[row.ID]:
			c.Checked++
		case !checking && assumed && !at.Before(since):
			c.Resolved++
			if at.After(c.ResolvedSince) {
				c.ResolvedSince = at
			}
		default:
			c.Rows = append(c.Rows, row)
		}
	}
	for _, n := range numbers {
		if !found[n] {
			return nil, fmt.Errorf("batch %s has no row %d", b.ID, n)
		}
	}
	return c, nil
}

// firstUnknown is when the first order of a batch can have been sent that the ledger does
// not know: since, where that is known.
func (s *Service) firstUnknown(ctx context.Context, b ledger.Batch, since time.Time) (time.Time, error) {
	if !since.IsZero() {
		return since, nil
	}
	last, err := s.Ledger.Resolutions().LastSent(ctx)
	if err == nil && last.IsZero() {
		last = b.CreatedAt
	}
	return last, err
}

// Marked counts what became of the rows of a RestoreCheck.
type Marked struct {
	Uncertain int
	Bought    int      // nothing of them can have been sent: another row had their purchase before
	Waiting   int      // another row's answer, which is awaited or uncertain, is theirs as well
	Absent    int      // nothing of them can have been sent: the service knows no such company, or user
	Gone      int      // not ready any more
	Failed    []string // still ready, and why
}

// Add adds what became of other rows.
func (m *Marked) Add(o Marked) {
	m.Uncertain += o.Uncertain
	m.Bought += o.Bought
	m.Waiting += o.Waiting
	m.Absent += o.Absent
	m.Gone += o.Gone
	m.Failed = append(m.Failed, o.Failed...)
}

// Unchanged says which rows were not marked as uncertain and why, a sentence each.
func (m *Marked) Unchanged() (all []string) {
	for _, left := range []struct {
		rows int
		why  string
	}{
		{m.Bought, "ordered before, so no order can have been sent"},
		{m.Waiting, "another uncertain row has the same order and decides for both"},
		{m.Absent, "the filing service has no such company or user, so no order can have been sent"},
		{m.Gone, "no longer ready"},
	} {
		if left.rows > 0 {
			all = append(all, fmt.Sprintf("%s not changed: %s.", text.CountOf(left.rows, "row was", "rows were"),
				left.why))
		}
	}
	return all
}

// MarkUncertain makes the rows of a check uncertain. It asks the service only
// where a row names its company or its user otherwise than by id.
func (s *Service) MarkUncertain(ctx context.Context, c *RestoreCheck) (Marked, error) {
	var did Marked
	p, err := s.loadParties(ctx, c.Rows)
	if err != nil {
		return did, err
	}
	var intents []ledger.Intent
	for _, row := range c.Rows {
		user, company, err := p.of(row)
		switch {
		case errors.Is(err, filingapi.ErrNotFound):
			did.Absent++
		case err != nil:
			did.Failed = append(did.Failed, fmt.Sprintf("row %d of batch %s: %v", row.Number, c.Batch.ID, err))
		default:
			intents = append(intents, jobs.IntentFor(row, c.Batch, user, company))
		}
	}
	why := fmt.Sprintf(
		"may have been sent since %s and is missing in the ledger, according to %s on %s. Check the company's "+
			"dashboard, then resolve the row on the page under Uncertain or with importer resolve; it is not sent "+
			"before that",
		c.Since.UTC().Format("2006-01-02 15:04 MST"), s.By, time.Now().UTC().Format("2006-01-02 15:04 MST"))
	for len(intents) > 0 {
		said, err := s.Ledger.Resolutions().AssumeSent(ctx, intents, c.Since, why)
		if err != nil {
			return did, err
		}
		var again []ledger.Intent
		for i, begun := range said {
			switch {
			case begun.Try > 0:
				did.Uncertain++
			case begun.Lost:
				did.Gone++
			default:
				if rest, left := without(intents[i], begun.Taken[0]); left {
					again = append(again, rest)
				} else if begun.Taken[0].Bought {
					did.Bought++
				} else {
					did.Waiting++
				}
			}
		}
		intents = again
	}
	return did, nil
}

// without returns what may have been sent of an order of which another row has an
// item. Of a company that another row creates every row may have sent its order.
func without(in ledger.Intent, t ledger.Taken) (rest ledger.Intent, left bool) {
	if !in.Creating && (!t.Bought || t.Covers || len(in.Claims) < 2 || t.Claim.Product == filing.Formation) {
		return in, false
	}
	in.Claims = slices.DeleteFunc(slices.Clone(in.Claims), func(c ledger.Claim) bool { return c.Key == t.Claim.Key })
	return in, true
}

// parties are the ids of users and companies by the references of rows.
type parties struct {
	users     map[string]filing.User
	companies map[string]filing.Company
	errs      map[string]error // of what could not be looked up, by reference
}

// of returns the ids that a row's purchases are known by. The user matters only
// where there is no company yet.
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

// loadParties finds the users and companies of rows in the ledger, or else at the
// service.
func (s *Service) loadParties(ctx context.Context, rows []ledger.Row) (*parties, error) {
	users, companies := make(map[string]bool), make(map[string]bool)
	for _, row := range rows {
		r := row.Request
		switch ref := r.Company.Ref; {
		case r.Order.Formation == nil && ref != "":
			if !filing.IsCompanyID(ref) {
				companies[ref] = true
			}
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
	keys := make(map[string]bool)
	for _, row := range rows {
		if user, _, err := p.of(row); err == nil && row.Request.CreatesCompany() {
			keys[string(row.Request.Company.Sheet.ForUser(user).Key())] = true
		}
	}
	made, err := s.Ledger.Companies().Find(ctx, slices.Sorted(maps.Keys(keys)))
	maps.Copy(p.companies, made)
	return p, err
}

// lookUpMissing asks the service for those that the ledger does not know.
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
	group.SetLimit(linksAtOnce)
	for ref := range users {
		group.Go(func() error {
			user, err := client.User(ctx, ref)
			if err == nil {
				err = s.Ledger.Companies().RememberUser(ctx, ref, user)
			}
			mu.Lock()
			defer mu.Unlock()
			p.users[ref], p.errs[ref] = user, err
			return nil
		})
	}
	for ref := range companies {
		group.Go(func() error {
			company, err := client.Company(ctx, ref)
			if err == nil {
				err = s.Ledger.Companies().Remember(ctx, ref, company)
			}
			mu.Lock()
			defer mu.Unlock()
			p.companies[ref], p.errs[ref] = company, err
			return nil
		})
	}
	group.Wait()
	return context.Cause(ctx)
}
