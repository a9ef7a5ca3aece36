package sheet

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A file that is open for a moment is waited for; one that stays open is named, and so
// is what to do.
func TestReplaceBusyFile(t *testing.T) {
	busy, other := errors.New("sharing violation"), errors.New("no space")
	for name, c := range map[string]struct {
		fails  []error
		calls  int
		want   error
		advice bool
	}{
		"free":          {nil, 1, nil, false},
		"for a moment":  {[]error{busy, busy}, 3, nil, false},
		"all the time":  {[]error{busy, busy, busy, busy}, 4, busy, true},
		"another error": {[]error{other, nil}, 1, other, false},
	} {
		calls := 0
		r := replacing{
			busy:  func(err error) bool { return errors.Is(err, busy) },
			tries: 4,
			rename: func(string, string) error {
				calls++
				if calls > len(c.fails) {
					return nil
				}
				return c.fails[calls-1]
			},
		}
		err := r.replace("from", filepath.Join("desk", "a.results.xlsx"))
		if !errors.Is(err, c.want) || calls != c.calls {
			t.Errorf("%s: %d tries, %v", name, calls, err)
		}
		advises := err != nil && strings.HasPrefix(err.Error(), "a.results.xlsx is open in another program: close it")
		if advises != c.advice {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A file that someone reads is replaced here, and the reader keeps what it has.
func TestReplaceOpenFile(t *testing.T) {
	dir := t.TempDir()
	from, to := filepath.Join(dir, "new"), filepath.Join(dir, "old")
	for _, path := range []string{from, to} {
		if err := os.WriteFile(path, []byte(filepath.Base(path)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	reader, err := os.Open(to)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	err = replaceFile(from, to)
	if isBusy(err) {
		return // as on Windows: the error says what to do
	}
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(to)
	if err != nil || string(content) != "new" {
		t.Errorf("%q, %v", content, err)
	}
	kept := make([]byte, 3)
	if _, err := reader.Read(kept); err != nil || string(kept) != "old" {
		t.Errorf("%q, %v", kept, err)
	}
}
