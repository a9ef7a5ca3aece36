package web

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/account"
	"github.com/bulkfiling/bulkfiling/internal/audit"
	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/importer"
	"github.com/bulkfiling/bulkfiling/internal/sandbox"
)

// json posts a change in the grid, in which %s becomes an identifier of its own, and fails where the
// answer has another status. It reads the answer.
func (v *visitor) json(want int, path, body string, into any) {
	v.Helper()
	if strings.Contains(body, "%s") {
		body = fmt.Sprintf(body, rand.Text())
	}
	r := need(http.NewRequest(http.MethodPost, v.url+path+"/grid/changes", strings.NewReader(body)))(v)
	r.Header.Set("Content-Type", "application/json")
	status, answer := v.do(r)
	if status != want {
		v.Errorf("%.70s: %d, want %d\n%s", body, status, want, answer)
	}
	if into != nil {
		v.must(json.Unmarshal([]byte(answer), into))
	}
}

// preview returns what a change of many cells would do.
func (v *visitor) preview(path, bulk string) (answer gridAnswer) {
	v.Helper()
	v.json(http.StatusOK, path, `{"preview":true,"bulk":`+bulk+`}`, &answer)
	return answer
}

// change changes an upload in the grid.
func (v *visitor) change(path, body string) gridAnswer {
	v.Helper()
	var answer gridAnswer
	v.json(http.StatusOK, path, body, &answer)
	return answer
}

// grid loads rows of an upload.
func (v *visitor) grid(path, query string) gridAnswer {
	v.Helper()
	var page gridAnswer
	v.must(json.Unmarshal([]byte(v.page(path+"/grid/rows"+query)), &page))
	return page
}

// gridMark is on the page of an upload that is shown as a grid.
const gridMark = "data-grid="

const faultySheet = `Company ID,Legal Name,User Email,Filing State,Filing Year,Agent Company Name,Agent ZIP
comp_1,Acme LLC,a@example.com,DE,25,,
comp_2,Bolt LLC,a@example.com,Delawere,2026,,
comp_3,Cole LLC,a@example.com,DE,25,,
comp_4,Dune LLC,a@example.com,DE,2026,,
`

func numbers(rows []gridRow) []int {
	var all []int
	for _, r := range rows {
		all = append(all, r.Row)
	}
	return all
}

func groupOf(t *testing.T, groups []gridGroup, label string) gridGroup {
	t.Helper()
	at := slices.IndexFunc(groups, func(g gridGroup) bool { return g.Label == label })
	if at < 0 {
		t.Fatalf("no group %q in %+v", label, groups)
	}
	return groups[at]
}

// Rows are searched, sorted and filtered; the cells of a column are replaced and set.
func TestGridRows(t *testing.T) {
	_, v := visit(t, account.Preparer)
	path, _ := v.sheet("a.csv", faultySheet)
	page := v.grid(path, "")
	if c := page.Counts; c.All != 4 || c.Errors < 3 || page.Total != 4 || len(page.Columns) != 7 {
		t.Fatalf("%+v", page)
	}
	for query, want := range map[string][]int{
		"?show=errors&q=25&column=4":     {2, 4},
		"?q=bolt":                        {3},
		"?q=5":                           {2, 4, 5},
		"?sort=1&dir=desc&limit=2":       {5, 4},
		"?sort=row&dir=desc&from=3":      {2},
		"?show=errors&column=3":          {3},
		"?show=ready&q=nothing+has+this": nil,
	} {
		if got := numbers(v.grid(path, query).Rows); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", query, got, want)
		}
	}
	g := groupOf(t, page.Groups, "Filing Year “25”")
	if g.Rows != 2 || g.Kind != "value" || g.Column != 4 {
		t.Errorf("%+v", g)
	}
	if got := numbers(v.grid(path, "?group="+url.QueryEscape(g.Key)).Rows); !slices.Equal(got, []int{2, 4}) {
		t.Errorf("group: %v", got)
	}
	for body, want := range map[string]int{
		`{"op":"replace","column":3,"find":"delawere","replace":"DE","whole":true}`:            1,
		`{"op":"replace","column":1,"find":"llc","replace":"$1"}`:                              4,
		`{"op":"set","column":4,"text":"2026","show":"all"}`:                                   2,
		`{"op":"set","column":4,"text":"2026","rows":[2]}`:                                     1,
		`{"op":"set","column":-1,"header":"Order Registered Agent","text":"yes","show":"all"}`: 4,
	} {
		if p := v.preview(path, body); p.Changed != want {
			t.Errorf("%s: %+v", body, p)
		}
	}
}

