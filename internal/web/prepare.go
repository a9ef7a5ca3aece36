package web

import (
	"bytes"
	"context"
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
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/lookup"
	"github.com/bulkfiling/bulkfiling/internal/pricing"
	"github.com/bulkfiling/bulkfiling/internal/report"
	"github.com/bulkfiling/bulkfiling/internal/sheet"
)

// quoted is the cost summary of a prepared batch, in the form that the ledger stores with its
// upload.
type quoted struct {
	pricing.BatchQuote `json:"sum"`

	// Problem is the reason if the cost could not be computed.
	Problem string `json:"trouble,omitempty"`
	// Notes are remarks about the spreadsheet.
	Notes []string `json:"notes,omitempty"`
	// Bought are the rows that were bought before or that a subscription covers.
	Bought []int `json:"bought,omitempty"`

	// Standing are the remarks about subscriptions and earlier purchases. They are also part of
	// Notes.
	Standing []string `json:"-"`
}

func quoteOf(u intake.Upload) (q *quoted, err error) {
	err = decodeStored(u, u.Quote, &q)
	return q, err
}

// prepareQueue reads uploads into prepared batches and quotes them in the background. Its results
// are in the ledger. If this process ends, the next process that serves the upload starts again. It
// also holds the drafts that people edit.
type prepareQueue struct {
	*Config
	// ctx ends when the site closes, and running waits for the background work.
	ctx     context.Context
	cancel  context.CancelFunc
	running sync.WaitGroup
	uploads *intake.Uploads
	// surveys is keyed by upload and version.
	surveys *cache.Cache[string, *importer.Survey]
	// drafts are the drafts that people edit, keyed by upload and options (see draftKey).
	drafts *cache.Cache[string, *heldDraft]
	// quoting has what all quotes have in common.
	quoting intake.Quoting
	// room limits the number of sheets that are read at once.
	room chan struct{}
	// batches is keyed by batch, because two uploads may make the same batch.
	batches singleflight.Group
	// companies is keyed by the reference to the company.
	companies *cache.Cache[string, companyAnswer]

	mu sync.Mutex
	// of is keyed by upload.
	of map[string]*preparation
}

// preparation is the preparation of one version of an upload.
type preparation struct {
	version int
	// progress holds a gridState.
	progress atomic.Value
	done     chan struct{}
	// err is set when done is closed.
	err error
	// ctx is the context of the look-ups. It ends when the upload is changed.
	ctx    context.Context
	cancel context.CancelFunc
	// begin fires when the preparation of a changed upload begins.
	begin *time.Timer
}

func newPreparation(ctx context.Context, version int) *preparation {
	now := &preparation{version: version, done: make(chan struct{}), begin: time.NewTimer(restartDelay)}
	now.ctx, now.cancel = context.WithCancel(ctx)
	now.enter(stageWaits, 0, 0)
	return now
}

// enter sets the stage, and counts the processed rows. The total is zero if unknown.
func (now *preparation) enter(stage string, done, total int) {
	if total > 0 {
		done = min(done, total)
	}
	now.progress.Store(gridState{Stage: stage, Busy: true, Done: done, Total: total})
}

// These are the stages of a preparation.
const (
	stageWaits   = "Waiting to start"
	stageReads   = "Reading and checking the rows"
	stageLooksUp = "Looking up the companies"
	// stageBusy is followed by a duration.
	stageBusy   = "Looking up the companies. The filing service allows no more requests for "
	stageQuotes = "Calculating the cost"
)

const (
	readAtOnce = 2
	maxSurveys = 200
	// answerTTL is how long an answer about a company is cached, and maxAnswers how many are
	// cached. They prevent repeated look-ups while an upload is being edited.
	answerTTL  = 10 * time.Minute
	maxAnswers = 50_000
	// restartDelay is the delay between the last change of an upload and its preparation.
	restartDelay = time.Second
	// learnEvery is the interval at which the grid gets newly looked-up companies.
	learnEvery = 2 * time.Second
)

