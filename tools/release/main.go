// Command release builds what a release consists of, from the same data as goreleaser:
// .goreleaser.yaml. It needs Go, git and no network.
//
//	go -C tools/release run . check [-targets linux/amd64,…] [-once …]   build a snapshot twice and compare
//	go -C tools/release run . snapshot [-targets …] FOLDER               build a snapshot
//	go -C tools/release run . extras                                     man pages, completions, licenses
//	release sbom BINARY FILE                                             the modules of a binary
//
// CI does not run goreleaser itself: building it takes four minutes of processor time,
// as much as building a platform of the product, and it needs newer versions of Go than
// the product. `goreleaser check` and a snapshot of goreleaser 2.16 pass.
package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return errors.New("usage: release check|snapshot|extras|sbom")
	}
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	var (
		only []string // nil: all
		once []string
	)
	list := func(into *[]string) func(string) error {
		return func(text string) error {
			if text != "" {
				*into = strings.Split(text, ",")
			}
			return nil
		}
	}
	flags.Func("targets", "platforms to build, separated by commas; default: all", list(&only))
	flags.Func("once", "further platforms, which check builds once", list(&once))
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	if args[0] == "sbom" {
		if flags.NArg() != 2 {
			return errors.New("usage: release sbom BINARY FILE")
		}
		return writeSBOM(flags.Arg(0), flags.Arg(1))
	}
	root, err := output(ctx, ".", nil, "git", "rev-parse", "--show-toplevel")
	if err != nil {
		return err
	}
	switch args[0] {
	case "check":
		return check(ctx, root, only, once)
	case "extras":
		s, err := newSnapshot(ctx, root, "", only)
		if err != nil {
			return err
		}
		return s.extras(ctx)
	case "snapshot":
		if flags.NArg() != 1 {
			return errors.New("usage: release snapshot FOLDER")
		}
		out, err := filepath.Abs(flags.Arg(0))
		if err != nil {
			return err
		}
		s, err := newSnapshot(ctx, root, out, only)
		if err != nil {
			return err
		}
		return s.build(ctx)
	}
	return fmt.Errorf("unknown command %s", args[0])
}

// check builds the last commit twice, from clones in folders of different names, and
// compares every file; then the platforms that are built once. It prints the files
// with their sizes. Builds take compiled packages from the build cache, but those of
// this machine's platform are compiled twice: its second build has a cache of its own.
func check(ctx context.Context, root string, twice, once []string) error {
	commit, err := output(ctx, root, nil, "git", "rev-parse", "HEAD")
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	var sums [2]map[string]string
	began := time.Now()
	for i, name := range []string{"a", "another/clone"} {
		clone, out := filepath.Join(work, name), filepath.Join(work, fmt.Sprintf("out%d", i))
		s, err := buildClone(ctx, root, commit, clone, out, twice,
			func(s *snapshot) {
				if i > 0 {
					s.cache = filepath.Join(work, "cache")
				}
			})
		if err != nil {
			return err
		}
		if sums[i], err = hashes(s.out); err != nil {
			return err
		}
		if i == 0 {
			if err := printSizes(s.out); err != nil {
				return err
			}
		}
	}
	if err := compare(sums[0], sums[1]); err != nil {
		return err
	}
	fmt.Printf("release: %d files, and both builds are byte-equal (%s)\n", len(sums[0]),
		time.Since(began).Round(time.Second))
	if len(once) == 0 {
		return nil
	}
	s, err := buildClone(ctx, root, commit, filepath.Join(work, "once"), filepath.Join(work, "out"), once, nil)
	if err != nil {
		return err
	}
	return printSizes(s.out)
}

// cloneCommit clones a commit, which need not be the newest: the checkout can move on
// between two builds.
func cloneCommit(ctx context.Context, root, commit, clone string) error {
	if _, err := output(ctx, root, nil, "git", "clone", "-q", "--no-checkout", root, clone); err != nil {
		return err
	}
	_, err := output(ctx, clone, nil, "git", "checkout", "-q", "--detach", commit)
	return err
}

// buildClone builds a snapshot of a commit in a new clone.
func buildClone(
	ctx context.Context, root, commit, clone, out string, only []string, set func(*snapshot),
) (*snapshot, error) {
	if err := cloneCommit(ctx, root, commit, clone); err != nil {
		return nil, err
	}
	s, err := newSnapshot(ctx, clone, out, only)
	if err != nil {
		return nil, err
	}
	if set != nil {
		set(s)
	}
	return s, s.build(ctx)
}

func printSizes(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			return err
		}
		fmt.Printf("%10d  %s\n", info.Size(), e.Name())
	}
	return nil
}

// compare names the files that differ between two builds.
func compare(a, b map[string]string) error {
	var differ []string
	for name, sum := range a {
		if b[name] != sum {
			differ = append(differ, name)
		}
	}
	for name := range b {
		if a[name] == "" {
			differ = append(differ, name)
		}
	}
	if len(differ) > 0 || len(a) == 0 {
		slices.Sort(differ)
		return fmt.Errorf("%d files, and the builds differ in %s", len(a), strings.Join(differ, ", "))
	}
	return nil
}

// hashes are the SHA-256 sums of the files of a folder.
func hashes(dir string) (map[string]string, error) {
	sums := make(map[string]string)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		sum := sha256.Sum256(content)
		sums[filepath.ToSlash(name)] = hex.EncodeToString(sum[:])
		return err
	})
	return sums, err
}

// output runs a command in a folder and returns what it prints.
func output(ctx context.Context, dir string, env []string, name string, args ...string) (string, error) {
	c := exec.CommandContext(ctx, name, args...)
	c.Dir = dir
	c.Env = append(os.Environ(), env...)
	var out, wrong bytes.Buffer
	c.Stdout, c.Stderr = &out, &wrong
	if err := c.Run(); err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, wrong.String())
	}
	return strings.TrimSpace(out.String()), nil
}
