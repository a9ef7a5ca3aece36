package sandbox

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// TestBooksJSON: the books that leave the process hold no SSN.
func TestBooksJSON(t *testing.T) {
	b := newBench(t, Config{})
	b.mustOrder(`"companyId":"comp_bare",` + einOrder)
	b.order(`"companyId":"comp_bare",` + edit(einOrder, "123456789", "987-65-4321"))
	r := b.do("GET", "/books.json", "")
	for _, secret := range []string{"123456789", "987-65-4321", testKey} {
		if strings.Contains(string(r.body), secret) {
			t.Errorf("%s is in %s", secret, r.body)
		}
	}
	var books struct {
		Books
		Violations []struct{ Rule string }
	}
	r.decode(t, &books)
	if len(books.Orders) != 1 || books.Charged != 40_00 || books.Balance != 9_960_00 || len(books.Violations) != 1 ||
		books.Violations[0].Rule != "4.7" {
		t.Errorf("got %+v", books)
	}
	if raw := string(b.Books().Orders[0].Raw); !json.Valid([]byte(raw)) || !strings.Contains(raw, "123456789") {
		t.Errorf("the request as it came: %s", raw)
	}
}

// TestToldBooks: the books for a program say what endpoints were told, without their
// secrets.
func TestToldBooks(t *testing.T) {
	b := newBench(t, Config{Retries: -1})
	hook := b.AddWebhook(Webhook{URL: "http://127.0.0.1:1/in"})
	events, err := b.Raise(t.Context(), b.mustOrder(heldReport).Items[0].OrderID, 482)
	if err != nil {
		t.Fatal(err)
	}
	raw := b.do("GET", "/books.json", "").body
	var books struct {
		Endpoints []struct{ Attempts, Lost int }
		Events    []heard
	}
	if err := json.Unmarshal(raw, &books); err != nil {
		t.Fatal(err)
	}
	if len(books.Endpoints) != 1 || books.Endpoints[0].Lost != 1 || len(books.Events) != 1 ||
		books.Events[0].ID != events[0].ID || strings.Contains(string(raw), hook.Secret) {
		t.Errorf("got %s", raw)
	}
}

// TestControls tries the controls one after another, each by what it answers or changes.
func TestControls(t *testing.T) {
	b := newBench(t, Config{})
	order := `"orderId": "` + b.mustOrder(heldReport).Items[0].OrderID + `"`
	for _, tt := range []struct {
		path, body string
		status     int
		want       string
	}{
		{"/admin/deposit", `{"amount":103.75}`, 200, `"balance":9678.75`},
		{"/admin/fault", `{"kind":"status","status":200}`, 400, "from 300 to 599"},
		{"/admin/fault", `{"kind":"eof","rate":2}`, 400, "rate must be above 0"},
		{"/admin/down", `{"mode":"refuse"}`, 400, "seconds is required"},
		{"/admin/advance", `{}`, 400, "orderId or all"},
		{"/admin/renew", `{` + order + `}`, 200, `"orderId":"order_`},
		{"/admin/subscription", `{` + order + `, "status": "lapsed"}`, 400, "must be one of active"},
		{"/admin/subscription", `{` + order + `, "status": "past_due"}`, 200, "past_due"},
		{"/admin/renew", `{` + order + `}`, 404, "no such order"},
		{"/admin/advance", `{"all":true}`, 200, `"moved":2`},
		{"/admin/exception", `{` + order + `,"code":482}`, 200, `"moved":1`},
		{"/admin/fault", `{"kind":"status","status":502,"nth":1}`, 200, `"fault":"502 before"`},
		{"/v1/orders", orderBody(heldReport), 502, "Bad Gateway"},
		{"/admin/down", `{"mode":"answer"}`, 200, "answer"},
		{"/v1/orders", orderBody(heldReport), 503, "down for maintenance"},
		{"/admin/down", `{"mode":"up"}`, 200, "up"},
		{"/v1/orders", orderBody(heldReport), 201, "order_"},
	} {
		r := b.do("POST", tt.path, tt.body)
		if r.status != tt.status || !strings.Contains(string(r.body), tt.want) {
			t.Errorf("%s %s: got %d %s, want %d with %s", tt.path, tt.body, r.status, r.body, tt.status, tt.want)
		}
	}
	if i := b.Books().Items()[0]; i.Status != exception || i.Exception != 482 {
		t.Errorf("got %+v", i)
	}
	deposited := b.Books().Deposited
	r, err := b.try(t.Context(), "POST", "/admin/deposit", `{"amount":1}`, http.Header{"Content-Type": {"text/plain"}})
	if err != nil || r.status != http.StatusUnsupportedMediaType || b.Books().Deposited != deposited {
		t.Errorf("a form of another site: %d, %v", r.status, err)
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
}
