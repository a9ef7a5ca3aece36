package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// snapshot is a build of a commit in a folder of its own.
type snapshot struct {
	root, out string
	config    config
	names     names
	at        time.Time // of the commit
	only      []string
	cache     string // of compiled packages, for this machine's platform; empty: that of Go
}

func newSnapshot(ctx context.Context, root, out string, only []string) (*snapshot, error) {
	c, err := readConfig(root)
	if err != nil {
		return nil, err
	}
	s := &snapshot{root: root, out: out, config: c, only: only, names: names{ProjectName: c.ProjectName}}
	said, err := output(ctx, root, nil, "git", "show", "-s", "--format=%h %ct", "HEAD")
	if err != nil {
		return nil, err
	}
	var seconds int64
	if _, err := fmt.Sscan(said, &s.names.ShortCommit, &seconds); err != nil {
		return nil, err
	}
	s.at = time.Unix(seconds, 0).UTC()
	s.names.CommitDate, s.names.CommitTimestamp = s.at.Format(time.RFC3339), fmt.Sprint(seconds)
	if tag, err := output(ctx, root, nil, "git", "describe", "--tags", "--exact-match"); err == nil {
		s.names.Version = strings.TrimPrefix(tag, "v")
		return s, nil
	}
	s.names.Version, err = s.names.expand(c.Snapshot.VersionTemplate)
	return s, err
}

// platform is what a program is built for.
type platform struct{ os, arch string }

func (p platform) String() string { return p.os + "/" + p.arch }

// platforms are those of all builds.
func (c config) platforms() []platform {
	var all []platform
	for _, b := range c.Builds {
		for _, system := range b.GOOS {
			for _, arch := range b.GOARCH {
				if p := (platform{system, arch}); !slices.Contains(all, p) {
					all = append(all, p)
				}
			}
		}
	}
	return all
}

// selected are the platforms to build. A name of none is an error: nothing would be
// built for it.
func (c config) selected(only []string) ([]platform, error) {
	all := c.platforms()
	if only == nil {
		return all, nil
	}
	var found []platform
	for _, name := range only {
		i := slices.IndexFunc(all, func(p platform) bool { return p.String() == name })
		if i < 0 {
			return nil, fmt.Errorf("no release is for %q, only for %v", name, all)
		}
		found = append(found, all[i])
	}
	return found, nil
}

// build builds everything into the folder of the snapshot.
func (s *snapshot) build(ctx context.Context) error {
	platforms, err := s.config.selected(s.only)
	if err != nil {
		return err
	}
	if err := s.extras(ctx); err != nil {
		return err
	}
	if err := os.MkdirAll(s.out, 0o755); err != nil {
		return err
	}
	for _, p := range platforms {
		if err := s.buildFor(ctx, p); err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
	}
	return s.writeChecksums()
}

// program is a built binary.
type program struct{ id, name, path string }

func (s *snapshot) buildFor(ctx context.Context, p platform) error {
	dir, err := os.MkdirTemp("", "release-programs-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	of := s.names
	of.Os, of.Arch = p.os, p.arch
	var programs []program
	for _, b := range s.config.Builds {
		name := b.Binary
		if p.os == "windows" {
			name += ".exe"
		}
		built := program{b.ID, name, filepath.Join(dir, name)}
		if err := s.compile(ctx, b, p, built.path); err != nil {
			return err
		}
		programs = append(programs, built)
		of.Binary = b.Binary
		for _, sbom := range s.config.SBOMs {
			document, err := of.expand(sbom.Documents[0])
			if err != nil {
				return err
			}
			if err := writeSBOM(built.path, filepath.Join(s.out, document)); err != nil {
				return err
			}
		}
	}
	for _, a := range s.config.Archives {
		if err := s.writeArchive(a, of, p, programs); err != nil {
			return err
		}
	}
	if p.os != "linux" {
		return nil
	}
	for _, n := range s.config.NFPMs {
		for _, format := range n.Formats {
			if err := s.writePackage(n, format, of, programs); err != nil {
				return err
			}
		}
	}
	return nil
}

// compile builds a program for a platform.
func (s *snapshot) compile(ctx context.Context, b buildConfig, p platform, file string) error {
	args := append([]string{"build"}, b.Flags...)
	args = append(args, "-ldflags="+strings.Join(b.LDFlags, " "), "-o", file, b.Main)
	env := append(slices.Clone(b.Env), "GOOS="+p.os, "GOARCH="+p.arch, "GOFLAGS=-mod=readonly")
	if s.cache != "" && p == (platform{runtime.GOOS, runtime.GOARCH}) {
		env = append(env, "GOCACHE="+s.cache)
	}
	_, err := output(ctx, s.root, env, "go", args...)
	return err
}

func (s *snapshot) writeChecksums() error {
	entries, err := os.ReadDir(s.out)
	if err != nil {
		return err
	}
	var b strings.Builder
	for _, e := range entries {
		content, err := os.ReadFile(filepath.Join(s.out, e.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%x  %s\n", sha256.Sum256(content), e.Name())
	}
	return os.WriteFile(filepath.Join(s.out, s.config.Checksum.NameTemplate), []byte(b.String()), 0o644)
}
