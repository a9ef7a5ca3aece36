package config_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/config"
)

func read(t *testing.T, vars map[string]string) (config.Environment, error) {
	t.Helper()
	return config.Read(func(name string) string { return vars[name] })
}

// wantHidden checks that no value shows a secret.
func wantHidden(t *testing.T, values ...any) {
	t.Helper()
	for _, v := range values {
		if shown := fmt.Sprintf("%v %+v %#v", v, v, v); strings.Contains(shown, "do_not_show") {
			t.Errorf("a secret is shown: %s", shown)
		}
	}
}

func TestDefaults(t *testing.T) {
	e, err := read(t, nil)
	if err != nil || e.DataDir != "" || e.Concurrency != 32 || e.Timeout.String() != "30s" || e.Live || e.Rate != 0 {
		t.Errorf("%+v, %v", e, err)
	}
	if _, err := e.Client(); err == nil || !strings.Contains(err.Error(), "FILING_BASE_URL") {
		t.Errorf("without an address: %v", err)
	}
}

func TestVariablesAreChecked(t *testing.T) {
	for name, value := range map[string]string{
		"WORKER_CONCURRENCY": "0", "FILING_RATE": "-1", "FILING_TIMEOUT": "soon", "FILING_LIVE": "perhaps",
		"FILING_REPEAT_AGENT": "maybe", "FILING_API_KEY_FILE": filepath.Join(t.TempDir(), "none"),
	} {
		if _, err := read(t, map[string]string{name: value}); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s=%s: %v", name, value, err)
		}
	}
}

func TestKeyIsReadAndNeverShown(t *testing.T) {
	const key = "sk_test_do_not_show"
	file := filepath.Join(t.TempDir(), "key")
	must(t, os.WriteFile(file, []byte(key+"\n"), 0o600))
	for _, vars := range []map[string]string{{"FILING_API_KEY": key}, {"FILING_API_KEY_FILE": file}} {
		vars["FILING_BASE_URL"] = "http://127.0.0.1:1/v1"
		vars["FILING_SEAL_KEY"] = "do_not_show_either"
		e, err := read(t, vars)
		if err != nil || e.Mode() != "test" {
			t.Fatalf("%v, %v", e.Mode(), err)
		}
		client, err := e.Client()
		must(t, err)
		wantHidden(t, e, client)
	}
}

func TestSecretsComeFromFiles(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		must(t, os.WriteFile(path, []byte(content), 0o600))
		return path
	}
	e, err := read(t, map[string]string{
		"DATABASE_URL_FILE": write("database", "postgres://bulkfiling:do_not_show@db/bulkfiling\n"),
		"REDIS_URL_FILE":    write("redis", " rediss://:do_not_show@redis:6379/0\r\n"),
		"FILING_SEAL_KEY":   "0123", "FILING_SEAL_KEY_FILE": write("seal", "4567"),
	})
	if err != nil || e.DatabaseURL != "postgres://bulkfiling:do_not_show@db/bulkfiling" ||
		e.RedisURL != "rediss://:do_not_show@redis:6379/0" {
		t.Errorf("%q, %q, %v", e.DatabaseURL, e.RedisURL, err)
	}
	wantHidden(t, e)
	for _, name := range []string{"FILING_API_KEY", "FILING_SEAL_KEY", "FILING_WEBHOOK_SECRET", "DATABASE_URL",
		"REDIS_URL"} {
		for what, path := range map[string]string{"missing": filepath.Join(dir, "none"),
			"empty": write("empty", " \n")} {
			if _, err := read(t, map[string]string{name + "_FILE": path}); err == nil ||
				!strings.Contains(err.Error(), name+"_FILE") {
				t.Errorf("%s_FILE %s: %v", name, what, err)
			}
		}
		// The variable itself wins, and the file is then not looked at.
		if _, err := read(t, map[string]string{name: "given", name + "_FILE": filepath.Join(dir, "none")}); err != nil {
			t.Errorf("%s beside %s_FILE: %v", name, name, err)
		}
	}
}

func TestWebhookSecrets(t *testing.T) {
	file := filepath.Join(t.TempDir(), "secrets")
	write := func(content string) {
		must(t, os.WriteFile(file, []byte(content), 0o600))
	}
	write("whsec_do_not_show_1\n")
	want := func(vars map[string]string, want ...string) config.Environment {
		t.Helper()
		e, err := read(t, vars)
		must(t, err)
		if got, err := e.WebhookSecrets(); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q, %v, want %q", got, err, want)
		}
		return e
	}
	want(nil)
	want(map[string]string{"FILING_WEBHOOK_SECRET": " new ,old,"}, "new", "old")
	e := want(map[string]string{"FILING_WEBHOOK_SECRET_FILE": file}, "whsec_do_not_show_1")
	write("whsec_do_not_show_2\nwhsec_do_not_show_1\n")
	if got, err := e.WebhookSecrets(); err != nil || len(got) != 2 {
		t.Errorf("of a file that was replaced: %q, %v", got, err)
	}
	wantHidden(t, e)
}

func TestMode(t *testing.T) {
	for key, mode := range map[string]string{"sk_live_1": "live", "sk_test_1": "test", "": "test", "anything": "live"} {
		if e, err := read(t, map[string]string{"FILING_API_KEY": key}); err != nil || e.Mode() != mode {
			t.Errorf("%s: %s, %v", key, e.Mode(), err)
		}
	}
}

func TestNotificationsAreReadAndTheirSecretsNeverShown(t *testing.T) {
	const url = "https://hooks.example.com/T000/do_not_show, " +
		"smtp://user:do_not_show@mail.example.com:587/?from=a@x.test&to=b@x.test,c@x.test"
	file := filepath.Join(t.TempDir(), "notify")
	must(t, os.WriteFile(file, []byte(url), 0o600))
	for _, vars := range []map[string]string{{"FILING_NOTIFY": url}, {"FILING_NOTIFY_FILE": file}} {
		e, err := read(t, vars)
		must(t, err)
		targets, err := e.NotifyTargets()
		if err != nil || len(targets) != 3 {
			t.Fatalf("%v, %v", targets, err)
		}
		n, err := e.Notifier(nil, nil)
		must(t, err)
		wantHidden(t, e, targets, n)
	}
	for name, value := range map[string]string{"FILING_NOTIFY": "gopher://do_not_show",
		"FILING_NOTIFY_ON": "everything"} {
		e, err := read(t, map[string]string{name: value})
		must(t, err)
		if _, err := e.Notifier(nil, nil); err == nil || !strings.Contains(err.Error(), name) ||
			strings.Contains(err.Error(), "do_not_show") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
