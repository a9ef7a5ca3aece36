package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/bulkfiling/bulkfiling/internal/cache"
	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/filingapi"
	"github.com/bulkfiling/bulkfiling/internal/importer"
	"github.com/bulkfiling/bulkfiling/internal/intake"
	"github.com/bulkfiling/bulkfiling/internal/jobs"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/pricing"
	"github.com/bulkfiling/bulkfiling/internal/sheet"
)

// quoted is the cost summary of a prepared batch, as the ledger keeps it with its
// upload.
type quoted struct {
	pricing.BatchQuote `json:"sum"`

	Plan    string   `json:"plan"`              // identifies what was quoted: approval is for exactly this
	Problem string   `json:"trouble,omitempty"` // why there is none
	Notes   []string `json:"notes,omitempty"`   // about the spreadsheet
	Bought  []int    `json:"bought,omitempty"`  // the rows that were bought before, or that a subscription covers

	Standing []string `json:"-"` // about subscriptions and earlier purchases: a part of Notes
}

func quoteOf(u ledger.Upload) (*quoted, error) {
	if len(u.Quote) == 0 {
		return nil, nil
	}
	q := new(quoted)
	if err := json.Unmarshal(u.Quote, q); err != nil {
		return nil, fmt.Errorf("read the quote of the sheet %s: %w", u.File, err)
	}
	return q, nil
}

// prepareQueue reads uploads into prepared batches and quotes them, in the
// background. Everything it has is in the ledger: if this process ends, the next
// one that is asked for the upload starts again.
type prepareQueue struct {
	site    *Site
	ctx     context.Context
	cancel  context.CancelFunc
	running sync.WaitGroup
	room    chan struct{}      // sheets are read a few at a time
	batches singleflight.Group // by batch: two uploads may make the same one

	surveys   *cache.Cache[string, *importer.Survey] // by upload and version
	companies *cache.Cache[string, companyAnswer]    // by reference

	mu              sync.Mutex
	of              map[string]*preparation // by upload
	pendingRestarts map[string]*time.Timer  // uploads that were changed a moment ago
}

// preparation is the preparation of one version of an upload.
type preparation struct {
	version  int
	progress atomic.Value // a progress
	done     chan struct{}
	err      error           // once it is done
	ctx      context.Context // of the look-ups: they end when the upload is changed
	cancel   context.CancelFunc
}

// progress is how far a preparation has come: the rows of the stage that are done, of how
// many. The total is 0 while it is not known.
type progress struct {
	stage       stage
	done, total int
}

func newPreparation(ctx context.Context, version int) *preparation {
	now := &preparation{version: version, done: make(chan struct{})}
	now.ctx, now.cancel = context.WithCancel(ctx)
	now.enter(stageWaits, 0, 0)
	return now
}

func (now *preparation) enter(at stage, done, total int) {
	if total > 0 {
		done = min(done, total)
	}
	now.progress.Store(progress{at, done, total})
}

// stage is what a preparation does.
type stage string

const (
	stageWaits   stage = "Waiting to start"
	stageReads   stage = "Reading and checking the rows"
	stageLooksUp stage = "Looking up the companies"
	stageQuotes  stage = "Calculating the cost"
)

const (
	readAtOnce = 2
	maxSurveys = 200
	// answerTTL is how long an answer about a company counts, and maxAnswers is how many are
	// kept: while an upload is being edited, no company is asked for twice.
	answerTTL  = 10 * time.Minute
	maxAnswers = 50_000
	// restartDelay is how long an upload stays unchanged before it is prepared again.
	restartDelay = time.Second
	// learnEvery is how often the grid learns what was looked up.
	learnEvery = 2 * time.Second
)

func newPrepareQueue(s *Site) *prepareQueue {
	ctx, cancel := context.WithCancel(context.Background())
	return &prepareQueue{
		site:            s,
		ctx:             ctx,
		cancel:          cancel,
		room:            make(chan struct{}, readAtOnce),
		surveys:         cache.New[string](cache.Options[*importer.Survey]{Max: maxSurveys}),
		companies:       newCompanyAnswers(),
		of:              make(map[string]*preparation),
		pendingRestarts: make(map[string]*time.Timer),
	}
}

func newCompanyAnswers() *cache.Cache[string, companyAnswer] {
	return cache.New[string](cache.Options[companyAnswer]{TTL: cache.For(answerTTL), Max: maxAnswers})
}

func (p *prepareQueue) close() {
	p.cancel()
	p.mu.Lock()
	for _, t := range p.pendingRestarts {
		t.Stop()
	}
	p.mu.Unlock()
	p.running.Wait()
}

