package web

import (
	"strconv"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/schedule"
	"github.com/bulkfiling/bulkfiling/internal/store"
)

// silentHandler handles the orders that were placed and not heard of for too long.
type silentHandler struct {
	*Config
	overview *overview
}

func (h *silentHandler) routes() []route {
	return []route{
		{pattern: "GET /silent", may: viewer, serve: h.silent},
		{pattern: "POST /silent", may: operator, serve: h.markChecked},
	}
}

func (h *silentHandler) silent(v *request) error {
	s, err := schedule.FindSilence(v.ctx(), h.Ledger, "")
	if err != nil {
		return err
	}
	return v.show(nil, "silent.html", "Orders not heard of", s)
}

// markChecked records that a person has checked the orders of a group at the filing service.
func (h *silentHandler) markChecked(v *request) error {
	until, err := strconv.ParseInt(v.form("until"), 10, 64)
	if err != nil {
		return errForm
	}
	product, state := filing.Product(v.form("product")), filing.State(v.form("state"))
	n, err := schedule.MarkChecked(v.withAudit("silent-checked", "", state.Name()+" "+product.Title()), h.Ledger,
		product, state, store.FromMillis(until))
	h.overview.silence.Delete("")
	h.overview.shared.Delete("")
	return v.done(err, "/silent", "Marked %s as checked.", count(n, "order"))
}