func newPrepareQueue(c *Config) *prepareQueue {
	ctx, cancel := context.WithCancel(context.Background())
	return &prepareQueue{
		Config:  c,
		ctx:     ctx,
		cancel:  cancel,
		uploads: intake.NewUploads(c.Ledger),
		surveys: cache.New[string](cache.Options[*importer.Survey]{Max: maxSurveys}),
		drafts: cache.New[string](cache.Options[*heldDraft]{
			Max:  maxDraftsHeld,
			Cost: func(h *heldDraft) int { return int(h.draft.Size()) },
		}),
		quoting: intake.Quoting{
			Ledger:      c.Ledger,
			Prices:      c.Prices,
			Concurrency: c.Concurrency,
			Secret:      c.Settings.HookKey,
		},
		room:      make(chan struct{}, readAtOnce),
		companies: newCompanyAnswers(),
		of:        make(map[string]*preparation),
	}
}

func newCompanyAnswers() *cache.Cache[string, companyAnswer] {
	return cache.New[string](cache.Options[companyAnswer]{TTL: cache.For(answerTTL), Max: maxAnswers})
}

func (p *prepareQueue) close() {
	p.cancel()
	p.running.Wait()
}

// prepare starts to prepare an upload, or returns the running preparation. It returns nil if the
// upload is already prepared.
func (p *prepareQueue) prepare(u intake.Upload) *preparation {
	if u.Batch != "" && len(u.Quote) > 0 {
		return nil
	}
	return p.start(u, false, func(now *preparation) error { return p.do(p.ctx, u, now) })
}

// prepareAgain drops the batch of an upload that was changed. It prepares the upload after
// restartDelay without another change. before is the upload before the change, with its new version.
func (p *prepareQueue) prepareAgain(before intake.Upload) {
	p.start(before, true, func(now *preparation) error {
		if before.Batch != "" {
			if err := p.uploads.DropPrepared(p.ctx, before.Batch); err != nil && p.ctx.Err() == nil {
				p.Log.Warn("dropping a prepared batch failed", "batch", before.Batch, "err", err)
			}
		}
		select {
		case <-now.begin.C:
		case <-now.ctx.Done():
			return nil
		}
		u, err := p.uploads.Find(p.ctx, before.ID)
		if err != nil || u.Version != before.Version {
			return err
		}
		return p.do(p.ctx, u, now)
	})
}

// start starts the preparation of a version of an upload. If it has started, it is returned, unless
// again is set. Start cancels the preparation that it replaces.
func (p *prepareQueue) start(u intake.Upload, again bool, do func(now *preparation) error) *preparation {
	p.mu.Lock()
	defer p.mu.Unlock()
	old := p.of[u.ID]
	if old != nil && old.version == u.Version && !again {
		return old
	}
	if p.ctx.Err() != nil {
		return nil
	}
	if old != nil {
		old.cancel()
	}
	now := newPreparation(p.ctx, u.Version)
	p.of[u.ID] = now
	p.running.Go(func() {
		defer now.cancel()
		now.err = do(now)
		close(now.done)
		if now.err != nil {
			if p.ctx.Err() == nil {
				p.Log.Warn("preparation failed", "upload", u.ID, "err", now.err)
			}
			return
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		// A newer preparation may have replaced this one.
		if p.of[u.ID] == now {
			delete(p.of, u.ID)
		}
	})
	return now
}

// forget drops the state of an upload's preparation, so that it starts again, and the cached
// answers about companies.
func (p *prepareQueue) forget(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.of, id)
	p.companies = newCompanyAnswers()
}

// current returns the running or failed preparation of an upload, or nil.
func (p *prepareQueue) current(u intake.Upload) *preparation {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now := p.of[u.ID]; now != nil && now.version == u.Version {
		return now
	}
	return nil
}

