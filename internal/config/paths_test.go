package config

import (
	"path/filepath"
	"testing"
)

// Each system has its own folders for settings and for data.
func TestPathsOfEachSystem(t *testing.T) {
	for _, c := range []struct {
		goos           string
		vars           map[string]string
		settings, data string
	}{
		{"linux", map[string]string{"HOME": "/home/ana"}, "/home/ana/.config/bulkfiling/config.toml",
			"/home/ana/.local/share/bulkfiling"},
		{"freebsd", map[string]string{"HOME": "/home/ana"}, "/home/ana/.config/bulkfiling/config.toml",
			"/home/ana/.local/share/bulkfiling"},
		{"linux", map[string]string{"HOME": "/home/ana", "XDG_CONFIG_HOME": "/c", "XDG_DATA_HOME": "/d"},
			"/c/bulkfiling/config.toml", "/d/bulkfiling"},
		{"linux", map[string]string{"HOME": "/home/ana", "XDG_CONFIG_HOME": "c", "XDG_DATA_HOME": "d"},
			"/home/ana/.config/bulkfiling/config.toml", "/home/ana/.local/share/bulkfiling"},
		{"darwin", map[string]string{"HOME": "/Users/ana", "XDG_CONFIG_HOME": "/c"},
			"/Users/ana/Library/Application Support/bulkfiling/config.toml",
			"/Users/ana/Library/Application Support/Bulkfiling"},
		{"windows", map[string]string{"AppData": "/ana/Roaming", "LocalAppData": "/ana/Local", "HOME": "/x"},
			"/ana/Roaming/bulkfiling/config.toml", "/ana/Local/Bulkfiling"},
		{"windows", map[string]string{"HOME": "/x"}, "", ""},
		{"darwin", nil, "", ""},
		{"linux", nil, "", ""},
	} {
		getenv := func(name string) string { return c.vars[name] }
		settings, data := settingsPathOn(c.goos, getenv), dataDirOn(c.goos, getenv)
		if filepath.ToSlash(settings) != c.settings || filepath.ToSlash(data) != c.data {
			t.Errorf("%s %v: %q, %q; want %q, %q", c.goos, c.vars, settings, data, c.settings, c.data)
		}
	}
}
