package ledger

import (
	"fmt"
	"slices"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/store"
)

// taken returns the claims that other rows hold. It also returns the subscriptions that cover a
// later year and that other batches have bought or are about to buy. Two years of one company in
// one file, or in corrections of it, are both intended.
func (d *decision) taken(s *rowState, claims []Claim) []Taken {
	var taken []Taken
	for _, claim := range claims {
		if p := d.rival(claim.Key, s.id); p != nil {
			if !p.bought && s.purchase(claim.Key) != nil && s.id < p.row {
				continue // both repeat an order of it: the other one waits
			}
			taken = append(taken, Taken{Claim: claim, Row: p.row, Key: p.key, Bought: p.bought})
			continue
		}
		if claim.Cover == "" || claim.Why != "" {
			continue
		}
		for _, p := range d.covers[claim.Cover] {
			if !p.freed && p.root != s.root && p.year < claim.Year {
				taken = append(taken, Taken{Claim: claim, Row: p.row, Key: p.key, Bought: p.bought, Covers: true})
				break
			}
		}
	}
	return taken
}

// rival returns the purchase of a key by another row, or nil if no other row has the key. It
// prefers a purchase that was bought and not canceled, and the first of these. Next come a canceled
// purchase and one that is open.
func (d *decision) rival(key filing.Key, row int64) (best *purchase) {
	rank := func(p *purchase) int {
		switch {
		case !p.bought:
			return 0
		case p.canceled:
			return 1
		case p.twin != 0:
			return 2
		}
		return 3
	}
	for _, p := range d.purchases[key] {
		if p.row != row && (best == nil || rank(p) > rank(best)) {
			best = p
		}
	}
	return best
}

// boughtBesides reports whether another row has bought the same key.
func (d *decision) boughtBesides(p *purchase) bool {
	other := d.rival(p.key, p.row)
	return other != nil && other.bought
}

// alignKeys gives the row the keys that its state requires. It keeps the keys of bought or existing
// products permanently and the keys of open products while they are open.
func (d *decision) alignKeys(s *rowState, state filing.RowState, claims []Claim) {
	done := state.Done()
	for _, c := range claims {
		if slices.Contains(done, c.Product) || slices.Contains(state.Open, c.Product) {
			d.claim(s, c)
		}
	}
	for _, p := range s.claims {
		isDone, isOpen := slices.Contains(done, p.product), slices.Contains(state.Open, p.product)
		switch {
		case !p.bought && isDone && !state.HasBought(p.product) && d.boughtBesides(p):
			d.free(s, p) // the existing item is the other row's
		case isDone && (!p.bought || p.exists && state.HasBought(p.product)):
			p.exists = !state.HasBought(p.product)
			d.buy(s, p, len(claims) > 0)
		case p.bought && isOpen:
			// An answer does not name the item that a person marked as placed. The key stays
			// reserved until a person has checked.
			p.bought, p.twin = false, 0
			d.settle(p)
			d.untwin(p)
		case !p.bought && !isOpen && s.result != filing.Placing:
			d.free(s, p)
		}
		if p.twin == 0 && slices.Contains(state.Duplicates, p.product) {
			p.twin = s.id
			d.settle(p)
		}
	}
	s.claims = slices.DeleteFunc(s.claims, func(p *purchase) bool { return p.freed })
}

// claim returns the row's purchase of a claim. It takes the key for the row if the row does not
// have it.
func (d *decision) claim(s *rowState, c Claim) *purchase {
	if p := s.purchase(c.Key); p != nil {
		return p
	}
	p := &purchase{
		key:     c.Key,
		row:     s.id,
		product: c.Product,
		cover:   c.Cover,
		year:    c.Year,
		batch:   s.batch,
		root:    s.root,
		number:  s.number,
	}
	d.purchases[c.Key] = append(d.purchases[c.Key], p)
	if c.Cover != "" {
		d.covers[c.Cover] = append(d.covers[c.Cover], p)
	}
	s.claims = append(s.claims, p)
	d.claims = append(d.claims, claimed{p, store.Record{
		store.Text("key", c.Key),
		store.Number("row", s.id),
		store.Text("product", c.Product),
		store.Text("cover", c.Cover),
		store.Number("year", c.Year),
		store.Text("why", c.Why),
		store.Number("at", d.now),
		store.FlagAt("bought", &p.bought),
		store.NumberAt("twin", &p.twin),
		store.FlagAt("beside", &p.beside),
	}})
	return p
}

