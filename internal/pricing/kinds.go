package pricing

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/money"
)

// KindQuote is the cost of the filings of one product. If the state charges a fee, a kind also has
// only one state, one type of company and one fee.
type KindQuote struct {
	Product filing.Product `json:"product"`
	// Of is zero if the product has no state fee.
	Of StateFee `json:"of"`
	// Each is the state fee of one filing.
	Each     money.Cost `json:"each"`
	Count    int        `json:"count"`
	Service  money.Cost `json:"service"`
	StateFee money.Cost `json:"stateFee"`
	// Free is the field of [Line].
	Free string `json:"free,omitempty"`
}

// Total returns the cost of all filings of the kind.
func (k KindQuote) Total() money.Cost { return sum(k.Service, k.StateFee) }

// Who names the companies of the kind, such as "DE LLC" or "VT CORP formed elsewhere". It is empty
// if the product has no state fee.
func (k KindQuote) Who() string {
	who := strings.TrimSpace(string(k.Of.State) + " " + string(k.Of.EntityType))
	if who != "" && k.Of.EntityType == "" {
		who += " (entity type not known)"
	}
	if k.Of.Company == "foreign" {
		who += " formed elsewhere"
	}
	return who
}

// addKind adds a line of a row's quote to the quote of its kind.
func (q *BatchQuote) addKind(line Line) (err error) {
	kind := KindQuote{Product: line.Product, Each: line.StateFee, Free: line.Free}
	if line.Of != nil {
		kind.Of = *line.Of
	}
	i, found := slices.BinarySearchFunc(q.Kinds, kind, byKind)
	if !found {
		q.Kinds = slices.Insert(q.Kinds, i, kind)
	}
	k := &q.Kinds[i]
	k.Count++
	if k.Service, err = k.Service.Plus(line.Wholesale); err != nil {
		return err
	}
	k.StateFee, err = k.StateFee.Plus(line.StateFee)
	return err
}

// byKind orders kinds by product, state, entity type, residence and fee.
func byKind(a, b KindQuote) int {
	return cmp.Or(slices.Index(filing.Products, a.Product)-slices.Index(filing.Products, b.Product),
		cmp.Compare(a.Of.State, b.Of.State), -cmp.Compare(a.Of.EntityType, b.Of.EntityType),
		cmp.Compare(a.Of.Company, b.Of.Company), cmp.Compare(a.Each.Amount, b.Each.Amount),
		cmp.Compare(a.Each.Certainty, b.Each.Certainty), cmp.Compare(a.Of.Note, b.Of.Note),
		cmp.Compare(a.Free, b.Free))
}

// Missing names the first few companies whose state fee is unknown, such as "TX LLC". It is empty
// if all fees are known.
func (q BatchQuote) Missing() string {
	var names []string
	for _, k := range q.Kinds {
		if who := k.Who(); k.Each.IsUnknown() && !slices.Contains(names, who) {
			names = append(names, who)
		}
	}
	if more := len(names) - 3; more > 0 {
		names = append(names[:3], fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}

// TotalText returns the total for display. If a state fee is missing, it names the companies.
func (q BatchQuote) TotalText() string { return q.Total.Without(q.Missing()) }

// Missing names the company of the order if its state fee is unknown.
func (q Quote) Missing() string {
	for _, line := range q.Lines {
		if line.Of != nil && line.StateFee.IsUnknown() {
			return KindQuote{Of: *line.Of}.Who()
		}
	}
	return ""
}

// Save stores the quote with its batch for the approvers.
func (q *BatchQuote) Save(ctx context.Context, l *ledger.Ledger, batch string) error {
	body, err := json.Marshal(q)
	if err != nil {
		return fmt.Errorf("store the quote of batch %s: %w", batch, err)
	}
	return l.Quotes().SaveBatch(ctx, batch, body)
}

// LoadBatchQuote loads the last quote of a batch. It returns false if none is stored.
func LoadBatchQuote(ctx context.Context, l *ledger.Ledger, batch string) (q BatchQuote, found bool, err error) {
	body, err := l.Quotes().LoadBatch(ctx, batch)
	if err != nil || len(body) == 0 {
		return q, false, err
	}
	if q, err = DecodeBatchQuote(body); err != nil {
		return q, false, fmt.Errorf("batch %s: %w", batch, err)
	}
	return q, true, nil
}

// DecodeBatchQuote decodes a quote that Save stored.
func DecodeBatchQuote(body []byte) (q BatchQuote, err error) {
	if err := json.Unmarshal(body, &q); err != nil {
		return q, fmt.Errorf("read a quote: %w", err)
	}
	return q, nil
}
