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

// runSetupCheck lists the current settings and their sources, and asks the filing service for the
// organization of the key. It lists them even if a setting is wrong.
func runSetupCheck(ctx context.Context, g *global) error {
	values, err := config.Describe(g.getenv, g.live)
	if err != nil {
		return err
	}
	t := g.terminal
	err = list[config.InForce]{
		columns: "SETTING\tVALUE\tSOURCE",
		cells: func(v config.InForce) []any {
			value, source := v.Value, v.Source
			switch {
			case !v.Set:
				value, source = "-", "not set"
			case v.Secret:
				value = "set"
			}
			if v.Note != "" {
				source += "; " + v.Note
			}
			return []any{v.Name, legible(value), legible(source)}
		},
	}.print(t, values, false)
	if err != nil {
		return err
	}
	file := config.SettingsPath(g.getenv)
	info, err := os.Stat(file)
	switch {
	case file == "":
		file = "none: there is no home folder"
	case err != nil:
		file += " (does not exist)"
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0:
		t.say("WARNING: others can read the settings file: chmod 600 %s", file)
	}
	t.print("\nSettings file:   %s", file)
	// Read the settings as every command does.
	account := ""
	env, err := g.environment()
	if err == nil && (env.BaseURL == "" || !env.HasKey()) {
		err = errors.New("the filing service is not set up: run importer setup")
	} else if err == nil {
		account, err = accountText(ctx, env)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err == nil {
		t.print("Filing service:  accepts the key: %s", account)
	}
	return errors.Join(err, testNotifications(ctx, g))
}

// testNotifications sends a test notification to every target of FILING_NOTIFY.
func testNotifications(ctx context.Context, g *global) error {
	env, err := config.ReadFor(g.getenv, config.Service{})
	if err != nil {
		// runSetupCheck reports the error.
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
		result := "accepted the test notification"
		if err != nil {
			failed++
			result = "failed: " + err.Error()
		}
		g.terminal.print("Notifications:   %s  %s", targets[i], result)
	}
	if failed > 0 {
		return fmt.Errorf("%s did not accept the test notification", count(failed, "target"))
	}
	return nil
}