// A cell is saved at once, by everyone's own; what someone else has changed is a
// conflict, and the rest is saved. A request that arrives twice counts once.
func TestGridMergesByCell(t *testing.T) {
	s := newSite(t)
	paula, frank := s.as(account.Preparer), s.as(account.Preparer)
	path, _ := paula.sheet("a.csv", faultySheet)
	const body = `{"id":"one","cells":[{"row":2,"column":4,"text":"2025","was":"25"}],"shown":[2]}`
	first := paula.change(path, body)
	if again := paula.change(path, body); again.Changed != 0 || again.Version != first.Version ||
		len(again.Conflicts) != 0 {
		t.Errorf("the second time: %+v", again)
	}
	if first.Changed != 1 || first.Change != 1 || first.Version < 2 || first.Rows[0].Cells[4] != "2025" {
		t.Fatalf("%+v", first)
	}
	second := frank.change(path, `{"id":"%s","cells":[{"row":2,"column":4,"text":"2024","was":"25"},
		{"row":4,"column":4,"text":"2025","was":"25"}],"shown":[4,2]}`)
	if second.Changed != 1 || len(second.Conflicts) != 1 {
		t.Fatalf("%+v", second)
	}
	if c := second.Conflicts[0]; c.Cell != "E2" || c.Theirs != "2025" || c.Yours != "2024" || c.By != paula.name {
		t.Errorf("%+v", c)
	}
	if page := paula.grid(path, ""); page.Version != second.Version || page.Rows[2].Cells[4] != "2025" {
		t.Errorf("%+v", page)
	}
	u := s.draftOf(path)
	if c, err := correctionsOf(u); err != nil || len(c.Edits) != 2 {
		t.Errorf("%+v, %v", c, err)
	}
}

// What is wrong in many rows is corrected at once, after a preview, and undone.
func TestGridGroupFix(t *testing.T) {
	_, v := visit(t, account.Preparer)
	path, _ := v.sheet("a.csv", faultySheet)
	g := groupOf(t, v.grid(path, "").Groups, "Filing Year “25”")
	if len(g.Fixes) != 1 || g.Fixes[0].Text != "2025" {
		t.Fatalf("%+v", g)
	}
	bulk := fmt.Sprintf(`{"op":"group","group":%q,"fix":0}`, g.Key)
	if preview := v.preview(path, bulk); preview.Changed != 2 ||
		preview.Counts.Errors != preview.ErrorsBefore-2 || preview.Sample[0].To != "2025" {
		t.Fatalf("%+v", preview)
	}
	if page := v.grid(path, ""); page.Rows[0].Cells[4] != "25" {
		t.Errorf("a preview changed the sheet: %+v", page.Rows[0])
	}
	done := v.change(path, `{"id":"%s","bulk":`+bulk+`}`)
	if done.Changed != 2 || done.Label != "Filing Year: 2 cells changed" {
		t.Errorf("%+v", done)
	}
	// No error: someone may have corrected the group.
	if gone := v.preview(path, bulk); gone.Changed != 0 || gone.Counts.Errors != gone.ErrorsBefore {
		t.Errorf("%+v", gone)
	}
	undone := v.change(path, `{"id":"%s","undo":0,"shown":[2]}`)
	if undone.Changed != 2 || undone.Rows[0].Cells[4] != "25" {
		t.Errorf("%+v", undone)
	}
}

