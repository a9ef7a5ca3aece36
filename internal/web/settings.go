package web

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/account"
	"github.com/bulkfiling/bulkfiling/internal/approval"
	"github.com/bulkfiling/bulkfiling/internal/backup"
	"github.com/bulkfiling/bulkfiling/internal/filingapi"
	"github.com/bulkfiling/bulkfiling/internal/jobs"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/outbox"
	"github.com/bulkfiling/bulkfiling/internal/pricing"
	"github.com/bulkfiling/bulkfiling/internal/schedule"
	"github.com/bulkfiling/bulkfiling/internal/season"
	"github.com/bulkfiling/bulkfiling/internal/webhook"
)

// settingsHandler handles the settings of the firm, the page of the workers, and the setup of the
// filing service.
type settingsHandler struct {
	*Config
}

func (h *settingsHandler) routes() []route {
	return []route{
		{pattern: "GET /settings", may: viewer, serve: h.settings},
		{pattern: "POST /settings/firm", may: operator, serve: h.changePolicy},
		{pattern: "POST /settings/zone", may: operator, serve: h.setZone},
		{pattern: "GET /workers", may: viewer, serve: h.workers},
		{pattern: "GET /setup", may: operator, serve: h.setupPage},
		{pattern: "POST /setup", may: operator, serve: h.setService},
	}
}

// settingsPage shows the settings of the firm and of the environment.
type settingsPage struct {
	Settings Settings
	// Setup reports whether the page can change the filing service.
	Setup bool
	// Address is the address for events from the filing service.
	Address   string
	Policy    approval.Policy
	Endpoints []webhook.Endpoint
	LastEvent time.Time
	Backups   backupFacts
	// Secret is the reason why the signing secrets cannot be read. Empty if they can.
	Secret   string
	Fees     []*pricing.FeeLine
	FeesErr  string
	Accounts []account.Account
	Links    []account.SignInLink
	// Provider is the issuer of the sign-in provider. Empty if none is configured.
	Provider string
	// Away reports whether the provider was unreachable at the last request.
	Away bool
	// Zone is the time zone of the firm.
	Zone  string
	Zones []string
}

func (h *settingsHandler) settings(v *request) error {
	ctx := v.ctx()
	p := settingsPage{Settings: h.Settings, Setup: h.Setup != nil, Address: v.server.of(v.r) + h.Settings.HookPath}
	var events []ledger.Event
	var zone *time.Location
	err := errors.Join(
		load(&p.Policy)(approval.New(h.Ledger).Policy(ctx)),
		load(&p.Endpoints)(webhook.NewEndpoints(h.Ledger.DB).List(ctx)),
		load(&p.Backups)(loadBackups(h.Settings, h.Ledger.Now())),
		load(&events)(h.Ledger.Events().List(ctx, "", 1)),
		load(&zone)(schedule.FirmZone(ctx, h.Ledger)))
	if slices.ContainsFunc(auditor, v.may) {
		err = errors.Join(err,
			load(&p.Accounts)(h.Ledger.Accounts().List(ctx)),
			load(&p.Links)(h.Ledger.Accounts().ListSignInLinks(ctx)))
		if h.Provider != nil {
			p.Provider, p.Away = h.Provider.Issuer(), h.Provider.Away() != nil
		}
	}
	if err != nil {
		return err
	}
	p.Zone, p.Zones = zone.String(), zonesWith(zone.String())
	if len(events) > 0 {
		p.LastEvent = events[0].ReceivedAt
	}
	if _, err := webhook.NewEndpoints(h.Ledger.DB).Secrets(ctx); err != nil {
		p.Secret = err.Error()
	}
	fees := pricing.BuiltinFees()
	if h.Settings.FeesFile != "" {
		if fees, err = pricing.LoadFees(h.Settings.FeesFile); err != nil {
			p.FeesErr, fees = err.Error(), pricing.BuiltinFees()
		}
	}
	p.Fees = fees.Lines()
	return v.show(nil, "settings.html", "Settings", p)
}

func (h *settingsHandler) changePolicy(v *request) error {
	form := v.r.PostForm
	policy := approval.Policy{Second: form.Get("second") != "", Terminal: form.Get("terminal") != ""}
	if text := strings.TrimSpace(form.Get("from")); text != "" {
		from, err := money.Parse(text)
		if err != nil || from < 0 {
			return badRequest("The amount is not a number of dollars. Enter it like 5000. Nothing was changed.")
		}
		policy.From = from
	}
	err := approval.New(h.Ledger).ChangePolicy(v.withAudit("policy", "", policy.Words()), policy)
	return v.done(err, "/settings#approvals", "Saved: %s. Batches that wait for approval keep waiting.", policy.Words())
}

func (h *settingsHandler) setZone(v *request) error {
	zone := v.form("zone")
	if _, err := season.LoadZone(zone); err != nil || zone == "" {
		return badRequest("Choose a time zone from the list.")
	}
	err := schedule.NewRecords(h.Ledger).SetFirmZone(v.withAudit("firm-zone", zone, ""), zone)
	return v.done(err, "/settings#notices", "The time zone of the firm is %s.", zone)
}

// backupFacts describes the daily backups of the ledger.
type backupFacts struct {
	// Dir is the folder. Empty if daily backups are off.
	Dir string
	// Last is the time of the newest backup. Zero before the first backup.
	Last time.Time
	// Late reports whether Last is more than two days ago.
	Late bool
}

