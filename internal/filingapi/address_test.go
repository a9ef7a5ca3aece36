package filingapi

import "testing"

func TestCompleteAddress(t *testing.T) {
	for text, want := range map[string]string{
		"":                              "",
		" api.example.com ":             "https://api.example.com/v1",
		"https://api.example.com/":      "https://api.example.com/v1",
		"https://api.example.com/v1/":   "https://api.example.com/v1",
		"http://127.0.0.1:8080":         "http://127.0.0.1:8080/v1",
		"https://example.com/filing/v2": "https://example.com/filing/v2",
		"127.0.0.1:1":                   "http://127.0.0.1:1/v1",
	} {
		if got := CompleteAddress(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