// A person leaves out the rows of a status, or files them anyway, and can undo both.
// What else speaks against such a row still holds it.
func TestGridRemarks(t *testing.T) {
	_, v := visit(t, account.Preparer)
	path, _ := v.sheet("a.csv", `Company ID,Legal Name,User Email,Filing State,Filing Year,Status,Notes,Date Filed
comp_1,Acme LLC,a@example.com,DE,2026,Void,,
comp_2,Bolt LLC,a@example.com,DE,2026,Void,do not file,
comp_3,"Cole LLC, Delinquent May 1, 2026",a@example.com,DE,2026,,,
comp_4,Dune LLC,a@example.com,DE,2026,,,2026-03-01
comp_5,Elm LLC,a@example.com,DE,2026,Active,,2026-03-02
`)
	groups := v.grid(path, "").Groups
	decide := func(g gridGroup, fix string) gridAnswer {
		t.Helper()
		i := slices.IndexFunc(g.Fixes, func(f gridFix) bool { return f.Label == fix })
		return v.change(path, fmt.Sprintf(`{"id":"%%s","bulk":{"op":"group","group":%q,"fix":%d},"shown":[2,3,4,5,6]}`,
			g.Key, i))
	}
	wants := func(a gridAnswer, label string, results ...filing.Result) {
		t.Helper()
		for i, want := range results {
			if a.Rows[i].Result != want {
				t.Errorf("row %d is %s: %+v", i+2, a.Rows[i].Result, a.Rows[i].Problems)
			}
		}
		if a.Label != label {
			t.Errorf("%q", a.Label)
		}
	}
	const held, ready, out = filing.Invalid, filing.Ready, filing.Skipped
	void, filed := groupOf(t, groups, "Status “Void”"), groupOf(t, groups, "Date Filed: filed before")
	wants(decide(void, "File anyway"), "2 rows to be filed anyway", ready, held, held, held, held)
	wants(decide(filed, "Leave out 2 rows"), "2 rows excluded", ready, held, held, out, out)
	named := groupOf(t, groups, "Legal Name “Cole LLC, Delinquent May 1, 20…”")
	if named.Fixes[0].Text != "Cole LLC" || len(named.Fixes) != 3 {
		t.Errorf("%+v", named)
	}
	undo := `{"id":"%s","undo":0,"shown":[2,3,4,5,6]}`
	wants(v.change(path, undo), "undone: 2 rows excluded", ready, held, held, held, held)
	wants(v.change(path, undo), "undone: 2 rows to be filed anyway", held, held, held, held, held)
}

const gridSecrets = `Company ID,Legal Name,Owner SSN,User Email,Filing State,Filing Year
comp_1,Acme LLC,219-09-9999,a@example.com,DE,2026
comp_2,Bolt LLC,,a@example.com,DE,2026
`

// A cell with a Social Security number is corrected like any other, although the
// page does not know what it held.
func TestGridCorrectsSecrets(t *testing.T) {
	s, v := visit(t, account.Preparer)
	path, _ := v.sheet("a.csv", gridSecrets)
	done := v.change(path, `{"id":"%s","cells":[{"row":2,"column":2,"text":"219-09-1120","was":{"secret":true}},
		{"row":3,"column":1,"text":"Bolt Two LLC","was":null}],"shown":[2]}`)
	if done.Changed != 2 || len(done.Conflicts) != 0 {
		t.Fatalf("%+v", done)
	}
	u := s.draftOf(path)
	if c, err := correctionsOf(u); err != nil || len(c.Edits) != 2 || c.Edits[0].Text != "219-09-1120" {
		t.Errorf("%+v, %v", c, err)
	}
}

