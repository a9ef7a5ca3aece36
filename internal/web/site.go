package web

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/approval"
	"github.com/bulkfiling/bulkfiling/internal/cache"
	"github.com/bulkfiling/bulkfiling/internal/filingapi"
	"github.com/bulkfiling/bulkfiling/internal/intake"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/lookup"
	"github.com/bulkfiling/bulkfiling/internal/network"
	"github.com/bulkfiling/bulkfiling/internal/pricing"
	"github.com/bulkfiling/bulkfiling/internal/schedule"
	"github.com/bulkfiling/bulkfiling/internal/signin"
)

// Config configures a site. The handlers of all areas share it.
type Config struct {
	Ledger *ledger.Ledger
	// Service returns the API client, or an error if none is configured. Callers must not close it.
	Service func() (*filingapi.Client, error)
	// Prices returns the current prices.
	Prices    pricing.Source
	Scheduler *schedule.Scheduler
	// Throttle limits look-ups. Look-ups are unlimited if it is nil.
	Throttle *lookup.Throttle
	// Concurrency is the maximum number of concurrent look-ups.
	Concurrency int
	// Depth returns the number of queued tasks by asynq's states. It is nil if no queue is
	// configured.
	Depth func(context.Context) (map[string]int, error)
	// Provider is the sign-in provider. It is nil if none is configured.
	Provider *signin.Provider
	Settings Settings
	// Setup sets up the filing service. It is nil if the page must not change it.
	Setup *Setup
	// Downloads limits the hosts of document links.
	Downloads network.Downloads
	Address
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

// Site is the web interface. It implements http.Handler.
type Site struct {
	server  *server
	handler http.Handler
	queue   *prepareQueue
}

// New returns a site. Close it before the ledger.
func New(c Config) *Site {
	if c.MaxUpload == 0 {
		c.MaxUpload = 64 << 20
	}
	l, view := c.Ledger, newOverview(&c)
	s := &server{
		Config:   &c,
		accounts: l.Accounts(),
		audit:    l.AuditLog(),
		overview: view,
		mux:      http.NewServeMux(),
		uploads:  &seats{of: make(map[string]int)},
		denials:  newTraceLimit(),
		failures: newTraceLimit(),
	}
	site := &Site{server: s, queue: newPrepareQueue(&c)}
	signIns := &authenticator{accounts: l.Accounts(), notifications: l.Notifications()}
	rows := &rowHandler{&c}
	rehearsals := &rehearsalHandler{queue: site.queue}
	s.register(
		&signInHandler{&c, signIns},
		&securityHandler{&c, signIns},
		&providerHandler{&c, signIns},
		&homeHandler{&c, view},
		&uploadHandler{Config: &c, uploads: intake.NewUploads(l), queue: site.queue},
		&gridHandler{site.queue},
		&scheduleHandler{&c, view},
		&settingsHandler{&c},
		&accountHandler{l.Accounts(), l.AuditLog()},
		&balanceHandler{&c, cache.New[string](cache.Options[foundEntries]{TTL: sharedTTL, Max: maxSummaries})},
		&chargeHandler{&c},
		&batchHandler{Config: &c, overview: view, rows: rows},
		rows,
		&approvalHandler{Config: &c, approvals: approval.New(l), queue: site.queue, rehearsals: rehearsals},
		rehearsals,
		&downloadHandler{&c},
		&uncertainHandler{&c},
		&companyHandler{&c},
		&silentHandler{&c, view},
	)
	site.handler = network.Compress(s.guard(s.mux))
	s.audit.OnRecord(s.logAct)
	return site
}

// ServeHTTP serves the pages.
func (s *Site) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// Close stops the background work of the pages. A later request for an unprepared upload starts its
// preparation again.
func (s *Site) Close() { s.queue.close() }

// keptUploads is how long an unused upload is stored.
const keptUploads = 30 * 24 * time.Hour

// Tidy deletes old uploads every hour until ctx ends.
func (s *Site) Tidy(ctx context.Context) {
	for {
		if n, err := intake.NewUploads(s.server.Ledger).Prune(ctx, keptUploads); err != nil && ctx.Err() == nil {
			s.server.Log.Warn("deleting old uploads failed", "err", err)
		} else if n > 0 {
			s.server.Log.Info("old uploads deleted", "uploads", n)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Hour):
		}
	}
}
