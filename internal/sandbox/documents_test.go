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

// TestADownloadGoesWrong: a fault of downloads touches no order, and passes.
func TestADownloadGoesWrong(t *testing.T) {
	for _, tt := range []struct {
		fault  Fault
		status int
		begins string
		err    error
	}{
		{Fault{Kind: FaultHalfBody}, 200, "%PDF-1.", io.ErrUnexpectedEOF},
		{Fault{Kind: FaultStatus, Status: 403}, 403, "{", nil},
		{Fault{Kind: FaultHTML}, 200, "<!doctype", nil},
	} {
		t.Run(tt.fault.String(), func(t *testing.T) {
			tt.fault.Endpoint, tt.fault.Times = "GET /files/{id}", 1
			b := newBench(t, Config{Faults: []Fault{tt.fault}})
			b.mustOrder(heldReport)
			link := b.file()
			if got, err := b.get(link); !errors.Is(err, tt.err) || got.status != tt.status ||
				!bytes.HasPrefix(got.body, []byte(tt.begins)) {
				t.Errorf("got %d %s, %v", got.status, got.body, err)
			}
			if got, err := b.get(link); err != nil || got.status != 200 {
				t.Errorf("the next: %d, %v", got.status, err)
			}
			if n := b.Books().Requests["GET /files/{id}"]; n != 2 {
				t.Errorf("%d downloads counted", n)
			}
		})
	}
}