// A Social Security number that someone typed is in no answer, whatever column it
// was typed into.
func TestGridHidesSecrets(t *testing.T) {
	s := newSite(t)
	v, other := s.as(account.Preparer), s.as(account.Preparer)
	path, _ := v.sheet("a.csv", gridSecrets)
	answers := ""
	send := func(who *visitor, body string) {
		t.Helper()
		var answer json.RawMessage
		who.json(http.StatusOK, path, body, &answer)
		answers += string(answer) + "\n"
	}
	for _, bulk := range []string{
		`{"op":"set","column":1,"text":"219-09-1120","show":"all"}`,
		`{"op":"set","column":2,"text":"219-09-1120","show":"all"}`,
		`{"op":"replace","column":1,"find":"Acme","replace":"219-09-1120"}`,
	} {
		send(v, `{"preview":true,"bulk":`+bulk+`}`)
	}
	send(v, `{"id":"%s","bulk":{"op":"set","column":1,"text":"219-09-1120","show":"all"}}`)
	send(v, `{"id":"%s","cells":[{"row":2,"column":1,"text":"Bay LLC"}]}`)
	send(other, `{"id":"%s","cells":[{"row":2,"column":1,"text":"Cole LLC"},
		{"row":3,"column":1,"text":"Dune LLC"}]}`)
	send(other, `{"id":"%s","undo":1,"shown":[2,3]}`)
	send(v, `{"id":"%s","cells":[{"row":3,"column":1,"text":"219-09-1120"}],"shown":[3]}`)
	send(v, `{"id":"%s","cells":[{"row":3,"column":1,"text":"Dune LLC"}],"shown":[3]}`)
	send(other, `{"id":"%s","cells":[{"row":3,"column":1,"text":"Eder LLC"}]}`)
	send(v, `{"id":"%s","undo":5}`) // it would put the number back
	v.wants(answers, `"hidden":true`)
	path, _ = v.sheet("eins.csv", "Company ID,Legal Name,User Email,Filing State,Responsible Party First Name,"+
		"Responsible Party Last Name,Responsible Party Title\ncomp_1,Acme LLC,a@example.com,DE,Ann,Ash,Member\n")
	missing := `"bulk":{"op":"set","column":-1,"header":"Responsible Party SSN","text":"219091120","show":"all"}}`
	send(v, `{"preview":true,`+missing)
	send(v, `{"id":"%s",`+missing)
	acts := s.acts(-1, audit.Query{What: "correct"})
	labels := fmt.Sprint(acts)
	for _, body := range []string{answers, labels} {
		s.lacks(body, "219-09-1120", "219091120")
	}
	v.wants(labels, "Legal Name: 2 cells changed")
}

// An added column is named by its header, in a cell and in a change of many: its index
// changes when others are added and taken back.
func TestGridAddedColumnMoves(t *testing.T) {
	_, v := visit(t, account.Preparer)
	path, _ := v.sheet("a.csv", "Company ID,Legal Name,User Email,Filing State,Filing Year\n"+
		"comp_1,Acme LLC,a@example.com,DE,2026\n")
	enter := func(header, text, was string) gridAnswer {
		t.Helper()
		const body = `{"id":"%%s","cells":[{"row":2,"column":-1,"header":%q,"text":%q,"was":%q}],"shown":[2]}`
		return v.change(path, fmt.Sprintf(body, header, text, was))
	}
	first := enter("User Name", "Ann Ash", "")
	if c := enter("User Phone", "302-555-0100", "").Columns; len(c) != 7 || c[6].Header != "User Phone" || !c[6].Added {
		t.Fatalf("%+v", c)
	}
	v.change(path, fmt.Sprintf(`{"id":"%%s","undo":%d}`, first.Change)) // the phone moves to column 5
	enter("Agent City", "Ann Arbor", "")
	done := enter("User Phone", "302-555-0199", "302-555-0100")
	if len(done.Conflicts) != 0 || done.Rows[0].Cells[5] != "302-555-0199" || done.Rows[0].Cells[6] != "Ann Arbor" {
		t.Errorf("%+v", done)
	}
	v.json(http.StatusUnprocessableEntity, path, `{"id":"%s","cells":[{"row":2,"column":6,"text":"x"}]}`, nil)
	group := groupOf(t, enter("Agent State", "Delawere", "").Groups, "Agent State “Delawere”")
	for body, want := range map[string]string{
		fmt.Sprintf(`{"op":"group","group":%q,"text":"DE"}`, group.Key):                    "DE",
		`{"op":"replace","find":"Ann","replace":"Anne","column":-1,"header":"Agent City"}`: "Anne Arbor",
		`{"op":"set","text":"Dover","show":"all","column":-1,"header":"Agent City"}`:       "Dover",
	} {
		if p := v.preview(path, body); p.Changed != 1 || p.Sample[0].To != want || p.Sample[0].From == "" {
			t.Errorf("%s: %+v", body, p)
		}
	}
	v.json(http.StatusUnprocessableEntity, path, `{"preview":true,"bulk":{"op":"replace","find":"Ann",`+
		`"replace":"Anne","column":-1,"header":"User Last Name"}}`, nil)
}

