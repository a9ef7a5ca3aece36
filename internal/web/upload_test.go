package web

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/account"
	"github.com/bulkfiling/bulkfiling/internal/approval"
	"github.com/bulkfiling/bulkfiling/internal/audit"
	"github.com/bulkfiling/bulkfiling/internal/importer"
	"github.com/bulkfiling/bulkfiling/internal/intake"
	"github.com/bulkfiling/bulkfiling/internal/pricing"
)

// script uploads a file as the script of the page does, and takes the answer.
func (v *visitor) script(name string, content []byte, once string) (*http.Response, map[string]string) {
	v.Helper()
	v.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	defer func() { v.client.CheckRedirect = nil }()
	v.headers["X-Upload"] = "script"
	defer delete(v.headers, "X-Upload")
	answer, body := v.handOver("/sheets", name, content, "once", once)
	said := make(map[string]string)
	if err := json.Unmarshal([]byte(body), &said); err != nil {
		v.Fatalf("%s: %d, %v\n%s", name, answer.StatusCode, err, body)
	}
	return answer, said
}

// What cannot be opened as a spreadsheet is refused in words before it is kept, and
// nothing of it stays: no upload, no record, and its form can be sent again.
func TestUnreadableFilesAreRefused(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	s := newSite(t, func(c *Config) { c.MaxUpload = 1 << 20 })
	v := s.as(account.Preparer)
	encrypted := append([]byte("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"), make([]byte, 1024)...)
	for i, r := range "EncryptedPackage" {
		encrypted[600+2*i] = byte(r)
	}
	for _, c := range []struct {
		name    string
		content []byte
		status  int
		says    string
	}{
		{"report.pdf", []byte("%PDF-1.7\n1 0 obj\n"), http.StatusUnprocessableEntity, "PDF"},
		{"photo.xlsx", append([]byte("\x89PNG\r\n\x1a\n"), make([]byte, 1024)...), http.StatusUnprocessableEntity,
			"binary file"},
		{"", []byte("x"), http.StatusUnprocessableEntity, "No file was chosen"},
		{"locked.xlsx", encrypted, http.StatusUnprocessableEntity, "password"},
		{"broken.xlsx", []byte("PK\x03\x04 and no more"), http.StatusUnprocessableEntity, "damaged"},
		{"empty.csv", nil, http.StatusUnprocessableEntity, "is empty"},
		{"blank.csv", []byte("\n\n,,\n"), http.StatusUnprocessableEntity, "has no rows"},
		{"large.csv", bytes.Repeat([]byte("a,b\n"), 1<<19), http.StatusRequestEntityTooLarge, "Split the file"},
	} {
		answer, said := v.script(c.name, c.content, "U1")
		if answer.StatusCode != c.status || !strings.Contains(said["text"], c.says) ||
			!strings.Contains(said["text"], c.name) || said["title"] == "" {
			t.Errorf("%s: %d, %v", c.name, answer.StatusCode, said)
		}
	}
	if n, size, err := intake.NewUploads(s.Ledger).Count(t.Context(), v.name); err != nil || n != 0 || size != 0 {
		t.Errorf("%d uploads of %d bytes stay, %v", n, size, err)
	}
	s.acts(0, audit.Query{What: "upload"})
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}

	// The same form takes the right file, once. Columns that are not known are mapped
	// by a person: such a spreadsheet is kept.
	answer, said := v.script("clients.csv", []byte("Mandant,Sitz,Jahr\ncomp_1,DE,2026\n"), "U1")
	if answer.StatusCode != http.StatusCreated || said["path"] != answer.Header.Get("Location") ||
		said["file"] != "clients.csv" {
		t.Errorf("%d, %v", answer.StatusCode, said)
	}
	v.wants(v.page(said["path"]), "Mandant")
	if answer, said := v.script("clients.csv", []byte("Mandant,Sitz,Jahr\ncomp_1,DE,2026\n"), "U1"); //
	answer.StatusCode != http.StatusConflict || !strings.Contains(said["title"], "already uploaded") {
		t.Errorf("%d, %v", answer.StatusCode, said)
	}
	if n, _, err := intake.NewUploads(s.Ledger).Count(t.Context(), v.name); err != nil || n != 1 {
		t.Errorf("%d uploads, %v", n, err)
	}
}

