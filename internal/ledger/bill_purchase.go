package ledger

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/bulkfiling/bulkfiling/internal/billing"
	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/money"
)

// unbilledRows are the rows of which something is not billed, or is billed and has
// changed: what the row has spent is not what its lines pass on, or its true cost is
// known from elsewhere.
const unbilledRows = `SELECT r.id FROM rows r
	LEFT JOIN (SELECT row, SUM(cost) AS cost FROM bill_lines GROUP BY row) b ON b.row = r.id
	WHERE r.id > $1 AND (r.spent <> COALESCE(b.cost, 0) OR r.id IN (SELECT row FROM purchase_costs)
		OR r.id IN (SELECT row FROM statement_adjustments WHERE row <> 0))
	ORDER BY r.id LIMIT $2`

// candidates reads the purchases of which something may be to be billed, each with the
// lines that bill it, and how many lines each of the rows has.
func (l Bills) candidates(ctx context.Context, clients clientsByKey) (all []billing.Candidate, seen map[int64]int,
	err error) {
	seen = make(map[int64]int)
	reader := purchaseReader{Bills: l, ctx: ctx, clients: clients, batches: make(map[string]Batch), seen: seen}
	for last := int64(0); ; {
		found, err := l.read.QueryContext(ctx, unbilledRows, last, pageSize)
		ids, err := collect(found, err, scanOne[int64])
		if err != nil {
			return nil, nil, err
		}
		if len(ids) == 0 {
			return all, seen, nil
		}
		some, err := reader.read(ids)
		if err != nil {
			return nil, nil, err
		}
		all = append(all, some...)
		last = ids[len(ids)-1]
	}
}

// Purchases reads the purchases of rows, with their clients.
func (l Bills) Purchases(ctx context.Context, rows []int64) ([]billing.Candidate, error) {
	clients, err := Clients(l).byKey(ctx)
	if err != nil {
		return nil, err
	}
	reader := purchaseReader{
		Bills:   l,
		ctx:     ctx,
		clients: clients,
		batches: make(map[string]Batch),
		seen:    make(map[int64]int),
	}
	return reader.read(rows)
}

// purchaseReader reads purchases for billing.
type purchaseReader struct {
	Bills
	ctx     context.Context
	clients clientsByKey
	batches map[string]Batch
	seen    map[int64]int // lines by row
}

// facts are what is read of rows besides themselves.
type billFacts struct {
	attempts map[int64][]filing.Attempt
	items    map[int64][]postedItem
	lines    map[int64][]billedLine
	costs    map[billing.Key]money.Cents
	clients  map[int64]billing.Client
	posted   map[int64]int64
	stated   map[int64]*statedCost
}

// statedCost is what statements of the filing service say of a row.
type statedCost struct {
	adjusted money.Cents            // what the adjustments of the row add to the balance
	orders   map[string]money.Cents // what each of its orders was charged
}

type postedItem struct {
	product filing.Product
	order   string
	at      int64
}

type billedLine struct {
	billing.Line
	client, billTo, matter string
	drafted                bool // its bill is a draft
}

func (p *purchaseReader) read(ids []int64) (all []billing.Candidate, err error) {
	// The lines first: a line that comes after them is noticed when bills are stored.
	facts := billFacts{}
	if facts.lines, err = p.loadLines(ids); err != nil {
		return nil, err
	}
	in, args := among(p.dialect, ids)
	rows, err := (&Ledger{p.database}).page(p.ctx, `r.id `+in+` ORDER BY r.id`, args...)
	if err != nil {
		return nil, err
	}
	if err := p.loadFacts(&facts, rows, in, args); err != nil {
		return nil, err
	}
	names, err := (&Ledger{p.database}).CompanyNames(p.ctx, rows)
	if err != nil {
		return nil, err
	}
	whose, err := p.clientsOf(rows, names, facts.clients)
	if err != nil {
		return nil, err
	}
	for i := range rows {
		r := &rows[i]
		p.seen[r.ID] = len(facts.lines[r.ID])
		name := cmp.Or(names[r.ID], r.CompanyRef(), fmt.Sprintf("Row %d", r.Number))
		all = append(all, p.candidatesOf(r, name, whose[r.ID], &facts)...)
	}
	return all, nil
}

