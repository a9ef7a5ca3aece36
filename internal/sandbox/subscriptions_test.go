package sandbox

import "testing"

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
