package web

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/cache"
	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/filingapi"
	"github.com/bulkfiling/bulkfiling/internal/jobs"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

// restartDelay is how long an upload stays unchanged before it is prepared again.
const restartDelay = time.Second

// scheduleRestart drops the preparation of a changed upload, and starts another one when no
// change followed for restartDelay.
func (p *prepareQueue) scheduleRestart(upload, batch string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ctx.Err() != nil {
		return
	}
	if now := p.of[upload]; now != nil {
		now.cancel()
	}
	if batch != "" {
		p.running.Go(func() {
			if err := p.site.Ledger.Uploads().DropPrepared(p.ctx, batch); err != nil && p.ctx.Err() == nil {
				p.site.Log.Warn("dropping a prepared batch failed", "batch", batch, "err", err)
			}
		})
	}
	if t := p.pendingRestarts[upload]; t != nil {
		t.Stop()
	}
	p.pendingRestarts[upload] = time.AfterFunc(restartDelay, func() { p.restart(upload) })
}

// restart prepares an upload that is not being changed any more.
func (p *prepareQueue) restart(upload string) {
	p.mu.Lock()
	delete(p.pendingRestarts, upload)
	p.mu.Unlock()
	if p.ctx.Err() != nil {
		return
	}
	u, err := p.site.Ledger.Uploads().Find(p.ctx, upload)
	if err == nil {
		p.prepare(u)
	}
}

// prepareIfIdle prepares an upload that is neither prepared nor being changed.
func (p *prepareQueue) prepareIfIdle(u ledger.Upload) {
	p.mu.Lock()
	_, rests := p.pendingRestarts[u.ID]
	p.mu.Unlock()
	if !rests {
		p.prepare(u)
	}
}

// current is the preparation of an upload that runs or has failed; nil for none.
func (p *prepareQueue) current(u ledger.Upload) *preparation {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now := p.of[u.ID]; now != nil && now.version == u.Version {
		return now
	}
	return nil
}

// recordCache holds the companies of one upload as the filing service has them. While
// the upload is being edited, no company is asked for twice.
type recordCache struct {
	queue     *prepareQueue
	upload    string
	companies *cache.Cache[string, companyAnswer]

	mu      sync.Mutex
	service jobs.Records
	fresh   map[string]filing.Company // not yet in the draft
	flushed time.Time
}

// companyAnswer is an answer about a company.
type companyAnswer struct {
	company filing.Company
	err     error // that it does not exist
}

const (
	recordTTL  = 10 * time.Minute       // how long an answer counts
	cachedOf   = 16                     // uploads whose answers are kept
	flushEvery = 300 * time.Millisecond // into the draft
)

// recordsOf returns the answers for an upload.
func (p *prepareQueue) recordsOf(upload string) *recordCache {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.records[upload]
	if r == nil {
		if len(p.records) >= cachedOf {
			clear(p.records)
		}
		r = &recordCache{
			queue:     p,
			upload:    upload,
			companies: cache.New[string](cache.Options[companyAnswer]{TTL: cache.For(recordTTL)}),
		}
		p.records[upload] = r
	}
	return r
}

// forgetRecords removes the answers for an upload, so that its companies are asked
// for again.
func (p *prepareQueue) forgetRecords(upload string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.records, upload)
}

// setService sets the source of the answers.
func (r *recordCache) setService(service jobs.Records) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.service = service
}

func (r *recordCache) source() jobs.Records {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.service
}

// Company returns the record of a company.
func (r *recordCache) Company(ctx context.Context, ref string) (filing.Company, error) {
	if known, ok := r.companies.Peek(ref); ok {
		return known.company, known.err
	}
	if err := r.wait(ctx); err != nil {
		return filing.Company{}, err
	}
	service := r.source()
	a, err := r.companies.Get(ctx, ref, func(ctx context.Context) (companyAnswer, error) {
		// A preparation that ends leaves its question to the next one; the queue does not.
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(r.queue.ctx, cancel)()
		c, err := service.Company(ctx, ref)
		switch {
		case err == nil:
			r.addFresh(ref, c)
		case !errors.Is(err, filingapi.ErrNotFound):
			return companyAnswer{}, err
		}
		return companyAnswer{c, err}, nil
	})
	if err != nil {
		return filing.Company{}, err
	}
	return a.company, a.err
}

// addFresh gives the answers of the last moment to the draft, with one more.
func (r *recordCache) addFresh(ref string, c filing.Company) {
	r.mu.Lock()
	if r.fresh == nil {
		r.fresh = make(map[string]filing.Company)
	}
	r.fresh[ref] = c
	due := time.Since(r.flushed) >= flushEvery
	if due {
		r.flushed = time.Now()
	}
	r.mu.Unlock()
	if due {
		r.flush()
	}
}

// flush gives the answers that are new to the draft.
func (r *recordCache) flush() {
	r.mu.Lock()
	fresh := r.fresh
	r.fresh = nil
	r.mu.Unlock()
	if len(fresh) > 0 {
		r.queue.site.drafts.addRecords(r.upload, fresh)
	}
}

// User returns a user.
func (r *recordCache) User(ctx context.Context, ref string) (filing.User, error) {
	service := r.source()
	if err := r.wait(ctx); err != nil {
		return filing.User{}, err
	}
	return service.User(ctx, ref)
}

func (r *recordCache) wait(ctx context.Context) error {
	if t := r.queue.site.Throttle; t != nil {
		return t.Wait(ctx)
	}
	return nil
}