func loadBackups(s Settings, now time.Time) (f backupFacts, err error) {
	if f.Dir = s.BackupDir; f.Dir == "" {
		return f, nil
	}
	f.Last, err = backup.Newest(f.Dir, s.BackupName, now)
	f.Late = !f.Last.IsZero() && now.Sub(f.Last) > 48*time.Hour
	return f, err
}

// workersPage shows the workers and the reason if they send nothing.
type workersPage struct {
	Processes []ledger.Process
	// Placing counts the live processes that place orders.
	Placing   int
	Halted    ledger.Halted
	Halt      string
	Backlog   int
	Needed    money.Cost
	Attention ledger.AttentionCounts
	// Queue is the number of queued tasks by asynq's states.
	Queue    map[string]int
	QueueErr string
	Notices  []outbox.Notification
	Settings Settings
}

func (h *settingsHandler) workers(v *request) error {
	p := workersPage{Settings: h.Settings}
	ctx := v.ctx()
	err := errors.Join(
		load(&p.Processes)(h.Ledger.Fleet().Processes(ctx)),
		load(&p.Halted)(h.Ledger.Fleet().Halt(ctx)),
		load(&p.Attention)(h.Ledger.Attention().Count(ctx)),
		load(&p.Notices)(h.Ledger.Notifications().List(ctx, 20)))
	if err != nil {
		return err
	}
	if p.Backlog, p.Needed, err = h.Ledger.Backlog().Total(ctx); err != nil {
		return err
	}
	for _, one := range p.Processes {
		if one.Places && one.Alive {
			p.Placing++
		}
	}
	p.Halt = jobs.FleetHold(p.Halted).Text
	if h.Depth != nil {
		if p.Queue, err = h.Depth(ctx); err != nil {
			p.QueueErr = err.Error() // the page shows it
		}
	}
	return v.show(nil, "workers.html", "Workers", p)
}

// Setup lets the page set up the filing service. Check tests a filing service. Save stores it and
// restarts the server. It returns the address of the page to open then.
type Setup struct {
	// Address is the address that the environment sets. It takes precedence. If it is empty, the
	// page asks for the address.
	Address string
	// Service is the address in use. Empty if none is set up.
	Service string
	// File is the path of the file that stores the settings.
	File string

	Check func(ctx context.Context, s FilingService) (FilingAccount, error)
	Save  func(ctx context.Context, by string, s FilingService) (next string, err error)
}

// FilingService is the address of a filing service and the key for it.
type FilingService struct{ Address, Key string }

// Live reports whether the key buys real filings.
func (s FilingService) Live() bool { return strings.HasPrefix(s.Key, "sk_live_") }

// FilingAccount is the account that an API key belongs to.
type FilingAccount struct {
	// Organization is empty if unknown.
	Organization string
	Live         bool
}

// setupView is the page for setting up the filing service.
type setupView struct {
	*Setup
	// Given is the address as entered.
	Given   string
	Problem string
}

var errNoSetup = &httpError{http.StatusConflict, "The environment sets up the filing service",
	"Nothing was changed. Set FILING_BASE_URL and FILING_API_KEY where importer serve starts, then start it again."}

func (h *settingsHandler) setupPage(v *request) error {
	if h.Setup == nil {
		return errNoSetup
	}
	return v.show(nil, "setup.html", "Set up", setupView{Setup: h.Setup, Given: h.Setup.Service})
}

// setService checks the key at the filing service, then saves the address and the key. A live key
// requires a confirmation, because its orders cost real money.
func (h *settingsHandler) setService(v *request) error {
	if h.Setup == nil {
		return errNoSetup
	}
	form := v.r.PostForm
	given := FilingService{
		Address: filingapi.CompleteAddress(form.Get("address")),
		Key:     strings.TrimSpace(form.Get("key")),
	}
	if h.Setup.Address != "" {
		given.Address = h.Setup.Address
	}
	account, err := h.Setup.Check(v.ctx(), given)
	problem, note := "", "test"
	if given.Live() {
		note = "live"
	}
	switch {
	case err != nil:
		problem = SetupProblem(err)
	case given.Live() && form.Get("live") == "":
		problem = "This is a live key. Confirm that orders cost real money, and enter the key again."
	default:
		v.flash("ok", "The filing service is set up for %s orders of %s.", note,
			cmp.Or(account.Organization, "your organization"))
		if err := v.record(v.once, "setup", given.Address, note); err != nil {
			return err
		}
		next, err := h.Setup.Save(v.ctx(), v.who(), given)
		if err != nil {
			return badRequest("%s", sentence(err.Error()))
		}
		return v.redirect(next)
	}
	return v.showStatus(http.StatusUnprocessableEntity, "setup.html", "Set up",
		setupView{Setup: h.Setup, Given: given.Address, Problem: problem})
}

// SetupProblem describes an error of an address or a key, with the next step.
func SetupProblem(err error) string {
	switch _, unanswered := errors.AsType[*filingapi.Error](err); {
	case errors.Is(err, filingapi.ErrKeyRefused):
		return "The filing service rejects this API key. Copy the whole key again, or ask for a new one."
	case errors.Is(err, context.DeadlineExceeded):
		return "The filing service does not answer. Check the address and your connection, then try again."
	case unanswered:
		return "The filing service could not check the key: " + err.Error() + ". Check the address, then try again."
	}
	return sentence(err.Error())
}
