package network

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestHeaders(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /static", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Cache-Control", "max-age=60")
	})
	transport := map[bool]string{true: "max-age=31536000; includeSubDomains"}
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
			want := maps.Clone(headers)
			want["Strict-Transport-Security"] = transport[encrypted]
			if path == "/static" {
				want["Cache-Control"] = "max-age=60"
			}
			for name, value := range want {
				if got := answer.Header().Get(name); got != value {
					t.Errorf("%s, encrypted %v: %s is %q, want %q", path, encrypted, name, got, value)
				}
			}
		}
	}
}
