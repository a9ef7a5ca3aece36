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
	f := newLookup(s, l, concurrency, throttle, &sendState{}, time.Now)
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(concurrency)
	asked := make(map[string]bool)
	once := func(what string, find func() error) {
		if !asked[what] {
			asked[what] = true
			g.Go(func() error { return ignoreLookupError(find()) })
		}
	}
	done := 0
	mayBeSent := func(r *ledger.Row) bool { return r.Result == filing.Ready || r.HeldBack() }
	for page, err := range l.RowPages(ctx, batch, mayBeSent) {
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
			if user := row.Request.User; user.ID == "" {
				once("user "+user.Ref(), func() error { return f.findUser(ctx, user) })
			}
			if ref := row.Request.Company.Ref; needsCompanyRecord(row.Request) {
				once("company "+ref, func() error {
					_, err := f.findCompany(ctx, ref)
					return err
				})
			}
		}
	}
	return g.Wait()
}

// ignoreLookupError returns the error of a look-up but for what only stands in a row's way.
func ignoreLookupError(err error) error {
	if o := (*lookupError)(nil); errors.As(err, &o) || errors.Is(err, errHalted) ||
		errors.Is(err, filingapi.ErrNotFound) {
		return nil
	}
	return err
}
