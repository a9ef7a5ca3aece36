package web

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/xuri/excelize/v2"

	"github.com/bulkfiling/bulkfiling/internal/account"
)

// workbook makes a file of sheets, named first, with their rows.
func (s *testSite) workbook(change func(*excelize.File), sheets ...[][]string) string {
	s.Helper()
	f := excelize.NewFile()
	defer f.Close()
	for _, rows := range sheets {
		name := rows[0][0]
		need(f.NewSheet(name))(s)
		for i, row := range rows[1:] {
			s.must(f.SetSheetRow(name, fmt.Sprintf("A%d", i+1), &row))
		}
	}
	s.must(f.DeleteSheet("Sheet1"))
	if change != nil {
		change(f)
	}
	content := need(f.WriteToBuffer())(s)
	return content.String()
}

// What is to be known of a sheet stands before the yes: rows that a filter hides
// would be paid for, too.
func TestHiddenRowsAreTold(t *testing.T) {
	s, v := visit(t, account.Preparer)
	rows := [][]string{{"June"}, {"Company ID", "User Email", "Filing State", "Filing Year"}}
	for i := range 4 {
		rows = append(rows, []string{fmt.Sprintf("comp_%d", i), "ana@example.com", "DE", "2026"})
	}
	content := s.workbook(func(f *excelize.File) {
		for row := 3; row <= 5; row++ {
			s.must(f.SetRowVisible("June", row, false))
		}
	}, rows)
	for range 2 { // the second finds it recorded
		_, body := v.sheet("june.xlsx", content)
		v.wants(body, "3 of 4 rows are hidden", "Continue to approval")
	}
	path, _ := v.sheet("june.xlsx", content)
	v.wants(v.page(path+"/columns"), "Skip hidden rows")
	_, body := v.post(path+"/columns", "version", hidden(v.page(path+"/columns"), "version"), "product",
		"annual-report",
		"visible-only", "1")
	v.wants(v.prepared(path, body), "3 rows are hidden (manually or by a filter) and left out",
		"Approve 1 order")
	v.wants(v.page(path+"/columns"), `name="visible-only" value="1" checked`)
}

// The page tells what to do in its own words: no one there can type a flag.
func TestNoFlagsOnThePage(t *testing.T) {
	s, v := visit(t, account.Preparer)
	header, row := []string{"Company ID", "User Email", "Filing State", "Filing Year"}, []string{"comp_1",
		"ana@example.com", "DE", "2026"}
	flag := regexp.MustCompile(`--[a-z]|importer [a-z]`)
	for name, c := range map[string]struct{ content, wants string }{
		"two.xlsx": {s.workbook(nil, [][]string{{"June"}, header, row}, [][]string{{"July"}, header, row}),
			"Choose one of them below"},
		"none.csv":    {"Article,Price\nNut,1\nBolt,2\n", "choose the header row and map the columns"},
		"product.csv": {"Company ID,Legal Name,State\ncomp_1,Acme,DE\n", "the product below"},
		"near.csv": {"Compnay ID,Filing Year,Filing State,User ID\ncomp_1,2026,DE,user_1\n",
			"read “Compnay ID” as Company ID below"},
		"twice.csv": {"Company ID,Company ID,Filing Year,Filing State,User ID\ncomp_1,comp_2,2026,DE,user_1\n",
			"keep only the column that is the Company ID"},
		"optional.csv": {"Company ID,Filing Year,Filing State,Legl Nam\ncomp_1,2026,DE,Acme\n",
			"name one user for all rows below"},
		"agent.csv": {"Company ID,Filing Year,Filing State,User ID,Order Registered " +
			"Agent\ncomp_1,2026,DE,user_1,Acme Agents\n", "as Agent Company Name below"},
	} {
		path, body := v.sheet(name, c.content)
		_, rows := v.get(path + "/grid/rows")
		body += rows
		once := regexp.MustCompile(`name="once" value="[^"]*"`) // an identifier may have any letters
		if found := flag.FindString(once.ReplaceAllString(body, "")); found != "" {
			t.Errorf("%s: the page says %q", name, found)
		}
		v.wants(body, c.wants)
	}
}

