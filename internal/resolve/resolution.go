package resolve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/filingapi"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/pricing"
)

// Service resolves uncertain orders in the ledger.
type Service struct {
	Ledger *ledger.Ledger
	// Client returns the API client. It is called only if a company must be looked up.
	Client func() (*filingapi.Client, error)
	// Prices is called only by MarkRestored.
	Prices pricing.Source
	// By is the user and the means of the resolution, for the messages of the rows.
	By string
}

// Resolution is a person's decision on an uncertain order. It means placed if it has order IDs or a
// company, and not placed otherwise.
type Resolution struct {
	Order    *UncertainOrder
	OrderIDs []string
	// CompanyID is the ID of the company that was created or formed.
	CompanyID string
	// Objections are the reasons against the resolution, in sentences.
	Objections []string

	// company is the filing service's record of the company.
	company filing.Company
}

// IsPlaced reports whether the decision is that an order or a company was placed.
func (r *Resolution) IsPlaced() bool { return len(r.OrderIDs) > 0 || r.CompanyID != "" }

// Check looks up the entries of a resolution and sets its Objections. It returns a *Fault for an
// invalid field and for an order of another row, or the error of looking up a company. The filing
// service has no call for an order, so only recorded rows and events show to which row it belongs.
func (s *Service) Check(ctx context.Context, r *Resolution) error {
	if err := r.fault(); err != nil {
		return err
	}
	events, err := loadEvents(ctx, s.Ledger, r.OrderIDs)
	if err != nil {
		return err
	}
	for _, id := range r.OrderIDs {
		if err := s.checkOwner(ctx, r, id); err != nil {
			return err
		}
		for _, e := range events[id] {
			if text := r.ofAnother(e); text != "" {
				return &Fault{OrderIDsField, fmt.Sprintf("according to the filing service, %s %s (event %s)", id, text,
					e.ID)}
			}
		}
	}
	if err := s.findCompany(ctx, r); err != nil {
		return err
	}
	r.Objections = r.objections(events)
	timeout := s.Ledger.RequestTimeout()
	processes, err := s.Ledger.Fleet().Processes(ctx)
	if err != nil {
		return err
	}
	for _, p := range processes {
		timeout = max(timeout, p.Timeout)
	}
	if text := r.workedOn(s.Ledger.Now(), timeout); text != "" {
		r.Objections = append(r.Objections, text)
	}
	return nil
}

// checkOwner returns a *Fault if an order is known to be of another row, or of another item of the row.
func (s *Service) checkOwner(ctx context.Context, r *Resolution, order string) error {
	owners, err := s.Ledger.RowsWithOrder(ctx, order)
	for _, o := range owners {
		p := placedAs(&o, order)
		switch {
		case o.ID == r.Order.Row.ID && p == "":
		case o.ID == r.Order.Row.ID:
			return &Fault{OrderIDsField, fmt.Sprintf("%s is the order of the row's %s, which is placed: enter the "+
				"order of the rest", order, p.Title())}
		case o.Result == filing.Exists:
			// The row names the order that another row bought.
		default:
			return &Fault{OrderIDsField, fmt.Sprintf("%s is the order of row %d of batch %s: an order belongs to "+
				"one row", order, o.Number, o.Batch)}
		}
	}
	return err
}

// placedAs returns the product that a row ordered and has an order for. It is empty if the filing
// service answered the row with a product that the row did not order.
func placedAs(row *ledger.Row, order string) filing.Product {
	for _, i := range row.Items {
		if i.OrderID == order && slices.Contains(row.Request.Order.Products(), i.Product) {
			return i.Product
		}
	}
	return ""
}

// workedOn objects to marking a row as not placed while the filing service may still work on its
// request, which it may do for the timeout of a request.
func (r *Resolution) workedOn(now time.Time, timeout time.Duration) string {
	sent, found := r.Order.LastSent()
	last := sent.StartedAt
	if sent.Supposed {
		// It was sent at an unknown time before the restore.
		last = sent.EndedAt
	}
	if until := last.Add(timeout); found && !r.IsPlaced() && now.Before(until) {
		return fmt.Sprintf("The filing service may still work on row %d until %s. Wait until then, and check the "+
			"dashboard again: if you mark the row as not placed before, it could be bought twice.", r.Order.Row.Number,
			until.UTC().Format("15:04:05 MST"))
	}
	return ""
}

