package sheet

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
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
		if got := string(appendClean([]byte("kept"), text)); got != "kept"+want {
			t.Errorf("%q becomes %q, want %q", text, got[4:], want)
		}
		if got := string(appendClean(nil, []byte(text))); got != want {
			t.Errorf("bytes %q become %q, want %q", text, got, want)
		}
	}
}

func TestCleanTwiceIsClean(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.StringMatching("[ \t\n\r\u00a0\u200ba-cé]*")).Draw(t, "text")
		once := string(appendClean(nil, text))
		if twice := string(appendClean(nil, once)); twice != once {
			t.Fatalf("%q becomes %q and then %q", text, once, twice)
		}
		if strings.TrimSpace(once) != once || strings.ContainsAny(once, "\t\r\n\u00a0") {
			t.Fatalf("%q becomes %q", text, once)
		}
		if isPlain(text) && once != text {
			t.Fatalf("%q is plain and becomes %q", text, once)
		}
	})
}

func TestCleanOfPlainTextAllocatesNothing(t *testing.T) {
	s := &csvSource{csvBody: &csvBody{owner: &File{}}}
	for _, text := range []string{"Acme Holdings 17 LLC", "Café Ünïcödé", ""} {
		if n := testing.AllocsPerRun(100, func() { s.clean(text) }); n > 0 {
			t.Errorf("%q takes %v allocations", text, n)
		}
	}
}