// state returns the state of the preparation of an upload.
func (p *prepareQueue) state(u intake.Upload) gridState {
	if u.Batch != "" && len(u.Quote) > 0 {
		q, err := quoteOf(u)
		if err == nil && q != nil && q.Problem != "" {
			return gridState{Stage: "The cost is not known", Problem: q.Problem}
		}
		return gridState{Stage: "Ready"}
	}
	now := p.current(u)
	if now == nil {
		return gridState{Stage: stageWaits, Busy: true}
	}
	select {
	case <-now.done:
		if now.err != nil {
			return gridState{Stage: "Not prepared", Problem: sentence(now.err.Error())}
		}
	default:
	}
	return now.progress.Load().(gridState)
}

// wait waits for the preparation of an upload, at most for patience. It returns the upload in its
// state afterwards.
func (p *prepareQueue) wait(ctx context.Context, u intake.Upload, patience time.Duration) (intake.Upload, error) {
	now := p.prepare(u)
	if now == nil {
		return u, nil
	}
	now.begin.Reset(0)
	select {
	case <-now.done:
	case <-time.After(patience):
	case <-ctx.Done():
	}
	return p.uploads.Find(ctx, u.ID)
}

func (p *prepareQueue) do(ctx context.Context, u intake.Upload, now *preparation) error {
	select {
	case p.room <- struct{}{}:
		defer func() { <-p.room }()
	case <-ctx.Done():
		return ctx.Err()
	}
	// Another upload with the same rows may drop the batch that both share. Retry then.
	for {
		if err := p.once(ctx, u, now); !errors.Is(err, intake.ErrNotPrepared) {
			return err
		}
	}
}

// once prepares a version of an upload. It returns ErrNotPrepared if another upload has dropped its
// batch.
func (p *prepareQueue) once(ctx context.Context, u intake.Upload, now *preparation) error {
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
	// A change of the upload cancels now.ctx. Drop the outdated batch.
	if now.ctx.Err() != nil {
		return p.uploads.DropPrepared(ctx, batch)
	}
	body, err := encodeStored(q)
	if err != nil {
		return err
	}
	p.learn(ctx, u)
	err = p.uploads.SetPrepared(ctx, u.ID, u.Version, batch, body)
	if errors.Is(err, ledger.ErrStale) {
		// The upload was changed or deleted during the preparation. This version is obsolete.
		return p.uploads.DropPrepared(ctx, batch)
	}
	return err
}

// read records the rows of an upload as a prepared batch. The notes concern the whole spreadsheet.
func (p *prepareQueue) read(ctx context.Context, u intake.Upload,
	now *preparation) (batch string, notes []string, err error) {
	total := 0
	if survey, err := p.survey(ctx, u); err == nil && survey.Err == nil {
		total = max(0, survey.Rows)
	}
	err = p.readUpload(sheet.WithUnlimitedWait(ctx), u, func(content []byte, o importer.Options) error {
		im, err := importer.OpenReader(u.File, bytes.NewReader(content), int64(len(content)), o)
		if err != nil {
			return err
		}
		defer im.Close()
		if batch, err = im.BatchID(); err != nil {
			return err
		}
		found, err, _ := p.batches.Do(batch, func() (any, error) {
			recorded, err := intake.Record(ctx, p.Ledger, im, intake.Recording{
				By:      u.CreatedBy,
				Counted: func(rows int) { now.enter(stageReads, rows, total) },
			})
			switch {
			case err != nil:
				return nil, err
			case recorded.Created:
				return im.Notes(), p.Ledger.PrepareBatch(ctx, batch)
			}
			// The batch existed already, so Record did not read the rows. Check reads them for the
			// notes.
			_, err = im.Check(ctx, func(importer.Problem) error { return nil })
			return im.Notes(), err
		})
		notes, _ = found.([]string)
		return err
	})
	return batch, notes, err
}

// quote quotes a prepared batch. An error is returned in Problem.
func quote(ctx context.Context, batch string, o intake.Quoting) quoted {
	var q quoted
	quote, err := o.Quote(ctx, batch)
	if err != nil {
		q.Problem = err.Error()
		return q
	}
	q.BatchQuote, q.Bought = quote.BatchQuote, quote.Bought
	for _, note := range []string{quote.Review.Note(), quote.Endpoint} {
		if note != "" {
			q.Standing = append(q.Standing, note)
		}
	}
	for _, note := range quote.Notes() {
		q.Standing = append(q.Standing, note.Text())
	}
	return q
}

