package config

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// InForce is the value of a variable that is in force, and where it comes from. A
// secret has no value here.
type InForce struct {
	Name   string `json:"name"`
	Value  string `json:"value,omitempty"`
	Set    bool   `json:"set"`
	Secret bool   `json:"secret,omitempty"`
	Source string `json:"source"`         // flag, environment, file, default; none where nothing sets it
	From   string `json:"from,omitempty"` // the source in words
	Note   string `json:"note,omitempty"` // a value that is not in force, and why
}

// The sources of InForce.
const (
	SourceFlag        = "flag"
	SourceEnvironment = "environment"
	SourceFile        = "file"
	SourceDefault     = "default"
	SourceNone        = "none"
)

// Describe lists every variable with the value that is in force. It reads no secret
// and runs no command. live is the flag --live.
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
			all = append(all, InForce{Name: v.Name, Value: "1", Set: true, Source: SourceFlag, From: "--live"})
		default:
			all = append(all, l.describe(v.Name))
		}
	}
	return all, nil
}

// describe says which layer a variable comes from.
func (l layers) describe(name string) InForce {
	v := InForce{Name: name, Source: SourceNone, Secret: slices.Contains(fileVariables, name)}
	text, from := l.find(name)
	switch from {
	case fromEnvironment:
		v.Source, v.From = SourceEnvironment, "environment"
	case fromSettings:
		v.Source, v.From = SourceFile, "settings file"
	case fromDefault:
		v.Source, v.From = SourceDefault, "default"
	}
	if name == "FILING_DATA_DIR" && text == "" {
		text = dataDir(l.getenv)
	}
	if text == "" {
		v.Source, v.From = SourceNone, ""
		if v.Secret {
			text = l.describeSecret(&v)
		}
	}
	if v.Set = text != ""; v.Set && !v.Secret {
		v.Value = withoutPassword(text)
	}
	v.Note = l.describeIgnored(name)
	return v
}

// describeSecret finds the file or the command that a secret comes from.
func (l layers) describeSecret(v *InForce) string {
	path, from := l.find(v.Name + "_FILE")
	switch {
	case path != "" && from == fromEnvironment:
		v.Source, v.From = SourceEnvironment, fmt.Sprintf("the file %s (%s_FILE)", path, v.Name)
	case path != "":
		v.Source, v.From = SourceFile, fmt.Sprintf("the file %s (%s_file of the settings file)", path,
			settingOf(v.Name))
	case v.Name == "FILING_API_KEY" && len(l.settings.key) > 0 && !l.ignores(v.Name):
		v.Source, v.From = SourceFile, fmt.Sprintf("the command %s (%s of the settings file)", l.settings.key[0],
			keyCommand)
		return l.settings.key[0]
	}
	return path
}

// describeIgnored says why a value of the settings file is not in force.
func (l layers) describeIgnored(name string) string {
	has := l.settings.values[name] != "" || l.settings.values[name+"_FILE"] != "" ||
		(name == "FILING_API_KEY" && len(l.settings.key) > 0)
	switch {
	case !has || !l.ignores(name):
		return ""
	case l.decidedByEnv(name):
		return "the settings file has another value, which the environment overrides"
	case name == "FILING_API_KEY":
		return "the key of the settings file is not used: it is for another address than FILING_BASE_URL"
	}
	return "live of the settings file is not used: it is for another key"
}

// withoutPassword hides the password of an address.
func withoutPassword(text string) string {
	if u, err := url.Parse(text); err == nil && u.User != nil {
		return u.Redacted()
	}
	return text
}
