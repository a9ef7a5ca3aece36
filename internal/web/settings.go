package web

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/backup"
	"github.com/bulkfiling/bulkfiling/internal/jobs"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/pricing"
	"github.com/bulkfiling/bulkfiling/internal/schedule"
	"github.com/bulkfiling/bulkfiling/internal/season"
)

var settingsRoutes = []route{
	{pattern: "GET /settings", may: viewer, serve: (*Site).settings},
	{pattern: "POST /settings/firm", may: operator, serve: (*Site).changePolicy},
	{pattern: "POST /settings/zone", may: operator, serve: (*Site).setZone},
	{pattern: "POST /settings/notices", may: operator, serve: (*Site).tryNotices},
	{pattern: "POST /settings/mappings/{shape}/drop", may: hands, serve: (*Site).deleteMapping},
}

// settingsPage shows the settings of the firm and of the environment.
type settingsPage struct {
	Settings  Settings
	Setup     bool   // the page can change the filing service
	Address   string // where the service can send events
	Policy    ledger.Policy
	Endpoints []ledger.Endpoint
	LastEvent time.Time
	Backups   backupFacts
	Secret    string // why signing secrets cannot be read
	Mappings  []ledger.Mapping
	Fees      []*pricing.FeeLine
	FeesErr   string
	Accounts  []ledger.Account
	Links     []ledger.SignInLink
	Provider  string // the issuer of the sign-in provider; "" for none
	Away      bool   // it could not be reached
	Mails     bool   // sign-in links can be mailed
	Zone      string // of the firm
	Zones     []string
}

// PolicyText is the policy as a sentence.
func (p settingsPage) PolicyText() string { return sentence(p.Policy.Words()) }

// From is the policy's amount as it is typed.
func (p settingsPage) From() string {
	if p.Policy.From == 0 {
		return ""
	}
	return p.Policy.From.String()
}

func (s *Site) settings(v *request) error {
	ctx := v.ctx()
	p := settingsPage{Settings: s.Settings, Setup: s.Setup != nil, Address: s.address(v.r) + s.Settings.HookPath}
	var events []ledger.Event
	var zone *time.Location
	err := errors.Join(
		load(&p.Policy)(s.Ledger.Approvals().Policy(ctx)),
		load(&p.Endpoints)(s.Ledger.Endpoints().List(ctx)),
		load(&p.Backups)(s.loadBackups()),
		load(&events)(s.Ledger.Events().List(ctx, "", 1)),
		load(&zone)(schedule.FirmZone(ctx, s.Ledger)),
		load(&p.Mappings)(s.Ledger.Uploads().ListMappings(ctx)))
	if slices.ContainsFunc(auditor, v.may) {
		err = errors.Join(err,
			load(&p.Accounts)(s.Ledger.Accounts().List(ctx)),
			load(&p.Links)(s.Ledger.Accounts().ListSignInLinks(ctx)))
		if s.Provider != nil {
			p.Provider, p.Away = s.Provider.Issuer(), s.Provider.Away() != nil
		}
		p.Mails = s.mails()
	}
	if err != nil {
		return err
	}
	p.Zone, p.Zones = zone.String(), zonesWith(zone.String())
	if len(events) > 0 {
		p.LastEvent = events[0].ReceivedAt
	}
	if _, err := s.Ledger.Endpoints().Secrets(ctx); err != nil {
		p.Secret = err.Error()
	}
	fees := pricing.BuiltinFees()
	if s.Settings.FeesFile != "" {
		if fees, err = pricing.LoadFees(s.Settings.FeesFile); err != nil {
			p.FeesErr, fees = err.Error(), pricing.BuiltinFees()
		}
	}
	p.Fees = fees.Lines()
	return v.show("settings.html", "Settings", p)
}

func (s *Site) changePolicy(v *request) error {
	form := v.r.PostForm
	policy := ledger.Policy{Second: form.Get("second") != "", Terminal: form.Get("terminal") != ""}
	if text := strings.TrimSpace(form.Get("from")); text != "" {
		from, err := money.Parse(text)
		if err != nil || from < 0 {
			return badRequest("The amount is not a number of dollars. Enter it like 5000. Nothing was changed.")
		}
		policy.From = from
	}
	err := s.Ledger.Approvals().ChangePolicy(v.withAudit("policy", "", policy.Words()), policy)
	return v.done(err, "/settings#approvals", "Saved: %s. Batches that wait for approval keep waiting.", policy.Words())
}

