package text

import "testing"

func TestSentences(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{Number(0), "0"}, {Number(999), "999"}, {Number(1000), "1,000"}, {Number(-1234567), "-1,234,567"},
		{Number(-123), "-123"},
		{Count(1, "row"), "1 row"}, {Count(0, "row"), "0 rows"}, {Count(1200, "row"), "1,200 rows"},
		{CountOf(1, "company", "companies"), "1 company"}, {CountOf(2, "company", "companies"), "2 companies"},
		{List(nil), ""}, {List([]string{"a"}), "a"}, {List([]string{"a", "b"}), "a and b"},
		{List([]string{"a", "b", "c"}), "a, b, and c"},
		{FirstOf([]string{"1", "2"}, 2), "1, 2"}, {FirstOf([]string{"1", "2", "3"}, 2), "1, 2, and 1 more"},
		{Shorten("abc", 3), "abc"}, {Shorten("abcd", 3), "ab…"}, {Shorten("äöüß", 3), "äö…"}, {Shorten("", 3), ""},
		{Shorten("ab", 1), "…"},
		{Capital(""), ""}, {Capital("two rows"), "Two rows"}, {Capital("éa"), "Éa"},
		{Line("a\tb\nc\x1b[2J\u202ed"), "a b c[2Jd"},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
	var e Examples
	for range MaxExamples + 2 {
		e.Add("a")
	}
	if e.Count != MaxExamples+2 || len(e.Names) != MaxExamples {
		t.Errorf("%+v", e)
	}
	if got := (Examples{Count: 3, Names: []string{"a", "b"}}).Summary(); got != "a; b; and 1 more" {
		t.Error(got)
	}
}
