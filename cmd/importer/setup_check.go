package main

import (
	"context"
	"errors"
	"os"
	"runtime"

	"github.com/bulkfiling/bulkfiling/internal/config"
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
	_, wrong := env.Notifier(nil, nil)
	return errors.Join(err, wrong)
}