// candidatesOf are the purchases of a row, and those that it has no more and that are
// billed.
func (p *purchaseReader) candidatesOf(r *Row, name string, client billing.Client, facts *billFacts) (
	all []billing.Candidate) {
	billed := make(map[billing.Key][]billing.Line)
	clients := make(map[billing.Key]billing.Client)
	drafted := make(map[billing.Key]bool)
	for _, l := range facts.lines[r.ID] {
		key := l.Purchase
		drafted[key] = drafted[key] || l.drafted
		if billed[key] == nil { // corrections go where the first line went
			clients[key] = billing.Client{Name: l.client, BillTo: l.billTo, Matter: l.matter}
		}
		billed[key] = append(billed[key], l.Line)
	}
	for _, purchase := range p.purchasesOf(r, name, client, facts) {
		c := billing.Candidate{
			Purchase: &purchase,
			Key:      purchase.Key,
			Billed:   billed[purchase.Key],
			Client:   client,
			Company:  name,
			Drafted:  drafted[purchase.Key],
		}
		if len(c.Billed) > 0 {
			c.Client = clients[purchase.Key]
		}
		delete(billed, purchase.Key)
		all = append(all, c)
	}
	for key, lines := range billed {
		all = append(all, billing.Candidate{
			Key:     key,
			Billed:  lines,
			Client:  clients[key],
			Company: name,
			Drafted: drafted[key],
		})
	}
	return all
}

// purchasesOf are the purchases that the attempts of a row add up to.
func (p *purchaseReader) purchasesOf(r *Row, name string, client billing.Client, facts *billFacts) (
	all []billing.Purchase) {
	state := filing.Fold(facts.attempts[r.ID], filing.AttemptLimits{})
	bought := state.Bought
	if sum := state.Spent(); sum.Amount != r.Spent.Amount { // of an earlier version, which kept less
		bought = []filing.Purchase{{Product: productOf(r), Cost: r.Spent}}
		for _, i := range r.Items {
			if i.OrderID != "" {
				bought[0].OrderID = i.OrderID
				break
			}
		}
	}
	model := billing.Purchase{
		Batch:     r.Batch,
		Number:    r.Number,
		Company:   name,
		CompanyID: companyKeyOf(r, name),
		Client:    client,
	}
	if r.Request != nil {
		model.State = string(r.Request.Order.FilingState)
	}
	times := make(map[filing.Product]int)
	for _, b := range bought {
		if b.Product == filing.CompanyRecord {
			continue // the filing service charges nothing for it
		}
		one := model
		one.Key = billing.Key{Row: r.ID, Product: b.Product, Ordinal: times[b.Product]}
		times[b.Product]++
		one.OrderID, one.Cost, one.Parts = b.OrderID, b.Cost, b.Parts
		if b.Product == filing.AnnualReport && r.Request != nil && r.Request.Order.AnnualReport != nil {
			one.Year = r.Request.Order.AnnualReport.FilingYear
		}
		at := facts.posted[r.ID]
		for _, i := range facts.items[r.ID] {
			if i.product == b.Product && (i.order == b.OrderID || b.OrderID == "") {
				at = i.at
				break
			}
		}
		one.PostedAt = fromMillis(at)
		all = append(all, one)
	}
	if stated := facts.stated[r.ID]; stated != nil && len(all) > 0 {
		stated.correct(all, r.Spent.Amount-stated.adjusted)
	}
	for i := range all {
		if truth, known := facts.costs[all[i].Key]; known {
			all[i].Correct(truth)
		}
	}
	return all
}

// correct gives the purchases of a row the costs that a statement has. Where it does not
// tell them apart, the difference belongs to those whose cost was an estimate, the
// first ones first.
func (c *statedCost) correct(all []billing.Purchase, total money.Cents) {
	var sum, apart money.Cents
	complete := true
	for _, p := range all {
		charged, found := c.orders[p.OrderID]
		complete = complete && found && p.OrderID != ""
		sum, apart = sum+p.Cost.Amount, apart+charged
	}
	if complete && apart == total {
		for i := range all {
			all[i].Correct(c.orders[all[i].OrderID])
		}
		return
	}
	order := make([]int, len(all))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(boolInt(all[a].Cost.IsKnown()), boolInt(all[b].Cost.IsKnown()))
	})
	left := total - sum
	for _, i := range order {
		cost := max(all[i].Cost.Amount+left, 0)
		left -= cost - all[i].Cost.Amount
		all[i].Correct(cost)
	}
}

// productOf is the main product of a row.
func productOf(r *Row) filing.Product {
	if r.Request != nil {
		return r.Request.Product
	}
	if len(r.Items) > 0 {
		return r.Items[0].Product
	}
	return filing.AnnualReport
}

