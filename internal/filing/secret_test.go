package filing

import "testing"

func TestHideSSNs(t *testing.T) {
	for text, want := range map[string]string{
		"":                               "",
		"the SSN 078-05-1120 is not his": "the SSN ***-**-1120 is not his",
		"078 05 1120, 078‑05‑1120 and 078051120": "***-**-1120, ***-**-1120 and ***-**-1120",
		"order_078051120":                      "order_078051120",
		"2026-03-01T09:00:00.123456789+00:00":  "2026-03-01T09:00:00.123456789+00:00",
		"+13025550199, 19801-1234, 2026-03-01": "+13025550199, 19801-1234, 2026-03-01",
	} {
		if got := HideSSNs(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	for body, want := range map[string]string{
		`{"b": 1,"a":"x"}`: `{"b": 1,"a":"x"}`,
		`{"z":{"ssn":78051120,"list":[{"n":"078\u002d05-1120"},123456789]},"a":"<&"}`: `{"a":"<&","z":{"list":[{"n":"***-**-1120"},"***-**-6789"],"ssn":78051120}}`,
		`not JSON 078-05-1120`: `not JSON ***-**-1120`,
		`{"a":1} 078-05-1120`:  `{"a":1} ***-**-1120`,
	} {
		if got := string(HideSSNsInBody([]byte(body))); got != want {
			t.Errorf("%s: %s, want %s", body, got, want)
		}
	}
}
