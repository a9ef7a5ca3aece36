package signin

import (
	"bytes"
	"encoding/base32"
	"image/png"
	"strings"
	"testing"
	"time"
)

// The last six digits of the test values of RFC 6238, appendix B.
func TestCodesAreThoseOfTheRFC(t *testing.T) {
	secret := base32.StdEncoding.EncodeToString([]byte("12345678901234567890"))
	for at, code := range map[int64]string{59: "287082", 1111111109: "081804", 1111111111: "050471",
		1234567890: "005924", 2000000000: "279037", 20000000000: "353130"} {
		if step, ok := MatchCode(time.Unix(at, 0))(secret, code, 0); !ok || step != at/30 {
			t.Errorf("%s at %d: step %d, %v", code, at, step, ok)
		}
	}
}

func TestCodeHasOneStepOfToleranceAndCountsOnce(t *testing.T) {
	secret := base32.StdEncoding.EncodeToString([]byte("12345678901234567890"))
	const step = 1111111109 / 30
	for passed, want := range map[int64]bool{-2: false, -1: true, 0: true, 1: true, 2: false} {
		if _, ok := MatchCode(time.Unix((step+passed)*30, 0))(secret, "081 804", 0); ok != want {
			t.Errorf("after %d steps: %v", passed, ok)
		}
	}
	match := MatchCode(time.Unix(step*30, 0))
	if _, ok := match(secret, "081804", step-1); !ok {
		t.Error("refused after an earlier one")
	}
	if _, ok := match(secret, "081804", step); ok {
		t.Error("it counts twice")
	}
	for _, bad := range []string{"", "81804", "0818040", "08180", "abcdef"} {
		if _, ok := match(secret, bad, 0); ok {
			t.Errorf("%q is taken", bad)
		}
	}
	if _, ok := match("not base32!", "081804", 0); ok {
		t.Error("a secret that is none matches")
	}
}

func TestNewApp(t *testing.T) {
	a, err := NewApp("ana:1 müller")
	if err != nil {
		t.Fatal(err)
	}
	b, err := NewApp("ana:1 müller")
	if err != nil || a.Secret == b.Secret || len(a.Secret) != 32 || AppOf(a.URL) != a {
		t.Errorf("%+v, %+v, %v", a, b, err)
	}
	if !strings.HasPrefix(a.URL, "otpauth://totp/Bulkfiling:ana") ||
		strings.ReplaceAll(a.Readable(), " ", "") != a.Secret {
		t.Errorf("%s, %s", a.URL, a.Readable())
	}
	picture, err := a.QR()
	if err != nil {
		t.Fatal(err)
	}
	if decoded, err := png.Decode(bytes.NewReader(picture)); err != nil || decoded.Bounds().Dx() != 240 {
		t.Errorf("%v", err)
	}
}

func TestGroupRoles(t *testing.T) {
	roles := []string{"approver", "operator"}
	for text, want := range map[string]GroupRoles{
		"":                                   nil,
		"a=approver, b = operator":           {{"a", "approver"}, {"b", "operator"}},
		"cn=x,dc=y=approver;\n a=operator ;": {{"cn=x,dc=y", "approver"}, {"a", "operator"}},
	} {
		got, err := ParseGroupRoles(text, roles)
		if err != nil || len(got) != len(want) {
			t.Errorf("%q: %v, %v", text, got, err)
			continue
		}
		for i := range got {
			if got[i] != want[i] {
				t.Errorf("%q: %v", text, got)
			}
		}
	}
	for _, bad := range []string{"a", "a=king", "=approver", "a=approver=", "cn=x,dc=y=approver"} {
		if got, err := ParseGroupRoles(bad, roles); err == nil {
			t.Errorf("%q: %v", bad, got)
		}
	}
	all := GroupRoles{{"a", "approver"}, {"b", "approver"}, {"b", "operator"}}
	if got := all.Of([]string{"b", "a", "z"}); len(got) != 2 {
		t.Errorf("%v", got)
	}
	if got := all.Of([]string{"A", "", "a "}); len(got) != 0 {
		t.Errorf("%v", got)
	}
}