// companyKeyOf names the company of a row for later spreadsheets.
func companyKeyOf(r *Row, name string) string {
	return cmp.Or(r.CompanyRef(), nameKey(filing.FoldLegalName(name)))
}

func (p *purchaseReader) loadLines(ids []int64) (map[int64][]billedLine, error) {
	all := make(map[int64][]billedLine)
	in, args := among(p.dialect, ids)
	rows, err := p.Bills.read.QueryContext(p.ctx, `SELECT b.client, b.bill_to, b.matter,
		CASE WHEN b.number = 0 THEN 1 ELSE 0 END, `+lineColumns+`
		FROM bill_lines l JOIN bills b ON b.id = l.bill WHERE l.row `+in+
		` ORDER BY l.row, l.revision, l.bill, l.position`,
		args...)
	err = each(rows, err, func(scan func(...any) error) (err error) {
		var l billedLine
		l.Line, err = scanLine(scan, &l.client, &l.billTo, &l.matter, &l.drafted)
		all[l.Purchase.Row] = append(all[l.Purchase.Row], l)
		return err
	})
	return all, err
}

// loadFacts reads the attempts, items, true costs, clients and postings of rows.
func (p *purchaseReader) loadFacts(f *billFacts, rows []Row, in string, args []any) error {
	byID := make(map[int64]*Row, len(rows))
	for i := range rows {
		byID[rows[i].ID] = &rows[i]
	}
	f.attempts = make(map[int64][]filing.Attempt)
	f.items = make(map[int64][]postedItem)
	f.costs = make(map[billing.Key]money.Cents)
	f.clients = make(map[int64]billing.Client)
	f.posted = make(map[int64]int64)
	f.stated = make(map[int64]*statedCost)
	stated := func(row int64) *statedCost {
		if f.stated[row] == nil {
			f.stated[row] = &statedCost{orders: make(map[string]money.Cents)}
		}
		return f.stated[row]
	}
	for _, load := range []struct {
		query string
		add   func(scan func(...any) error) error
	}{
		{`SELECT row, try, class, products, creates, repeatable, made, ordered, decision, decided_over
			FROM attempts WHERE row ` + in, func(scan func(...any) error) error {
			return f.addAttempt(scan, byID)
		}},
		{`SELECT row, product, order_id, created_at FROM items WHERE row ` + in + ` ORDER BY id`,
			func(scan func(...any) error) error {
				var row int64
				var i postedItem
				err := scan(&row, &i.product, &i.order, &i.at)
				f.items[row] = append(f.items[row], i)
				return err
			}},
		{`SELECT row, product, ordinal, cost FROM purchase_costs WHERE row ` + in,
			func(scan func(...any) error) error {
				var key billing.Key
				var cost money.Cents
				err := scan(&key.Row, &key.Product, &key.Ordinal, &cost)
				f.costs[key] = cost
				return err
			}},
		{`SELECT row, client, matter, bill_to, reference, origin FROM row_clients WHERE row ` + in,
			scanRowClient(f.clients)},
		{`SELECT row, order_id, CAST(SUM(amount) AS BIGINT) FROM statement_lines WHERE counts = 1 AND row ` + in +
			` GROUP BY row, order_id`, func(scan func(...any) error) error {
			var row int64
			var order string
			var amount money.Cents
			err := scan(&row, &order, &amount)
			stated(row).orders[order] = -amount
			return err
		}},
		{`SELECT row, CAST(SUM(amount) AS BIGINT) FROM statement_adjustments WHERE row ` + in + ` GROUP BY row`,
			func(scan func(...any) error) error {
				var row int64
				var amount money.Cents
				err := scan(&row, &amount)
				stated(row).adjusted = amount
				return err
			}},
		{`SELECT row, MAX(at) FROM entries WHERE kind = 'post' AND amount > 0 AND row ` + in + ` GROUP BY row`,
			func(scan func(...any) error) error {
				var row, at int64
				err := scan(&row, &at)
				f.posted[row] = at
				return err
			}},
	} {
		found, err := p.Bills.read.QueryContext(p.ctx, load.query, args...)
		if err := each(found, err, load.add); err != nil {
			return err
		}
	}
	return nil
}