// What is refused is said in JSON.
func TestGridRefuses(t *testing.T) {
	s, v := visit(t, account.Preparer)
	path, _ := v.sheet("a.csv", faultySheet)
	for body, want := range map[string]int{
		`{"id":"a","cells":[{"row":9,"column":4,"text":"x"}]}`:                                   422,
		`{"id":"b","cells":[{"row":2,"column":90,"text":"x"}]}`:                                  422,
		`{"id":"c","cells":[{"row":1,"column":1,"text":"x"}]}`:                                   422,
		`{"id":"d","cells":[{"row":2,"column":-1,"header":"Colour","text":"x"}]}`:                422,
		`{"id":"e","bulk":{"op":"group","group":"gone"}}`:                                        422,
		`{"id":"f","bulk":{"op":"other"}}`:                                                       403,
		`{"cells":[{"row":2,"column":4,"text":"x"}]}`:                                            403,
		`{"id":"g","cells":[{"row":2,"column":4,"text":"` + strings.Repeat("x", 40_000) + `"}]}`: 422,
		`not JSON`: 403,
	} {
		var answer jsonError
		if v.json(want, path, body, &answer); answer.Text == "" {
			t.Errorf("%.60s: %+v", body, answer)
		}
	}
	if page := v.grid(path, ""); page.Rows[0].Cells[4] != "25" {
		t.Errorf("%+v", page.Rows[0])
	}
	var answer jsonError
	if s.nobody().json(401, path, `{"id":"h"}`, &answer); answer.SignIn != "/sign-in" {
		t.Errorf("%+v", answer)
	}
}

// A change that would take much memory is refused before it is made.
func TestGridChangeHasLimits(t *testing.T) {
	_, v := visit(t, account.Preparer)
	var sheet strings.Builder
	sheet.WriteString("Company ID,Legal Name,User Email,Filing State,Filing Year,Notes\n")
	for i := range 3000 {
		fmt.Fprintf(&sheet, "comp_%d,Acme %d LLC,a@example.com,DE,2026,%s\n", i, i, strings.Repeat("a", 40))
	}
	path, _ := v.sheet("a.csv", sheet.String())
	before := v.grid(path, "?limit=1").Version
	for body, want := range map[string]string{
		`{"op":"set","column":5,"show":"all","text":"` + strings.Repeat("x", 1001) +
			`"}`: "longer than 1,000 characters",
		`{"op":"replace","column":5,"find":"aa","replace":"` + strings.Repeat("x", 1001) +
			`"}`: "longer than 1,000 characters",
		`{"op":"set","column":5,"show":"all","text":"` + strings.Repeat("€", 1000) +
			`"}`: "more than 8 MB",
		`{"op":"replace","column":-1,"show":"all","find":"a","replace":"` + strings.Repeat("x", 90) +
			`"}`: "more than 8 MB",
	} {
		for _, way := range []string{`{"id":"%s","bulk":`, `{"preview":true,"bulk":`} {
			var answer jsonError
			v.json(422, path, way+body+"}", &answer)
			v.wants(answer.Text, want, "Nothing was changed")
		}
	}
	if after := v.grid(path, "?limit=1").Version; after != before {
		t.Errorf("version %d became %d", before, after)
	}
	// What is there already counts, but does not keep anyone from making it less.
	e := &gridEditor{size: maxEditBytes - 100, was: maxEditBytes - 100, of: make(map[importer.Edit]int)}
	long := strings.Repeat("x", 90)
	if e.put(importer.Edit{Row: 2, Column: -1}, &long); !e.isFull() {
		t.Error("another text is not refused")
	}
	if e.put(importer.Edit{Row: 2, Column: -1}, nil); e.isFull() || e.size != e.was {
		t.Errorf("%d bytes after the text was taken out, %d before", e.size, e.was)
	}
}