// lookUpAndQuote looks up the companies of a prepared batch, then quotes it.
func (p *prepareQueue) lookUpAndQuote(u intake.Upload, batch string, now *preparation) quoted {
	client, err := p.Service()
	if err != nil {
		return quoted{Problem: err.Error()}
	}
	p.mu.Lock()
	records := &cachedRecords{Records: client, throttle: p.Throttle, companies: p.companies}
	p.mu.Unlock()
	learned := time.Now()
	o := p.quoting
	o.Records = records
	var waitsUntil atomic.Int64
	o.Waiting = func(until time.Time) {
		waitsUntil.Store(until.UnixNano())
		now.enter(stageBusy+report.Spell(time.Until(until)), 0, 0)
	}
	o.LookedUp = func(done, total int) {
		if time.Now().UnixNano() >= waitsUntil.Load() {
			now.enter(stageLooksUp, done, total)
		}
		if time.Since(learned) >= learnEvery {
			p.learn(now.ctx, u)
			learned = time.Now()
		}
	}
	o.Priced = func() { now.enter(stageQuotes, 0, 0) }
	return quote(now.ctx, batch, o)
}

// cachedRecords caches the filing service's records. Only real requests wait for the throttle.
type cachedRecords struct {
	lookup.Records

	// throttle is nil if requests are unlimited.
	throttle  *lookup.Throttle
	companies *cache.Cache[string, companyAnswer]
}

// companyAnswer is a cached answer about a company.
type companyAnswer struct {
	company filing.Company
	// err is filingapi.ErrNotFound or nil.
	err error
}

// Company returns the record of a company.
func (r *cachedRecords) Company(ctx context.Context, ref string) (filing.Company, error) {
	if known, ok := r.companies.Peek(ref); ok {
		return known.company, known.err
	}
	if err := r.throttle.Wait(ctx); err != nil {
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

// User returns the record of a user.
func (r *cachedRecords) User(ctx context.Context, ref string) (filing.User, error) {
	if err := r.throttle.Wait(ctx); err != nil {
		return filing.User{}, err
	}
	return r.Records.User(ctx, ref)
}

// readUpload calls f with the content and the options of an upload. It waits until a spreadsheet may be
// read, or returns sheet.ErrBusy.
func (p *prepareQueue) readUpload(ctx context.Context, u intake.Upload,
	f func(content []byte, o importer.Options) error) error {
	leave, err := sheet.AcquireReader(ctx)
	if err != nil {
		return err
	}
	defer leave()
	content, err := p.uploads.LoadContent(ctx, u.ID)
	if err != nil {
		return err
	}
	o, err := options(u)
	if err != nil {
		return err
	}
	return f(content, o)
}

// survey returns the importer's survey of an upload. It is cached, because people open an upload
// many times while they correct it.
func (p *prepareQueue) survey(ctx context.Context, u intake.Upload) (*importer.Survey, error) {
	return p.surveys.Get(ctx, fmt.Sprintf("%s %d", u.ID, u.Version),
		func(ctx context.Context) (survey *importer.Survey, err error) {
			err = p.readUpload(ctx, u, func(content []byte, o importer.Options) (err error) {
				survey, err = importer.SurveyReader(u.File, bytes.NewReader(content), int64(len(content)), o)
				return err
			})
			return survey, err
		})
}

// understands returns an error if the importer rejects the options of an upload.
func (p *prepareQueue) understands(ctx context.Context, u intake.Upload) error {
	return p.readUpload(ctx, u, func(content []byte, o importer.Options) error {
		if _, err := importer.SurveyReader(u.File, bytes.NewReader(content), int64(len(content)), o); err != nil {
			return badRequest("%s Nothing was changed.", sentence(err.Error()))
		}
		return nil
	})
}
