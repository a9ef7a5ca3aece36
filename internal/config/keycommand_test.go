package config

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/secret"
)

func TestSplitCommand(t *testing.T) {
	for text, want := range map[string][]string{
		`op read op://Private/Filing/key`:         {"op", "read", "op://Private/Filing/key"},
		"  pass\tshow\n'filing key' ":             {"pass", "show", "filing key"},
		`a "b \"c\"" '' e\ f 'g\h'`:               {"a", `b "c"`, "", "e f", `g\h`},
		`sh -c 'pass show filing | head -1'`:      {"sh", "-c", "pass show filing | head -1"},
		`'C:\tools\op.exe' read 'C:\my keys\key'`: {`C:\tools\op.exe`, "read", `C:\my keys\key`},
		`cat 'key`: nil,
		`cat key\`: nil,
		` `:        nil,
		`'' x`:     nil,
	} {
		if words, err := splitCommand(text); !slices.Equal(words, want) || (err == nil) != (want != nil) {
			t.Errorf("%s: %q, %v; want %q", text, words, err, want)
		}
	}
}

// A command has no shell, its output is in no error, and it ends in time.
func TestKeyCommand(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the commands of this test are for a shell")
	}
	defer func(before time.Duration) { keyCommandTimeout = before }(keyCommandTimeout)
	for _, c := range []struct {
		words   []string
		limit   time.Duration
		key     string
		problem string
	}{
		{[]string{"echo", "  sk_test_a\t"}, time.Minute, "sk_test_a", ""},
		{[]string{"echo", "$HOME"}, time.Minute, "$HOME", ""},
		{[]string{"sh", "-c", "echo sk_live_secret; echo sk_live_more >&2; exit 3"}, time.Minute, "",
			"the command sh failed: exit status 3"},
		{[]string{"sh", "-c", "echo sk_live_secret; echo sk_live_more"}, time.Minute, "",
			"must print the API key on one"},
		{[]string{"sh", "-c", "head -c 70000 /dev/zero | tr '\\0' x"}, time.Minute, "",
			"must print the API key on one"},
		{[]string{"true"}, time.Minute, "", "the command true printed no API key"},
		{[]string{"bulkfiling-no-such-command"}, time.Minute, "", "the command bulkfiling-no-such-command failed: "},
		{[]string{"sh", "-c", "echo sk_live_secret; sleep 60"}, 200 * time.Millisecond, "",
			"the command sh did not end within 200ms"},
	} {
		keyCommandTimeout = c.limit
		key, err := runKeyCommand(c.words)
		switch {
		case c.problem != "":
			if err == nil || !strings.Contains(err.Error(), c.problem) || strings.Contains(err.Error(), "sk_live") {
				t.Errorf("%q: %v; want %q", c.words, err, c.problem)
			}
		case err != nil || key != c.key:
			t.Errorf("%q: %q, %v; want %q", c.words, key, err, c.key)
		}
	}
}

// The settings file names the file or the command that a key comes from, and then
// has no key.
func TestSaveServiceKeySource(t *testing.T) {
	keyFile := filepath.Join(t.TempDir(), "the key")
	if err := os.WriteFile(keyFile, []byte("sk_test_file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const before = "rate = 3\napi_key = 'sk_test_old'\n"
	for name, c := range map[string]struct {
		service Service
		line    string
		key     string
	}{
		"command": {Service{KeyCommand: []string{"echo", "sk_test_command"}},
			"key_command = ['echo', 'sk_test_command']", "sk_test_command"},
		"words with spaces": {Service{KeyCommand: []string{"printf", "%s", " sk_test_words "}},
			"key_command = ['printf', '%s', ' sk_test_words ']", "sk_test_words"},
		"file": {Service{KeyFile: keyFile}, "api_key_file = '" + keyFile + "'", "sk_test_file"},
		"key":  {Service{Key: secret.New("sk_test_new")}, "api_key = 'sk_test_new'", "sk_test_new"},
	} {
		path, getenv := withSettings(t, before)
		c.service.BaseURL = "https://b.example/v1"
		if err := c.service.ReadKey(); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if err := SaveService(path, c.service); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		e, err := Read(getenv)
		if err != nil || e.key.Reveal() != c.key || e.Rate != 3 {
			t.Errorf("%s: %s, %v", name, e.key.Reveal(), err)
		}
		if !strings.Contains(string(content), c.line+"\n") || strings.Contains(string(content), "sk_test_old") {
			t.Errorf("%s: %s", name, content)
		}
	}
}

// Every value says where it comes from, and no secret is among them.
func TestDescribe(t *testing.T) {
	const file = "base_url = 'https://u:hidden@a.example/v1'\nkey_command = 'never-run hidden'\nlive = true\n" +
		"worker_concurrency = 7\ndatabase_url = 'postgres://u:hidden@db/x'\nredis_url_file = '/run/redis'\n"
	_, getenv := withSettings(t, file, "WORKER_CONCURRENCY", "9", "FILING_SEAL_KEY", "hidden",
		"OIDC_CLIENT_SECRET_FILE", "/run/oidc")
	want := map[string]InForce{
		"FILING_BASE_URL": {Value: "https://u:xxxxx@a.example/v1", Set: true, Source: "file", From: "settings file"},
		"FILING_API_KEY": {Set: true, Secret: true, Source: "file",
			From: "the command never-run (key_command of the settings file)"},
		"FILING_LIVE":     {Value: "1", Set: true, Source: "flag", From: "--live"},
		"FILING_SEAL_KEY": {Set: true, Secret: true, Source: "environment", From: "environment"},
		"OIDC_CLIENT_SECRET": {
			Set:    true,
			Secret: true,
			Source: "environment",
			From:   "the file /run/oidc (OIDC_CLIENT_SECRET_FILE)",
		},
		"WORKER_CONCURRENCY": {Value: "9", Set: true, Source: "environment", From: "environment",
			Note: "the settings file has another value, which the environment overrides"},
		"DATABASE_URL": {Set: true, Secret: true, Source: "file", From: "settings file"},
		"REDIS_URL": {
			Set:    true,
			Secret: true,
			Source: "file",
			From:   "the file /run/redis (redis_url_file of the settings file)",
		},
		"FILING_TIMEOUT":  {Value: "30s", Set: true, Source: "default", From: "default"},
		"FILING_RATE":     {Source: "none"},
		"FILING_DATA_DIR": {Value: dataDir(getenv), Set: true, Source: "default", From: "default"},
	}
	all, err := Describe(getenv, true)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range all {
		if strings.Contains(v.Value+v.From+v.Note, "hidden") {
			t.Errorf("%+v shows a secret", v)
		}
		if w, ok := want[v.Name]; ok {
			w.Name = v.Name
			if v != w {
				t.Errorf("%+v\nwant %+v", v, w)
			}
			delete(want, v.Name)
		}
	}
	if len(want) > 0 || len(all) < 20 {
		t.Errorf("%d settings, without %v", len(all), want)
	}
}
