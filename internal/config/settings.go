package config

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/pelletier/go-toml/v2"
)

// The settings file has the settings of a person's computer, so that no terminal is needed. Its
// keys are the variables of the environment in lowercase and without FILING_. For example, base_url
// is the key of FILING_BASE_URL. The environment overrides the file.
//
//	base_url = "https://api.example.com/v1"
//	api_key = "sk_test_…"          # or api_key_file
//	live = false

// settingsName is the name of the settings file.
const settingsName = "config.toml"

// settings are the values of a settings file.
type settings struct {
	path string
	// values are by variable.
	values map[string]string
}

// SettingsPath returns the settings file of the user. It is empty if the user has no home folder.
func SettingsPath(getenv func(string) string) string { return settingsPathOn(runtime.GOOS, getenv) }

func settingsPathOn(goos string, getenv func(string) string) string {
	folder := folderOn(goos, getenv, "AppData", "XDG_CONFIG_HOME", ".config", "bulkfiling")
	if folder == "" {
		return ""
	}
	return filepath.Join(folder, settingsName)
}

// folderOn returns a folder of the user on an operating system. A variable of Windows or of XDG
// names its parent. It is empty if the user has no home folder. A relative XDG folder is ignored.
func folderOn(goos string, getenv func(string) string, windows, xdg, below, name string) string {
	parent := getenv("HOME")
	switch {
	case goos == "windows":
		parent = getenv(windows)
	case goos == "darwin":
		name = "Library/Application Support/" + name
	case filepath.IsAbs(getenv(xdg)):
		parent, name = getenv(xdg), strings.ToLower(name)
	default:
		name = below + "/" + strings.ToLower(name)
	}
	if parent == "" {
		return ""
	}
	return filepath.Join(parent, name)
}

// fileVariables are the secrets that can also be in files.
var fileVariables = []string{"FILING_API_KEY", "FILING_SEAL_KEY", "FILING_WEBHOOK_SECRET", "FILING_NOTIFY",
	"OIDC_CLIENT_SECRET", "DATABASE_URL", "REDIS_URL"}

// settingOf returns the key of a variable in the settings file.
func settingOf(variable string) string {
	return strings.ToLower(strings.TrimPrefix(variable, "FILING_"))
}

// settingVariables maps the keys of the settings file to variables.
var settingVariables = sync.OnceValue(func() map[string]string {
	all := make(map[string]string)
	for _, v := range Variables {
		if !strings.Contains(v.Name, "…") {
			all[settingOf(v.Name)] = v.Name
		}
	}
	for _, name := range fileVariables {
		all[settingOf(name)+"_file"] = name + "_FILE"
	}
	return all
})

// loadSettings reads the settings file. A missing file has no settings.
func loadSettings(path string) (*settings, error) {
	if path == "" {
		return &settings{}, nil
	}
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) && !exists(path) {
		return &settings{path: path}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the settings file: %w", err)
	}
	s, _, err := parseSettings(path, content)
	return s, err
}

// parseSettings parses the content of a settings file. It also returns the values by the keys of
// the file.
func parseSettings(path string, content []byte) (*settings, map[string]any, error) {
	var read map[string]any
	err := toml.Unmarshal(content, &read)
	if wrong, ok := errors.AsType[*toml.DecodeError](err); ok {
		line, _ := wrong.Position()
		return nil, nil, fmt.Errorf("the settings file %s, line %d: %s", path, line,
			strings.TrimPrefix(wrong.Error(), "toml: "))
	}
	if err != nil {
		return nil, nil, fmt.Errorf("the settings file %s: %w", path, err)
	}
	s, known := &settings{path: path, values: make(map[string]string)}, settingVariables()
	for _, name := range slices.Sorted(maps.Keys(read)) {
		variable, ok := known[name]
		if !ok {
			return nil, nil, fmt.Errorf("the settings file %s, line %d: %s is not a setting "+
				"(docs/reference.md lists them)", path, lineOf(content, name), name)
		}
		if s.values[variable], err = settingText(read[name]); err != nil {
			return nil, nil, fmt.Errorf("the settings file %s: %s %w", path, name, err)
		}
	}
	return s, read, nil
}

// lineOf returns the line of a settings file on which a key or a table begins.
func lineOf(content []byte, name string) int {
	at := regexp.MustCompile(`(?m)^[ \t\["']*` + regexp.QuoteMeta(name)).FindIndex(content)
	if at == nil {
		return 1
	}
	return 1 + bytes.Count(content[:at[0]], []byte("\n"))
}

