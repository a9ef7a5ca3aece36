package importer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/sheet"
)

// keptRow is all that the rows of a Draft and of an Import have in common.
type keptRow struct {
	Number   int
	Cells    []sheet.Cell
	Result   filing.Result
	Message  string
	Problems []Problem
}

func keep(r *Row) keptRow {
	k := keptRow{r.Number, slices.Clone(r.Cells), r.Result, r.Message, slices.Clone(r.Problems)}
	for i := range k.Problems {
		k.Problems[i].Suggest = nil // an Import has none but for namesakes
	}
	if len(k.Problems) == 0 {
		k.Problems = nil
	}
	return k
}

// imported are the rows of a fresh Import.
func imported(name string, content []byte, o Options) ([]keptRow, error) {
	im, err := OpenReader(name, bytes.NewReader(content), int64(len(content)), o)
	if err != nil {
		return nil, err
	}
	defer im.Close()
	var rows []keptRow
	err = im.Each(context.Background(), func(r *Row) error {
		rows = append(rows, keep(r))
		return nil
	})
	return rows, err
}

// drafted are the rows of a Draft that an Import has too.
func drafted(d *Draft) []keptRow {
	var rows []keptRow
	for i := range d.Len() {
		if r := d.At(i); !r.Blank {
			rows = append(rows, keep(&r.Row))
		}
	}
	return rows
}

// firstDifference describes the first row that is not the same.
func firstDifference(a, b []keptRow) string {
	for i := range max(len(a), len(b)) {
		switch {
		case i >= len(a) || i >= len(b):
			return fmt.Sprintf("%d and %d rows", len(a), len(b))
		case !reflect.DeepEqual(a[i], b[i]):
			return fmt.Sprintf("draft:  %+v\nimport: %+v", a[i], b[i])
		}
	}
	return ""
}

// draftSheet is a sheet longer than its head, whose last rows repeat each other.
func draftSheet(withID bool) []byte {
	var b bytes.Buffer
	b.WriteString("Company ID,Legal Name,Entity Type,Formation State,Formation Date,Principal Line 1,Principal City," +
		"Principal State,User Email,Filing State,Filing Year,Agent ZIP\n")
	for i := range 560 {
		id := fmt.Sprintf("comp_%d", i%300)
		if !withID && i%5 == 0 {
			id = ""
		}
		fmt.Fprintf(&b, "%s,Acme %d LLC,LLC,DE,2019-04-30,1 Main St,Dover,DE,a@example.com,DE,%d,\n", id, i%7, 2024+i%3)
	}
	return b.Bytes()
}

// After any edits and exclusions, in any order and undone in any order, a Draft
// has the rows of a fresh Import with them.
func TestDraftIsAnImport(t *testing.T) {
	if testing.Short() {
		t.Skip("skipping a long test in short mode")
	}
	for name, content := range map[string][]byte{"ids": draftSheet(true), "new companies": draftSheet(false)} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) { checkDraft(t, content) })
		})
	}
}

//nolint:gocognit // the properties of one drawn draft
func checkDraft(t *rapid.T, content []byte) {
	o := Options{Now: july, Product: filing.AnnualReport}
	d, err := OpenDraft("a.csv", content, o)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	row := rapid.OneOf(rapid.IntRange(540, 561), rapid.IntRange(2, 6), rapid.IntRange(550, 563))
	texts := rapid.SampledFrom([]string{"", "comp_1", "comp_299", "25", "2025", "2026", "2206", "Delawere", "DE", "NJ",
		"Acme 1 LLC", "7102", "03/04/2019", "13/04/2019", "Total", "a@example.com, b@example.com", "LCC"})
	var edits []Edit
	excluded := Exclusions{}
	for range rapid.IntRange(1, 4).Draw(t, "steps") {
		switch rapid.IntRange(0, 4).Draw(t, "step") {
		case 0:
			if len(edits) > 0 {
				at := rapid.IntRange(0, len(edits)-1).Draw(t, "undone")
				edits = slices.Delete(slices.Clone(edits), at, at+1)
			}
		case 1:
			at := RowAt{Row: row.Draw(t, "excluded")}
			if rapid.Bool().Draw(t, "elsewhere") {
				at.Sheet = "Other"
			}
			excluded = Exclusions{at: "Paula"}
		case 2:
			header := rapid.SampledFrom([]string{"Order Registered Agent", "Agent City", "Filing Year"}).Draw(t,
				"header")
			edits = append(slices.Clone(edits), Edit{Row: row.Draw(t, "row"), Column: -1, Header: header,
				Text: texts.Draw(t, "text")})
		default:
			n := row.Draw(t, "row")
			if rapid.IntRange(0, 9).Draw(t, "clear") == 0 {
				edits = slices.Clone(edits)
				for column := range 12 {
					edits = append(edits, Edit{Row: n, Column: column})
				}
				break
			}
			edits = append(slices.Clone(edits), Edit{Row: n, Column: rapid.IntRange(0, 11).Draw(t, "column"),
				Text: texts.Draw(t, "text")})
		}
		before := drafted(d)
		err := d.Set(edits, excluded)
		fresh := o
		fresh.Edits, fresh.Excluded = edits, excluded
		want, wrong := imported("a.csv", content, fresh)
		if (err == nil) != (wrong == nil) || err != nil && err.Error() != wrong.Error() {
			t.Fatalf("%v: draft %v, import %v", edits, err, wrong)
		}
		if err != nil {
			if now := drafted(d); !reflect.DeepEqual(now, before) {
				t.Fatalf("refused edits changed it: %s", firstDifference(now, before))
			}
			edits, excluded = d.Edits(), d.Excluded()
			continue
		}
		if got := drafted(d); !reflect.DeepEqual(got, want) {
			t.Fatalf("edits %+v, excluded %v:\n%s", edits, excluded, firstDifference(got, want))
		}
	}
}

