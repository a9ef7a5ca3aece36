package web

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/account"
	"github.com/bulkfiling/bulkfiling/internal/audit"
	"github.com/bulkfiling/bulkfiling/internal/webhook"
)

// Orders that were not heard of need action on every page until someone has checked them. A ledger that never had a
// webhook expects no news.
func TestSilentOrders(t *testing.T) {
	s, v := visit(t, account.Preparer, account.Operator)
	batch := v.submit(v.sheet("clients.csv", strings.NewReplacer(",Client", ",Entity Type,Formation State",
		",Harbor Light", ",LLC,DE", ",Acme", ",LLC,DE").Replace(clientsOfTwo)))
	s.place()
	s.answered(batch)
	_, err := s.Ledger.Exec(t.Context(), `UPDATE rows SET updated_at = updated_at - $1`,
		25*24*time.Hour/time.Millisecond)
	s.must(err)
	const sentence = "2 annual report orders placed and not heard of for 25 days; Delaware has no usual time yet; due "
	v.lacks(v.page("/"), "not heard of", "check the webhook")
	endpoints := webhook.NewEndpoints(s.Ledger.DB)
	s.must(endpoints.Set(t.Context(), webhook.Endpoint{ID: "we_1", URL: "https://example.com"}, "whsec_1"))
	v.wants(v.page("/"), sentence, "No event was ever received: check the webhook", `href="/silent">See orders</a>`)
	body := v.page("/silent")
	v.wants(body, "<h2>Delaware annual report</h2>", sentence, "Old Mill LLC", "/batches/"+batch+"/rows/2",
		s.bought("comp_1")[0], "Mark 2 orders as checked")
	s.lacks(s.as(account.Auditor).page("/silent"), "as checked")
	v.answers(http.StatusForbidden, "/silent", "until", "soon")
	v.wants(v.posted("/silent", "product", "annual-report", "state", "DE", "until", hidden(body, "until")),
		"Marked 2 orders as checked.", "No orders are overdue")
	v.lacks(v.page("/"), "not heard of")
	v.lacks(v.page("/workers"), "</time> </li>")
	s.acts(1, audit.Query{What: "silent-checked"})
}
