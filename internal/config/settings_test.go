package config

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/secret"
)

// withSettings returns an environment whose user has a settings file.
func withSettings(t *testing.T, content string, vars ...string) (path string, getenv func(string) string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the folders of this test are not those of Windows")
	}
	home := t.TempDir()
	env := map[string]string{"HOME": home, "XDG_CONFIG_HOME": filepath.Join(home, ".config")}
	for i := 0; i < len(vars); i += 2 {
		env[vars[i]] = vars[i+1]
	}
	getenv = func(name string) string { return env[name] }
	path = SettingsPath(getenv)
	if content != "" {
		must(t, os.MkdirAll(filepath.Dir(path), 0o700))
		must(t, os.WriteFile(path, []byte(content), 0o600))
	}
	return path, getenv
}

// The environment wins over the settings file, and that over the defaults. What
// the file permits to a live key it permits to its own.
func TestSettingsPrecedence(t *testing.T) {
	keyFile := filepath.Join(t.TempDir(), "key")
	must(t, os.WriteFile(keyFile, []byte("sk_test_file\n"), 0o600))
	const file = "base_url = 'https://a.example/v1'\napi_key = 'sk_live_a'\nlive = true\nworker_concurrency = 7\n" +
		"rate = 2.5\n"
	for name, c := range map[string]struct {
		file    string
		vars    []string
		address string
		key     string
		live    bool
		at      int
	}{
		"variable wins": {file, []string{"WORKER_CONCURRENCY", "9"}, "https://a.example/v1", "sk_live_a",
			true, 9},
		"same address": {file, []string{"FILING_BASE_URL", "https://a.example/v1"}, "https://a.example/v1",
			"sk_live_a", true, 7},
		"another key": {file, []string{"FILING_API_KEY", "sk_live_b"}, "https://a.example/v1", "sk_live_b",
			false, 7},
		"another key's file": {file, []string{"FILING_API_KEY_FILE", keyFile}, "https://a.example/v1",
			"sk_test_file", false, 7},
		"key file of the file": {"api_key_file = '" + keyFile + "'", nil, "", "sk_test_file", false, 32},
	} {
		_, getenv := withSettings(t, c.file, c.vars...)
		e, err := Read(getenv)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if e.BaseURL != c.address || e.key.Reveal() != c.key || e.Live != c.live || e.Concurrency != c.at {
			t.Errorf("%s: %s, %s, %v, %d", name, e.BaseURL, e.key.Reveal(), e.Live, e.Concurrency)
		}
	}
}

// What is wrong in a settings file is said with its place, and without its secrets.
func TestSettingsErrors(t *testing.T) {
	for content, want := range map[string][]string{
		"[filing]\nbase_url = 'x'\n":            {"line 1: filing is not a setting"},
		"base_url = 'x'\napi_key = sk_live_x\n": {"line 2: "},
		"base_url = 'x'\nbase_url = 'y'\n":      {"line 2: "},
		"worker_concurrency = [1]\n": {"worker_concurrency must be a text, a " +
			"number, true, or false"},
		"worker_concurrency = 0\n": {"WORKER_CONCURRENCY must be",
			"(worker_concurrency in the settings file "},
		"live = 'maybe'\n":           {"FILING_LIVE must be 1 or 0", "(live in the settings file "},
		"api_key_file = 'nowhere'\n": {"FILING_API_KEY_FILE", "(api_key_file in the settings file "},
	} {
		path, getenv := withSettings(t, content)
		_, err := Read(getenv)
		if err == nil {
			t.Errorf("%s: no error", content)
			continue
		}
		for _, want := range append(want, path) {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", content, err, want)
			}
		}
		if strings.Contains(err.Error(), "sk_live") {
			t.Errorf("%s: the error shows the key: %v", content, err)
		}
	}
}

// Every variable is a setting, under one name.
func TestEveryVariableIsASetting(t *testing.T) {
	all := settingVariables()
	for _, v := range Variables {
		if !strings.Contains(v.Name, "…") && all[settingOf(v.Name)] != v.Name {
			t.Errorf("%s is the setting of %q", v.Name, all[settingOf(v.Name)])
		}
	}
	if all["api_key_file"] != "FILING_API_KEY_FILE" || all["base_url"] != "FILING_BASE_URL" {
		t.Errorf("%v", all)
	}
}

// A service that is saved is read again, by the user alone, and other settings stay.
// The file of a key stands in place of the key.
func TestSaveService(t *testing.T) {
	keyFile := filepath.Join(t.TempDir(), "the key")
	must(t, os.WriteFile(keyFile, []byte("sk_test_file\n"), 0o600))
	for name, c := range map[string]struct {
		before  string
		service Service
		key     string
	}{
		"new": {"", Service{Key: secret.New(`sk_live_b"'\`), Live: true}, `sk_live_b"'\`},
		"with others": {
			"base_url = 'https://a.example/v1' # old\n  \"api_key\"='sk_test_a'\nrate = 3 # a second\n",
			Service{Key: secret.New("sk_test_b")}, "sk_test_b",
		},
		"a key in file":    {"api_key_file = '/x'\nrate = 3", Service{Key: secret.New("sk_test_b")}, "sk_test_b"},
		"a file for a key": {"rate = 3\napi_key = 'sk_test_a'\n", Service{KeyFile: keyFile}, "sk_test_file"},
	} {
		path, getenv := withSettings(t, c.before)
		c.service.BaseURL = "https://b.example/v1"
		if err := SaveService(path, c.service); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		content, err := os.ReadFile(path)
		if err != nil || strings.Contains(string(content), "sk_test_a") ||
			strings.Contains(string(content), "rate = 3") != (c.before != "") {
			t.Errorf("%s: %s, %v", name, content, err)
		}
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
		e, err := Read(getenv)
		if err != nil || e.BaseURL != c.service.BaseURL || e.key.Reveal() != c.key || e.Live != c.service.Live {
			t.Errorf("%s: %v, %v\n%s", name, e, err, content)
		}
		if left, err := filepath.Glob(filepath.Join(filepath.Dir(path), "*")); err != nil || len(left) != 1 {
			t.Errorf("%s: %v is left, %v", name, left, err)
		}
	}

	const wrong = "api_key = sk\n" // stays as it is
	path, _ := withSettings(t, wrong)
	if err := SaveService(path, Service{}); err == nil {
		t.Error("a wrong file is overwritten")
	}
	if content, err := os.ReadFile(path); err != nil || string(content) != wrong {
		t.Errorf("%q, %v", content, err)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