// Rows that order the same are told in a Draft as in an Import.
func TestDraft_Repeats(t *testing.T) {
	const header = "Company ID,Legal Name,Filing State,Filing Year,User Email\n"
	for _, rows := range []string{
		"comp_1,A LLC,DE,2026,a@b.example\ncomp_1,A LLC,DE,2026,c@b.example\n",
		"comp_1,A LLC,DE,2026,a@b.example\ncomp_1,A LLC,DE,2026,a@b.example\n",
		"comp_1,A LLC,DE,2026,a@b.example\ncomp_1,B LLC,DE,2026,a@b.example\n",
	} {
		content := []byte(header + rows)
		want, err := imported("a.csv", content, Options{Now: july})
		if err != nil {
			t.Fatal(err)
		}
		d, err := OpenDraft("a.csv", content, Options{Now: july})
		if err != nil {
			t.Fatal(err)
		}
		if got := drafted(d); !reflect.DeepEqual(got, want) || len(want[1].Problems) == 0 {
			t.Error(firstDifference(got, want))
		}
		d.Close()
	}
}

// What the filing service has of a company is compared with its row at once.
func TestDraftRecords(t *testing.T) {
	content := []byte("Company ID,Legal Name,User Email,Filing State,Filing Year\n" +
		"comp_1,Acme LLC,a@example.com,DE,2026\ncomp_2,Bolt LLC,a@example.com,DE,2026\n")
	d, err := OpenDraft("a.csv", content, Options{Now: july})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	records := map[string]filing.Company{"comp_2": {ID: "comp_2", LegalName: "Lakeshore Holdings LLC"}}
	if !d.SetRecords(records) || d.SetRecords(records) {
		t.Error("a record is added twice, or never")
	}
	r := d.Find(3)
	if !r.NameDiffers || r.Result != filing.Invalid || r.ServiceName != "Lakeshore Holdings LLC" {
		t.Fatalf("%+v", r)
	}
	at := slices.IndexFunc(r.Problems, func(p Problem) bool { return p.Confirm })
	if at < 0 || r.Problems[at].Column != "Confirmed Name" {
		t.Fatalf("%+v", r.Problems)
	}
	confirm := Edit{Row: 3, Column: -1, Header: r.Problems[at].Column, Text: r.Problems[at].Suggest[0]}
	if err := d.Set([]Edit{confirm}, nil); err != nil {
		t.Fatal(err)
	}
	if r := d.Find(3); r.NameDiffers || r.Result != filing.Ready || !r.Warned() {
		t.Errorf("confirmed: %+v", r)
	}
	if d.Find(2).Result != filing.Ready || d.Find(2).ServiceName != "" {
		t.Errorf("%+v", d.Find(2))
	}
}

func TestDraftTooLarge(t *testing.T) {
	content := []byte("Company ID,Filing State,Filing Year\n" + strings.Repeat("comp_1,DE,2026\n", maxDraftRows+1))
	if _, err := OpenDraft("a.csv", content, Options{Now: july}); !errors.Is(err, ErrDraftTooLarge) {
		t.Errorf("%v", err)
	}
}

// Why a row was refused stands at the cell that it names, until the row is edited.
func TestDraftRefused(t *testing.T) {
	content := []byte("Company ID,Legal Name,User Email,Filing State,Filing Year\n" +
		"comp_1,Acme LLC,a@example.com,DE,2026\n")
	d, err := OpenDraft("a.csv", content, Options{Now: july})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	d.im.own.row = 4 // in a results workbook it is the Row column; here the year stands for it
	const why = "the company is dissolved"
	d.SetRefused(map[int]string{2026: why})
	if r := d.Find(2); len(r.Problems) != 1 || !strings.Contains(r.Problems[0].Message, why) || !r.Warned() {
		t.Errorf("%+v", r.Problems)
	}
}