// A file that arrives after its person was signed out is answered with the way back.
func TestUploadSignedOut(t *testing.T) {
	s := newSite(t)
	v := s.nobody()
	v.headers["Referer"] = s.url + "/batches/b1?show=ready"
	answer, said := v.script("a.csv", []byte("a,b\n1,2\n"), "")
	if answer.StatusCode != http.StatusUnauthorized || said["signIn"] != "/sign-in?to=%2Fbatches%2Fb1%3Fshow%3Dready" {
		t.Errorf("%d, %v", answer.StatusCode, said)
	}
}

// What a script uploads is prepared without a look at its page.
func TestScriptUploadIsPreparedAtOnce(t *testing.T) {
	s, v := visit(t, account.Preparer)
	_, said := v.script("a.csv",
		[]byte("Company ID,Filing State,Filing Year,User Email\ncomp_1,DE,2026,ana@example.com\n"), "U1")
	s.until("it is prepared", func() bool { return len(s.draftOf(said["path"]).Quote) > 0 })
}

// A change that a colleague saves while a spreadsheet is being submitted is kept, and
// nothing of the rows before it is bought.
func TestAChangeWhileItIsSubmitted(t *testing.T) {
	for name, change := range map[string]func(colleague *visitor, path string, u intake.Upload){
		"a cell": func(v *visitor, _ string, u intake.Upload) {
			uploads := intake.NewUploads(v.Ledger)
			_, err := uploads.Edit(t.Context(), u.ID, func(u intake.Upload) ([]byte, string, error) {
				edits, err := json.Marshal(corrections{Salt: "s", Excluded: importer.Exclusions{{Row: 2}: v.name}})
				return edits, "", err
			})
			v.must(err)
		},
		"the column mapping": func(v *visitor, path string, _ intake.Upload) {
			_, form := v.get(path + "/columns")
			v.answers(http.StatusOK, path+"/columns", "version", hidden(form, "version"), "product", "annual-report",
				"visible-only", "1")
		},
	} {
		for _, second := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, second %v", name, second), func(t *testing.T) {
				submitsWhile(t, second, change)
			})
		}
	}
}

// submitsWhile submits a spreadsheet, and has a colleague change it while its cost is
// calculated.
func submitsWhile(t *testing.T, second bool, change func(colleague *visitor, path string, u intake.Upload)) {
	var meanwhile atomic.Pointer[func()] // it is prepared again in the background
	s := newSite(t, func(c *Config) {
		ask := c.Prices
		c.Prices = func(ctx context.Context) (pricing.Quoter, error) {
			if then := meanwhile.Swap(nil); then != nil {
				(*then)()
			}
			return ask(ctx)
		}
	})
	s.must(approval.New(s.Ledger).ChangePolicy(t.Context(), approval.Policy{Second: second}))
	v, colleague := s.as(account.Preparer), s.as(account.Preparer)
	path, _ := v.sheet("clients.csv", someClients)
	_, body := v.get(path + "/approve")
	u := s.draftOf(path)
	then := func() { change(colleague, path, u) }
	meanwhile.Store(&then)
	v.wants(v.answers(http.StatusConflict, path+"/submit", "version", hidden(body, "version"), "plan",
		hidden(body, "plan")), "Someone else made a change", "nothing was ordered")
	if b, err := s.Ledger.Batch(t.Context(), u.Batch); err == nil && b.Open {
		t.Errorf("the rows before the change are bought: %+v", b)
	}
	now, err := intake.NewUploads(s.Ledger).Find(t.Context(), u.ID)
	if err != nil || now.Version != u.Version+1 {
		t.Errorf("the change is lost: %+v, %v", now, err)
	}
}

// A spreadsheet whose batch waits for approval is not deleted, and nobody is told that
// nothing was ordered from one that was submitted.
func TestDeletingASubmittedSpreadsheet(t *testing.T) {
	s := newSite(t)
	s.must(approval.New(s.Ledger).ChangePolicy(t.Context(), approval.Policy{Second: true}))
	asker := s.as(account.Preparer)
	path, body := asker.sheet("clients.csv", someClients)
	id, batch := strings.TrimPrefix(path, "/sheets/"), asker.submit(path, body)
	_, body = asker.get("/sheets/" + id)
	asker.wants(body, "waits for approval")
	s.lacks(body, "Delete upload")
	body = asker.answers(http.StatusConflict, "/sheets/"+id+"/drop")
	asker.wants(body, "This spreadsheet was submitted", "Nothing was deleted")
	asker.lacks(body, "Nothing was ordered")
	before := need(intake.NewUploads(s.Ledger).Find(t.Context(), id))(s)
	asker.wants(asker.posted("/sheets/"+id+"/quote", "version", fmt.Sprint(before.Version)), "already submitted")
	now, err := intake.NewUploads(s.Ledger).Find(t.Context(), id)
	if err != nil || string(now.Quote) != string(before.Quote) {
		t.Errorf("it is quoted again while it waits: %v", err)
	}
	a := s.as(account.Approver)
	a.wants(a.posted("/batches/"+batch+"/approve", "plan", s.plan(batch)), "Approved 3 orders")

	path, body = asker.sheet("clients.csv", someClients) // once more: it is the batch that is there
	asker.wants(body, "This spreadsheet was submitted before", "Delete upload")
	_, body = asker.post(path + "/drop")
	asker.wants(body, "Its batch was submitted before and is not changed")
	s.lacks(body, "Nothing was ordered")
}

