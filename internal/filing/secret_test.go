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

func TestIsSSNHeader(t *testing.T) {
	for header, want := range map[string]bool{
		"SSN": true, "ssn": true, "S.S.N.": true, "SS#": true, "SSN #": true, "Owner's SSN": true, "ssn_number": true, "SSN/ITIN": true,
		"responsiblePartySsn": true, "ein.responsiblePartySsn": true, "SSNs": true, "OwnerSSN": true, "SSNNUMBER": true, "TAXPAYERSSN": true,
		"Social Security Number": true, "socialSecurityNumber": true, "Soc. Sec. No.": true, "Social No": true,
		"Business Name": false, "BUSINESS NAME": false, "businessname": false, "BusinessName": false, "Business No": false, "Address Number": false,
		"Social Sector": false, "Social Notes": false, "Class Name": false, "classname": false, "Wellness Note": false, "Passnumber": false, "EIN": false, "Legal Name": false, "": false,
	} {
		if got := IsSSNHeader(header); got != want {
			t.Errorf("%q: %t", header, got)
		}
	}
}