// fault returns the error of a resolution's fields, without any lookup.
func (r *Resolution) fault() error {
	row := &r.Order.Row
	for i, id := range r.OrderIDs {
		switch {
		case !isOrderID(id):
			return &Fault{OrderIDsField, fmt.Sprintf("%q is not an order ID. Order IDs begin with order_", id)}
		case slices.Contains(r.OrderIDs[:i], id):
			return &Fault{OrderIDsField, id + " is entered twice"}
		}
	}
	switch {
	case row.Creating && len(r.OrderIDs) > 0 && !r.Order.Assumed():
		return &Fault{OrderIDsField, ledger.ErrCreating.Error()}
	case row.Creating && len(r.OrderIDs) > 0 && r.CompanyID == "":
		return &Fault{
			CompanyIDField, "enter the ID of the company that was created, too (comp_…)",
		}
	case len(r.OrderIDs) > len(r.Order.Products()):
		return &Fault{
			OrderIDsField, fmt.Sprintf("%d order IDs are too many: the row ordered %s", len(r.OrderIDs),
				r.Order.Ordered()),
		}
	case r.CompanyID != "" && !r.Order.FormsCompany():
		return noCompany(row)
	case r.CompanyID != "" && !filing.IsCompanyID(r.CompanyID):
		return notCompanyID(r.CompanyID)
	case r.CompanyID != "" && !row.Creating && len(r.OrderIDs) == 0:
		return &Fault{OrderIDsField, "enter the order ID, too (order_…)"}
	}
	return nil
}

func noCompany(row *ledger.Row) *Fault {
	return &Fault{CompanyIDField, fmt.Sprintf("row %d forms no company: leave the company ID empty", row.Number)}
}

func notCompanyID(id string) *Fault {
	return &Fault{CompanyIDField, fmt.Sprintf("%q is not a company ID. Company IDs begin with comp_", id)}
}

// Field is a part of a decision.
type Field string

// The fields of a decision.
const (
	DecisionField  Field = "Decision"
	OrderIDsField  Field = "Order IDs"
	CompanyIDField Field = "Company ID"
)

// Fault is an error in a field of a resolution.
type Fault struct {
	Field   Field
	Message string
}

func (f *Fault) Error() string { return f.Message }

