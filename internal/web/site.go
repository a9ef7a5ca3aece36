package web

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/bulkfiling/bulkfiling/internal/cache"
	"github.com/bulkfiling/bulkfiling/internal/filingapi"
	"github.com/bulkfiling/bulkfiling/internal/jobs"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/network"
	"github.com/bulkfiling/bulkfiling/internal/pricing"
	"github.com/bulkfiling/bulkfiling/internal/schedule"
	"github.com/bulkfiling/bulkfiling/internal/signin"
)

// Config is what a site is made of.
type Config struct {
	Ledger *ledger.Ledger
	// why there is none, where the environment names none; no one closes it
	Service     func() (*filingapi.Client, error)
	Ask         pricing.Source // what things cost now
	Seasons     *schedule.Scheduler
	Throttle    jobs.Throttle // of look-ups; nil for none
	Concurrency int           // look-ups in flight
	// of the queue, by asynq's states; nil where there is none to ask
	Depth       func(context.Context) (map[string]int, error)
	TestNotices func(context.Context) ([]NotificationTarget, error) // sends a message to every target of notifications
	// Mail sends an email. It is nil if no mail server is configured.
	Mail      func(ctx context.Context, to, subject, body string) error
	Provider  *signin.Provider // the sign-in provider; nil for none
	Settings  Settings
	Setup     *Setup            // sets up the filing service; nil where the page cannot
	Downloads network.Downloads // where the links of documents may lead
	Public    *url.URL          // where people reach the site; nil: wherever it listens
	Local     bool              // it listens on loopback, and no one is in front: other names are refused
	Port      int               // where it listens on loopback; 0 elsewhere
	TLS       bool              // people reach it encrypted
	Proxies   network.Proxies   // whose word on who asks is believed
	MaxUpload int64             // bytes of a sheet; 0 for 64 MiB
	Version   string
	Log       *slog.Logger
}

// Settings are what the environment says, without its secrets.
type Settings struct {
	Service  string // the service's address; "" for none
	Key      bool   // there is one
	Mode     string // "test" or "live"
	Database string // in words
	Queue    string
	Rate     float64 // requests a second; 0 for unlimited
	FeesFile string  // "" for the built-in ones
	Places   bool    // this process places orders itself
	Targets  []string
	HookPath string   // where events are taken
	HookKey  bool     // the environment holds a signing secret of events
	Groups   []string // the groups of the sign-in provider that have roles, as GROUP=ROLE
	Claim    string   // of the provider, that names the groups

	BackupDir  string // folder of daily backups; "" for none
	BackupName string // beginning of their file names
}

// NotificationTarget is a target of notifications, and the result of a test.
type NotificationTarget struct {
	Name string
	Err  error
}

// Site is the page.
type Site struct {
	Config
	routes      *http.ServeMux // the table of routes
	handler     http.Handler
	queue       *prepareQueue
	drafts      *cache.Cache[string, *heldDraft]
	uploads     *seats                               // files on their way in
	figures     *cache.Cache[string, ledger.Figures] // by batch
	filings     *cache.Cache[string, ledger.Filings]
	entries     *cache.Cache[string, foundEntries] // by the ledger's version and the filter
	denials     *rate.Limiter                      // of audit events of people who are signed in
	failures    *rate.Limiter                      // of audit events of strangers
	meters      meters
	actionFacts *cache.Cache[string, actionFacts]
	mailing     sync.WaitGroup // links on their way to their mailboxes
	mailSlots   chan struct{}  // bounds them
}

// New makes a site. Close it before the ledger.
func New(c Config) *Site {
	if c.MaxUpload == 0 {
		c.MaxUpload = 64 << 20
	}
	s := &Site{
		Config:      c,
		uploads:     newSeats(uploadsEach, uploadsAll),
		figures:     newSummaries[ledger.Figures](),
		filings:     newSummaries[ledger.Filings](),
		entries:     newSummaries[foundEntries](),
		denials:     newTraceLimit(),
		failures:    newTraceLimit(),
		actionFacts: cache.New[string](cache.Options[actionFacts]{TTL: actionsTTL}),
		mailSlots:   make(chan struct{}, mailAtOnce),
	}
	s.queue = newPrepareQueue(s)
	s.drafts = newDrafts()
	s.routes = s.mux()
	s.handler = network.Compress(s.guard(s.routes))
	s.Ledger.AuditLog().OnRecord(s.logAct)
	return s
}

// ServeHTTP serves the pages.
func (s *Site) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// Close stops the background work of the pages. It starts again with the next
// request.
func (s *Site) Close() {
	s.queue.close()
	s.mailing.Wait()
}

// keptUploads is how long an unused upload is kept.
const keptUploads = 30 * 24 * time.Hour

// Tidy deletes old uploads every hour until ctx ends.
func (s *Site) Tidy(ctx context.Context) {
	for {
		if n, err := s.Ledger.Uploads().Prune(ctx, keptUploads); err != nil && ctx.Err() == nil {
			s.Log.Warn("deleting old uploads failed", "err", err)
		} else if n > 0 {
			s.Log.Info("old uploads deleted", "uploads", n)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Hour):
		}
	}
}

// address is where people reach the site, as far as it knows.
func (s *Site) address(r *http.Request) string {
	if s.Public != nil {
		return strings.TrimSuffix(s.Public.String(), "/")
	}
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	return scheme + "://" + r.Host
}
