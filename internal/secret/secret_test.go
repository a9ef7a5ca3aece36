package secret

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

// fmt and slog call no methods on unexported fields.
func TestNoOutputShowsAnUnexportedValue(t *testing.T) {
	type environment struct{ key Value }
	in := struct{ env environment }{environment{New("sk_live_hush")}}
	var log bytes.Buffer
	slog.New(slog.NewTextHandler(&log, nil)).Info("worker started", "in", in)
	slog.New(slog.NewJSONHandler(&log, nil)).Info("worker started", "in", in)
	for _, text := range []string{fmt.Sprintf("%v %+v %#v", in, in, in), log.String()} {
		if strings.Contains(text, "hush") {
			t.Error(text)
		}
	}
}

func TestNoOutputShowsAValue(t *testing.T) {
	v := New("sk_live_hush")
	in := struct{ Key Value }{v}
	document, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("worker started", "key", v, "in", in)
	slog.New(slog.NewTextHandler(&log, nil)).Info("worker started", "key", v, "in", in)
	for _, text := range []string{
		fmt.Sprint(v), fmt.Sprintf("%q %v %+v %#v %s", v, in, in, in, v), string(document), log.String(),
		fmt.Errorf("use key %v: %w", v, fmt.Errorf("refused %v", &in)).Error(),
	} {
		if strings.Contains(text, "hush") || !strings.Contains(text, redacted) {
			t.Errorf("%s", text)
		}
	}
	if v.Reveal() != "sk_live_hush" || New("").String() != "" {
		t.Error("the value is lost, or an empty one looks set")
	}
}