func (s *Site) setZone(v *request) error {
	zone := v.r.PostForm.Get("zone")
	if _, err := season.LoadZone(zone); err != nil || zone == "" {
		return badRequest("Choose a time zone from the list.")
	}
	err := s.Ledger.Schedules().SetFirmZone(v.withAudit("firm-zone", zone, ""), zone)
	return v.done(err, "/settings#notices", "The time zone of the firm is %s.", zone)
}

// tryNotices sends a test notification to every recipient.
func (s *Site) tryNotices(v *request) error {
	if s.TestNotices == nil || len(s.Settings.Targets) == 0 {
		return badRequest("No recipients are set up. Set FILING_NOTIFY for importer serve. Nothing was sent.")
	}
	if err := v.record(v.once, "notify-test", "", count(len(s.Settings.Targets), "recipient")); err != nil {
		return err
	}
	targets, err := s.TestNotices(v.ctx())
	if err != nil {
		return badRequest("%s", err)
	}
	bad := 0
	text := ""
	for _, t := range targets {
		if t.Err != nil {
			bad++
			text += " " + t.Name + ": " + t.Err.Error() + "."
		}
	}
	if bad > 0 {
		v.flash("bad", "%d of %s did not get the test notification.%s", bad, count(len(targets), "recipient"), text)
	} else {
		v.flash("ok", "%s got the test notification.", count(len(targets), "recipient"))
	}
	return v.redirect("/settings")
}

func (s *Site) deleteMapping(v *request) error {
	shape := v.r.PathValue("shape")
	err := s.Ledger.Uploads().DeleteMapping(v.withAudit("mapping-drop", shape, ""), shape)
	return v.done(err, "/settings",
		"Deleted the mapping. Columns of spreadsheets with these headers are detected again.")
}

// backupFacts describes the daily backups of the ledger.
type backupFacts struct {
	// Dir is the folder, empty if there are no daily backups.
	Dir string
	// Last is the time of the newest backup, zero if there is none.
	Last time.Time
	// Late reports whether Last is more than two days ago.
	Late bool
}

func (s *Site) loadBackups() (f backupFacts, err error) {
	if f.Dir = s.Settings.BackupDir; f.Dir == "" {
		return f, nil
	}
	f.Last, err = backup.Newest(f.Dir, s.Settings.BackupName, s.Ledger.Now())
	f.Late = !f.Last.IsZero() && s.Ledger.Now().Sub(f.Last) > 48*time.Hour
	return f, err
}

// backupActions asks an operator to look after a missing backup.
func (f *actionFacts) backupActions(v *request) []action {
	if !f.backups.Late || !v.may(ledger.Operator) {
		return nil
	}
	return []action{{
		Class:  "warn",
		Text:   "The last backup of the ledger is of " + f.backups.Last.UTC().Format("Jan 2, 15:04 UTC"),
		Button: "See backups",
		Path:   "/settings#backups",
	}}
}

var workerRoutes = []route{
	{pattern: "GET /fleet", may: viewer, serve: (*Site).workers},
}

// workersPage shows the workers and why they do not send.
type workersPage struct {
	Processes []ledger.Process
	Placing   int // processes that place
	Halted    ledger.Halted
	Halt      string
	Backlog   int
	Needed    money.Cost
	Attention ledger.Attention
	Queue     []queued
	QueueErr  string
	Notices   []ledger.Notification
	Settings  Settings
}

// queued is how many tasks are in a state.
type queued struct {
	State string
	Tasks int
}

// taskStates are asynq's, in the order in which a task goes through them.
var taskStates = []struct{ state, words string }{
	{"pending", "waiting"}, {"active", "in progress"},
}

func (s *Site) workers(v *request) error {
	p := workersPage{Settings: s.Settings}
	ctx := v.ctx()
	err := errors.Join(
		load(&p.Processes)(s.Ledger.Fleet().Processes(ctx)),
		load(&p.Halted)(s.Ledger.Fleet().Halt(ctx)),
		load(&p.Attention)(s.Ledger.Attention(ctx)),
		load(&p.Notices)(s.Ledger.Notifications().List(ctx, 20)))
	if err != nil {
		return err
	}
	if p.Backlog, p.Needed, err = s.Ledger.Backlog(ctx); err != nil {
		return err
	}
	for _, one := range p.Processes {
		if one.Places && one.Alive {
			p.Placing++
		}
	}
	p.Halt = jobs.FleetHold(p.Halted).Text
	if s.Depth != nil {
		depth, err := s.Depth(ctx)
		if err != nil {
			p.QueueErr = err.Error() // shown on the page
		}
		for _, t := range taskStates {
			if n := depth[t.state]; n > 0 {
				p.Queue = append(p.Queue, queued{t.words, n})
			}
		}
	}
	return v.show("workers.html", "Workers", p)
}
