// Package goldentest compares what code returns with the expected results in files of testdata.
// With -update, the tests write these results again. Review what changed.
package goldentest

import (
	"encoding/json"
	"flag"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "write the expected results again")

// Update reports whether the tests write the expected results again.
func Update() bool { return *update }

// wantName is the name of the sections of an archive with expected results.
const wantName = "want"

// Archive compares the results of the cases in an archive. A case is a section with its name and
// its input, followed by a section with its expected result.
func Archive(t *testing.T, path string, result func(t *testing.T, name, input string) string) {
	t.Helper()
	archive, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(archive.Files); i += 2 {
		input, want := archive.Files[i], &archive.Files[i+1]
		t.Run(input.Name, func(t *testing.T) {
			got := strings.TrimSuffix(result(t, input.Name, string(input.Data)), "\n") + "\n"
			if want.Name != wantName {
				t.Fatalf("section %q has the name of no expected result", want.Name)
			}
			if !*update && got != string(want.Data) {
				t.Errorf("got\n%s\nwant\n%s", got, want.Data)
			}
			want.Data = []byte(got)
		})
	}
	write(t, path, txtar.Format(archive))
}

// arrow separates the input of a line from its expected result.
const arrow = " => "

// Lines compares the results of the lines of a file. A line has an input, an arrow and the expected
// result. Empty lines and those with a # in front are comments.
func Lines(t *testing.T, path string, result func(t *testing.T, fields []string) string) {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(content), "\n")
	for i, line := range lines {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		input, want, found := strings.Cut(line, arrow)
		if !found && !*update {
			t.Errorf("%s:%d: no expected result", path, i+1)
		}
		got := result(t, fields(t, input))
		if !*update && got != want {
			t.Errorf("%s:%d: %s\ngot  %s\nwant %s", path, i+1, input, got, want)
		}
		lines[i] = input + arrow + got
	}
	write(t, path, []byte(strings.Join(lines, "\n")))
}

// fields splits an input at its bars. Fields in quotation marks are Go strings.
func fields(t *testing.T, input string) []string {
	t.Helper()
	all := strings.Split(input, " | ")
	for i, field := range all {
		if len(field) < 2 || field[0] != '"' {
			continue
		}
		text, err := strconv.Unquote(field)
		if err != nil {
			t.Fatalf("%s: %v", field, err)
		}
		all[i] = text
	}
	return all
}

// Object returns an object of a JSON file with changes, such as order.filingState="DE". The values are
// JSON, or the names of objects of the file behind an @. A change without a value deletes a field.
func Object(t *testing.T, path, name string, changes ...string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var objects map[string]any
	if err := json.Unmarshal(content, &objects); err != nil {
		t.Fatal(err)
	}
	object, ok := objects[name]
	if !ok {
		t.Fatalf("%s has no object %q", path, name)
	}
	for _, change := range changes {
		field, text, _ := strings.Cut(change, "=")
		var value any = deleted{}
		if other, ok := strings.CutPrefix(text, "@"); ok {
			value = objects[other]
		} else if text != "" {
			if err := json.Unmarshal([]byte(text), &value); err != nil {
				t.Fatalf("%s: %v", change, err)
			}
		}
		object = with(object, strings.Split(field, "."), value)
	}
	changed, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return changed
}

// deleted is the value of a field that is deleted.
type deleted struct{}

// with returns a tree of JSON with another value at a path.
func with(tree any, path []string, value any) any {
	if len(path) == 0 {
		return value
	}
	if at, err := strconv.Atoi(path[0]); err == nil {
		list, _ := tree.([]any)
		list = append(slices.Clone(list), make([]any, max(0, at+1-len(list)))...)
		list[at] = with(list[at], path[1:], value)
		return list
	}
	changed := map[string]any{}
	if object, ok := tree.(map[string]any); ok {
		changed = maps.Clone(object)
	}
	if _, ok := value.(deleted); ok && len(path) == 1 {
		delete(changed, path[0])
	} else {
		changed[path[0]] = with(changed[path[0]], path[1:], value)
	}
	return changed
}

func write(t *testing.T, path string, content []byte) {
	t.Helper()
	if !*update {
		return
	}
	if err := os.WriteFile(path, content, 0o644); err != nil {
		t.Fatal(err)
	}
}
