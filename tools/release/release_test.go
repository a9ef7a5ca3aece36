package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"
)

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// The configuration of the product is whole, and one whose builds depend on the moment
// is refused, as is a key that this program does not know.
func TestConfig(t *testing.T) {
	root := filepath.Join("..", "..")
	c, err := readConfig(root)
	if err != nil {
		t.Fatal(err)
	}
	if got := c.platforms(); len(got) != 6 {
		t.Errorf("platforms %v", got)
	}
	if got, err := c.selected([]string{"windows/amd64", "linux/arm64"}); err != nil ||
		!slices.Equal(got, []platform{{"windows", "amd64"}, {"linux", "arm64"}}) {
		t.Errorf("selected %v, %v", got, err)
	}
	if got, err := c.selected([]string{"linux/arm46"}); err == nil {
		t.Errorf("selected %v", got)
	}
	for _, b := range c.Builds {
		if _, err := os.Stat(filepath.Join(root, b.Main)); err != nil {
			t.Error(err)
		}
	}
	content, err := os.ReadFile(filepath.Join(root, ".goreleaser.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ old, new, problem string }{
		"build":   {`mod_timestamp: "{{ .CommitTimestamp }}"`, `mod_timestamp: ""`, "the build importer"},
		"cgo":     {"[CGO_ENABLED=0]", "[CGO_ENABLED=1]", "the build importer"},
		"paths":   {"[-trimpath, ", "[", "the build importer"},
		"archive": {"mode: 0755\n      mtime: \"{{ .CommitDate }}\"", "mode: 0755", "the programs of archives"},
		"file":    {`mode: 0644, mtime: "{{ .CommitDate }}"}`, "mode: 0644}", "the file README.md of archives"},
		"package": {"bindir: /usr/bin\n    mtime: \"{{ .CommitDate }}\"", "bindir: /usr/bin", "the package packages"},
		"unknown": {"project_name:", "projekt_name:", "projekt_name"},
	} {
		dir := t.TempDir()
		changed := strings.Replace(string(content), c.old, c.new, 1)
		if changed == string(content) {
			t.Errorf("%s: %q is not in the configuration", name, c.old)
		}
		write(t, filepath.Join(dir, ".goreleaser.yaml"), changed)
		if _, err := readConfig(dir); err == nil || !strings.Contains(err.Error(), c.problem) {
			t.Errorf("%s: %v, want %q", name, err, c.problem)
		}
	}
}

var download = regexp.MustCompile(`releases/latest/download/([\w.]+)`)

// The README's commands install files that a release has.
func TestDownloads(t *testing.T) {
	root := filepath.Join("..", "..")
	c, err := readConfig(root)
	if err != nil {
		t.Fatal(err)
	}
	have := map[string]bool{c.Checksum.NameTemplate: true}
	for _, p := range c.platforms() {
		of := names{ProjectName: c.ProjectName, Os: p.os, Arch: p.arch}
		formats := map[string][]string{c.Archives[0].NameTemplate: c.Archives[0].Formats}
		switch p.os {
		case c.Archives[0].FormatOverrides[0].GOOS:
			formats[c.Archives[0].NameTemplate] = c.Archives[0].FormatOverrides[0].Formats
		case "linux":
			formats[c.NFPMs[0].FileNameTemplate] = append(slices.Clone(c.NFPMs[0].Formats),
				formats[c.NFPMs[0].FileNameTemplate]...)
		}
		for template, all := range formats {
			name, err := of.expand(template)
			if err != nil {
				t.Fatal(err)
			}
			for _, format := range all {
				have[name+"."+format] = true
			}
		}
	}
	text, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	found := download.FindAllSubmatch(text, -1)
	if len(found) < 5 {
		t.Errorf("the README has %d downloads", len(found))
	}
	for _, d := range found {
		if !have[string(d[1])] {
			t.Errorf("the README downloads %s, and a release has %v", d[1], have)
		}
	}
}

// An archive has the time of the commit and no owner of this machine.
func TestArchives(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	file := filepath.Join(t.TempDir(), "importer")
	write(t, file, "program")
	if err := os.Chtimes(file, time.Now(), time.Now()); err != nil {
		t.Fatal(err)
	}
	all := []archived{{"b_1/importer", file, 0o755}}
	var tarred, zipped bytes.Buffer
	if err := errors.Join(writeTar(&tarred, all, at), writeZIP(&zipped, all, at)); err != nil {
		t.Fatal(err)
	}
	gz, err := gzip.NewReader(&tarred)
	if err != nil {
		t.Fatal(err)
	}
	r := tar.NewReader(gz)
	h, err := r.Next()
	if err != nil || h.Name != "b_1/importer" || h.Mode != 0o755 || !h.ModTime.Equal(at) || h.Uid != 0 ||
		h.Uname != "root" || !gz.ModTime.IsZero() {
		t.Errorf("%+v, %v", h, err)
	}
	if content, err := io.ReadAll(r); err != nil || string(content) != "program" {
		t.Errorf("%q, %v", content, err)
	}
	z, err := zip.NewReader(bytes.NewReader(zipped.Bytes()), int64(zipped.Len()))
	if err != nil {
		t.Fatal(err)
	}
	if f := z.File[0]; f.Name != "b_1/importer" || f.Mode().Perm() != 0o755 || !f.Modified.Equal(at) {
		t.Errorf("%+v", f.FileHeader)
	}
}

// What has no license is not distributed.
func TestLicenses(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a", "LICENSE.md"), "MIT of a")
	write(t, filepath.Join(dir, "a", "NOTICE"), "made by a")
	write(t, filepath.Join(dir, "a", "license.go"), "package a")
	write(t, filepath.Join(dir, "b", "COPYING"), "BSD of b")
	write(t, filepath.Join(dir, "none", "NOTICE"), "made by nobody")
	folders := map[string]string{"b@v1": filepath.Join(dir, "b"), "a@v2": filepath.Join(dir, "a")}
	text, err := collectLicenses(folders)
	if err != nil {
		t.Fatal(err)
	}
	var at []int
	for _, part := range []string{"a@v2: LICENSE.md\n\nMIT of a", "a@v2: NOTICE\n\nmade by a",
		"b@v1: COPYING\n\nBSD of b"} {
		at = append(at, bytes.Index(text, []byte(part)))
	}
	if at[0] < 0 || at[1] < at[0] || at[2] < at[1] || bytes.Contains(text, []byte("package a")) {
		t.Errorf("%v\n%s", at, text)
	}
	folders["none@v3"] = filepath.Join(dir, "none")
	if _, err := collectLicenses(folders); err == nil || !strings.Contains(err.Error(), "none@v3 has no license file") {
		t.Error(err)
	}
}

// A bill of materials has every module with the hash that its download is checked
// with.
func TestSBOM(t *testing.T) {
	d, err := describe(&debug.BuildInfo{
		GoVersion: "go1.26.8",
		Main:      debug.Module{Path: "example.com/p", Version: "v1.0.0+dirty"},
		Deps: []*debug.Module{
			{Path: "example.com/a", Version: "v1.2.3", Sum: "h1:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="},
			{
				Path:    "example.com/b",
				Version: "v1.0.0",
				Replace: &debug.Module{Path: "example.com/c", Version: "v2.0.0"},
			},
		},
		Settings: []debug.BuildSetting{{Key: "vcs.time", Value: "2026-03-01T12:00:00Z"}},
	}, "importer", [32]byte{1, 2, 6: 0xff})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"pkg:golang/std@1.26.8", "pkg:golang/example.com/a@v1.2.3", "pkg:golang/example.com/c@v2.0.0"}
	for i, c := range d.Components {
		if c.PURL != want[i] {
			t.Errorf("%+v, want %s", c, want[i])
		}
	}
	sum, err := hex.DecodeString(d.Components[1].Hashes[0].Content)
	if err != nil || len(sum) != 32 || sum[31] != 31 || len(d.Components) != 3 {
		t.Errorf("%x, %v", sum, err)
	}
	if d.Metadata.Timestamp != "2026-03-01T12:00:00Z" ||
		d.Metadata.Component.PURL != "pkg:golang/example.com/p@v1.0.0%2Bdirty" ||
		d.SerialNumber != "urn:uuid:01020000-0000-8f00-8000-000000000000" {
		t.Errorf("%+v", d)
	}
	if got := d.Metadata.Component.Hashes[0].Content; !strings.HasPrefix(got, "01020000"+"0000ff00") {
		t.Errorf("the hash of the program is %s", got)
	}
	if self, err := os.Executable(); err != nil || writeSBOM(self, filepath.Join(t.TempDir(), "a.json")) != nil {
		t.Error("this program has no bill of materials")
	}
}

