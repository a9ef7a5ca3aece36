package logs

import (
	"bytes"
	"log/slog"
	"regexp"
	"strings"
	"testing"
)

// Both formats write the same attributes, and nothing else is a format.
func TestFormats(t *testing.T) {
	for _, c := range []struct {
		name, want string
		fails      bool
	}{
		{"", `{"time":"","level":"WARN","msg":"row swept","batch":"b7k2","row":4}`, false},
		{"json", `{"time":"","level":"WARN","msg":"row swept","batch":"b7k2","row":4}`, false},
		{"text", `level=WARN msg="row swept" batch=b7k2 row=4`, false},
		{"xml", "", true},
	} {
		format, err := ParseFormat(c.name, JSON)
		if (err != nil) != c.fails {
			t.Errorf("%q: %v", c.name, err)
			continue
		}
		var out bytes.Buffer
		log := slog.New(NewHandler(&out, format, slog.LevelWarn))
		log.Info("too little")
		log.Warn("row swept", "batch", "b7k2", "row", 4)
		got := regexp.MustCompile(`time=\S+ |"[0-9-]+T[^"]+"`).ReplaceAllStringFunc(strings.TrimSpace(out.String()),
			func(at string) string {
				if strings.HasPrefix(at, `"`) {
					return `""`
				}
				return ""
			})
		if !c.fails && got != c.want {
			t.Errorf("%q writes %s, want %s", c.name, got, c.want)
		}
	}
}
