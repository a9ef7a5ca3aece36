package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"go.yaml.in/yaml/v3"
)

// config is the part of .goreleaser.yaml that the product uses. A key beyond it is an
// error: what goreleaser would do with it, this program would not.
type config struct {
	Version     int    `yaml:"version"`
	ProjectName string `yaml:"project_name"`
	Before      struct {
		Hooks []string `yaml:"hooks"`
	} `yaml:"before"`
	Builds   []buildConfig   `yaml:"builds"`
	Archives []archiveConfig `yaml:"archives"`
	NFPMs    []nfpmConfig    `yaml:"nfpms"`
	SBOMs    []struct {
		ID        string   `yaml:"id"`
		Artifacts string   `yaml:"artifacts"`
		Documents []string `yaml:"documents"`
		Cmd       string   `yaml:"cmd"`
		Args      []string `yaml:"args"`
	} `yaml:"sboms"`
	Checksum struct {
		NameTemplate string `yaml:"name_template"`
		Algorithm    string `yaml:"algorithm"`
	} `yaml:"checksum"`
	Snapshot struct {
		VersionTemplate string `yaml:"version_template"`
	} `yaml:"snapshot"`
	Release struct {
		GitHub struct {
			Owner string `yaml:"owner"`
			Name  string `yaml:"name"`
		} `yaml:"github"`
	} `yaml:"release"`
	Changelog struct {
		Disable bool `yaml:"disable"`
	} `yaml:"changelog"`
}

type buildConfig struct {
	ID           string   `yaml:"id"`
	Main         string   `yaml:"main"`
	Binary       string   `yaml:"binary"`
	Env          []string `yaml:"env"`
	Flags        []string `yaml:"flags"`
	LDFlags      []string `yaml:"ldflags"`
	ModTimestamp string   `yaml:"mod_timestamp"`
	GOOS         []string `yaml:"goos"`
	GOARCH       []string `yaml:"goarch"`
}

// fileInfo is the owner, mode and time of a file.
type fileInfo struct {
	Owner string      `yaml:"owner"`
	Group string      `yaml:"group"`
	Mode  os.FileMode `yaml:"mode"`
	MTime string      `yaml:"mtime"`
}

type archiveConfig struct {
	ID              string   `yaml:"id"`
	IDs             []string `yaml:"ids"`
	NameTemplate    string   `yaml:"name_template"`
	WrapInDirectory bool     `yaml:"wrap_in_directory"`
	Formats         []string `yaml:"formats"`
	FormatOverrides []struct {
		GOOS    string   `yaml:"goos"`
		Formats []string `yaml:"formats"`
	} `yaml:"format_overrides"`
	BuildsInfo fileInfo `yaml:"builds_info"`
	Files      []struct {
		Src         string   `yaml:"src"`
		Dst         string   `yaml:"dst"`
		StripParent bool     `yaml:"strip_parent"`
		Info        fileInfo `yaml:"info"`
	} `yaml:"files"`
}

type nfpmConfig struct {
	ID               string   `yaml:"id"`
	IDs              []string `yaml:"ids"`
	PackageName      string   `yaml:"package_name"`
	FileNameTemplate string   `yaml:"file_name_template"`
	Formats          []string `yaml:"formats"`
	Vendor           string   `yaml:"vendor"`
	Maintainer       string   `yaml:"maintainer"`
	Description      string   `yaml:"description"`
	Section          string   `yaml:"section"`
	Priority         string   `yaml:"priority"`
	BinDir           string   `yaml:"bindir"`
	MTime            string   `yaml:"mtime"`
	RPM              struct {
		BuildHost string `yaml:"buildhost"`
	} `yaml:"rpm"`
	Contents []struct {
		Src      string   `yaml:"src"`
		Dst      string   `yaml:"dst"`
		FileInfo fileInfo `yaml:"file_info"`
	} `yaml:"contents"`
}

// readConfig reads .goreleaser.yaml.
func readConfig(root string) (config, error) {
	content, err := os.ReadFile(filepath.Join(root, ".goreleaser.yaml"))
	if err != nil {
		return config{}, err
	}
	var c config
	d := yaml.NewDecoder(bytes.NewReader(content))
	d.KnownFields(true)
	if err := d.Decode(&c); err != nil {
		return c, fmt.Errorf(".goreleaser.yaml: %w", err)
	}
	return c, c.check()
}

// check makes sure that nothing in a release depends on the moment of its build.
func (c config) check() error {
	const date, stamp = "{{ .CommitDate }}", "{{ .CommitTimestamp }}"
	wrong := func(what string) error {
		return fmt.Errorf(".goreleaser.yaml: %s must have the time of the commit, CGO_ENABLED=0 and -trimpath", what)
	}
	for _, b := range c.Builds {
		if b.ModTimestamp != stamp || !strings.Contains(strings.Join(b.Env, " "), "CGO_ENABLED=0") ||
			!strings.Contains(strings.Join(b.Flags, " "), "-trimpath") {
			return wrong("the build " + b.ID)
		}
	}
	for _, a := range c.Archives {
		if a.BuildsInfo.MTime != date {
			return wrong("the programs of " + a.ID)
		}
		for _, f := range a.Files {
			if f.Info.MTime != date {
				return wrong("the file " + f.Src + " of " + a.ID)
			}
		}
	}
	for _, p := range c.NFPMs {
		if p.MTime != date || p.RPM.BuildHost == "" {
			return wrong("the package " + p.ID)
		}
		for _, f := range p.Contents {
			if f.FileInfo.MTime != date {
				return wrong("the file " + f.Src + " of the package " + p.ID)
			}
		}
	}
	return nil
}

// names are what the templates of .goreleaser.yaml use.
type names struct {
	ProjectName, Version, ShortCommit, Os, Arch, Binary string
	CommitDate, CommitTimestamp                         string
}

func (n names) expand(text string) (string, error) {
	t, err := template.New("").Option("missingkey=error").Parse(text)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	err = t.Execute(&b, n)
	return b.String(), err
}
