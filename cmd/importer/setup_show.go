package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"

	"github.com/bulkfiling/bulkfiling/internal/config"
	"github.com/bulkfiling/bulkfiling/internal/notify"
)

// show lists the current settings and their sources, and asks the filing service for the
// organization of the key. It lists them even if a setting is wrong.
func (s *serviceSetup) show(ctx context.Context) error {
	values, err := config.Describe(s.getenv, s.live)
	if err != nil {
		return err
	}
	if err := settingsList.print(s.app, values, false); err != nil {
		return err
	}
	file := config.SettingsPath(s.getenv)
	info, err := os.Stat(file)
	switch {
	case file == "":
		file = "none: there is no home folder"
	case err != nil:
		file += " (does not exist)"
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0:
		s.say("WARNING: others can read the settings file: chmod 600 %s", file)
	}
	fmt.Fprintf(s.out, "\nSettings file:   %s\n", file)
	account, err := s.showService(ctx)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err == nil {
		fmt.Fprintf(s.out, "Filing service:  accepts the key: %s\n", account)
	}
	return errors.Join(err, s.testNotifications(ctx))
}

// testNotifications sends a test notification to every target of FILING_NOTIFY.
func (s *serviceSetup) testNotifications(ctx context.Context) error {
	env, err := config.ReadFor(s.getenv, config.Service{})
	if err != nil {
		// showService reports the error.
		return nil
	}
	// Notifier also reads FILING_NOTIFY_ON.
	if _, err := env.Notifier(nil, nil); err != nil {
		return err
	}
	targets, err := env.NotifyTargets()
	if err != nil {
		return err
	}
	failed := 0
	for i, err := range notify.Test(ctx, targets) {
		said := "accepted the test notification"
		if err != nil {
			failed++
			said = "failed: " + err.Error()
		}
		fmt.Fprintf(s.out, "Notifications:   %s  %s\n", targets[i], said)
	}
	if failed > 0 {
		return fmt.Errorf("%s did not accept the test notification", count(failed, "target"))
	}
	return nil
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
}
