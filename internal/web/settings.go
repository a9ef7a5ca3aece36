package web

import (
	"slices"
	"time"

	"bulkfiling/internal/balance"
	"bulkfiling/internal/ledger"
)

var settingsRoutes = []route{
	{pattern: "GET /settings", may: viewer, serve: (*Site).settings},
	{pattern: "POST /settings/firm", may: operator, serve: (*Site).changeFirm},
	{pattern: "POST /settings/notices", may: operator, serve: (*Site).tryNotices},
	{pattern: "POST /settings/mappings/{shape}/drop", may: hands, serve: (*Site).dropMapping},
}

// settingsPage is what is set, here and in the environment.
type settingsPage struct {
	Settings  Settings
	Address   string // where the service can send events
	Firm      ledger.Firm
	Endpoints []ledger.Endpoint
	LastEvent time.Time
	Secret    string // why signing secrets cannot be read
	Mappings  []ledger.Mapping
	Fees      []balance.FeeLine
	FeesErr   string
	Accounts  []ledger.Account
}

func (s *Site) settings(v *visit) error {
	ctx := v.ctx()
	p := settingsPage{Settings: s.Settings, Address: s.address(v.r) + s.Settings.HookPath}
	var err error
	if p.Firm, err = s.Ledger.Firm(ctx); err != nil {
		return err
	}
	if p.Endpoints, err = s.Ledger.Endpoints(ctx); err != nil {
		return err
	}
	events, err := s.Ledger.Events(ctx, "", 1)
	if err != nil {
		return err
	}
	if len(events) > 0 {
		p.LastEvent = events[0].ReceivedAt
	}
	if _, err := s.Ledger.EndpointSecrets(ctx); err != nil {
		p.Secret = err.Error()
	}
	if p.Mappings, err = s.Ledger.Mappings(ctx); err != nil {
		return err
	}
	fees := balance.BuiltinFees()
	if s.Settings.FeesFile != "" {
		if fees, err = balance.LoadFees(s.Settings.FeesFile); err != nil {
			p.FeesErr, fees = err.Error(), balance.BuiltinFees()
		}
	}
	p.Fees = fees.Lines()
	if slices.ContainsFunc(auditor, v.may) {
		if p.Accounts, err = s.Ledger.Accounts(ctx); err != nil {
			return err
		}
	}
	return v.show("settings.html", "Settings", p)
}

func (s *Site) changeFirm(v *visit) error {
	second := v.r.PostForm.Get("second") != ""
	note := "whoever hands a batch in may approve it"
	if second {
		note = "a second person approves each batch"
	}
	if err := s.Ledger.KeepFirm(v.acting("firm", "", note), ledger.Firm{SecondPerson: second}); err != nil {
		return err
	}
	v.say("ok", "From now on %s.", note)
	return v.goTo("/settings")
}

// tryNotices sends a message to everybody who is to be told.
func (s *Site) tryNotices(v *visit) error {
	if s.TestNotices == nil || len(s.Settings.Targets) == 0 {
		return wrong("Nobody is to be told: name targets with FILING_NOTIFY where importer serve runs.")
	}
	if err := s.Ledger.KeepAct(v.ctx(), ledger.Act{ID: v.once, By: v.who(), From: v.from(), What: "notify-test", Note: count(len(s.Settings.Targets), "target")}); err != nil {
		return err
	}
	targets, err := s.TestNotices(v.ctx())
	if err != nil {
		return wrong("%s", err)
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
		v.say("bad", "%d of %s did not take the message.%s", bad, count(len(targets), "target"), text)
	} else {
		v.say("ok", "%s took the message.", count(len(targets), "target"))
	}
	return v.goTo("/settings")
}

func (s *Site) dropMapping(v *visit) error {
	shape := v.r.PathValue("shape")
	if err := s.Ledger.DropMapping(v.acting("mapping-drop", shape, ""), shape); err != nil {
		return err
	}
	v.say("ok", "Forgotten: the next sheet with these headers is understood by itself again.")
	return v.goTo("/settings")
}