// prepare starts to prepare an upload, or returns the preparation that runs. It
// returns nil for a prepared upload.
func (p *prepareQueue) prepare(u ledger.Upload) *preparation {
	if u.Batch != "" && len(u.Quote) > 0 {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if now := p.of[u.ID]; now != nil && now.version == u.Version {
		return now
	}
	if p.ctx.Err() != nil {
		return nil
	}
	now := newPreparation(p.ctx, u.Version)
	p.of[u.ID] = now
	p.running.Go(func() {
		defer now.cancel()
		now.err = p.do(p.ctx, u, now)
		close(now.done)
		if now.err != nil {
			if p.ctx.Err() == nil {
				p.site.Log.Warn("preparation failed", "upload", u.ID, "err", now.err)
			}
			return
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.of[u.ID] == now { // no later one has begun
			delete(p.of, u.ID)
		}
	})
	return now
}

// forget lets an upload be prepared again, and its companies be asked for again.
func (p *prepareQueue) forget(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.of, id)
	p.companies = newCompanyAnswers()
}

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
	p.pendingRestarts[upload] = time.AfterFunc(restartDelay, func() {
		p.mu.Lock()
		delete(p.pendingRestarts, upload)
		p.mu.Unlock()
		if u, err := p.site.Ledger.Uploads().Find(p.ctx, upload); err == nil {
			p.prepare(u)
		}
	})
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

// current returns the preparation of an upload that runs or has failed, or nil.
func (p *prepareQueue) current(u ledger.Upload) *preparation {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now := p.of[u.ID]; now != nil && now.version == u.Version {
		return now
	}
	return nil
}

// wait waits for the preparation of an upload, but no longer than patience, and returns the
// upload as it is then.
func (p *prepareQueue) wait(ctx context.Context, u ledger.Upload, patience time.Duration) (ledger.Upload, error) {
	now := p.prepare(u)
	if now == nil {
		return u, nil
	}
	select {
	case <-now.done:
	case <-time.After(patience):
	case <-ctx.Done():
	}
	return p.site.Ledger.Uploads().Find(ctx, u.ID)
}

func (p *prepareQueue) do(ctx context.Context, u ledger.Upload, now *preparation) error {
	select {
	case p.room <- struct{}{}:
		defer func() { <-p.room }()
	case <-ctx.Done():
		return ctx.Err()
	}
	// Another upload with the same rows may drop the batch that both share.
	for {
		if err := p.once(ctx, u, now); !errors.Is(err, ledger.ErrNotPrepared) {
			return err
		}
	}
}

// once prepares a version of an upload. It returns ErrNotPrepared where its batch was
// dropped for another upload meanwhile.
func (p *prepareQueue) once(ctx context.Context, u ledger.Upload, now *preparation) error {
	now.enter(stageReads, 0, 0)
	batch, notes, err := p.read(ctx, u, now)
	if err != nil {
		return err
	}
	now.enter(stageLooksUp, 0, 0)
	q := p.lookUpAndQuote(u, batch, now)
	q.Notes = append(notes, q.Standing...)
	if err := ctx.Err(); err != nil {
		return err
	}
	if now.ctx.Err() != nil { // it was changed meanwhile
		return p.site.Ledger.Uploads().DropPrepared(ctx, batch)
	}
	body, err := json.Marshal(q)
	if err != nil {
		return fmt.Errorf("keep the quote: %w", err)
	}
	p.site.learnCompanies(ctx, u)
	err = p.site.Ledger.Uploads().SetPrepared(ctx, u.ID, u.Version, batch, body)
	if errors.Is(err, ledger.ErrStale) {
		// It was changed or deleted in the meantime: no one needs this version.
		return p.site.Ledger.Uploads().DropPrepared(ctx, batch)
	}
	return err
}

// read records the rows of an upload as a prepared batch. The notes are those on all of
// it.
func (p *prepareQueue) read(ctx context.Context, u ledger.Upload,
	now *preparation) (batch string, notes []string, err error) {
	total := 0
	if survey, err := p.survey(ctx, u); err == nil && survey.Err == nil {
		total = max(0, survey.Rows)
	}
	err = p.site.readUpload(sheet.WithUnlimitedWait(ctx), u, func(content []byte, o importer.Options) error {
		im, err := importer.OpenReader(u.File, bytes.NewReader(content), int64(len(content)), o)
		if err != nil {
			return err
		}
		defer im.Close()
		if batch, err = im.BatchID(); err != nil {
			return err
		}
		found, err, _ := p.batches.Do(batch, func() (any, error) {
			recorded, err := intake.Record(ctx, p.site.Ledger, im, intake.Recording{
				By:      u.CreatedBy,
				Counted: func(rows int) { now.enter(stageReads, rows, total) },
			})
			switch {
			case err != nil:
				return nil, err
			case recorded.Created:
				return im.Notes(), p.site.Ledger.PrepareBatch(ctx, batch)
			}
			// It was recorded before, and its rows were not gone through.
			_, err = im.Check(ctx, func(importer.Problem) error { return nil })
			return im.Notes(), err
		})
		notes, _ = found.([]string)
		return err
	})
	return batch, notes, err
}

// quote quotes a prepared batch. A failure is part of the result, in Problem.
func (s *Site) quote(ctx context.Context, batch string, o intake.Quoting) quoted {
	o.Ledger, o.Prices, o.Concurrency, o.Secret = s.Ledger, s.Ask, s.Concurrency, s.Settings.HookKey
	var q quoted
	quote, err := o.Quote(ctx, batch)
	if err != nil {
		q.Problem = err.Error()
		return q
	}
	q.BatchQuote, q.Plan, q.Bought = quote.BatchQuote, quote.Plan, quote.Bought
	if quote.Endpoint != "" {
		q.Standing = append(q.Standing, quote.Endpoint)
	}
	for _, note := range quote.Notes() {
		q.Standing = append(q.Standing, note.Text())
	}
	return q
}

// lookUpAndQuote quotes a prepared batch after its companies were looked up.
func (p *prepareQueue) lookUpAndQuote(u ledger.Upload, batch string, now *preparation) quoted {
	client, err := p.site.Service()
	if err != nil {
		return quoted{Problem: err.Error()}
	}
	p.mu.Lock()
	records := &cachedRecords{Records: client, throttle: p.site.Throttle, companies: p.companies}
	p.mu.Unlock()
	learned := time.Now()
	return p.site.quote(now.ctx, batch, intake.Quoting{
		Records: records,
		LookedUp: func(done, total int) {
			now.enter(stageLooksUp, done, total)
			if time.Since(learned) >= learnEvery {
				p.site.learnCompanies(now.ctx, u)
				learned = time.Now()
			}
		},
		Priced: func() { now.enter(stageQuotes, 0, 0) },
	})
}

// cachedRecords are the filing service's records. A company that was asked for a moment
// ago is not asked for again. Only what is asked for waits for the throttle.
type cachedRecords struct {
	jobs.Records

	throttle  jobs.Throttle // nil for none
	companies *cache.Cache[string, companyAnswer]
}

// companyAnswer is an answer about a company.
type companyAnswer struct {
	company filing.Company
	err     error // that it does not exist
}

// Company returns the record of a company.
func (r *cachedRecords) Company(ctx context.Context, ref string) (filing.Company, error) {
	if known, ok := r.companies.Peek(ref); ok {
		return known.company, known.err
	}
	if err := r.wait(ctx); err != nil {
		return filing.Company{}, err
	}
	a, err := r.companies.Get(ctx, ref, func(ctx context.Context) (companyAnswer, error) {
		c, err := r.Records.Company(ctx, ref)
		if err != nil && !errors.Is(err, filingapi.ErrNotFound) {
			return companyAnswer{}, err
		}
		return companyAnswer{c, err}, nil
	})
	if err != nil {
		return filing.Company{}, err
	}
	return a.company, a.err
}

// User returns a user.
func (r *cachedRecords) User(ctx context.Context, ref string) (filing.User, error) {
	if err := r.wait(ctx); err != nil {
		return filing.User{}, err
	}
	return r.Records.User(ctx, ref)
}

func (r *cachedRecords) wait(ctx context.Context) error {
	if r.throttle == nil {
		return nil
	}
	return r.throttle.Wait(ctx)
}

// readUpload calls read with the content of an upload and the options by which it is read.
// It waits until a spreadsheet may be read, or returns sheet.ErrBusy.
func (s *Site) readUpload(ctx context.Context, u ledger.Upload,
	read func(content []byte, o importer.Options) error) error {
	leave, err := sheet.AcquireReader(ctx)
	if err != nil {
		return err
	}
	defer leave()
	content, err := s.Ledger.Uploads().LoadContent(ctx, u.ID)
	if err != nil {
		return err
	}
	o, err := options(u)
	if err != nil {
		return err
	}
	return read(content, o)
}

// survey returns how an upload was understood. It is cached: people open an upload
// many times while they correct it.
func (p *prepareQueue) survey(ctx context.Context, u ledger.Upload) (*importer.Survey, error) {
	return p.surveys.Get(ctx, fmt.Sprintf("%s %d", u.ID, u.Version),
		func(ctx context.Context) (survey *importer.Survey, err error) {
			err = p.site.readUpload(ctx, u, func(content []byte, o importer.Options) (err error) {
				survey, err = importer.SurveyReader(u.File, bytes.NewReader(content), int64(len(content)), o)
				return err
			})
			return survey, err
		})
}

// understands checks the column mapping of an upload.
func (s *Site) understands(ctx context.Context, u ledger.Upload, r readOptions) (err error) {
	if u.Options, err = json.Marshal(r); err != nil {
		return fmt.Errorf("keep the options: %w", err)
	}
	return s.readUpload(ctx, u, func(content []byte, o importer.Options) error {
		if _, err := importer.SurveyReader(u.File, bytes.NewReader(content), int64(len(content)), o); err != nil {
			return badRequest("%s Nothing was changed.", sentence(err.Error()))
		}
		return nil
	})
}
