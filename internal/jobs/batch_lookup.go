package jobs

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/filingapi"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

// LookUp finds the users and companies of a batch's ready rows ahead of its quote,
// each once, and remembers them. It only reads, because the batch is not approved
// yet: it leaves missing users and incomplete companies to the resolver, and errors
// to the row's own result.
//
// LookUp calls at with how many of the rows are done, and of how many; at may be
// nil.
func LookUp(ctx context.Context, s Records, l *ledger.Ledger, throttle Throttle, concurrency int, batch string,
	at func(done, total int)) error {
	counts, err := l.Counts(ctx, batch)
	if err != nil {
		return err
	}
	if throttle == nil {
		throttle = unlimited{}
	}
	f := newLookup(s, l, concurrency, throttle, &sendState{}, time.Now)
	g, ctx := errgroup.WithContext(ctx)
	requests := make(chan func() error)
	for range concurrency { // they stay: the stack of a new goroutine would grow with each request
		g.Go(func() error {
			for request := range requests {
				if err := request(); err != nil {
					return err
				}
			}
			return nil
		})
	}
	done := 0
	err = f.request(ctx, batch, requests, func() {
		if at != nil {
			at(done, counts[filing.Ready])
		}
		done++
	})
	close(requests)
	return errors.Join(err, g.Wait())
}

// request hands out a request for each user and company that the rows of a batch need
// and that are not known, once for each. It calls next before each row.
func (f *lookup) request(ctx context.Context, batch string, requests chan<- func() error, next func()) error {
	asked := make(map[string]bool)
	ask := func(what string, request func() error) error {
		if asked[what] {
			return nil
		}
		asked[what] = true
		select {
		case requests <- request:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	mayBeSent := func(r *ledger.Row) bool { return r.Result == filing.Ready || r.HeldBack() }
	for page, err := range f.ledger.RowPages(ctx, batch, mayBeSent) {
		if err == nil {
			err = f.loadKnown(ctx, page)
		}
		for i := 0; err == nil && i < len(page); i++ {
			next()
			err = f.requestFor(ctx, page[i].Request, ask)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// requestFor asks for what a row's request needs to be known of.
func (f *lookup) requestFor(ctx context.Context, r *filing.Request,
	ask func(what string, request func() error) error) error {
	if user := r.User; user.ID == "" {
		if err := ask("user "+user.Ref(), func() error {
			return ignoreLookupError(f.findUser(ctx, user))
		}); err != nil {
			return err
		}
	}
	if !needsCompanyRecord(r) {
		return nil
	}
	return ask("company "+r.Company.Ref, func() error {
		_, err := f.findCompany(ctx, r.Company.Ref)
		return ignoreLookupError(err)
	})
}

// ignoreLookupError returns the error of a look-up but for what only stands in a row's way.
func ignoreLookupError(err error) error {
	if o := (*lookupError)(nil); errors.As(err, &o) || errors.Is(err, errHalted) ||
		errors.Is(err, filingapi.ErrNotFound) {
		return nil
	}
	return err
}