// The names at the filing service come with the look-ups, and all that differ are
// confirmed at once.
func TestGridNames(t *testing.T) {
	s, v := visit(t, account.Preparer)
	for _, id := range []string{"comp_1", "comp_2"} {
		s.service.AddCompany(sandbox.Company{ID: id, LegalName: "Lakeshore Holdings LLC", EntityType: "LLC",
			FormationState: "DE"})
	}
	path, _ := v.sheet("a.csv", "Company ID,Legal Name,User Email,Filing State,Filing Year\n"+
		"comp_1,Quite Another Name LLC,a@example.com,DE,2026\ncomp_2,Still Another Name Inc.,a@example.com,DE,2026\n")
	v.prepared(path, gridMark)
	page := v.grid(path, "")
	if r := page.Rows[0]; !r.NameDiffers || r.ServiceName == "" || r.Result != filing.Invalid {
		t.Fatalf("%+v", r)
	}
	g := groupOf(t, page.Groups, "Name differs at the filing service")
	if g.Kind != "name" || g.Rows != 2 || len(g.Fixes) != 1 {
		t.Fatalf("%+v", g)
	}
	// The dialog confirms the rows that it lists, and no row that joined the group since.
	one := fmt.Sprintf(`{"op":"group","group":%q,"fix":0,"names":%s}`, g.Key, reviewedNames(t, page.Rows[1:]))
	if preview := v.preview(path, one); preview.Changed != 1 || preview.Sample[0].Row != 3 {
		t.Errorf("%+v", preview)
	}
	asked := s.service.Books().Requests["GET /companies/{id}"]
	done := v.change(path, fmt.Sprintf(`{"id":"%%s","bulk":{"op":"group","group":%q,"fix":0,"names":%s},"shown":[2]}`,
		g.Key, reviewedNames(t, page.Rows)))
	if done.Changed != 2 || done.Counts.Errors != 0 || done.Rows[0].NameDiffers || done.Label != "2 names confirmed" {
		t.Errorf("%+v", done)
	}
	confirmed := groupOf(t, done.Groups, "Names confirmed that differ at the filing service")
	if confirmed.Rows != 2 || confirmed.Severity != importer.Warning || strings.Contains(confirmed.Message, "comp_") {
		t.Errorf("%+v", confirmed)
	}
	if warned := v.grid(path, "?show=warnings"); warned.Counts.Warnings != 2 || warned.Total != 2 {
		t.Errorf("%+v", warned.Counts)
	}
	v.prepared(path, gridMark)
	if again := s.service.Books().Requests["GET /companies/{id}"]; again != asked {
		t.Errorf("the companies were asked for again: %v", s.service.Books().Requests)
	}
}

