package sandbox

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
)

// file registers a document of a company with an awkward name and returns a
// fresh link to it.
func (b *bench) file() (link string) {
	b.t.Helper()
	b.AddCompany(Company{
		ID:             "comp_name",
		LegalName:      `Café (Blue) \ Heron ☃ LLC`,
		EntityType:     "LLC",
		FormationState: "DE",
	})
	d := b.AddDocument(Document{CompanyID: "comp_name", OrderID: "order_1", Type: "annual_report"})
	var a struct{ URL string }
	b.do("GET", "/v1/documents/"+d.ID, "").decode(b.t, &a)
	return a.URL
}

// get fetches a link without a key, and returns what came until the end and how that came.
func (b *bench) get(link string) (reply, error) {
	b.t.Helper()
	return b.try(b.t.Context(), "GET", strings.TrimPrefix(link, b.url), "", http.Header{})
}

func TestFilesAreFetchedWhole(t *testing.T) {
	b := newBench(t, Config{})
	link := b.file()
	whole, err := b.get(link)
	if err != nil || whole.status != 200 || whole.header.Get("Content-Type") != "application/pdf" ||
		!bytes.HasPrefix(whole.body, []byte("%PDF-1.")) {
		t.Fatalf("got %d %v %v", whole.status, whole.header, err)
	}
	if got := whole.header.Get(
		"Content-Disposition"); !regexp.MustCompile(`^attachment; filename="annual_report-doc_[0-9a-f]+\.pdf"$`).
		MatchString(got) {
		t.Errorf("Content-Disposition %s", got)
	}
}

func TestADownloadGoesWrong(t *testing.T) {
	on := func(f Fault) Config { f.Endpoint = "GET /files/{id}"; return Config{Faults: []Fault{f}} }
	t.Run("breaks in the middle", func(t *testing.T) {
		b := newBench(t, on(Fault{Kind: FaultHalfBody, Times: 1}))
		link := b.file()
		if got, err := b.get(link); !errors.Is(err, io.ErrUnexpectedEOF) || len(got.body) == 0 {
			t.Errorf("%d bytes, %v", len(got.body), err)
		}
		if got, err := b.get(link); err != nil || got.status != 200 {
			t.Errorf("%d, %v", got.status, err)
		}
		if n := b.Books().Requests["GET /files/{id}"]; n != 2 {
			t.Errorf("%d downloads counted", n)
		}
	})
	t.Run("forbidden", func(t *testing.T) {
		b := newBench(t, on(Fault{Kind: FaultStatus, Status: 403, Times: 1}))
		link := b.file()
		for _, want := range []int{403, 200} {
			if got, err := b.get(link); err != nil || got.status != want {
				t.Errorf("got %d, %v; want %d", got.status, err, want)
			}
		}
	})
	t.Run("a page of some proxy", func(t *testing.T) {
		b := newBench(t, on(Fault{Kind: FaultHTML}))
		if got, err := b.get(b.file()); err != nil || got.status != 200 ||
			!bytes.HasPrefix(got.body, []byte("<!doctype")) {
			t.Errorf("got %d %s, %v", got.status, got.body, err)
		}
	})
	t.Run("orders are not touched", func(t *testing.T) {
		newBench(t, on(Fault{Kind: FaultReset})).mustOrder(heldReport)
	})
}
