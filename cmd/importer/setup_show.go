package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"

	"github.com/bulkfiling/bulkfiling/internal/config"
	"github.com/bulkfiling/bulkfiling/internal/notify"
)

// settingsReport is the last JSON line of setup --check.
type settingsReport struct {
	Settings string `json:"settings"` // the settings file
	Exists   bool   `json:"exists"`
	checkedAccount
	Notifications []targetReport `json:"notifications,omitempty"`
	Problem       string         `json:"problem,omitempty"`
}

// targetReport is a target of notifications, and why it did not accept a test.
type targetReport struct {
	Target  string `json:"target"`
	Problem string `json:"problem,omitempty"`
}

// show lists the settings in force and their sources, and asks the filing service
// whose key it is. A wrong setting does not keep it from listing them.
func (s *serviceSetup) show(ctx context.Context) error {
	values, err := config.Describe(s.getenv, s.live)
	if err != nil {
		return err
	}
	if err := settingsList.print(s.app, values, s.json); err != nil {
		return err
	}
	report := settingsReport{Settings: config.SettingsPath(s.getenv)}
	if info, err := os.Stat(report.Settings); err == nil {
		report.Exists = true
		if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
			s.say("WARNING: others can read the settings file: chmod 600 %s", report.Settings)
		}
	}
	report.checkedAccount, err = s.showService(ctx)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var failed error
	report.Notifications, failed = s.testNotifications(ctx)
	if err = errors.Join(err, failed); err != nil {
		report.Problem = err.Error()
	}
	if s.json {
		return errors.Join(json.NewEncoder(s.out).Encode(report), err)
	}
	file := cmp.Or(report.Settings, "none: there is no home folder")
	if report.Settings != "" && !report.Exists {
		file += " (does not exist)"
	}
	fmt.Fprintf(s.out, "\nSettings file:   %s\n", file)
	if report.Address != "" {
		fmt.Fprintf(s.out, "Filing service:  accepts the key: %s\n", report.checkedAccount)
	}
	for _, t := range report.Notifications {
		fmt.Fprintf(s.out, "Notifications:   %s  %s\n", t.Target, cmp.Or(t.Problem, "accepted the test notification"))
	}
	return err
}

// testNotifications sends a test notification to every target of FILING_NOTIFY.
func (s *serviceSetup) testNotifications(ctx context.Context) ([]targetReport, error) {
	env, err := config.ReadFor(s.getenv, config.Service{})
	if err != nil {
		return nil, nil // showService reports it
	}
	if _, err := env.Notifier(nil, nil); err != nil { // reads FILING_NOTIFY_ON too
		return nil, err
	}
	targets, err := env.NotifyTargets()
	if err != nil {
		return nil, err
	}
	var reports []targetReport
	failed := 0
	for i, err := range notify.Test(ctx, targets) {
		report := targetReport{Target: fmt.Sprint(targets[i])}
		if err != nil {
			failed++
			report.Problem = "failed: " + err.Error()
		}
		reports = append(reports, report)
	}
	if failed > 0 {
		err = fmt.Errorf("%s did not accept the test notification", count(failed, "target"))
	}
	return reports, err
}

// showService reads the settings as every command does, and asks the filing service.
func (s *serviceSetup) showService(ctx context.Context) (checkedAccount, error) {
	env, err := s.environment()
	if err != nil {
		return checkedAccount{}, err
	}
	if env.BaseURL == "" || !env.HasKey() {
		return checkedAccount{}, errors.New("the filing service is not set up: run importer setup")
	}
	return s.ask(ctx, env)
}

var settingsList = list[config.InForce]{
	columns: "SETTING\tVALUE\tSOURCE",
	cells: func(v config.InForce) []any {
		value, source := v.Value, v.Source
		switch {
		case !v.Set:
			value = "-"
			source = "not set"
		case v.Secret:
			value = "set"
		}
		if v.Note != "" {
			source += "; " + v.Note
		}
		return []any{v.Name, legible(value), legible(source)}
	},
	line: func(v config.InForce) any { return v },
}
