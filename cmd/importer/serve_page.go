package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/backup"
	"github.com/bulkfiling/bulkfiling/internal/config"
	"github.com/bulkfiling/bulkfiling/internal/filingapi"
	"github.com/bulkfiling/bulkfiling/internal/jobs"
	"github.com/bulkfiling/bulkfiling/internal/metrics"
	"github.com/bulkfiling/bulkfiling/internal/network"
	"github.com/bulkfiling/bulkfiling/internal/notify"
	"github.com/bulkfiling/bulkfiling/internal/pricing"
	"github.com/bulkfiling/bulkfiling/internal/retry"
	"github.com/bulkfiling/bulkfiling/internal/schedule"
	"github.com/bulkfiling/bulkfiling/internal/secret"
	"github.com/bulkfiling/bulkfiling/internal/signin"
	"github.com/bulkfiling/bulkfiling/internal/web"
	"github.com/bulkfiling/bulkfiling/internal/webhook"
)

// page is the site with its background work. This includes schedules, and orders if no worker
// places them.
type page struct {
	opts   serveOptions
	global *global
	front  *front
	ledger openLedger
	env    config.Environment
	site   *web.Site
	// scheduler runs due schedules and the ones that the page starts.
	scheduler *schedule.Scheduler
	// client is nil if no filing service is configured.
	client *filingapi.Client
	// why is the reason why client is nil.
	why   error
	queue *jobs.Queue
	// targets are the targets of notifications.
	targets []*notify.Target
	// local reports whether only this machine can reach the page.
	local bool
	// tls reports whether browsers reach the page over HTTPS.
	tls bool
	log *slog.Logger
}

func openPage(ctx context.Context, o serveOptions, g *global, l openLedger, f *front, log *slog.Logger) (*page, error) {
	p := &page{opts: o, global: g, front: f, ledger: l, env: l.env, log: log}
	if tcp, ok := f.addr.(*net.TCPAddr); ok {
		p.local = tcp.IP.IsLoopback() && o.public == nil
	}
	if p.client, p.why = p.env.Client(); p.why != nil {
		p.client = nil
		log.Info("no orders and no schedules here", "reason", p.why)
	}
	p.tls = o.tlsCert != "" || o.public != nil && o.public.Scheme == "https"
	var err error
	if p.queue, err = p.openQueue(); err != nil {
		return nil, err
	}
	if err := l.Fleet().Announce(ctx, "serve", p.places()); err != nil {
		return nil, err
	}
	p.scheduler = p.env.Scheduler(l.Ledger, p.client, log)
	c := web.Config{
		Ledger:      l.Ledger,
		Service:     p.service,
		Prices:      p.ask,
		Scheduler:   p.scheduler,
		Concurrency: p.env.Concurrency,
		Address: web.Address{
			Public:  o.public,
			Local:   p.local,
			TLS:     p.tls,
			Proxies: o.proxies,
		},
		Downloads: p.env.Downloads,
		MaxUpload: o.maxUpload << 20,
		Version:   cmp.Or(metrics.ReadBuild().Version, "unknown"),
		Log:       log,
		Depth:     p.depth,
		Throttle:  p.env.Throttle(p.queue),
	}
	if p.targets, err = p.env.NotifyTargets(); err != nil {
		return nil, err
	}
	if c.Provider, err = p.env.SignIn.Provider(o.public, web.ProviderCallback); err != nil {
		return nil, err
	}
	p.checkProvider(ctx, c.Provider)
	if p.local {
		c.Port = f.addr.(*net.TCPAddr).Port
	}
	c.Setup = p.setup()
	if c.Settings, err = p.settings(); err != nil {
		return nil, err
	}
	// Any process may send the notifications with links to this address.
	if c.Public != nil {
		if err := l.Notifications().SetPageAddress(ctx, c.Public.String()); err != nil {
			return nil, err
		}
	}
	p.site = web.New(c)
	return p, nil
}

// handler serves the page, and passes events of the filing service to receiver.
func (p *page) handler(receiver http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle(webhook.Path, receiver)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok\n") })
	mux.Handle("/", p.site)
	return network.WithHeaders(mux, p.tls)
}

// checkProvider logs problems with the sign-in provider. It does not block, because the page also
// starts while the provider is down.
func (p *page) checkProvider(ctx context.Context, provider *signin.Provider) {
	if provider == nil {
		return
	}
	if len(p.env.SignIn.Roles) == 0 {
		p.log.Warn("no group of the sign-in provider has a role; set OIDC_ROLES")
	}
	go func() {
		if err := provider.Reach(ctx); err != nil && ctx.Err() == nil {
			p.log.Warn("sign-in provider unavailable", "provider", provider.Issuer(), "err", err)
		}
	}()
}

// openQueue opens the queue. The page starts and stays up while Redis is down, and uses the queue
// as soon as Redis is back.
func (p *page) openQueue() (*jobs.Queue, error) {
	queue, err := p.env.NewQueue()
	if err != nil {
		return nil, err
	}
	err = queue.Ping()
	switch {
	case errors.Is(err, jobs.ErrQueueDown):
		p.log.Warn("redis unavailable, using local rate limit", "err", err)
	case err != nil:
		return nil, errors.Join(err, queue.Close())
	}
	return queue, nil
}

