package sheet

import (
	"errors"
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
			busy:     func(err error) bool { return errors.Is(err, busy) },
			attempts: 4,
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
			t.Errorf("%s: %d attempts, %v", name, calls, err)
		}
		advises := err != nil && strings.HasPrefix(err.Error(), "a.results.xlsx is open in another program: close it")
		if advises != c.advice {
			t.Errorf("%s: %v", name, err)
		}
	}
}