// free releases a key of the row.
func (d *decision) free(s *rowState, p *purchase) {
	p.freed = true
	d.freed = append(d.freed, p)
	d.purchases[p.key] = slices.DeleteFunc(d.purchases[p.key], func(q *purchase) bool { return q == p })
	d.untwin(p)
}

// buy gives a key to the row permanently, because the row bought its product. If another row has
// bought the same, the purchase names it as its twin. A company costs nothing, and a person may
// have named the company of the other row. Therefore two companies are a double purchase only if
// the service answered both.
func (d *decision) buy(s *rowState, p *purchase, answered bool) {
	p.bought = true
	d.settle(p)
	other := d.rival(p.key, s.id)
	if other == nil || !other.bought || other.exists || p.product == filing.CompanyRecord && !answered {
		return
	}
	p.twin = other.row
}

// untwin updates the rows that name p as the other purchase of their key, because p is not bought
// after all. Each names another row that bought the same, if one exists.
func (d *decision) untwin(p *purchase) {
	for _, q := range d.purchases[p.key] {
		if q == p || q.twin != p.row {
			continue
		}
		q.twin = 0
		if other := d.rival(q.key, q.row); other != nil && other.bought && !other.exists && other.twin == 0 {
			q.twin = other.row
		}
		d.settle(q)
	}
}

// giveKeys calls buy for the claims whose products the row has bought. The row may not have their
// keys yet.
func (d *decision) giveKeys(s *rowState, state filing.RowState, claims []Claim) {
	for _, c := range claims {
		if !state.HasBought(c.Product) {
			continue
		}
		if p := d.claim(s, c); !p.bought {
			d.buy(s, p, true)
		}
	}
}

// settle records whether a purchase is bought.
func (d *decision) settle(p *purchase) {
	if !slices.Contains(d.settled, p) {
		d.settled = append(d.settled, p)
	}
}

// purchase returns the row's purchase of a key, or nil if it has not claimed the key.
func (s *rowState) purchase(key filing.Key) *purchase {
	at := slices.IndexFunc(s.claims, func(p *purchase) bool { return p.key == key && !p.freed })
	if at < 0 {
		return nil
	}
	return s.claims[at]
}

// claimed returns the products whose keys the row holds and has not bought. For a placed row it
// includes the bought products.
func (s *rowState) claimed() []filing.Product {
	var products []filing.Product
	for _, p := range s.claims {
		if (!p.bought || s.result == filing.Placed) && !slices.Contains(products, p.product) {
			products = append(products, p.product)
		}
	}
	return products
}

// inFlight returns the products that the order of a placing row asks for. These are the products
// whose keys it holds, without those left out. They include products that a late answer has shown
// as bought since.
func (s *rowState) inFlight() []filing.Product {
	left := splitProducts(s.dropped)
	if !s.creating {
		left = append(left, filing.CompanyRecord)
	}
	var products []filing.Product
	for _, p := range s.claims {
		if (!p.bought || !slices.Contains(left, p.product)) && !slices.Contains(products, p.product) {
			products = append(products, p.product)
		}
	}
	return products
}

// bought returns how many products the row has bought.
func (s *rowState) bought() (n int) {
	for _, p := range s.claims {
		if p.bought && !p.exists && p.product != filing.CompanyRecord {
			n++
		}
	}
	return n
}

func productsOf(claims []Claim) []filing.Product {
	var products []filing.Product
	for _, c := range claims {
		products = append(products, c.Product)
	}
	return products
}

// rowRef identifies a row for a person.
type rowRef struct {
	ID     int64
	Batch  string
	Number int
}

func (s *rowState) ref() rowRef { return rowRef{s.id, s.batch, s.number} }

// seenFrom returns the name of the row for a message of a row of batch.
func (r rowRef) seenFrom(batch string) string {
	if r.Batch == batch {
		return fmt.Sprintf("row %d", r.Number)
	}
	return fmt.Sprintf("row %d of batch %s", r.Number, r.Batch)
}