// A file is refused before it is read while others of the same account are on
// their way, and where too many sheets lie there that no one submitted.
func TestUploadsAreBounded(t *testing.T) {
	s, v := visit(t, account.Preparer)
	one := need(s.Ledger.Accounts().Find(t.Context(), v.name))(s)
	var leave []func()
	for range uploadsEach {
		l, ok := s.server.uploads.take(one.ID)
		if !ok {
			t.Fatal("there is no seat")
		}
		leave = append(leave, l)
	}
	v.upload(http.StatusTooManyRequests, "/sheets", "a.csv", []byte(someClients))
	for i := range uploadsAll - uploadsEach {
		l, ok := s.server.uploads.take(fmt.Sprint(i))
		if !ok {
			t.Fatal("there is no seat for others")
		}
		leave = append(leave, l)
	}
	if _, ok := s.server.uploads.take("one more"); ok {
		t.Error("there are more seats than all may have")
	}
	for _, l := range leave {
		l()
	}
	for range keptEach {
		_, err := intake.NewUploads(s.Ledger).Add(t.Context(), intake.Upload{File: "old.csv", CreatedBy: v.name},
			strings.NewReader("a"))
		s.must(err)
	}
	v.wants(v.upload(http.StatusUnprocessableEntity, "/sheets", "a.csv", []byte(someClients)),
		"You have 100 uploads that are not submitted")
	// What someone else keeps is theirs to delete.
	s.as(account.Preparer).upload(http.StatusOK, "/sheets", "a.csv", []byte(someClients))
	n, size, err := intake.NewUploads(s.Ledger).Count(t.Context(), v.name)
	if n != keptEach || size != keptEach || err != nil {
		t.Errorf("%d sheets of %d bytes, %v", n, size, err)
	}
}

// Two uploads of one file share the batch that is prepared of it. Where one of them is
// edited while the other one is quoted, the other one is prepared again: it does not
// lead to a batch that is gone.
func TestABatchThatAnotherUploadDropped(t *testing.T) {
	var drop atomic.Value // of func()
	s := newSite(t, func(c *Config) {
		ask := c.Prices
		c.Prices = func(ctx context.Context) (pricing.Quoter, error) {
			if f, given := drop.Swap(func() {}).(func()); given {
				f()
			}
			return ask(ctx)
		}
	})
	const content = "Company ID,Entity Type,Formation State,Filing State,Filing Year,User Email\n" +
		"comp_1,LLC,DE,DE,2026,ana@example.com\n"
	v := s.as(account.Preparer)
	v.sheet("one.csv", content)
	one, dropped := s.uploaded(), false
	drop.Store(func() {
		// A change on the page drops the batch a moment later, once nothing leads to it.
		_, err := intake.NewUploads(s.Ledger).Edit(t.Context(), one.ID, func(intake.Upload) ([]byte, string, error) {
			return []byte(`{"edits":[]}`), "", nil
		})
		s.must(err)
		s.must(intake.NewUploads(s.Ledger).DropPrepared(t.Context(), one.Batch))
		dropped = true
	})
	path, body := v.sheet("one.csv", content)
	if !dropped {
		t.Fatal("the second upload was not quoted")
	}
	v.wants(body, "DE LLC")
	v.page(path + "/approve")
	two := need(intake.NewUploads(s.Ledger).Find(t.Context(), path[len("/sheets/"):]))(s)
	if b, err := s.Ledger.Batch(t.Context(), two.Batch); err != nil || b.ID != one.Batch {
		t.Errorf("%+v, %v", b, err)
	}
}
