package config

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// InForce is the effective value of a variable and its source. Value is empty if the variable is a
// secret.
type InForce struct {
	Name   string
	Value  string
	Set    bool
	Secret bool
	// Source is in words. It is empty if the variable is not set.
	Source string
	// Note describes an ignored value and the reason.
	Note string
}

// Describe lists every variable with its effective value. It reads no secret. live is the flag
// --live.
func Describe(getenv func(string) string, live bool) ([]InForce, error) {
	settings, err := loadSettings(SettingsPath(getenv))
	if err != nil {
		return nil, err
	}
	l := layers{getenv, settings}
	var all []InForce
	for _, v := range Variables {
		switch {
		case strings.Contains(v.Name, "…"):
		case v.Name == "FILING_LIVE" && live:
			all = append(all, InForce{Name: v.Name, Value: "1", Set: true, Source: "--live"})
		default:
			all = append(all, l.describe(v.Name))
		}
	}
	return all, nil
}

// describe returns the effective value of a variable and its layer.
func (l layers) describe(name string) InForce {
	v := InForce{Name: name, Secret: slices.Contains(fileVariables, name), Note: l.describeIgnored(name)}
	text, from := l.find(name)
	path, fileFrom := l.find(name + "_FILE")
	switch {
	case text != "":
		v.Source = map[source]string{fromEnvironment: "environment", fromSettings: "settings file",
			fromDefault: "default"}[from]
	case name == "FILING_DATA_DIR":
		text, v.Source = dataDir(l.getenv), "default"
	case path != "" && fileFrom == fromEnvironment:
		v.Source = fmt.Sprintf("the file %s (%s_FILE)", path, name)
	case path != "":
		v.Source = fmt.Sprintf("the file %s (%s_file of the settings file)", path, settingOf(name))
	}
	if v.Set = text+path != ""; v.Set && !v.Secret {
		v.Value = withoutPassword(text)
	}
	return v
}

// describeIgnored returns why a value of the settings file is ignored.
func (l layers) describeIgnored(name string) string {
	switch {
	case l.settings.values[name] == "" && l.settings.values[name+"_FILE"] == "", !l.ignores(name):
		return ""
	case l.decidedByEnv(name):
		return "the settings file has another value, which the environment overrides"
	case name == "FILING_API_KEY":
		return "the key of the settings file is not used: it is for another address than FILING_BASE_URL"
	}
	return "live of the settings file is not used: it is for another key"
}

// withoutPassword hides the password in an address.
func withoutPassword(text string) string {
	if u, err := url.Parse(text); err == nil && u.User != nil {
		return u.Redacted()
	}
	return text
}
