package network

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestHeaders(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /static", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Cache-Control", "max-age=60")
	})
	for _, encrypted := range []bool{false, true} {
		for path, status := range map[string]int{"/static": http.StatusOK, "/nothing": http.StatusNotFound,
			"//": http.StatusMovedPermanently} {
			answer := httptest.NewRecorder()
			WithHeaders(mux, encrypted).ServeHTTP(answer,
				httptest.NewRequest(http.MethodGet, "http://x.test"+path, nil))
			if answer.Code == http.StatusTemporaryRedirect {
				status = http.StatusTemporaryRedirect // the same redirect, in newer versions of Go
			}
			if answer.Code != status {
				t.Errorf("%s: %d", path, answer.Code)
			}
			for name, want := range headers {
				if path == "/static" && name == "Cache-Control" {
					want = "max-age=60"
				}
				if got := answer.Header().Get(name); got != want {
					t.Errorf("%s: %s is %q, want %q", path, name, got, want)
				}
			}
			want := ""
			if encrypted {
				want = "max-age=31536000; includeSubDomains"
			}
			if got := answer.Header().Get("Strict-Transport-Security"); got != want {
				t.Errorf("%s, encrypted %v: %q", path, encrypted, got)
			}
		}
	}
}
