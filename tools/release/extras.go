package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// extrasFolder has what a release needs besides programs. git ignores it.
const extrasFolder = ".release"

// extras writes the man pages, the completions, the licenses, and this program for
// goreleaser.
func (s *snapshot) extras(ctx context.Context) error {
	dir := filepath.Join(s.root, extrasFolder)
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	for _, sub := range []string{"bin", "man", "completions"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			return err
		}
	}
	importer := filepath.Join(dir, "bin", "importer")
	if _, err := output(ctx, s.root, nil, "go", "build", "-tags", "man", "-o", importer, "./cmd/importer"); err != nil {
		return err
	}
	epoch := []string{"SOURCE_DATE_EPOCH=" + s.names.CommitTimestamp}
	if _, err := output(ctx, s.root, epoch, importer, "man", filepath.Join(dir, "man")); err != nil {
		return err
	}
	if err := compressAll(filepath.Join(dir, "man")); err != nil {
		return err
	}
	for shell, name := range map[string]string{"bash": "importer.bash", "zsh": "_importer", "fish": "importer.fish"} {
		text, err := output(ctx, s.root, nil, importer, "completion", shell)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, "completions", name), []byte(text+"\n"), 0o644); err != nil {
			return err
		}
	}
	licenses, err := s.licenses(ctx)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "LICENSES.txt"), licenses, 0o644)
}

// compressAll compresses the files of a folder, as packages have man pages.
func compressAll(dir string) error {
	found, err := filepath.Glob(filepath.Join(dir, "*.1"))
	if err != nil || len(found) == 0 {
		return fmt.Errorf("%s has no man page (%w)", dir, err)
	}
	for _, file := range found {
		content, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		var b bytes.Buffer
		w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
		if err != nil {
			return err
		}
		if _, err := w.Write(content); err != nil {
			return err
		}
		if err := w.Close(); err != nil {
			return err
		}
		if err := os.WriteFile(file+".gz", b.Bytes(), 0o644); err != nil {
			return err
		}
		if err := os.Remove(file); err != nil {
			return err
		}
	}
	return nil
}

// licenses are the license texts of everything in the programs of all platforms: of
// the modules, of Go itself, and of what the page embeds.
func (s *snapshot) licenses(ctx context.Context) ([]byte, error) {
	goroot, err := output(ctx, s.root, nil, "go", "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	dirs := map[string]string{"Go": goroot}
	for _, p := range s.config.platforms() {
		said, err := output(ctx, s.root, []string{"GOOS=" + p.os, "GOARCH=" + p.arch, "CGO_ENABLED=0"}, "go", "list",
			"-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}}@{{.Version}}\t{{.Dir}}{{end}}{{end}}",
			"./cmd/...")
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(said) {
			if name, dir, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok {
				dirs[name] = dir
			}
		}
	}
	err = filepath.WalkDir(filepath.Join(s.root, "internal"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !licenseFile.MatchString(d.Name()) {
			return err
		}
		name, err := filepath.Rel(s.root, filepath.Dir(path))
		dirs[filepath.ToSlash(name)] = filepath.Dir(path)
		return err
	})
	if err != nil {
		return nil, err
	}
	return collectLicenses(dirs)
}

var licenseFile = regexp.MustCompile(`(?i)^(un)?(licen[sc]e|copying|notice|patents)([.-][\w.-]+)?$`)

// collectLicenses joins the license files of folders, by name. A folder without one
// is an error: what has no license must not be distributed.
func collectLicenses(dirs map[string]string) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString("Bulkfiling contains the following software under the following licenses.\n")
	var names []string
	for name := range dirs {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		entries, err := os.ReadDir(dirs[name])
		if err != nil {
			return nil, err
		}
		found := false
		for _, e := range entries {
			if e.IsDir() || !licenseFile.MatchString(e.Name()) || strings.HasSuffix(e.Name(), ".go") {
				continue
			}
			content, err := os.ReadFile(filepath.Join(dirs[name], e.Name()))
			if err != nil {
				return nil, err
			}
			fmt.Fprintf(&b, "\n%s\n%s: %s\n\n%s\n", strings.Repeat("=", 80), name, e.Name(),
				strings.TrimSpace(string(content)))
			found = found || !strings.EqualFold(e.Name(), "NOTICE") && !strings.EqualFold(e.Name(), "PATENTS")
		}
		if !found {
			return nil, fmt.Errorf("%s has no license file", name)
		}
	}
	return b.Bytes(), nil
}
