package password

import (
	"errors"
	"strings"
	"testing"
)

// what is around the account: its name, the firm, where the page and the service are.
var around = []string{"ana.lopez@northwind-tax.com", "Northwind Tax & Accounting LLC", "filings.northwind-tax.com"}

func TestCheck(t *testing.T) {
	for password, want := range map[string]string{
		// Too short or too long, in characters.
		"":                        "fewer than 12",
		"mxkqrtvwpzl":             "fewer than 12",
		"üöäßéñõøåæę":             "fewer than 12",
		strings.Repeat("xk", 501): "more than 1000",
		// Again and again, whatever the script.
		"aaaaaaaaaaaa": "repeats", "            ": "repeats", "üüüüüüüüüüüü": "repeats", "парольпароль": "repeats",
		"パスワードパスワードパス":   "repeats",
		"none none none": "repeats", "abcdabcdabcd": "repeats", "letmeinletmein": "repeats",
		"Ninja-ninja-NINJA": "repeats", "ｎｉｎｊａｎｉｎｊａｎｉ": "repeats",
		"!?!?!?!?!?!?": "repeats", "a.b.a.b.a.b.a.b": "repeats",
		// Common ones, sequences, keyboards, dates, digits for letters.
		"password1234": "common", "123456789012": "common", "qwertyuiop12": "common", "qwerty123456": "common",
		"1q2w3e4r5t6y": "common", "q1w2e3r4t5y6": "common",
		"asdfghjkl;'#": "common", "iloveyouforever": "common", "Welcome12345": "common", "Administrator1!": "common",
		"january2026!": "common", "P@ssw0rd1234": "common",
		"Password2026!": "common", "qazwsxedcrfv": "common", "zaq12wsxcde3": "common", "1234567890ab": "common",
		"abcdefghijkl": "common", "111222333444": "repeats",
		"0987654321qwerty": "common", "letmeinplease": "common", "trustnoone123": "common",
		"TheQuickBrownFox": "common", "monkeymonkey12": "common",
		"dragonmaster99": "common", "a b c d e f g": "common", "Summer2026!!": "common", "sunshine1234": "common",
		"ｐａｓｓｗｏｒｄ１２３４": "common",
		// Words of the place.
		"Bulkfiling2026!": "firm", "bulk filing 26": "firm", "Ana Lopez 2026": "firm", "northwind-tax.com": "firm",
		"NorthwindTax2026": "firm", "Annual-Report-26!": "firm",
		"filings@northwind": "firm",
		// Good ones.
		"seven gray herons at noon": "", "correct horse battery": "", "mxkqrtvwpzlh": "", "zvK3#q9!xLp2": "",
		"Zimmer Fenster Garten": "", "чудесный кит поёт": "",
		"northwind sails past seven herons": "", "春はあけぼのやうやう白く": "",
		"seven gray herons at noon" + strings.Repeat(" and on", 139): "",
	} {
		err := Check(password, around...)
		switch {
		case want == "" && err != nil:
			t.Errorf("%q: %v", password, err)
		case want != "" && (!errors.Is(err, ErrWeak) || !strings.Contains(err.Error(), want)):
			t.Errorf("%q: %v, want that it says %q", password, err, want)
		case err != nil && len(password) >= Min && strings.Contains(err.Error(), strings.TrimSpace(password)) &&
			strings.TrimSpace(password) != "":
			t.Errorf("the error repeats the password: %v", err)
		}
	}
}

// A password may be anything: Check answers, whatever it is given.
func FuzzCheck(f *testing.F) {
	for _, seed := range []string{"password1234", "none none none", "İİİİİİİİİİİİİ", "\xff\xfe aaaaaaaaaaaaa",
		"ß" + strings.Repeat("\u0345", 20)} {
		f.Add(seed, "İstanbul")
	}
	f.Fuzz(func(t *testing.T, password, context string) {
		if err := Check(password, context); err != nil && !errors.Is(err, ErrWeak) {
			t.Error(err)
		}
	})
}