// addAttempt adds an attempt to its row, as groups of transitions read it.
func (f *billFacts) addAttempt(scan func(...any) error, rows map[int64]*Row) error {
	var row int64
	var a filing.Attempt
	var products, made string
	if err := scan(&row, &a.Try, &a.Kind, &products, &a.Creates, &a.Repeatable, &made, &a.Ordered, &a.Decision,
		&a.DecidedOver); err != nil {
		return err
	}
	a.Products = splitProducts(products)
	if made != "" {
		if err := json.Unmarshal([]byte(made), &a.Purchases); err != nil {
			return fmt.Errorf("read what attempt %d of row %d bought: %w", a.Try, row, err)
		}
	}
	f.attempts[row] = append(f.attempts[row], a)
	return nil
}

// clientsOf says whom rows are billed to.
func (p *purchaseReader) clientsOf(rows []Row, names map[int64]string, entered map[int64]billing.Client) (
	map[int64]billing.Client, error) {
	all := make(map[int64]billing.Client, len(rows))
	var companies []string
	for i := range rows {
		r := &rows[i]
		b, err := p.batchOf(r.Batch)
		if err != nil {
			return nil, err
		}
		c := sheetClient(b, r.Cells)
		if by, ok := entered[r.ID]; ok {
			c = mergeClients(c, by)
		}
		all[r.ID] = c
		if c.Name == "" {
			companies = append(companies, companyKeyOf(r, names[r.ID]))
		}
	}
	known, err := Clients(p.Bills).ofCompanies(p.ctx, companies)
	if err != nil {
		return nil, err
	}
	for i := range rows {
		r := &rows[i]
		c := all[r.ID]
		if c.Name == "" {
			if c.Name = known[companyKeyOf(r, names[r.ID])]; c.Name != "" {
				c.Origin = billing.FromCompany
			}
		}
		if c.Name == "" {
			c.Name = cmp.Or(names[r.ID], r.CompanyRef(), "No client")
		}
		c.Name = p.clients.nameOf(c.Name)
		all[r.ID] = c
	}
	return all, nil
}

func (p *purchaseReader) batchOf(id string) (Batch, error) {
	if b, ok := p.batches[id]; ok {
		return b, nil
	}
	all, err := p.database.batches(p.ctx, `WHERE id = $1`, id)
	if err == nil && len(all) == 0 {
		err = ErrNotFound
	}
	if err != nil {
		return Batch{}, err
	}
	p.batches[id] = all[0]
	return all[0], nil
}

// The fields of the columns that say whom a row is billed to.
const (
	matterField    = "matter"
	billToField    = "billTo"
	referenceField = "reference"
)

// sheetClient is whom a row's own columns name.
func sheetClient(b Batch, cells []byte) (c billing.Client) {
	at := func(field string) int { return slices.Index(b.Fields, field) }
	client, matter, billTo, reference := at(clientField), at(matterField), at(billToField), at(referenceField)
	if max(client, matter, billTo, reference) < 0 {
		return c
	}
	texts := anyCellTexts(cells)
	text := func(i int) string {
		if i < 0 || i >= len(texts) {
			return ""
		}
		return strings.TrimSpace(texts[i])
	}
	c.Name, c.Matter, c.BillTo, c.Reference = text(client), text(matter), text(billTo), text(reference)
	if c.Name != "" {
		c.Origin = billing.FromSheet
	}
	return c
}

// mergeClients puts what was entered beside a row over what the row says. A default
// client counts only where the row names none.
func mergeClients(own, entered billing.Client) billing.Client {
	if entered.Origin == billing.FromDefault && own.Name != "" {
		entered.Name = ""
	}
	merged := billing.Client{
		Name:      cmp.Or(entered.Name, own.Name),
		Matter:    cmp.Or(entered.Matter, own.Matter),
		BillTo:    cmp.Or(entered.BillTo, own.BillTo),
		Reference: cmp.Or(entered.Reference, own.Reference),
		Origin:    own.Origin,
	}
	if entered.Name != "" {
		merged.Origin = entered.Origin
	}
	return merged
}

// anyCellTexts reads the cells of a row as they are kept, as texts: a client's number
// is a number, and a matter may be a date.
func anyCellTexts(cells []byte) []string {
	var values []json.RawMessage
	if json.Unmarshal(cells, &values) != nil {
		return nil
	}
	texts := make([]string, len(values))
	for i, v := range values {
		var wrapped map[string]string
		switch {
		case json.Unmarshal(v, &texts[i]) == nil: // null leaves it empty
		case json.Unmarshal(v, &wrapped) == nil:
			texts[i] = cmp.Or(wrapped["number"], wrapped["date"])
		default:
			texts[i] = string(v)
		}
	}
	return texts
}