// How a sheet is read is refused where it makes no sense, and stays as it was.
func TestReadingIsRefused(t *testing.T) {
	_, v := visit(t, account.Preparer)
	path, body := v.sheet("a.csv", "Company ID,Filing State,Filing Year\ncomp_1,DE,2026\n")
	for field, value := range map[string]string{"year": "26", "user": "Ana", "product": "tax", "column-0": "Firm",
		"state": "Delaware Bay"} {
		v.wants(v.answers(http.StatusUnprocessableEntity, path+"/columns", "version", hidden(body, "version"), field,
			value), "Nothing was changed")
	}
	v.wants(v.page(path), `name="version" value="`+hidden(body, "version")+`"`)
}

// A sheet of very many columns is shown in part: each offers all of ours.
func TestWideSheet(t *testing.T) {
	_, v := visit(t, account.Preparer)
	header, row := make([]string, 4000), make([]string, 4000)
	for i := range header {
		header[i], row[i] = fmt.Sprintf("Measure %d", i), "1"
	}
	_, body := v.sheet("wide.csv", strings.Join(header, ",")+"\n"+strings.Join(row, ",")+"\n")
	v.wants(body, "3,750 more columns")
	if len(body) > 8<<20 {
		t.Errorf("a page of %d bytes", len(body))
	}
}

// A sheet that was submitted before says so, and is not offered again.
func TestSheetHandedInBefore(t *testing.T) {
	s := newSite(t)
	v, w := s.as(account.Preparer), s.as(account.Preparer)
	const content = "Company ID,User Email,Filing State,Filing Year\ncomp_1,ana@example.com,DE,2026\n"
	path, body := v.sheet("a.csv", content)
	other, _ := w.sheet("a.csv", content)
	_, otherBody := w.get(other + "/approve")
	batch := v.submit(path, body)
	w.wants(w.posted(other+"/submit", "version", hidden(otherBody, "version"), "plan", hidden(otherBody, "plan")),
		"already submitted", "Nothing was ordered twice")
	_, again := w.sheet("a.csv", content)
	w.wants(again, "was submitted before", `href="/batches/`+batch+`"`)
	s.lacks(again, "Nothing was sent yet", "Continue to approval", "There is nothing to order")
	v.wants(v.gives(http.StatusNotFound, path), "submitted or deleted")
}

// A list without headers is read by its columns' letters, its first row like the
// others, and columns headed alike are told apart.
func TestColumnsByTheirLetters(t *testing.T) {
	_, v := visit(t, account.Preparer)
	read := func(path, body string, fields ...string) string {
		t.Helper()
		return v.prepared(path, v.answers(http.StatusOK, path+"/columns",
			append([]string{"version", hidden(body, "version")}, fields...)...))
	}

	path, body := v.sheet("bare.csv", "comp_1,DE,Acme\ncomp_2,DE,Acme & Sons\n")
	v.wants(body, "choose the header row and map the columns", `<option value="none" selected>`,
		"Row 1: comp_1 · DE · Acme")
	body = read(path, body, "header-row", "none", "product", "annual-report", "year", "2026", "user",
		"ana@example.com", "column-0", "Company ID", "column-1", "Filing State", "column-2", "as-understood")
	v.wants(body, "Approve 2 orders", "Not used: column C")

	path, body = v.sheet("twice.csv",
		"Company ID,Filing State,Filing Year,User Email,Filing State\ncomp_1,DE,2026,ana@example.com,NY\n")
	v.wants(body, "several columns match Filing State")
	body = read(path, body, "column-0", "as-understood", "column-1", "leave-out", "column-4", "as-understood")
	v.wants(body, "Approve 1 order")
	v.wants(v.page(path+"/columns"), `<th scope="row" data-label="Column"><bdi>Filing State</bdi>`)

	// The row that was taken for the header is not it: what was said of columns
	// stays with them.
	path, body = v.sheet("two.csv", "Company ID,Filing State,Filing Year\nMandant,Staat,Jahr\ncomp_1,DE,2026\n")
	body = read(path, body, "header-row", "2", "product", "annual-report", "user", "ana@example.com", "column-0",
		"Company ID", "column-1", "Filing State", "column-2", "Filing Year")
	v.wants(body, "Approve 1 order")
	v.wants(v.page(path+"/columns"), "headers in row 2", `<option value="2" selected>Row 2: Mandant`)
	v.answers(http.StatusUnprocessableEntity, path+"/columns", "version", hidden(v.page(path+"/columns"), "version"),
		"header-row", "99")
}

