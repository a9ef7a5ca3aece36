package web

import (
	"bytes"
	"compress/zlib"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/money"
)

var (
	pdfStreams = regexp.MustCompile(`(?s)stream\n(.*?)\nendstream`)
	pdfShows   = regexp.MustCompile(`(?s)\(((?:[^\\)]|\\.)*)\) ?Tj`)
	pdfEscapes = regexp.MustCompile(`(?s)\\(.)`)
)

// pdfLines reads the texts of a PDF file, as they are shown, from its pages.
func pdfLines(t *testing.T, file string) (lines []string) {
	t.Helper()
	if !strings.HasPrefix(file, "%PDF-") {
		t.Fatalf("no PDF file: %.200s", file)
	}
	for _, stream := range pdfStreams.FindAllStringSubmatch(file, -1) {
		r, err := zlib.NewReader(strings.NewReader(stream[1]))
		if err != nil {
			continue // not compressed: no page
		}
		content, err := io.ReadAll(r)
		if err != nil || !bytes.Contains(content, []byte("BT ")) {
			continue // a font
		}
		for _, shown := range pdfShows.FindAllSubmatch(content, -1) {
			raw := pdfEscapes.ReplaceAllFunc(shown[1], func(e []byte) []byte {
				if e[1] == 'r' {
					return []byte{'\r'}
				}
				return e[1:]
			})
			var units []uint16
			for ; len(raw) > 1; raw = raw[2:] {
				units = append(units, binary.BigEndian.Uint16(raw))
			}
			lines = append(lines, string(utf16.Decode(units)))
		}
	}
	return lines
}

// approvalFile downloads a PDF file twice, which has the same bytes, and reads it.
func (v *visitor) approvalFile(path string) []string {
	v.Helper()
	r, err := http.NewRequest(http.MethodGet, v.url+path, nil)
	v.must(err)
	answer, err := v.client.Do(r)
	v.must(err)
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	v.must(err)
	if answer.StatusCode != http.StatusOK || answer.Header.Get("Content-Type") != "application/pdf" ||
		!strings.Contains(answer.Header.Get("Content-Disposition"), "attachment; ") {
		v.Fatalf("%s: %d %v", path, answer.StatusCode, answer.Header)
	}
	if _, again := v.get(path); again != string(body) {
		v.Errorf("%s is another file the second time", path)
	}
	return pdfLines(v.T, string(body))
}

// wantsLines fails where a file does not show a text.
func (v *visitor) wantsLines(lines []string, texts ...string) {
	v.Helper()
	whole := strings.Join(lines, "\n")
	for _, text := range texts {
		if !strings.Contains(whole, text) {
			v.Errorf("%q is not in the file\n%s", text, whole)
		}
	}
}

// The file of an approval has what its page has, before and after the batch is
// submitted: who, when, every line of the cost, columns that add up, and the history
// with its comments. Names keep their letters.
func TestApprovalFile(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	s := newSite(t)
	s.must(s.Ledger.Approvals().ChangePolicy(t.Context(), ledger.Policy{Second: true}))
	s.must(s.Ledger.RecordDeposit(t.Context(), 30_00, "check 1"))
	s.must(s.Ledger.Organizations().BindClient(t.Context(), ledger.Client{
		Mode:         "test",
		Organization: ledger.Organization{Name: "Żółć & Sons CPA", Domain: "example.com", Subdomain: "zolc"},
	}))
	v, a := s.as(ledger.Preparer), s.as(ledger.Approver)
	path, _ := v.sheet("Nguyễn, Жанна (陈).csv", "Company ID,Entity Type,Formation State,Filing State,Filing Year,"+
		"User Email\ncomp_1,LLC,DE,DE,2026,ana@example.com\ncomp_2,LLC,DE,DE,2026,ana@example.com\n"+
		"comp_3,LLC,DE,DE,26,ana@example.com\ncomp_2,LLC,DE,DE,2026,ana@example.com\n")
	uploads, err := s.Ledger.Uploads().List(t.Context())
	s.must(err)
	q, err := quoteOf(uploads[0])
	s.must(err)
	sum := q.Sum.Summary()
	if len(sum.Lines) == 0 || len(sum.Footnotes) == 0 || sum.Total.Amount == 0 {
		t.Fatalf("there is nothing to show: %+v", sum)
	}
	said := []string{"Żółć & Sons CPA", "Nguyễn, Жанна (□).csv", "□ stands for a character", "Annual report",
		"Balance now\n$30.00", "After this\n" + (30_00 - q.Total.Amount).Dollars(),
		"2 orders will wait for a deposit of " + (q.Total.Amount - 30_00).Dollars(), "1 row with errors", "1 skipped",
		"Filings can't be undone.", "Page 1 of 1"}
	for _, note := range sum.Footnotes {
		said = append(said, note.Text[:20])
	}
	_, page := v.get(path + "/approve")
	v.wants(page, `href="`+path+`/approval.pdf" download`)
	lines := v.approvalFile(path + "/approval.pdf")
	v.wantsLines(lines, append(said, "Not submitted", q.Plan)...)
	wantsTable(t, lines)
	if slices.Contains(lines, "History") {
		t.Errorf("a draft has a history: %q", lines)
	}

	batch := v.submit(path, page)
	a.post("/batches/"+batch+"/send-back", "comment", "Проверьте (comp_1) \\ ещё раз.")
	_, page = v.get(path + "/approve")
	_, _ = v.post(path+"/submit", "version", hidden(page, "version"), "plan", hidden(page, "plan"))
	b, err := s.Ledger.Batch(t.Context(), "")
	s.must(err)
	lines = a.approvalFile("/batches/" + b.ID + "/approval.pdf")
	a.wantsLines(lines, append(said, "Waiting for approval", b.Approval.Hash, v.name+", "+
		b.CreatedAt.UTC().Format("2006-01-02 15:04 UTC"), a.name+" sent it back",
		"“Проверьте (comp_1) \\ ещё раз.”", v.name+" submitted 2 orders, "+q.Total.String(),
		"Waiting for a second person. Can approve: "+a.name+".")...)
	wantsTable(t, lines)

	_, body := a.post("/batches/"+b.ID+"/approve", "plan", b.Approval.Hash)
	a.wants(body, "Approved 2 orders")
	b, err = s.Ledger.Batch(t.Context(), b.ID)
	s.must(err)
	lines = a.approvalFile("/batches/" + b.ID + "/approval.pdf")
	a.wantsLines(lines, "Approved by\n"+a.name+", "+b.Approval.At.UTC().Format("2006-01-02 15:04 UTC"),
		"Approved cost\n"+q.Total.String(), a.name+" approved 2 orders, "+q.Total.String())
	if strings.Contains(strings.Join(lines, "\n"), "undone") {
		t.Error("the file of an approved batch warns of what was done")
	}
	s.nothingLeft()

	acts, err := s.Ledger.AuditLog().List(t.Context(), ledger.AuditQuery{What: "download"})
	s.must(err)
	var who []string
	for _, act := range acts {
		who = append(who, act.By+" "+act.Of+" "+act.Note)
	}
	for _, want := range []string{v.name + " " + uploads[0].ID, a.name + " " + b.ID} {
		if !slices.Contains(who, want+" cost and approval (PDF)") {
			t.Errorf("the audit log does not have %q: %q", want, who)
		}
	}
}

