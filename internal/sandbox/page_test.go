package sandbox

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// TestBooksJSON: the books for a program say what was ordered and what endpoints were told,
// without a secret.
func TestBooksJSON(t *testing.T) {
	b := newBench(t, Config{Retries: -1})
	hook := b.AddWebhook(Webhook{URL: "http://127.0.0.1:1/in"})
	order := b.mustOrder(`"companyId":"comp_bare",` + einOrder)
	b.order(`"companyId":"comp_bare",` + edit(einOrder, "123456789", "987-65-4321"))
	events, err := b.Raise(t.Context(), order.Items[0].OrderID, 483)
	if err != nil {
		t.Fatal(err)
	}
	r := b.do("GET", "/books.json", "")
	for _, secret := range []string{"123456789", "987-65-4321", testKey, hook.Secret} {
		if strings.Contains(string(r.body), secret) {
			t.Errorf("%s is in %s", secret, r.body)
		}
	}
	var books struct {
		Books
		Violations []struct{ Rule string }
		Endpoints  []struct{ Attempts, Lost int }
		Events     []heard
	}
	r.decode(t, &books)
	if len(books.Orders) != 1 || books.Charged != 40_00 || books.Balance != 9_960_00 || len(books.Violations) != 1 ||
		books.Violations[0].Rule != "4.7" || len(books.Endpoints) != 1 || books.Endpoints[0].Lost != 1 ||
		len(books.Events) != 1 || books.Events[0].ID != events[0].ID {
		t.Errorf("got %+v", books)
	}
	if raw := string(b.Books().Orders[0].Raw); !json.Valid([]byte(raw)) || !strings.Contains(raw, "123456789") {
		t.Errorf("the request as it came: %s", raw)
	}
}

func TestActionFields(t *testing.T) {
	for _, a := range Actions {
		b, body := newBench(t, Config{}), make(map[string]any)
		for _, field := range strings.Fields(a.Fields) {
			name, value, _ := strings.Cut(field, "=")
			if body[name] = value; json.Valid([]byte(value)) {
				body[name] = json.RawMessage(value)
			}
		}
		content, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		r := b.do("POST", "/admin/"+a.Name, string(content))
		if r.status == 404 && len(r.body) == 0 || strings.Contains(string(r.body), "not a field") {
			t.Errorf("%s %s: %d %s", a.Name, a.Fields, r.status, r.body)
		}
	}
	b := newBench(t, Config{})
	r, err := b.try(t.Context(), "POST", "/admin/deposit", `{"amount":1}`, http.Header{"Content-Type": {"text/plain"}})
	if err != nil || r.status != http.StatusUnsupportedMediaType || b.Books().Deposited != 0 {
		t.Errorf("a form of another site: %d, %v", r.status, err)
	}
}