func isOrderID(id string) bool {
	rest, found := strings.CutPrefix(id, "order_")
	return found && rest != "" && strings.Trim(rest,
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == ""
}

// findCompany looks up a company that was created or formed. Its purchases are then recorded under
// that company, and are not bought again.
func (s *Service) findCompany(ctx context.Context, r *Resolution) (err error) {
	request := r.Order.Row.Request
	switch formation := request.Order.Formation; {
	case r.CompanyID == "":
	case r.Order.Row.Creating:
		r.company, err = s.lookUpCompany(ctx, r.CompanyID, request.Company.Sheet.LegalName)
	case formation != nil:
		r.company, err = s.lookUpCompany(ctx, r.CompanyID, formation.Company.LegalName, formation.AlternativeNames...)
	}
	return err
}

// lookUpCompany looks up a company, which must have one of the names in its order. It returns a
// *Fault if the company does not exist or has another name.
func (s *Service) lookUpCompany(ctx context.Context, id, name string, others ...string) (filing.Company, error) {
	client, err := s.Client()
	if err != nil {
		return filing.Company{}, err
	}
	found, err := client.Company(ctx, id)
	switch {
	case errors.Is(err, filingapi.ErrNotFound), errors.Is(err, filingapi.ErrRefused):
		return found, &Fault{CompanyIDField, err.Error()}
	case err != nil:
		return found, err
	}
	for _, n := range append([]string{name}, others...) {
		if filing.FoldLegalName(found.LegalName) == filing.FoldLegalName(n) {
			return found, nil
		}
	}
	return found, &Fault{
		CompanyIDField, fmt.Sprintf("%s is %q, but the row names %q. Check the ID", found.ID,
			found.LegalName, name),
	}
}

// Events are the filing service's reports about orders that belong to no row, by order ID.
type Events map[string][]ledger.Event

// loadEvents loads the events of these orders.
func loadEvents(ctx context.Context, l *ledger.Ledger, orders []string) (Events, error) {
	all, err := l.Events().ListUnknown(ctx, orders)
	if err != nil {
		return nil, err
	}
	events := make(Events)
	for _, e := range all {
		events[e.OrderID] = append(events[e.OrderID], e)
	}
	return events, nil
}

// objections lists the reasons against a resolution, in sentences.
func (r *Resolution) objections(events Events) []string {
	row := &r.Order.Row
	if !r.IsPlaced() {
		return r.Order.mayBePlaced()
	}
	var why []string
	if missing := r.withoutID(events); len(missing) > 0 {
		why = append(
			why, fmt.Sprintf(
				"Row %d ordered %s, and you entered no order ID for the %s. That part is recorded as placed "+
					"without an ID.",
				row.Number, r.Order.Ordered(), strings.Join(missing, " and the ")))
	}
	if row.Creating && len(r.OrderIDs) == 0 && r.Order.Assumed() {
		why = append(
			why, fmt.Sprintf(
				"Row %d may have sent its order after creating the company. If you enter only the company ID, "+
					"the order "+
					"is sent now.", row.Number))
	}
	for _, id := range r.OrderIDs {
		for _, e := range events[id] {
			if text := r.contradicts(e); text != "" {
				why = append(why, fmt.Sprintf("According to the filing service, %s %s (event %s).", id, text, e.ID))
				break
			}
		}
	}
	return why
}

// someOrders is the number of possible orders of a row that an objection names. The nearest in time
// come first.
const someOrders = 3

// mayBePlaced lists the orders that contradict marking the row as not placed.
func (o *UncertainOrder) mayBePlaced() []string {
	if len(o.Candidates) == 0 {
		return nil
	}
	var orders []string
	for _, c := range o.Candidates[:min(len(o.Candidates), someOrders)] {
		orders = append(orders, c.Order)
	}
	which := strings.Join(orders, " or ")
	if more := len(o.Candidates) + o.MoreCandidates - someOrders; more > 0 {
		which += fmt.Sprintf(" or one of %d other orders", more)
	}
	return []string{
		fmt.Sprintf("Row %d may have been placed as %s. If you mark it as not placed, it could be bought twice.",
			o.Row.Number, which),
	}
}

// withoutID lists the titles of a row's items without an order ID. An ID belongs to the product
// that its events name, or else to the first remaining one.
func (r *Resolution) withoutID(events Events) []string {
	if len(r.OrderIDs) == 0 {
		// The resolution has only a company.
		return nil
	}
	left := r.Order.Products()
	others := 0
	for _, id := range r.OrderIDs {
		at := slices.IndexFunc(left, func(ordered filing.Product) bool { return events.Name(id, ordered) })
		if at < 0 {
			others++
			continue
		}
		left = slices.Delete(left, at, at+1)
	}
	var titles []string
	for _, p := range left[min(others, len(left)):] {
		titles = append(titles, p.Title())
	}
	return titles
}

// Name reports whether an event names the product of an order.
func (events Events) Name(order string, product filing.Product) bool {
	return slices.ContainsFunc(events[order], func(e ledger.Event) bool {
		p, known := e.Product()
		return known && p == product
	})
}

// clockSkew is the maximum lag of the service's clock behind ours.
const clockSkew = time.Minute

// contradicts explains why the order of an event cannot be the row's. It returns "" if it can be.
func (r *Resolution) contradicts(e ledger.Event) string {
	if text := r.ofAnother(e); text != "" {
		return text
	}
	if sent := r.Order.Sent(); len(sent) > 0 && !e.CreatedAt.IsZero() &&
		e.CreatedAt.Before(sent[0].StartedAt.Add(-clockSkew)) {
		return "existed before this row was sent: " + e.CreatedAt.UTC().Format("2006-01-02 15:04:05 MST")
	}
	return ""
}

// ofAnother names the other product, company, state or year of an event's order. It returns "" if
// there is none.
func (r *Resolution) ofAnother(e ledger.Event) string {
	row := &r.Order.Row
	ordered := r.Order.Products()
	if p, known := e.Product(); known && !slices.Contains(ordered, p) &&
		(p != filing.RegisteredAgent || !slices.Contains(ordered, filing.AgentChange)) {
		return "is for another product: " + p.Title()
	}
	if company := cmp.Or(r.CompanyID, row.Company); e.CompanyID != "" && company != "" && e.CompanyID != company {
		return "is for another company: " + e.CompanyID
	}
	if state := row.Request.Order.FilingState; e.FilingState != "" && state != "" && e.FilingState != state {
		return "is for another state: " + string(e.FilingState)
	}
	if report := row.Request.Order.AnnualReport; report != nil && e.FilingYear != "" &&
		e.FilingYear != report.FilingYear {
		return "is for another year: " + e.FilingYear
	}
	return ""
}

// Resolve records a resolution, and describes its effect on the row.
func (s *Service) Resolve(ctx context.Context, r *Resolution) (string, error) {
	row := &r.Order.Row
	decisions := s.Ledger.Resolutions().For(*row)
	sent, _ := ledger.Sent(row.Request.Order)
	by := s.by()
	switch {
	case !r.IsPlaced():
		if err := decisions.MarkNotPlaced(ctx, row.ID, row.LastAttempt,
			"marked as not placed by "+by+"; it may be sent again"); err != nil {
			return "", err
		}
		return s.released(ctx, row)
	case row.Creating && len(r.OrderIDs) > 0:
		return fmt.Sprintf("Row %d is marked as placed; its company is %s. %s of its reservation is spent.",
				row.Number, r.company.ID, row.Reserved.Dollars()),
			decisions.MarkAssumedPlaced(ctx, row.ID, row.LastAttempt, r.OrderIDs, r.company,
				ledger.FormedClaims(&sent, r.company.ID),
				"marked as placed by "+by+"; the new company is "+r.company.ID)
	case row.Creating:
		if err := decisions.MarkCreated(ctx, row.ID, row.LastAttempt, r.company,
			"the company was found as "+r.company.ID+" by "+by); err != nil {
			return "", err
		}
		return s.created(ctx, row, r.company.ID)
	}
	said := fmt.Sprintf("Row %d is marked as placed. %s is spent.", row.Number, row.Reserved.Dollars())
	if row.Request.Order.Formation != nil {
		if company := cmp.Or(r.CompanyID, row.Company); company != "" {
			return fmt.Sprintf("Row %d is marked as placed; its company is %s. %s of its reservation is spent.",
					row.Number, company, row.Reserved.Dollars()),
				decisions.MarkFormed(ctx, row.ID, row.LastAttempt, r.OrderIDs, company,
					ledger.FormedClaims(&row.Request.Order, company),
					"marked as placed by "+by+"; the new company is "+company)
		}
		said += fmt.Sprintf(
			" The company that was formed is not known yet: importer resolve mark %s:%d placed --company COMPANY_ID",
			row.Batch, row.Number)
	}
	return said, decisions.MarkPlaced(ctx, row.ID, row.LastAttempt, r.OrderIDs, "marked as placed by "+by)
}

// created describes the state of a row whose company was found.
func (s *Service) created(ctx context.Context, row *ledger.Row, company string) (string, error) {
	now, err := s.Ledger.Row(ctx, row.ID)
	switch {
	case err != nil:
		return "", err
	case now.Result == filing.Uncertain:
		return fmt.Sprintf("Row %d: the company is %s. An order of the row is still uncertain: resolve it, too.",
			row.Number, company), nil
	}
	return fmt.Sprintf("Row %d is ready again for the company %s. Its order will be sent.", row.Number, company), nil
}

// by names the user, the means and the time of a resolution.
func (s *Service) by() string {
	return s.By + " on " + time.Now().UTC().Format("2006-01-02 15:04 MST")
}

// NameCompany records the company of a placed formation if no event names it. It returns a *Fault
// if the company cannot be the one.
func (s *Service) NameCompany(ctx context.Context, row ledger.Row, company string) (string, error) {
	switch {
	case row.Request == nil || row.Request.Order.Formation == nil:
		return "", noCompany(&row)
	case !filing.IsCompanyID(company):
		return "", notCompanyID(company)
	}
	order := &row.Request.Order
	found, err := s.lookUpCompany(ctx, company, order.Formation.Company.LegalName, order.Formation.AlternativeNames...)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("The company of row %d is %s.", row.Number, found.ID),
		s.Ledger.Resolutions().For(row).NameCompany(ctx, row.ID, found.ID, ledger.FormedClaims(order, found.ID),
			"placed; the new company is "+found.ID+", entered by "+s.by())
}

// IsRecorded reports whether a row already has the IDs that were found for it.
func IsRecorded(row ledger.Row, orderIDs []string, company string) bool {
	for _, id := range orderIDs {
		if !slices.ContainsFunc(row.Items, func(i ledger.Item) bool { return i.OrderID == id }) {
			return false
		}
	}
	if company != "" && company != row.Company {
		return false
	}
	return len(orderIDs) > 0 || company != ""
}

// released describes the state of a row that was not placed. A row of a canceled batch is not sent
// again.
func (s *Service) released(ctx context.Context, row *ledger.Row) (string, error) {
	now, err := s.Ledger.Row(ctx, row.ID)
	if err != nil {
		return "", err
	}
	if now.Result == filing.Canceled {
		return fmt.Sprintf(
			"Row %d is marked as not placed. Its batch was canceled, so it is not sent again. Its reservation of %s "+
				"is released.", row.Number, row.Reserved.Dollars()), nil
	}
	return fmt.Sprintf("Row %d is marked as not placed and will be sent again. Its reservation of %s is released.",
		row.Number, row.Reserved.Dollars()), nil
}