// reviewedNames are the names of rows as the page sends those that a person reviewed.
func reviewedNames(t *testing.T, rows []gridRow) string {
	t.Helper()
	names := make([]shownName, len(rows))
	for i, r := range rows {
		names[i] = shownName{r.Row, r.Company, r.Name, r.ServiceName}
	}
	body, err := json.Marshal(names)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// Names are confirmed as they were reviewed. A row that names another company by
// then is a conflict, even where the group still has it.
//
//nolint:gocognit // two people at one list, told in its order
func TestGridConfirmsNamesThatWereShown(t *testing.T) {
	const ids, renamed, elsewhere = 0, 1, 2
	for name, c := range map[string]struct {
		column int
		text   string
	}{
		"another company":                 {ids, "comp_3"},
		"another company of the one name": {ids, "comp_4"},
		"another name in the sheet":       {renamed, "Third Name LLC"},
		"another cell":                    {elsewhere, "b@example.com"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			ana, ben := s.as(account.Preparer), s.as(account.Preparer)
			for id, name := range map[string]string{"comp_1": "Lakeshore Holdings LLC",
				"comp_2": "Still Other Name Inc.",
				"comp_3": "Zebra Quarry Corp.", "comp_4": "Still Other Name Inc."} {
				s.service.AddCompany(sandbox.Company{ID: id, LegalName: name, EntityType: "LLC", FormationState: "DE"})
			}
			path, _ := ana.sheet("a.csv", "Company ID,Legal Name,User Email,Filing State,Filing Year\n"+
				"comp_1,Quite Another Name LLC,a@example.com,DE,2026\ncomp_2,Yonder Brook Inc.,a@example.com,DE,2026\n")
			ana.prepared(path, gridMark)
			page := ana.grid(path, "")
			g := groupOf(t, page.Groups, "Name differs at the filing service")
			ben.change(path, fmt.Sprintf(`{"id":"%%s","cells":[{"row":3,"column":%d,"text":%q}]}`, c.column, c.text))
			ben.prepared(path, gridMark)
			if now := ben.grid(path, "").Rows[1]; !now.NameDiffers {
				t.Fatalf("row 3 is not in the group: %+v", now)
			}
			done := ana.change(path, fmt.Sprintf(`{"id":"%%s","bulk":{"op":"group","group":%q,"fix":0,"names":%s},`+
				`"shown":[2,3]}`, g.Key, reviewedNames(t, page.Rows)))
			if done.Rows[0].NameDiffers {
				t.Errorf("row 2 is as it was reviewed, and not confirmed: %+v", done.Rows[0])
			}
			if c.column == elsewhere {
				if done.Rows[1].NameDiffers || len(done.Conflicts) != 0 {
					t.Errorf("row 3 is not confirmed: %+v, %+v", done.Rows[1], done.Conflicts)
				}
				return
			}
			if !done.Rows[1].NameDiffers || done.Changed != 1 {
				t.Errorf("%q was confirmed, which nobody reviewed", done.Rows[1].ServiceName)
			}
			if len(done.Conflicts) != 1 || done.Conflicts[0].Row != 3 || !done.Conflicts[0].Review ||
				done.Conflicts[0].Yours != page.Rows[1].ServiceName {
				t.Errorf("%+v", done.Conflicts)
			}
			all := ana.change(path, fmt.Sprintf(`{"id":"%%s","bulk":{"op":"group","group":%q,"fix":0,"rows":[3]},`+
				`"shown":[3]}`, g.Key))
			if !all.Rows[0].NameDiffers {
				t.Error("a page that says nothing of the names confirms one")
			}
		})
	}
}

// A row that is excluded on one sheet of a file is not excluded on another one.
func TestExclusionsStayOnTheirSheet(t *testing.T) {
	s, v := visit(t, account.Preparer)
	var tabs [][][]string
	for _, name := range []string{"June", "July"} {
		tabs = append(tabs, [][]string{{name}, {"Company ID", "User Email", "Filing State", "Filing Year"},
			{"comp_1", "ana@example.com", "DE", "2026"}, {"comp_2", "ana@example.com", "DE", "2026"}})
	}
	path, _ := v.sheet("a.xlsx", s.workbook(nil, tabs...))
	read := func(sheet string) {
		t.Helper()
		_, body := v.post(path+"/columns", "version", hidden(v.page(path+"/columns"), "version"), "product",
			"annual-report", "sheet", sheet)
		v.prepared(path, body)
	}
	excluded := func(want bool) {
		t.Helper()
		for _, r := range v.grid(path, "").Rows {
			if r.Excluded != (want && r.Row == 3) {
				t.Errorf("row %d is excluded: %v", r.Row, r.Excluded)
			}
		}
	}
	read("June")
	done := v.change(path, `{"id":"%s","exclude":[3],"shown":[3]}`)
	if r := done.Rows[0]; r.Result != filing.Skipped || r.Message != "Excluded by "+v.name {
		t.Errorf("%+v", r)
	}
	excluded(true)
	read("July")
	excluded(false)
	v.change(path, `{"id":"%s","exclude":[2],"shown":[2]}`)
	read("June")
	excluded(true)
	v.change(path, `{"id":"%s","undo":0}`) // of what was excluded on the other sheet
	excluded(true)
	v.change(path, `{"id":"%s","include":[3],"shown":[3]}`)
	excluded(false)
	read("July")
	excluded(false)
}
