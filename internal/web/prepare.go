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

	"github.com/bulkfiling/bulkfiling/internal/importer"
	"github.com/bulkfiling/bulkfiling/internal/intake"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/pricing"
	"github.com/bulkfiling/bulkfiling/internal/retry"
	"github.com/bulkfiling/bulkfiling/internal/sheet"
)

// quoted is the cost summary of a prepared batch, as the ledger keeps it with its
// upload.
type quoted struct {
	pricing.BatchQuote `json:"sum"`

	At      time.Time `json:"at"`
	Plan    string    `json:"plan"`              // identifies what was quoted: approval is for exactly this
	Problem string    `json:"trouble,omitempty"` // why there is none
	Notes   []string  `json:"notes,omitempty"`   // about the spreadsheet

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
	looks   singleflight.Group // by upload and version

	mu              sync.Mutex
	of              map[string]*preparation // by upload
	pendingRestarts map[string]*time.Timer  // uploads that were changed a moment ago
	records         map[string]*recordCache
	surveys         map[string]*importer.Survey
}

// preparation is one version of an upload on its way.
type preparation struct {
	version int
	stage   atomic.Value // a stage
	rows    atomic.Int64
	total   atomic.Int64 // rows to read; 0 while it is not known
	looked  atomic.Int64
	toLook  atomic.Int64
	done    chan struct{}
	err     error           // once it is done
	ctx     context.Context // of the look-ups: they end when the upload is changed
	cancel  context.CancelFunc
}

func newPreparation(ctx context.Context, version int) *preparation {
	now := &preparation{version: version, done: make(chan struct{})}
	now.ctx, now.cancel = context.WithCancel(ctx)
	return now
}

// stage is how far it has come.
type stage string

const (
	stageWaits   stage = "Waiting to start"
	stageReads   stage = "Reading and checking the rows"
	stageLooksUp stage = "Looking up the companies"
	stageQuotes  stage = "Calculating the cost"
)

const readAtOnce = 2

func newPrepareQueue(s *Site) *prepareQueue {
	ctx, cancel := context.WithCancel(context.Background())
	return &prepareQueue{
		site:            s,
		ctx:             ctx,
		cancel:          cancel,
		room:            make(chan struct{}, readAtOnce),
		of:              make(map[string]*preparation),
		pendingRestarts: make(map[string]*time.Timer),
		records:         make(map[string]*recordCache),
		surveys:         make(map[string]*importer.Survey),
	}
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
	now.stage.Store(stageWaits)
	p.of[u.ID] = now
	p.running.Go(func() {
		defer now.cancel()
		now.err = p.do(p.ctx, u, now)
		close(now.done)
		if now.err == nil {
			p.end(u.ID, now)
		} else if p.ctx.Err() == nil {
			p.site.Log.Warn("preparation failed", "upload", u.ID, "err", now.err)
		}
	})
	return now
}

// end forgets a preparation, unless a later one has begun.
func (p *prepareQueue) end(id string, now *preparation) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.of[id] == now {
		delete(p.of, id)
	}
}

// forget lets an upload be prepared again.
func (p *prepareQueue) forget(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.of, id)
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
	now.stage.Store(stageReads)
	now.rows.Store(0)
	p.countRows(ctx, u, now)
	batch, notes, elsewhere, err := p.read(ctx, u, now)
	if err != nil {
		return err
	}
	if elsewhere && p.quotedElsewhere(ctx, u) {
		return nil
	}
	now.stage.Store(stageLooksUp)
	records := p.recordsOf(u.ID)
	q := p.site.lookUpAndQuote(now.ctx, batch, records, now)
	records.flush()
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
	p.site.drafts.addKnownCompanies(ctx, u.ID)
	err = p.site.Ledger.Uploads().SetPrepared(ctx, u.ID, u.Version, batch, body)
	if errors.Is(err, ledger.ErrStale) {
		// It was changed or deleted in the meantime: no one needs this version.
		return p.site.Ledger.Uploads().DropPrepared(ctx, batch)
	}
	return err
}

// read records the rows of an upload as a prepared batch. Where another process
// was at it, that one goes on to quote it, too. The notes are those on all of it.
func (p *prepareQueue) read(ctx context.Context, u ledger.Upload,
	now *preparation) (batch string, notes []string, elsewhere bool, err error) {
	leave, err := sheet.AcquireReader(sheet.WithUnlimitedWait(ctx))
	if err != nil {
		return "", nil, false, err
	}
	defer leave()
	im, err := p.site.openUpload(ctx, u)
	if err != nil {
		return "", nil, false, err
	}
	defer im.Close()
	id, err := im.BatchID()
	if err != nil {
		return "", nil, false, err
	}
	found, err, _ := p.batches.Do(id, func() (any, error) {
		recorded, err := intake.Record(ctx, p.site.Ledger, im, intake.Recording{
			By:      u.CreatedBy,
			Counted: func(rows int) { now.rows.Store(int64(rows)) },
		})
		elsewhere = recorded.Waited
		switch {
		case err != nil:
			return nil, err
		case recorded.Created:
			return im.Notes(), p.site.Ledger.PrepareBatch(ctx, id)
		}
		// It was recorded before, and its rows were not gone through.
		_, err = im.Check(ctx, func(importer.Problem) error { return nil })
		return im.Notes(), err
	})
	if err != nil {
		return id, nil, elsewhere, err
	}
	return id, found.([]string), elsewhere, nil
}

