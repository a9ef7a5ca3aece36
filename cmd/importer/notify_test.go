package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestNotifyTestSaysWhichTargetFailed(t *testing.T) {
	took := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer took.Close()
	refused := httptest.NewServer(http.NotFoundHandler())
	defer refused.Close()
	for _, test := range []struct {
		name, targets, on string
		says, fails       string
	}{
		{"one that works", took.URL + "/hushhush", "", took.URL + "  accepted the test notification\n", ""},
		{"one that does not", took.URL + "/hushhush, slack+" + refused.URL + "/hushhush", "",
			"slack+" + refused.URL + "  failed: ", "1 target did not accept"},
		{"none", "", "", "", "is not set"},
		{"one that is none", "nosuch://hushhush", "", "", "FILING_NOTIFY: "},
		{"kinds that are none", took.URL, "fonds", "", "FILING_NOTIFY_ON: "},
	} {
		t.Run(test.name, func(t *testing.T) {
			var out, stderr bytes.Buffer
			vars := map[string]string{"FILING_NOTIFY": test.targets, "FILING_NOTIFY_ON": test.on}
			root := newApp(strings.NewReader(""), &out, &stderr,
				func(name string) string { return vars[name] }).command()
			root.SetArgs([]string{"notify", "test"})
			err := root.ExecuteContext(t.Context())
			if (err == nil) != (test.fails == "") || err != nil && !strings.Contains(err.Error(), test.fails) {
				t.Errorf("%v", err)
			}
			said := out.String() + stderr.String()
			if err != nil {
				said += err.Error()
			}
			if !strings.Contains(said, test.says) || strings.Contains(said, "hush") {
				t.Errorf("%s", said)
			}
		})
	}
}