// settingText converts a value to the text of a variable.
func settingText(value any) (string, error) {
	switch v := value.(type) {
	case string:
		return strings.TrimSpace(v), nil
	case bool:
		if v {
			return "1", nil
		}
		return "0", nil
	case int64:
		return strconv.FormatInt(v, 10), nil
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64), nil
	}
	return "", errors.New("must be a text, a number, true, or false")
}

// layers are the places of a value. The first with a value applies: the environment, the settings
// file, then the default.
type layers struct {
	getenv   func(string) string
	settings *settings
}

func (l layers) env(name string) string { return strings.TrimSpace(l.getenv(name)) }

// decidedByEnv reports whether the environment has a variable or its file.
func (l layers) decidedByEnv(name string) bool {
	name = strings.TrimSuffix(name, "_FILE")
	return l.env(name) != "" || l.env(name+"_FILE") != ""
}

// ignores reports whether the value of a variable in the settings file is ignored. The file's API
// key is only for its own address, and its permission to use a live key only for its own key.
// Otherwise a key could be sent to the wrong server if the environment overrides one of them.
func (l layers) ignores(name string) bool {
	if l.decidedByEnv(name) {
		return true
	}
	switch strings.TrimSuffix(name, "_FILE") {
	case "FILING_LIVE":
		return l.decidedByEnv("FILING_API_KEY") || l.ignores("FILING_API_KEY")
	case "FILING_API_KEY":
		address := l.env("FILING_BASE_URL")
		return address != "" && address != l.settings.values["FILING_BASE_URL"]
	}
	return false
}

// saved returns the value of a variable in the settings file. It is empty if it does not apply.
func (l layers) saved(name string) string {
	if l.env(name) != "" || l.ignores(name) {
		return ""
	}
	return l.settings.values[name]
}

func (l layers) value(name string) string {
	if v := cmp.Or(l.env(name), l.saved(name)); v != "" {
		return v
	}
	for _, v := range Variables {
		if v.Name == name {
			return v.Default
		}
	}
	return ""
}

// explain adds the name of the setting to an error about a variable from the settings file.
func (l layers) explain(err error) error {
	if err == nil {
		return nil
	}
	for _, name := range slices.Backward(slices.Sorted(maps.Keys(l.settings.values))) { // X_FILE before X
		if l.saved(name) != "" && strings.Contains(err.Error(), name) {
			return fmt.Errorf("%w (%s in the settings file %s)", err, settingOf(name), l.settings.path)
		}
	}
	return err
}

// ByEnvironment reports whether the environment has a variable, which overrides the settings file.
func (e Environment) ByEnvironment(name string) bool { return e.layers.decidedByEnv(name) }

// SaveService writes a filing service to the settings file, which only the user can read. It keeps
// the values of other settings but not the comments.
func SaveService(path string, s Service) error {
	if path == "" {
		return errors.New("there is no home folder for the settings file: set FILING_BASE_URL and FILING_API_KEY")
	}
	if resolved, err := filepath.EvalSymlinks(path); err == nil {
		path = resolved
	}
	content, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read the settings file: %w", err)
	}
	_, values, err := parseSettings(path, content)
	if err != nil {
		return err
	}
	if values == nil {
		values = make(map[string]any)
	}
	values["base_url"], values["live"] = s.BaseURL, s.Live
	delete(values, "api_key")
	delete(values, "api_key_file")
	if s.KeyFile != "" {
		values["api_key_file"] = s.KeyFile
	} else {
		values["api_key"] = s.Key.Reveal()
	}
	if content, err = toml.Marshal(values); err != nil {
		return fmt.Errorf("write the settings file: %w", err)
	}
	const head = "# Settings of Bulkfiling. Variables of the environment win over them.\n" +
		"# importer setup and the page rewrite this file without its comments.\n"
	return writeFile("the settings file", path, append([]byte(head), content...))
}

// writeFile writes a file atomically. Only the user can read it.
func writeFile(what, path string, content []byte) error {
	fail := func(err error) error { return fmt.Errorf("write %s: %w", what, err) }
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fail(err)
	}
	file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return fail(err)
	}
	defer os.Remove(file.Name()) // has no effect after the rename
	_, err = file.Write(content)
	if err = errors.Join(err, file.Chmod(0o600), file.Sync(), file.Close()); err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		return fail(err)
	}
	return nil
}
