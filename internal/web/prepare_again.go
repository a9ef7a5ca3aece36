package web

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/filingapi"
	"github.com/bulkfiling/bulkfiling/internal/jobs"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

// restsFor is how long an upload stays unchanged before it is prepared again.
const restsFor = time.Second

// changed drops the preparation of a changed upload, and starts another one when no
// change followed for restsFor.
func (p *prepareQueue) changed(upload, batch string) {
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
	if t := p.resting[upload]; t != nil {
		t.Stop()
	}
	p.resting[upload] = time.AfterFunc(restsFor, func() { p.rested(upload) })
}

// rested prepares an upload that is not being changed any more.
func (p *prepareQueue) rested(upload string) {
	p.mu.Lock()
	delete(p.resting, upload)
	p.mu.Unlock()
	if p.ctx.Err() != nil {
		return
	}
	u, err := p.site.Ledger.Uploads().Find(p.ctx, upload)
	if err == nil {
		p.prepare(u)
	}
}

// ensure prepares an upload that is neither prepared nor being changed.
func (p *prepareQueue) ensure(u ledger.Upload) {
	p.mu.Lock()
	_, rests := p.resting[u.ID]
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

// askedRecords are the answers of the filing service for one upload. While it is
// being edited, no company is asked for twice.
type askedRecords struct {
	queue  *prepareQueue
	upload string

	mu        sync.Mutex
	service   jobs.Records
	companies map[string]askedCompany
	fresh     map[string]filing.Company // not yet in the draft
	flushed   time.Time
}

// askedCompany is an answer about a company.
type askedCompany struct {
	company filing.Company
	err     error // that it does not exist
	at      time.Time
}

const (
	askedFor     = 10 * time.Minute       // how long an answer counts
	askedUploads = 16                     // whose answers are kept
	flushEvery   = 300 * time.Millisecond // into the draft
)

// recordsOf returns the answers for an upload.
func (p *prepareQueue) recordsOf(upload string) *askedRecords {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.asked[upload]
	if r == nil {
		if len(p.asked) >= askedUploads {
			clear(p.asked)
		}
		r = &askedRecords{queue: p, upload: upload, companies: make(map[string]askedCompany)}
		p.asked[upload] = r
	}
	return r
}

// forgetRecords removes the answers for an upload, so that its companies are asked
// for again.
func (p *prepareQueue) forgetRecords(upload string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.asked, upload)
}

// use sets the source of the answers.
func (r *askedRecords) use(service jobs.Records) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.service = service
}

// Company returns the record of a company.
func (r *askedRecords) Company(ctx context.Context, ref string) (filing.Company, error) {
	r.mu.Lock()
	known, asked := r.companies[ref]
	service := r.service
	r.mu.Unlock()
	if asked && time.Since(known.at) < askedFor {
		return known.company, known.err
	}
	if err := r.wait(ctx); err != nil {
		return filing.Company{}, err
	}
	c, err := service.Company(ctx, ref)
	if err == nil || errors.Is(err, filingapi.ErrNotFound) {
		r.keep(ref, askedCompany{c, err, time.Now()})
	}
	return c, err
}

// keep keeps an answer, and gives those of the last moment to the draft.
func (r *askedRecords) keep(ref string, a askedCompany) {
	r.mu.Lock()
	r.companies[ref] = a
	if a.err == nil {
		if r.fresh == nil {
			r.fresh = make(map[string]filing.Company)
		}
		r.fresh[ref] = a.company
	}
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
func (r *askedRecords) flush() {
	r.mu.Lock()
	fresh := r.fresh
	r.fresh = nil
	r.mu.Unlock()
	if len(fresh) > 0 {
		r.queue.site.drafts.learn(r.upload, fresh)
	}
}

// User returns a user.
func (r *askedRecords) User(ctx context.Context, ref string) (filing.User, error) {
	r.mu.Lock()
	service := r.service
	r.mu.Unlock()
	if err := r.wait(ctx); err != nil {
		return filing.User{}, err
	}
	return service.User(ctx, ref)
}

func (r *askedRecords) wait(ctx context.Context) error {
	if t := r.queue.site.Throttle; t != nil {
		return t.Wait(ctx)
	}
	return nil
}