// depth counts the tasks on the queue. Its error is ErrQueueDown.
func (p *page) depth(ctx context.Context) (map[string]int, error) {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	depth, err := p.queue.Depth(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", jobs.ErrQueueDown, err)
	}
	return depth, nil
}

// places reports whether the page places orders. With Redis, the workers place them.
func (p *page) places() bool { return p.env.RedisURL == "" && p.client != nil }

func (p *page) service() (*filingapi.Client, error) { return p.client, p.why }

func (p *page) ask(ctx context.Context) (pricing.Quoter, error) {
	if p.why != nil {
		return nil, p.why
	}
	return p.env.PriceSource(p.ledger.Ledger, p.client)(ctx)
}

// settings returns the configuration that the page shows. It has no secrets.
func (p *page) settings() (web.Settings, error) {
	secrets, err := p.env.WebhookSecrets()
	if err != nil {
		return web.Settings{}, err
	}
	s := web.Settings{
		HookKey:  len(secrets) > 0,
		Service:  p.env.BaseURL,
		Key:      p.env.HasKey(),
		Mode:     p.env.Mode(),
		Database: "SQLite, in " + p.env.LedgerDir(),
		Queue:    "within this process",
		Rate:     p.env.Rate,
		FeesFile: p.env.FeesFile,
		Places:   p.places(),
		HookPath: webhook.Path,
		Groups:   p.env.SignIn.Groups(),
		Claim:    p.env.SignIn.Claim,

		BackupDir:  p.env.BackupDir(),
		BackupName: p.env.LedgerName(),
	}
	if p.env.DatabaseURL != "" {
		s.Database = "PostgreSQL"
	}
	if p.env.RedisURL != "" {
		s.Queue = "Redis"
	}
	for _, t := range p.targets {
		s.Targets = append(s.Targets, t.String())
	}
	return s, nil
}

// backUp writes the daily backups of an SQLite ledger.
func (p *page) backUp(ctx context.Context) {
	if dir := p.env.BackupDir(); dir != "" {
		daily := backup.Daily{
			Ledger: p.ledger.Ledger,
			Name:   p.env.LedgerName(),
			Dir:    dir,
			Keep:   p.env.Backups.Keep,
			Log:    p.log,
		}
		daily.Run(ctx)
	}
}

// placeOrders places submitted orders until ctx ends, if the page does that. It retries until a
// worker can start.
func (p *page) placeOrders(ctx context.Context) {
	if !p.places() {
		return
	}
	said := ""
	var worker *jobs.Worker
	err := retry.Do(ctx, retry.Backoff{First: time.Second, Max: 30 * time.Second}, func() (final bool, err error) {
		if worker, err = p.startWorker(ctx); err != nil && err.Error() != said && ctx.Err() == nil {
			said = err.Error()
			p.log.Warn("cannot place orders yet, retrying", "reason", said)
		}
		return false, err
	})
	if err != nil {
		return
	}
	p.log.Info("placing orders", "service", p.env.BaseURL, "concurrency", p.env.Concurrency)
	<-ctx.Done()
	worker.Stop()
}

// startWorker starts a worker. It fails while the filing service or Redis is down or the key is
// rejected.
func (p *page) startWorker(ctx context.Context) (*jobs.Worker, error) {
	if err := p.queue.Ping(); err != nil {
		return nil, err
	}
	quoter, err := p.ask(ctx)
	if err != nil {
		return nil, err
	}
	return jobs.Start(ctx, p.env.WorkerConfig(p.ledger.Ledger, p.client, p.queue, quoter, p.log))
}

// close closes the resources that openPage opened.
func (p *page) close() error {
	if p.client != nil {
		p.client.Close()
	}
	return p.queue.Close()
}

// nextLinkLife is the validity of the link that takes a browser to the next start. The link is used
// at once.
const nextLinkLife = 5 * time.Minute

// setup lets the page set up the filing service. It returns nil unless only this machine can reach
// the page, because elsewhere the deployment decides. It also returns nil if the environment has a
// key, because that key would override the stored one.
func (p *page) setup() *web.Setup {
	if !p.local || p.env.ByEnvironment("FILING_API_KEY") {
		return nil
	}
	s := &web.Setup{
		Service: p.env.BaseURL,
		File:    config.SettingsPath(p.global.getenv),
		Check:   p.checkService,
		Save:    p.saveService,
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

// checkService asks the filing service for the organization of the key.
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
	path := config.SettingsPath(p.global.getenv)
	env, err := p.global.environment()
	if err != nil {
		return "", err
	}
	// Choose the ledger first, because this finds the decisions that a person has to make before
	// anything is stored.
	env = env.With(enteredService(s))
	next, err := p.nextLink(ctx, &env, by)
	if err != nil {
		return "", err
	}
	if err := config.SaveService(path, enteredService(s)); err != nil {
		return "", err
	}
	p.front.startAgain()
	return next, nil
}

// nextLink returns the path that the browser opens after the next start. It is the home page, or a
// one-time link if the ledger changes. Only the owner of this computer gets a link.
func (p *page) nextLink(ctx context.Context, env *config.Environment, by string) (string, error) {
	asking, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	if _, err := env.ChooseLedger(asking); err != nil {
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
	next := "/"
	owner, err := findOwner(ctx, l)
	if err == nil && owner.ManagedBy == "" {
		next, err = ownerLink(ctx, l, owner, "by the setup", nextLinkLife)
	}
	return next, errors.Join(err, l.Close())
}