// A sheet with a column that may be one of ours begins with its columns: what is
// certain and what is not. A suggestion is one press, and so is the rest.
func TestColumnsAreCheckedFirst(t *testing.T) {
	s, v := visit(t, account.Preparer)
	path, body := v.sheet("odd.csv", "Company ID,Contact,Sitz,Filing Year,Inc. Date,Remark\n"+
		"comp_1,ana@example.com,DE,2026,3/4/2019,x\ncomp_2,ben@example.com,NY,2026,5/6/2020,y\n")
	v.wants(body, "Match your columns", "3 of 6 columns", "Check 2 columns", `value="Company ID"`, `value="User Email"`,
		"By content", "Certain", `name="use-2" value="Filing State"`, `name="use-4" value="Formation Date"`)
	if n := strings.Count(body, "<option"); n > 700 {
		t.Errorf("%d options", n)
	}
	body = v.posted(path+"/columns", "version", hidden(body, "version"), "use-2", "Filing State", "column-1",
		"User Email", "product", "annual-report")
	v.wants(body, "Match your columns", "Check 1 column.", `value="Filing State"`, "Chosen")
	_, body = v.post(path+"/columns", "version", hidden(body, "version"), "product", "annual-report", "column-0",
		"Company ID", "column-1", "User Email", "column-2", "Filing State", "column-3", "Filing Year", "column-4",
		"", "column-5", "")
	v.wants(v.prepared(path, body), "Approve 2 orders")
	v.wants(v.page(path+"/columns"), `name="column-4" list="our-fields" value=""`, `name="use-4"`)

	// What is read is left out when its field is emptied, and an
	// approver is not asked.
	_, body = v.post(path+"/columns", "version", hidden(v.page(path+"/columns"), "version"), "product",
		"annual-report", "column-1", "", "column-2", "Filing State", "user", "ana@example.com")
	v.wants(v.prepared(path, body), "Approve 2 orders")
	v.wants(v.page(path+"/columns"), `name="column-1" list="our-fields" value=""`)
	other, _ := v.sheet("other.csv", "Company ID,User Email,Sitz,Filing Year\ncomp_1,ana@example.com,DE,2026\n")
	s.lacks(s.as(account.Approver).page(other), "Match your columns")
}

// The page of an upload is a grid, and says what to do in a browser without script. One
// that is too large for it is downloaded instead.
func TestGridNeedsScript(t *testing.T) {
	_, v := visit(t, account.Preparer)
	path, body := v.sheet("a.csv", "Company ID,User Email,Filing State,Filing Year\ncomp_1,ana@example.com,DE,26\n")
	download := `href="` + path + `/highlighted" download`
	v.wants(body, gridMark, "slick.grid.js", "<noscript>", "This page needs JavaScript", download)
	if body := v.page(path + "/highlighted"); !strings.HasPrefix(body, "PK") {
		t.Errorf("the spreadsheet with its errors highlighted is no workbook: %.40q", body)
	}
	large := v.page(path + "?large")
	v.wants(large, "too large to be corrected here", download, "Continue to approval")
	v.lacks(large, gridMark)
}
