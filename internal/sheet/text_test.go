package sheet

import (
	"testing"
)

func TestClean(t *testing.T) {
	for text, want := range map[string]string{
		"":                          "",
		"Acme LLC":                  "Acme LLC",
		"  Acme LLC\t":              "Acme LLC",
		"Acme\u00a0LLC\u2003x":      "Acme LLC x",
		"Acme\u200b\ufeff LLC":      "Acme LLC",
		"Acme \r\n  LLC":            "Acme LLC",
		"Acme\n\n\nLLC":             "Acme LLC",
		"Acme\u2028LLC\u0085x":      "Acme LLC x",
		"two  spaces":               "two  spaces",
		"a\tb":                      "a b",
		"nul\x00 and bell\x07":      "nul and bell",
		"\u202bright to left\u202c": "right to left",
		"soft\u00adhyphen":          "softhyphen",
		"broken \xff\xfe":           "broken \uFFFD\uFFFD",
		"Café 東京 😀":                 "Café 東京 😀",
		"“smart”":                   "“smart”",
		" \u00a0\n\t":               "",
	} {
		if got := string(appendClean([]byte("kept"), []byte(text))); got != "kept"+want {
			t.Errorf("%q becomes %q, want %q", text, got[4:], want)
		}
		if got := string(appendClean(nil, []byte(text))); got != want {
			t.Errorf("bytes %q become %q, want %q", text, got, want)
		}
	}
}