// wantsTable fails where the amounts of the lines do not add up to the total.
func wantsTable(t *testing.T, lines []string) {
	t.Helper()
	at := slices.Index(lines, "Filing")
	head := []string{"Filing", "Count", "Service fee", "State fee", "Total"}
	if at < 0 || len(lines) < at+5 || !slices.Equal(lines[at:at+5], head) {
		t.Fatalf("no table in %q", lines)
	}
	amounts := regexp.MustCompile(`^\$[\d,]+\.\d\d`)
	var rows [][3]money.Cents
	var row [3]money.Cents
	column := 0
	for _, line := range lines[at+5:] {
		dollars := amounts.FindString(line)
		if dollars == "" {
			if strings.HasPrefix(line, "[1]") {
				break
			}
			continue
		}
		cents, err := money.Parse(strings.NewReplacer("$", "", ",", "").Replace(dollars))
		if err != nil {
			t.Fatal(err)
		}
		row[column] = cents
		if column++; column == 3 {
			rows, column = append(rows, row), 0
		}
	}
	if len(rows) < 2 {
		t.Fatalf("%d rows in %q", len(rows), lines)
	}
	total, sum := rows[len(rows)-1], [3]money.Cents{}
	for _, r := range rows[:len(rows)-1] {
		for i := range r {
			sum[i] += r[i]
		}
		if r[0]+r[1] != r[2] {
			t.Errorf("%v does not add up", r)
		}
	}
	if sum != total || total[0]+total[1] != total[2] || total[2] == 0 {
		t.Errorf("the columns add up to %v, and the total is %v", sum, total)
	}
}

// A table that is longer than a page begins each page with its head, and the pages
// are numbered.
func TestPDFOfManyPages(t *testing.T) {
	f, err := newPDF("a", 6, time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC))
	if err != nil {
		t.Fatal(err)
	}
	var rows [][]string
	for range 120 {
		rows = append(rows, []string{"Annual report, a rather long name of a kind of company that needs two lines", "1",
			"$1.00", "$2.00", "$3.00"})
	}
	f.table(costColumns, rows)
	var file bytes.Buffer
	if err := f.Output(&file); err != nil {
		t.Fatal(err)
	}
	lines := pdfLines(t, file.String())
	heads, cells := 0, 0
	for _, line := range lines {
		if line == "Service fee" {
			heads++
		}
		if line == "$3.00" {
			cells++
		}
	}
	if pages := f.PageCount(); pages < 3 || heads != pages || cells != 120 {
		t.Errorf("%d pages, %d heads, %d cells", pages, heads, cells)
	}
	if !slices.Contains(lines, "Page 2 of 6") {
		t.Errorf("no page numbers in %q", lines)
	}
}

// The fonts are those of DejaVu 2.37, and their license is beside them.
func TestFonts(t *testing.T) {
	for name, font := range map[string][]byte{
		"8550cd5ca1acb65a8fc7877c46939cd0b4d909f8e7bc1e24716873d918c5e549": regularFont,
		"38098d0b8edd8430a0f53fb2831b5d36037563a998a620d3c87a4d7591766d20": boldFont,
	} {
		if sum := sha256.Sum256(font); hex.EncodeToString(sum[:]) != name {
			t.Errorf("a font has the hash %x, want %s", sum, name)
		}
	}
}
