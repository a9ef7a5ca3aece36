// Command mutants proves that the tests of the core find defects: it applies the
// bugs of list.go one by one, over the source and not in it, and runs the tests
// that must fail for each. A bug that no test finds ends it with status 1.
//
//	go -C tools/mutants run . [-only REGEXP]
//
// A run of the whole list writes docs/mutants.md.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	root  = "../.."
	table = "docs/mutants.md"

	buildLimit = 10 * time.Minute
	testLimit  = 2 * time.Minute // of one mutant's tests; they take seconds
)

// mutant is one bug in one file of the core.
type mutant struct {
	name  string
	file  string
	edits []edit
	pkg   string // the package whose tests must fail
	tests string // their names, separated by |
	harm  string // what the bug does to money or filings
}

// edit replaces a text that stands exactly once in its file.
type edit struct{ from, to string }

func main() {
	only := flag.String("only", "", "run only the mutants whose names match this regular expression")
	flag.Parse()
	if err := run(*only); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

func run(only string) error {
	if err := checkList(mutants); err != nil {
		return err
	}
	wanted, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	some := slices.DeleteFunc(slices.Clone(mutants), func(m mutant) bool { return !wanted.MatchString(m.name) })
	if len(some) == 0 {
		return fmt.Errorf("no mutant's name matches %q", only)
	}
	dir, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := passUnchanged(dir, some); err != nil {
		return err
	}
	killers := make([]string, len(some))
	errs := make([]error, len(some))
	two := make(chan struct{}, 2)
	var running sync.WaitGroup
	for i, m := range some {
		two <- struct{}{}
		running.Go(func() {
			defer func() { <-two }()
			began := time.Now()
			killers[i], errs[i] = kill(filepath.Join(dir, m.name), m)
			verdict := "killed by " + killers[i]
			if errs[i] != nil {
				verdict = errs[i].Error()
			}
			fmt.Printf("%-42s %5.1fs  %s\n", m.name, time.Since(began).Seconds(), verdict)
		})
	}
	running.Wait()
	failed := 0
	for _, err := range errs {
		if err != nil {
			failed++
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d mutants were not killed", failed, len(some))
	}
	fmt.Printf("all %d mutants were killed\n", len(some))
	if only != "" {
		return nil
	}
	return os.WriteFile(filepath.Join(root, table), []byte(tableOf(some, killers)), 0o644)
}

// checkList reports the mutants that do not apply, all at once.
func checkList(all []mutant) error {
	var errs []error
	seen := make(map[string]bool)
	for _, m := range all {
		if seen[m.name] {
			errs = append(errs, fmt.Errorf("%s: two mutants have this name", m.name))
		}
		seen[m.name] = true
		if _, err := m.apply(); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// apply returns the file's text with the bug in it.
func (m mutant) apply() (string, error) {
	content, err := os.ReadFile(filepath.Join(root, m.file))
	if err != nil {
		return "", fmt.Errorf("%s: %w", m.name, err)
	}
	text := string(content)
	for _, e := range m.edits {
		if n := strings.Count(text, e.from); n != 1 {
			return "", fmt.Errorf("%s: the text to replace stands %d times in %s: %q", m.name, n, m.file, e.from)
		}
		text = strings.Replace(text, e.from, e.to, 1)
	}
	return text, nil
}

// passUnchanged runs the tests of the list without a bug: each must be there and
// pass.
func passUnchanged(dir string, some []mutant) error {
	tests := make(map[string][]string)
	for _, m := range some {
		tests[m.pkg] = append(tests[m.pkg], strings.Split(m.tests, "|")...)
	}
	for pkg, names := range tests {
		slices.Sort(names)
		names = slices.Compact(names)
		binary := filepath.Join(dir, strings.ReplaceAll(pkg, "/", "_"))
		if out, err := build(binary, pkg, ""); err != nil {
			return fmt.Errorf("%s does not compile: %w\n%s", pkg, err, out)
		}
		out, err := runTests(binary, pkg, names, 10*time.Minute)
		if err != nil {
			return fmt.Errorf("the tests of %s fail without any mutant: %w\n%s", pkg, err, out)
		}
		for _, name := range names {
			if !strings.Contains(out, "--- PASS: "+name+" (") {
				return fmt.Errorf("%s has no test %s", pkg, name)
			}
		}
		fmt.Printf("%s: %d tests pass without a mutant\n", pkg, len(names))
	}
	return nil
}

// kill runs the tests of a mutant and returns the names of those that failed.
func kill(dir string, m mutant) (string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	overlay, err := m.overlay(dir)
	if err != nil {
		return "", err
	}
	binary := filepath.Join(dir, "tests")
	if out, err := build(binary, m.pkg, overlay); err != nil {
		return "", fmt.Errorf("DOES NOT COMPILE: %w\n%s", err, out)
	}
	out, err := runTests(binary, m.pkg, strings.Split(m.tests, "|"), testLimit)
	if err == nil {
		return "", errors.New("SURVIVES " + m.tests)
	}
	failed := failures(out)
	if len(failed) == 0 {
		return "", fmt.Errorf("NO TEST FAILED, and the run did: %w\n%s", err, out)
	}
	return strings.Join(failed, ", "), nil
}

// overlay writes the file with the bug, and the list of files to replace for the
// go command.
func (m mutant) overlay(dir string) (string, error) {
	text, err := m.apply()
	if err != nil {
		return "", err
	}
	changed := filepath.Join(dir, filepath.Base(m.file))
	if err := os.WriteFile(changed, []byte(text), 0o644); err != nil {
		return "", err
	}
	original, err := filepath.Abs(filepath.Join(root, m.file))
	if err != nil {
		return "", err
	}
	list, err := json.Marshal(map[string]map[string]string{"Replace": {original: changed}})
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "overlay.json")
	return path, os.WriteFile(path, list, 0o644)
}

// build compiles the tests of a package.
func build(binary, pkg, overlay string) (string, error) {
	args := []string{"test", "-c", "-vet=off", "-ldflags=-s -w", "-o", binary}
	if overlay != "" {
		args = append(args, "-overlay", overlay)
	}
	ctx, cancel := context.WithTimeout(context.Background(), buildLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", append(args, "./"+pkg)...)
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// runTests runs some tests, on SQLite and the queue within the process.
func runTests(binary, pkg string, names []string, limit time.Duration) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit+10*time.Second)
	defer cancel()
	path, err := filepath.Abs(binary)
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, path, "-test.v", "-test.run", "^("+strings.Join(names, "|")+")$", "-test.timeout",
		limit.String())
	cmd.Dir = filepath.Join(root, pkg)
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); name != "CI" && name != "TEST_DATABASE_URL" && name != "TEST_REDIS_URL" {
			cmd.Env = append(cmd.Env, v)
		}
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Run()
	return out.String(), err
}

var failure = regexp.MustCompile(`(?m)^--- FAIL: (\w+) \(`)

// failures are the tests that failed. One that ran out of time is none of them:
// a test has to say what is wrong.
func failures(out string) []string {
	var names []string
	for _, found := range failure.FindAllStringSubmatch(out, -1) {
		names = append(names, found[1])
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// tableOf is the document that lists every mutant.
func tableOf(all []mutant, killers []string) string {
	var b strings.Builder
	b.WriteString(heading)
	for i, m := range all {
		fmt.Fprintf(&b, "| %s | `%s` | %s | %s |\n", m.name, strings.TrimPrefix(m.file, "internal/"), m.harm,
			killers[i])
	}
	return b.String()
}

const heading = `# Mutants

Each line is a bug that was put into the core, and the fast test that finds it. ` + "`make mutants`" +
	` applies them one by one,
on SQLite and without servers, and writes this page. The bugs themselves are in
[tools/mutants/list.go](../tools/mutants/list.go).

| mutant | in internal/ | what it would do | found by |
|---|---|---|---|
`
