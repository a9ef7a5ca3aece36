package sheet

import (
	"slices"
	"testing"
)

func TestEncodeCells(t *testing.T) {
	cells := []Cell{
		{}, {Text: "Acme \"A\" \\ LLC\n", Kind: Text}, {Text: "2026", Kind: Number}, {Text: "-0.5", Kind: Number},
		{Text: "02134", Kind: Number}, {Text: "2026-03-01", Kind: Date},
		{Text: "TRUE", Kind: Bool}, {Text: "FALSE", Kind: Bool}, {Text: "#N/A", Kind: Error},
		{Text: "", Kind: Formula}, {Text: "Café\u2028", Kind: Text}, {Text: "", Kind: Text},
	}
	const want = `[null,"Acme \"A\" \\ LLC\n",{"number":"2026"},{"number":"-0.5"},{"number":"02134"},` +
		`{"date":"2026-03-01"},{"bool":"TRUE"},{"bool":"FALSE"},{"error":"#N/A"},{"formula":""},"Café\u2028",""]`
	got := EncodeCells(cells)
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	back, err := DecodeCells(got)
	if err != nil || !slices.Equal(back, cells) {
		t.Errorf("came back as %v, %v", back, err)
	}
	if back, err := DecodeCells(EncodeCells(nil)); err != nil || len(back) != 0 {
		t.Errorf("no cells came back as %v, %v", back, err)
	}
}

func TestDecodeCellsRefuses(t *testing.T) {
	for _, data := range []string{``, `{}`, `[{}]`, `[[]]`, `[{"what":"x"}]`, `[{"date":1}]`, `["a"`,
		`[{"date":"a","text":"b"}]`, `[2026]`} {
		if cells, err := DecodeCells([]byte(data)); err == nil {
			t.Errorf("%s is read as %v", data, cells)
		}
	}
}
