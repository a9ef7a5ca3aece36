package web

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/jobs"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/season"
)

var renewalRoutes = []route{
	{pattern: "GET /renewals", may: viewer, serve: (*Site).renewals},
	{pattern: "POST /companies/{key}/subscription", may: operator, serve: (*Site).setSubscription},
	{pattern: "POST /companies/{key}/renewal", may: operator, serve: (*Site).recordRenewal},
}

// subscriptionStatuses are those of the filing service. Source: spec section 2, Order
// item.
var subscriptionStatuses = []string{"active", "canceled", "past_due"}

// renewal is a report that a subscription covers, as pages show it.
type renewal struct {
	jobs.Renewal
	Needs string // why a person should look at it; empty while there is time
}

// subscriptions are the annual subscriptions of a company.
type subscriptions struct {
	Renewals []renewal
	Orders   []string // of annual reports, which open subscriptions
	Statuses []string
}

// loadSubscriptions finds what subscriptions of a company cover.
func (s *Site) loadSubscriptions(v *request, company string, filings []companyFiling) (*subscriptions, error) {
	found := &subscriptions{Statuses: subscriptionStatuses}
	for _, f := range filings {
		for _, i := range f.Items {
			if i.Product == filing.AnnualReport && i.OrderID != "" {
				found.Orders = append(found.Orders, i.OrderID)
			}
		}
	}
	var err error
	found.Renewals, err = s.loadRenewals(v, company)
	return found, err
}

func (s *Site) loadRenewals(v *request, company string) ([]renewal, error) {
	all, err := jobs.Renewals(v.ctx(), s.Ledger, season.Builtin(), company)
	if err != nil {
		return nil, err
	}
	shown := make([]renewal, len(all))
	for i, r := range all {
		shown[i] = renewal{r, r.Missing(time.Now())}
	}
	return shown, nil
}

// renewalsOnPage is how many reports the page of renewals lists.
const renewalsOnPage = 200

// renewals lists the covered reports that need attention.
func (s *Site) renewals(v *request) error {
	all, err := s.loadRenewals(v, "")
	if err != nil {
		return err
	}
	late := slices.DeleteFunc(slices.Clone(all), func(r renewal) bool { return r.Needs == "" })
	shown, _ := firstOf(late, renewalsOnPage)
	return v.show("renewals.html", "Renewals", struct {
		Renewals []renewal
		Waiting  int // for a renewal, with time left
		More     int
	}{shown, len(all) - len(late), len(late) - len(shown)})
}

// setSubscription records the status of a subscription that a person has looked up.
func (s *Site) setSubscription(v *request) error {
	order, status := v.r.PostForm.Get("order"), v.r.PostForm.Get("status")
	if !slices.Contains(subscriptionStatuses, status) {
		return badRequest("Choose a status. Nothing was changed.")
	}
	note := cmp.Or(strings.TrimSpace(shortened(v.r.PostForm.Get("note"), noteLength)), "looked up by a person")
	err := s.Ledger.Subscriptions().SetStatus(v.withAudit("subscription", order, note+": "+status), order, status)
	if errors.Is(err, ledger.ErrNoSubscription) {
		return badRequest("No annual report has the order ID %s. Nothing was changed.", order)
	}
	return v.done(err, companyPath(v.r.PathValue("key"))+"#subscriptions", "The subscription of order %s is %s.", order,
		strings.ReplaceAll(status, "_", " "))
}

// recordRenewal records the order that renews a covered report.
func (s *Site) recordRenewal(v *request) error {
	order := strings.TrimSpace(v.r.PostForm.Get("order"))
	row, err := strconv.ParseInt(v.r.PostForm.Get("row"), 10, 64)
	if err != nil || order == "" || len(order) > noteLength {
		return badRequest("Enter the order ID of the renewal. Nothing was changed.")
	}
	err = s.Ledger.Subscriptions().Renew(v.withAudit("renewal", order, ""), row, order)
	switch {
	case errors.Is(err, ledger.ErrNotCovered):
		return badRequest("This report does not wait for a renewal any more. Nothing was changed.")
	case errors.Is(err, ledger.ErrOrderTaken):
		return badRequest("The order %s belongs to another row. Nothing was changed.", order)
	}
	return v.done(err, companyPath(v.r.PathValue("key"))+"#subscriptions", "Order %s is recorded as the renewal.", order)
}
