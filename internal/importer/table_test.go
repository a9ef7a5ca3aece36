package importer

import (
	"strings"
	"testing"
)

// A blank column ends the table, and a heading inside it that speaks against filing
// holds the rows below it.
func TestOneTable(t *testing.T) {
	const header = "Company ID,Legal Name,User ID,Filing State,Filing Year"
	row := func(n string) string { return "\ncomp_" + n + ",Larkspur " + n + " LLC,user_1,DE,2026" }
	for _, c := range []struct {
		why, text string
		options   Options
		want      string // the results of the rows, by their first letters: ready, invalid, skipped
		note      string
	}{
		{"a legend beside the list", header + ",,State,Fee" + row("1") + ",,DE,300" + row("2") + ",,NV,do not file" +
			"\n,,,,,,FL,138.75", Options{}, "rrs", `Not read: "State" (G1), "Fee" (H1). If they belong`},
		{"a list beside a legend", "State,Fee,," + header + "\nDE,300,,comp_1,Larkspur LLC,user_1,DE,2026\nNV,350",
			Options{}, "rs", `Not read: "State" (A1), "Fee" (B1).`},
		{"a column of the list that is mapped", header + ",,RA\n" + row("1")[1:] + ",,yes",
			Options{Map: map[string]string{"G:G": "Order Registered Agent"}}, "r", "from the column headers"},
		{"a blank header above values", header + ",,Client" + row("1") + ",see the file,Quay", Options{}, "r",
			"Detected"},
		{"a heading", header + row("1") + "\nSold or dissolved in 2025 - do not file\n" + header + row("2") + row("3"),
			Options{}, "rssii", "3 (\"Sold"},
		{"a heading in another column, with a remark", header + row("1") + "\n,Closed in 2025,for reference" + row("2"),
			Options{}, "rsi", ""},
		{"a heading that could be a name", header + row("1") + "\n,Sold to Quay Group" + row("2"), Options{}, "rsi",
			""},
		{"two headings", header + "\nFormer clients\n(ask Ana)" + row("1"), Options{}, "ssi", ""},
		{"a note between the rows", header + "\nDo not file" + row("1") + "\n* ask ana@example.com" + row("2"),
			Options{}, "sisi", ""},
		{"a section that ends", header + "\nDo not file" + row("1") + "\nDelaware companies" + row("2"), Options{},
			"sisr", ""},
		{"filed anyway", header + "\nDo not file" + row("1"), Options{Include: []string{"Heading=Do not file"}},
			"sr", ""},
		{"left out", header + "\nDo not file" + row("1"), Options{Exclude: []string{"Heading=Do not file"}}, "ss", ""},
	} {
		im := opened(t, saved(t, "in.csv", c.text+"\n"), c.options)
		got := ""
		for _, r := range rowsOf(t, im) {
			got += string(r.result[:1])
		}
		if notes := strings.Join(im.Notes(), "\n"); got != c.want || !strings.Contains(notes, c.note) {
			t.Errorf("%s: %s, want %s\n%s", c.why, got, c.want, notes)
		}
	}
}
