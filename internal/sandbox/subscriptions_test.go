package sandbox

import (
	"strings"
	"testing"
)

// TestRenewal looks at a report that the service makes by itself, for the year
// after the newest.
func TestRenewal(t *testing.T) {
	b := newBench(t, Config{})
	b.mustOrder(heldReport)
	bought := b.Books().Items()[0]
	for _, year := range []string{"2027", "2028"} {
		item, events, err := b.Renew(t.Context(), bought.ID)
		if err != nil || item.Year != year || item.Status != pending || item.ID == bought.ID || len(events) != 1 ||
			events[0].OrderID != item.ID {
			t.Errorf("got %+v, %v, %v", item, events, err)
		}
	}
	books := b.Books()
	if books.Charged != 3*425_00 || len(books.Duplicates()) != 0 || !books.Orders[1].Renewal {
		t.Errorf("books %+v", books)
	}
	if err := b.SetSubscription(bought.ID, "canceled"); err != nil {
		t.Error(err)
	}
	if _, _, err := b.Renew(t.Context(), bought.ID); err == nil {
		t.Error("a canceled subscription renews")
	}
}

// TestCompanyControls tries the controls, each by what it changes.
func TestCompanyControls(t *testing.T) {
	b := newBench(t, Config{})
	order := `"orderId": "` + b.mustOrder(heldReport).Items[0].OrderID + `"`
	for _, tt := range []struct {
		path, body string
		status     int
		want       string
	}{
		{"renew", `{` + order + `}`, 200, `"orderId":"order_`},
		{"subscription", `{` + order + `, "status": "lapsed"}`, 400, "must be one of active"},
		{"subscription", `{` + order + `, "status": "past_due"}`, 200, "past_due"},
		{"renew", `{` + order + `}`, 404, "no such order"},
	} {
		r := b.do("POST", "/admin/"+tt.path, tt.body)
		if r.status != tt.status || !strings.Contains(string(r.body), tt.want) {
			t.Errorf("%s %s: got %d %s, want %d with %s", tt.path, tt.body, r.status, r.body, tt.status, tt.want)
		}
	}
}