// quotedElsewhere waits for another process to quote a sheet, and reports
// whether it did: it may die over it.
func (p *prepareQueue) quotedElsewhere(ctx context.Context, u ledger.Upload) bool {
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		now, err := p.site.Ledger.Uploads().Find(ctx, u.ID)
		if err != nil || now.Version != u.Version || len(now.Quote) > 0 {
			return err == nil
		}
		if retry.Sleep(ctx, time.Second) != nil {
			break
		}
	}
	return false
}

// quote quotes a prepared batch. A failure is part of the result, in Problem.
func (s *Site) quote(ctx context.Context, batch string, o intake.Quoting) quoted {
	o.Ledger, o.Prices, o.Concurrency, o.Secret = s.Ledger, s.Ask, s.Concurrency, s.Settings.HookKey
	q := quoted{At: time.Now().UTC()}
	quote, err := o.Quote(ctx, batch)
	if err != nil {
		q.Problem = err.Error()
		return q
	}
	q.BatchQuote, q.Plan = quote.BatchQuote, quote.Plan
	if quote.Endpoint != "" {
		q.Standing = append(q.Standing, quote.Endpoint)
	}
	for _, note := range quote.Notes() {
		q.Standing = append(q.Standing, note.Text())
	}
	return q
}

// lookUpAndQuote quotes a prepared batch after its companies were looked up. What was asked a
// moment ago for the same upload is not asked again.
func (s *Site) lookUpAndQuote(ctx context.Context, batch string, records *recordCache, now *preparation) quoted {
	client, err := s.Service()
	if err != nil {
		return quoted{At: time.Now().UTC(), Problem: err.Error()}
	}
	records.setService(client)
	return s.quote(ctx, batch, intake.Quoting{
		Records: records, // they wait for the throttle where they ask
		LookedUp: func(done, total int) {
			now.looked.Store(int64(done))
			now.toLook.Store(int64(total))
		},
		Priced: func() { now.stage.Store(stageQuotes) },
	})
}

// survey returns how an upload was understood. It is cached: people open an upload
// many times while they correct it.
func (p *prepareQueue) survey(ctx context.Context, u ledger.Upload) (*importer.Survey, error) {
	key := fmt.Sprintf("%s %d", u.ID, u.Version)
	p.mu.Lock()
	known := p.surveys[key]
	p.mu.Unlock()
	if known != nil {
		return known, nil
	}
	found, err, _ := p.looks.Do(key, func() (any, error) {
		leave, err := sheet.AcquireReader(p.ctx)
		if err != nil {
			return nil, err
		}
		defer leave()
		content, err := p.site.Ledger.Uploads().LoadContent(context.WithoutCancel(ctx), u.ID)
		if err != nil {
			return nil, err
		}
		o, err := options(u)
		if err != nil {
			return nil, err
		}
		return importer.SurveyReader(u.File, bytes.NewReader(content), int64(len(content)), o)
	})
	if err != nil {
		return nil, err
	}
	survey := found.(*importer.Survey)
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.surveys) >= maxSurveys {
		clear(p.surveys)
	}
	p.surveys[key] = survey
	return survey, nil
}

const maxSurveys = 200

// maxVerified is the size of a sheet up to which all of it is read before it is
// kept: a few seconds. What is too large in a larger one its preparation finds.
const maxVerified = 8 << 20

// verify checks the sizes of an upload.
func (p *prepareQueue) verify(ctx context.Context, u ledger.Upload) error {
	if u.Size > maxVerified {
		return nil
	}
	leave, err := sheet.AcquireReader(ctx)
	if err != nil {
		return err
	}
	defer leave()
	content, err := p.site.Ledger.Uploads().LoadContent(ctx, u.ID)
	if err != nil {
		return err
	}
	if err := sheet.Verify(u.File, bytes.NewReader(content), int64(len(content))); err != nil {
		return badRequest("%s Nothing was saved.", err)
	}
	return nil
}

// understands checks the column mapping of an upload.
func (p *prepareQueue) understands(ctx context.Context, u ledger.Upload, r readOptions) (err error) {
	if u.Options, err = json.Marshal(r); err != nil {
		return fmt.Errorf("keep the options: %w", err)
	}
	leave, err := sheet.AcquireReader(ctx)
	if err != nil {
		return err
	}
	defer leave()
	content, err := p.site.Ledger.Uploads().LoadContent(ctx, u.ID)
	if err != nil {
		return err
	}
	o, err := options(u)
	if err != nil {
		return err
	}
	if _, err := importer.SurveyReader(u.File, bytes.NewReader(content), int64(len(content)), o); err != nil {
		return badRequest("%s Nothing was changed.", sentence(err.Error()))
	}
	return nil
}
