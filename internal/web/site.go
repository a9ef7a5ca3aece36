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
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/lookup"
	"github.com/bulkfiling/bulkfiling/internal/network"
	"github.com/bulkfiling/bulkfiling/internal/pricing"
	"github.com/bulkfiling/bulkfiling/internal/schedule"
	"github.com/bulkfiling/bulkfiling/internal/signin"
)

// Config configures a site.
type Config struct {
	Ledger *ledger.Ledger
	// Service returns the API client, or an error if none is configured. Callers must not close it.
	Service func() (*filingapi.Client, error)
	// Ask returns the current prices.
	Ask     pricing.Source
	Seasons *schedule.Scheduler
	// Throttle limits look-ups. Look-ups are unlimited if it is nil.
	Throttle *lookup.Throttle
	// Concurrency is the maximum number of concurrent look-ups.
	Concurrency int
	// Depth returns the number of queued tasks by asynq's states. It is nil if no queue is
	// configured.
	Depth func(context.Context) (map[string]int, error)
	// TestNotices sends a message to every target of notifications.
	TestNotices func(context.Context) ([]NotificationTarget, error)
	// Mail sends an email. It is nil if no mail server is configured.
	Mail func(ctx context.Context, to, subject, body string) error
	// Provider is the sign-in provider. It is nil if none is configured.
	Provider *signin.Provider
	Settings Settings
	// Setup sets up the filing service. It is nil if the page must not change it.
	Setup *Setup
	// Downloads limits the hosts of document links.
	Downloads network.Downloads
	// Public is the address of the site for browsers. If it is nil, the site is reached at the
	// address that it listens on.
	Public *url.URL
	// Local reports whether the site listens on loopback without a proxy. It then rejects requests
	// whose host is not loopback.
	Local bool
	// Port is the port if the site listens on loopback, and zero otherwise.
	Port int
	// TLS reports whether browsers reach the site over HTTPS.
	TLS bool
	// Proxies are the proxies whose forwarded client addresses are trusted.
	Proxies network.Proxies
	// MaxUpload is the maximum size of a sheet in bytes. Defaults to 64 MiB.
	MaxUpload int64
	Version   string
	Log       *slog.Logger
}

// Settings are the settings of the environment for display, without secrets.
type Settings struct {
	// Service is the address of the filing service. Empty if none is configured.
	Service string
	// Key reports whether an API key is set.
	Key bool
	// Mode is "test" or "live".
	Mode string
	// Database is a description of the database.
	Database string
	Queue    string
	// Rate is the limit in requests per second. Zero means unlimited.
	Rate float64
	// FeesFile is the file of the fees. Empty if the built-in fees are used.
	FeesFile string
	// Places reports whether this process places orders.
	Places  bool
	Targets []string
	// HookPath is the path that receives events.
	HookPath string
	// HookKey reports whether the environment sets a signing secret for events.
	HookKey bool
	// Groups are the groups of the sign-in provider that have roles, as GROUP=ROLE.
	Groups []string
	// Claim is the provider's claim that lists the groups.
	Claim string

	// BackupDir is the folder of daily backups. Empty if they are off.
	BackupDir string
	// BackupName is the prefix of the file names of backups.
	BackupName string
}

// NotificationTarget is a target of notifications, and the result of a test.
type NotificationTarget struct {
	Name string
	Err  error
}

// Site is the web interface. It implements http.Handler.
type Site struct {
	Config
	routes  *http.ServeMux
	handler http.Handler
	queue   *prepareQueue
	drafts  *cache.Cache[string, *heldDraft]
	// uploads limits concurrent uploads.
	uploads *seats
	// figures and filings are keyed by batch.
	figures *cache.Cache[string, ledger.Figures]
	filings *cache.Cache[string, ledger.Filings]
	// entries is keyed by the ledger's version and the filter.
	entries *cache.Cache[string, foundEntries]
	// denials limits the audit events about readers who are signed in.
	denials *rate.Limiter
	// failures limits the audit events about people who are not signed in.
	failures    *rate.Limiter
	meters      meters
	actionFacts *cache.Cache[string, actionFacts]
	// mailing waits for links that are being mailed, and mailSlots limits them.
	mailing   sync.WaitGroup
	mailSlots chan struct{}
}

// New returns a site. Close it before the ledger.
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

// Close stops the background work of the pages. A later request for an unprepared upload starts its
// preparation again.
func (s *Site) Close() {
	s.queue.close()
	s.mailing.Wait()
}

// keptUploads is how long an unused upload is stored.
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

// address returns the address of the site. Without a public address it derives the address from the
// request.
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
