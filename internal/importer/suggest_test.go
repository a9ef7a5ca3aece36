package importer

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// What the rules suggest, and that the cell has no such problem with it.
func TestSuggestions(t *testing.T) {
	for _, c := range []struct {
		column, value string
		want          []string
	}{
		{"Filing Year", "25", []string{"2025"}},
		{"Filing Year", "26", []string{"2026"}},
		{"Filing Year", "99", nil},
		{"Filing Year", "2O26", []string{"2026"}},
		{"Filing Year", "2206", nil},
		{"Filing Year", "2025 AR", []string{"2025"}},
		{"Filing Year", "3/15/2025", []string{"2025"}},
		{"Filing Year", "2025/2026", nil},
		{"Filing State", "Delawere", []string{"DE"}},
		{"Filing State", "Del.", []string{"DE"}},
		{"Filing State", "D.E.", []string{"DE"}},
		{"Filing State", "Carolina", nil},
		{"Filing State", "Texsa", []string{"TX"}},
		{"Filing State", "ZZ", nil},
		{"Agent ZIP", "7102", []string{"07102"}},
		{"Agent ZIP", "71021234", []string{"07102-1234"}},
		{"Agent ZIP", "7102-1234", []string{"07102-1234"}},
		{"Agent ZIP", "07102 1234", []string{"07102-1234"}},
		{"Agent ZIP", "71", nil},
		{"Formation Date", "13/02/2019", []string{"2019-02-13"}},
		{"Formation Date", "20190430", []string{"2019-04-30"}},
		{"Formation Date", "March 3rd, 2019", []string{"2019-03-03"}},
		{"Formation Date", "43510", []string{"2019-02-14"}},
		{"Formation Date", "soon", nil},
		{"Entity Type", "LCC", []string{"LLC"}},
		{"Entity Type", "Corperation", []string{"CORP"}},
		{"Entity Type", "LLP", nil},
		{"Order Registered Agent", "yess", []string{"yes"}},
		{"Order Registered Agent", "perhaps", nil},
		{"User Email", "Ana <ana@example.com>", []string{"ana@example.com"}},
		{"User Email", "ana@example,com", []string{"ana@example.com"}},
		{"User Email", "ana @example.com", []string{"ana@example.com"}},
		{"User Email", "ana@gmailcom", []string{"ana@gmail.com"}},
		{"User Email", "a@example.com; b@example.com", nil},
		{"User Email", "ana", nil},
		{"User Phone", "302-555-0142 ext. 5", []string{"302-555-0142"}},
		{"Company ID", "https://app.example.com/c/comp_12", []string{"comp_12"}},
		{"Company ID", "comp 12", []string{"comp_12"}},
	} {
		headers := []string{"Company ID", "Legal Name", "Entity Type", "User Email", "User Phone", "Filing State",
			"Filing Year", "Formation Date", "Order Registered Agent", "Agent Company Name", "Agent Street",
			"Agent City", "Agent State", "Agent ZIP"}
		row := []string{"comp_1", "Acme LLC", "LLC", "a@example.com", "", "NJ", "2026", "", "", "Agents Inc.",
			"1 Main St",
			"Newark", "NJ", "07102"}
		at := slices.Index(headers, c.column)
		row[at] = fmt.Sprintf("%q", c.value)
		if c.column == "Order Registered Agent" {
			copy(row[9:], []string{"", "", "", "", ""})
		}
		content := []byte(strings.Join(headers, ",") + "\n" + strings.Join(row, ",") + "\n")
		d, err := OpenDraft("a.csv", content, Options{Now: july})
		if err != nil {
			t.Fatal(err)
		}
		of := func() *Problem {
			for i, p := range d.At(0).Problems {
				if p.ColumnIndex == at {
					return &d.At(0).Problems[i]
				}
			}
			return nil
		}
		p := of()
		if p == nil {
			t.Errorf("%s %q: no problem: %+v", c.column, c.value, d.At(0).Problems)
			continue
		}
		if rule := p.Rule; !slices.Equal(p.Suggest, c.want) {
			t.Errorf("%s %q (%s): %q, want %q", c.column, c.value, rule, p.Suggest, c.want)
		}
		for _, text := range slices.Clone(p.Suggest) {
			if err := d.Set([]Edit{{Row: 2, Column: at, Text: text}}, nil); err != nil {
				t.Fatal(err)
			}
			if left := of(); left != nil && left.Rule == p.Rule && c.column != "Filing State" {
				t.Errorf("%s %q: %q has the problem too: %+v", c.column, c.value, text, left)
			}
		}
		d.Close()
	}
}