// Both builds are of one commit, also if there is a newer one by the second.
func TestCloneCommit(t *testing.T) {
	root, clone := t.TempDir(), filepath.Join(t.TempDir(), "clone")
	git := func(dir string, args ...string) string {
		t.Helper()
		out, err := output(t.Context(), dir, nil, "git", append([]string{
			"-c", "user.name=a", "-c", "user.email=a@example.com",
		}, args...)...)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	git(root, "init", "-q")
	git(root, "commit", "-q", "--allow-empty", "-m", "first")
	first := git(root, "rev-parse", "HEAD")
	git(root, "commit", "-q", "--allow-empty", "-m", "second")
	if err := cloneCommit(t.Context(), root, first, clone); err != nil {
		t.Fatal(err)
	}
	if got := git(clone, "rev-parse", "HEAD"); got != first {
		t.Errorf("the clone is at %s, want %s", got, first)
	}
}

// Builds that differ in a byte, or in a file, are told apart.
func TestCompare(t *testing.T) {
	a, b := t.TempDir(), t.TempDir()
	for _, dir := range []string{a, b} {
		write(t, filepath.Join(dir, "same"), "x")
		write(t, filepath.Join(dir, "changed"), "x")
	}
	sums := func() (of [2]map[string]string) {
		for i, dir := range []string{a, b} {
			var err error
			if of[i], err = hashes(dir); err != nil {
				t.Fatal(err)
			}
		}
		return of
	}
	if s := sums(); compare(s[0], s[1]) != nil {
		t.Error("equal builds differ")
	}
	write(t, filepath.Join(a, "changed"), "y")
	write(t, filepath.Join(b, "more"), "y")
	if s := sums(); compare(s[0], s[1]) == nil || !strings.Contains(compare(s[0], s[1]).Error(), "in changed, more") {
		t.Error(compare(s[0], s[1]))
	}
	if compare(nil, nil) == nil {
		t.Error("a build of no file is equal to another")
	}
}
