package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/money"
)

// ErrPolicy is returned for an approval policy that makes no sense.
var ErrPolicy = errors.New("the approval policy is not valid")

// Policy is which orders need the approval of a second person.
type Policy struct {
	Second   bool             // whether any do
	From     money.Cents      // batches that cost at least this much; 0 for all
	Products []filing.Product // of these products; none for all
	Terminal bool             // also what is placed with commands, such as run and submit
	TwoFrom  money.Cents      // batches that cost at least this much need two approvers; 0 for none

	ChangedBy string // "" if it was never changed
	ChangedAt time.Time
}

// Words is the policy for people, as one sentence.
func (p Policy) Words() string {
	if !p.asks() {
		return "no batch needs the approval of a second person"
	}
	of := ""
	if len(p.Products) > 0 {
		titles := make([]string, len(p.Products))
		for i, product := range p.Products {
			titles[i] = product.Title()
		}
		of = " of " + strings.Join(titles, ", ")
	}
	var rules []string
	if p.Second {
		rule := "a second person approves each batch" + of
		if p.From > 0 {
			rule += " of " + p.From.Dollars() + " or more"
		}
		rules = append(rules, rule)
	}
	if p.TwoFrom > 0 {
		rules = append(rules, fmt.Sprintf("two approvers approve each batch%s of %s or more", of,
			p.TwoFrom.Dollars()))
	}
	where := "; the commands run, submit, approve, retry and resolve are not covered"
	if p.Terminal {
		where = ", on the page, by a schedule, and on the terminal"
	}
	return strings.Join(rules, ", ") + where
}

// Covers reports whether a batch of a product needs the approval of a second person
// for what it costs: from the page, or by a schedule. A cost that is not known is
// one that does.
func (p Policy) Covers(product filing.Product, cost money.Cost) bool {
	return (len(p.Products) == 0 || slices.Contains(p.Products, product)) && p.people(cost) > 0
}

// asks reports whether any batch needs an approval under the policy.
func (p Policy) asks() bool { return p.Second || p.TwoFrom > 0 }

// people is how many approvers a batch of the policy's products needs for what it
// costs.
func (p Policy) people(cost money.Cost) int {
	switch {
	case p.TwoFrom > 0 && (cost.Amount >= p.TwoFrom || cost.IsUnknown()):
		return 2
	case p.Second && (p.From == 0 || cost.Amount >= p.From || cost.IsUnknown()):
		return 1
	}
	return 0
}

// weaker reports whether something needs an approval under p that needs none
// under next.
func (p Policy) weaker(next Policy) bool {
	covers := len(next.Products) == 0 ||
		len(p.Products) > 0 && !slices.ContainsFunc(p.Products, func(one filing.Product) bool {
			return !slices.Contains(next.Products, one)
		})
	return p.Second && (!next.Second || next.From > p.From) && (next.TwoFrom == 0 || next.TwoFrom > p.From) ||
		p.TwoFrom > 0 && (next.TwoFrom == 0 || next.TwoFrom > p.TwoFrom) ||
		p.asks() && ((p.Terminal && !next.Terminal) || !covers)
}

// Policy reads the approval policy.
func (l Approvals) Policy(ctx context.Context) (Policy, error) { return l.policy(ctx, l.read) }

func (db *database) policy(ctx context.Context, q querier) (Policy, error) {
	var p Policy
	var products string
	var at int64
	err := q.QueryRowContext(
		ctx, `SELECT second, from_cents, products, terminal, two_from_cents, changed_by, changed_at
			FROM approval_policy WHERE id = 1`).
		Scan(&p.Second, &p.From, &products, &p.Terminal, &p.TwoFrom, &p.ChangedBy, &at)
	if err != nil {
		return p, fmt.Errorf("read the approval policy: %w", err)
	}
	for word := range strings.FieldsSeq(products) {
		p.Products = append(p.Products, filing.Product(word))
	}
	p.ChangedAt = fromMillis(at)
	return p, nil
}

// ChangePolicy changes the approval policy. It decides on what is submitted from
// then on: what waits for a second person goes on waiting under a weaker policy,
// and what waits for any approval needs a second person's under a stricter one. It
// returns ErrPolicy.
func (l Approvals) ChangePolicy(ctx context.Context, next Policy) error {
	words := make([]string, len(next.Products))
	for i, product := range next.Products {
		if !product.Valid() {
			return fmt.Errorf("%w: there is no product %q", ErrPolicy, product)
		}
		words[i] = string(product)
	}
	if next.From < 0 || next.TwoFrom < 0 {
		return fmt.Errorf("%w: an amount is 0 or more", ErrPolicy)
	}
	return wrap("change the approval policy", l.change(ctx, func(tx *sql.Tx, _ *control) error {
		before, err := l.policy(ctx, tx)
		if err != nil {
			return err
		}
		by := auditPerson(ctx)
		_, err = tx.ExecContext(
			ctx, `UPDATE approval_policy
				SET second = $1, from_cents = $2, products = $3, terminal = $4, changed_by = $5, changed_at = $6,
					two_from_cents = $7
				WHERE id = 1`,
			boolInt(next.Second), next.From, strings.Join(words, " "), boolInt(next.Terminal), by, toMillis(l.now()),
			next.TwoFrom)
		if err != nil || !before.weaker(next) {
			return err
		}
		return l.addAccessNotification(ctx, tx, "the approval policy was weakened",
			fmt.Sprintf(
				"%s changed the approval policy.\nFrom now on: %s.\nBefore: %s.\nBatches that wait for a second "+
					"person go on waiting.\nWho changed what: importer audit\n", nameOr(by), next.Words(),
				before.Words()))
	}))
}

// nameOr is a name within a sentence.
func nameOr(name string) string {
	if name == "" {
		return "someone"
	}
	return name
}

// addAccessNotification adds a notification of a change in who may do what.
func (db *database) addAccessNotification(ctx context.Context, tx *sql.Tx, subject, body string) error {
	_, err := db.insertNotification(ctx, tx, Notification{Kind: NotifyAccess, Subject: subject, Body: body})
	return err
}
