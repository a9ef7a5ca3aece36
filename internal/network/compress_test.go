package network

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// Pages are compressed. Workbooks, which are compressed already, and streams of events are
// sent as they are.
func TestCompress(t *testing.T) {
	for kind, want := range map[string]string{
		"text/html; charset=utf-8": "gzip",
		"text/event-stream":        "",
		"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "",
	} {
		handler := Compress(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			_, _ = w.Write([]byte(strings.Repeat("<p>annual report</p>\n", 500)))
		}))
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set("Accept-Encoding", "gzip, deflate, br, zstd")
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		if got := w.Header().Get("Content-Encoding"); got != want {
			t.Errorf("%s: Content-Encoding %q, want %q", kind, got, want)
		}
	}
}
