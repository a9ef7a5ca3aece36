package network

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// Pages are compressed for those who accept it; what is small, compressed already,
// or a stream of events is sent as it is.
func TestCompress(t *testing.T) {
	const workbook = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
	page := []byte(strings.Repeat("<p>annual report</p>\n", 500))
	for name, c := range map[string]struct {
		kind, accept, encodings string
		body                    []byte
		want                    bool
	}{
		"page":           {"text/html; charset=utf-8", "text/html", "gzip, deflate, br, zstd", page, true},
		"script":         {"text/javascript; charset=utf-8", "*/*", "gzip", page, true},
		"small page":     {"text/html", "text/html", "gzip", page[:200], false},
		"old browser":    {"text/html", "text/html", "", page, false},
		"workbook":       {workbook, "*/*", "gzip", page, false},
		"events":         {"text/event-stream", "text/event-stream", "gzip", page, false},
		"events, unsaid": {"text/event-stream", "*/*", "gzip", page, false},
	} {
		handler := Compress(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", c.kind)
			_, _ = w.Write(c.body)
		}))
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set("Accept", c.accept)
		r.Header.Set("Accept-Encoding", c.encodings)
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		got := w.Body.Bytes()
		if is := w.Header().Get("Content-Encoding") == "gzip"; is != c.want {
			t.Errorf("%s: Content-Encoding %q", name, w.Header().Get("Content-Encoding"))
		} else if is {
			if len(got) > len(c.body)/4 || !strings.Contains(w.Header().Get("Vary"), "Accept-Encoding") {
				t.Errorf("%s: %d of %d bytes, Vary %q", name, len(got), len(c.body), w.Header().Get("Vary"))
			}
			z, err := gzip.NewReader(bytes.NewReader(got))
			if err != nil {
				t.Fatal(err)
			}
			if got, err = io.ReadAll(z); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(got, c.body) {
			t.Errorf("%s: the body is another", name)
		}
	}
}
