package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/config"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/secret"
	"github.com/bulkfiling/bulkfiling/internal/web"
	"github.com/bulkfiling/bulkfiling/samples"
)

// checkTimeout is how long the filing service has to answer for a key.
const checkTimeout = 20 * time.Second

// nextLinkLife is the life of the link that leads a browser to the next start. It is
// used at once.
const nextLinkLife = 5 * time.Minute

// setup lets the page set up the filing service. It is for a page of this machine
// alone: elsewhere the deployment decides. A key of the environment would win over
// what the page stores, so there is nothing to set up then.
func (p *page) setup() *web.Setup {
	if !p.local || p.app == nil || p.env.ByEnvironment("FILING_API_KEY") && p.sample == nil {
		return nil
	}
	s := &web.Setup{
		Service:     p.env.BaseURL,
		Sample:      p.sample != nil,
		File:        config.SettingsPath(p.owner.getenv),
		Check:       p.checkService,
		Save:        p.saveService,
		StartSample: p.startSample,
		LeaveSample: p.leaveSample,
	}
	if p.why != nil {
		s.Service = ""
	}
	if p.env.ByEnvironment("FILING_BASE_URL") {
		s.Address = p.env.BaseURL
	}
	return s
}

func enteredService(s web.FilingService) config.Service {
	return config.Service{BaseURL: s.Address, Key: secret.New(s.Key), Live: s.Live()}
}

// checkService asks the filing service whose the key is.
func (p *page) checkService(ctx context.Context, s web.FilingService) (web.FilingAccount, error) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	o, err := p.env.With(enteredService(s)).CheckService(ctx)
	if err != nil {
		return web.FilingAccount{}, err
	}
	return web.FilingAccount{Organization: o.Label(), Live: s.Live()}, nil
}

// saveService stores the filing service and starts again with it.
func (p *page) saveService(ctx context.Context, by string, s web.FilingService) (string, error) {
	path := config.SettingsPath(p.app.getenv)
	env, err := p.app.environment()
	if err != nil {
		return "", err
	}
	// Choosing the ledger first finds what a person has to decide before anything is
	// stored.
	env = env.With(enteredService(s))
	next, err := p.nextLink(ctx, &env, by)
	if err != nil {
		return "", err
	}
	if err := config.SaveService(path, enteredService(s)); err != nil {
		return "", err
	}
	return next, p.startAgain(nil)
}

// nextLink is the page that the browser opens after the next start: home, or a
// one-time link where the ledger is another one. Only the owner of this computer
// gets a link.
func (p *page) nextLink(ctx context.Context, env *config.Environment, by string) (string, error) {
	asking, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	if _, err := p.app.chooseLedger(asking, env); err != nil {
		return "", err
	}
	if env.DatabaseURL == p.env.DatabaseURL && env.LedgerDir() == p.env.LedgerDir() ||
		!strings.EqualFold(by, currentUser()) {
		return "/", nil
	}
	l, err := env.OpenLedger(ctx)
	if err != nil {
		return "", err
	}
	next, err := ownerLink(ctx, l, "by the setup", nextLinkLife)
	return cmp.Or(next, "/"), errors.Join(err, l.Close())
}

// startAgain has serve start again, on sample data or on the settings.
func (p *page) startAgain(sample *sampleData) error {
	select {
	case p.again <- sample:
		// What the browser asks for next is for the new start: this one takes no new
		// connections by then, and sends those that it has there.
		select {
		case <-p.leaving:
		case <-time.After(shutdownTimeout):
		}
		return nil
	default:
		return errors.New("the page is starting again already")
	}
}

// sampleData is a filing service in this process, with a data folder of its own.
type sampleData struct {
	env   map[string]string
	close func()
}

// sampleBalance is the sandbox's prepaid balance in cents, and the deposit recorded
// for it.
const sampleBalance = 25_000_00

// newSampleData starts a sandbox with the companies of the sample spreadsheet. Its
// folder is new every time: each start of a sandbox is an organization of its own.
func newSampleData(ctx context.Context) (*sampleData, error) {
	dir, err := os.MkdirTemp("", "bulkfiling-sample-")
	if err != nil {
		return nil, fmt.Errorf("make the folder of the sample data: %w", err)
	}
	file := filepath.Join(dir, samples.AnnualReportsName)
	var address string
	var stop func()
	if err = os.WriteFile(file, samples.AnnualReports, 0o600); err == nil {
		_, address, stop, err = startSandbox(ctx, file, sampleBalance, uint64(time.Now().UnixNano()))
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start the sample data: %w", err), os.RemoveAll(dir))
	}
	// Nothing else of the environment counts: no notification goes to a real person,
	// and no order to a shared database.
	return &sampleData{env: map[string]string{
		"FILING_BASE_URL": address,
		"FILING_API_KEY":  "sk_test_sample",
		"FILING_DATA_DIR": filepath.Join(dir, "data"),
	}, close: func() {
		stop()
		_ = os.RemoveAll(dir) // it is in the folder for temporary files
	}}, nil
}

// end ends the sample data, and deletes it.
func (d *sampleData) end() {
	if d != nil {
		d.close()
	}
}

// app is this program on the sample data.
func (d *sampleData) app(a *app) *app {
	b := *a
	b.getenv = func(name string) string { return d.env[name] }
	b.live, b.ledger = false, ""
	return &b
}

// startSample starts the sample data: a ledger with a deposit and an uploaded
// spreadsheet.
func (p *page) startSample(ctx context.Context, by string) (next string, err error) {
	d, err := newSampleData(ctx)
	if err != nil {
		return "", err
	}
	defer func() {
		if err != nil {
			d.close()
		}
	}()
	on := d.app(p.app)
	env, err := on.environment()
	if err != nil {
		return "", err
	}
	if _, err = on.chooseLedger(ctx, &env); err != nil {
		return "", err
	}
	l, err := env.OpenLedger(ctx)
	if err != nil {
		return "", err
	}
	if next, err = fillSample(ctx, l); err != nil {
		return "", errors.Join(err, l.Close())
	}
	if err = l.Close(); err != nil {
		return "", err
	}
	err = p.startAgain(d)
	return next, err
}

// fillSample records the deposit and uploads the sample spreadsheet.
func fillSample(ctx context.Context, l *ledger.Ledger) (next string, err error) {
	if next, err = ownerLink(ctx, l, "by the setup", nextLinkLife); err != nil {
		return "", err
	}
	if err := l.RecordDeposit(withAudit(ctx, "deposit", "", "sample data"), sampleBalance, "sample data"); err != nil {
		return "", err
	}
	_, err = l.Uploads().Add(withAudit(ctx, "upload", samples.AnnualReportsName, "sample data"),
		ledger.Upload{File: samples.AnnualReportsName, CreatedBy: currentUser()},
		bytes.NewReader(samples.AnnualReports))
	return cmp.Or(next, "/"), err
}

// leaveSample starts again on the settings.
func (p *page) leaveSample(ctx context.Context, by string) (string, error) {
	env, err := p.owner.environment()
	if err != nil {
		return "", err
	}
	next, err := p.nextLink(ctx, &env, by)
	if err != nil {
		return "", err
	}
	return next, p.startAgain(nil)
}
