package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/bulkfiling/bulkfiling/internal/billing"
)

// BillingClient is a client with something recorded of its own: a rule, a number, another
// name.
type BillingClient struct {
	Key    string // the folded name
	Name   string
	Merged string       // the key of the client that it was merged into, or renamed to; "" for none
	Number string       // in the firm's own books
	Rule   billing.Rule // the zero value for the firm's
}

// ErrClient is returned for the name of a client that cannot be one.
var ErrClient = errors.New("a client has a name of 1 to 200 characters")

// CheckClient reads the name of a client as people enter it.
func CheckClient(name string) (string, error) {
	name = strings.Join(strings.Fields(name), " ")
	if name == "" || len(name) > 200 || billing.ClientKeyOf(name) == "" {
		return "", ErrClient
	}
	return name, nil
}

type clientsByKey map[string]BillingClient

// follow leads from a client's key to that of the client it was merged into.
func (all clientsByKey) follow(key string) string {
	for range 20 { // merging never makes a circle; a damaged table must not hang
		c, ok := all[key]
		if !ok || c.Merged == "" {
			break
		}
		key = c.Merged
	}
	return key
}

// keysOf are the keys whose clients are billed as one now.
func (all clientsByKey) keysOf(key string) []string {
	key = all.follow(key)
	keys := []string{key}
	for k := range all {
		if k != key && all.follow(k) == key {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	return keys
}

// nameOf is the name under which a client is billed now.
func (all clientsByKey) nameOf(name string) string {
	if c, ok := all[all.follow(billing.ClientKeyOf(name))]; ok {
		return c.Name
	}
	return name
}

func (l Clients) byKey(ctx context.Context) (clientsByKey, error) {
	rows, err := l.read.QueryContext(ctx, `SELECT folded, name, merged, number, rule, rule_value FROM clients`)
	all := make(clientsByKey)
	err = each(rows, err, func(scan func(...any) error) error {
		var c BillingClient
		err := scan(&c.Key, &c.Name, &c.Merged, &c.Number, &c.Rule.Kind, &c.Rule.Value)
		all[c.Key] = c
		return err
	})
	return all, wrap("read the clients", err)
}

// List lists the clients with something recorded of their own, by name.
func (l Clients) List(ctx context.Context) ([]BillingClient, error) {
	all, err := l.byKey(ctx)
	if err != nil {
		return nil, err
	}
	list := make([]BillingClient, 0, len(all))
	for _, c := range all {
		list = append(list, c)
	}
	slices.SortFunc(list, func(a, b BillingClient) int { return strings.Compare(a.Key, b.Key) })
	return list, nil
}

// Find finds a client by any name that it ever had; one of which nothing is recorded
// has the name alone.
func (l Clients) Find(ctx context.Context, name string) (BillingClient, error) {
	name, err := CheckClient(name)
	if err != nil {
		return BillingClient{}, err
	}
	all, err := l.byKey(ctx)
	if err != nil {
		return BillingClient{}, err
	}
	key := all.follow(billing.ClientKeyOf(name))
	if c, ok := all[key]; ok {
		return c, nil
	}
	return BillingClient{Key: key, Name: name}, nil
}

// Save records the rule and the number of a client.
func (l Clients) Save(ctx context.Context, c BillingClient) error {
	kind, value := "", int64(0)
	if c.Rule.Kind != "" {
		kind, value = c.Rule.Stored()
	}
	return wrap("save the client "+c.Name, l.change(ctx, func(tx *sql.Tx, _ *control) error {
		_, err := tx.ExecContext(
			ctx, `INSERT INTO clients (folded, name, number, rule, rule_value, changed_by, changed_at)
			VALUES ($1,$2,$3,$4,$5,$6,$7) ON CONFLICT (folded) DO UPDATE SET name = excluded.name,
				number = excluded.number, rule = excluded.rule, rule_value = excluded.rule_value,
				changed_by = excluded.changed_by, changed_at = excluded.changed_at`,
			billing.ClientKeyOf(c.Name), c.Name, c.Number, kind, value, auditPerson(ctx), toMillis(l.now()))
		return err
	}))
}

// Rename bills a client under another name from now on. Where a client has that name
// already, the two are one from now on. Issued bills keep the name that they have.
func (l Clients) Rename(ctx context.Context, from, to string) error {
	old, err := l.Find(ctx, from)
	if err != nil {
		return err
	}
	if to, err = CheckClient(to); err != nil {
		return err
	}
	return wrap(fmt.Sprintf("rename the client %s to %s", from, to), l.change(ctx, func(tx *sql.Tx, _ *control) error {
		by, now := auditPerson(ctx), toMillis(l.now())
		key := billing.ClientKeyOf(to)
		kind, value := "", int64(0)
		if old.Rule.Kind != "" {
			kind, value = old.Rule.Stored()
		}
		// The name that it gets leads nowhere else from now on, or there would be a circle.
		if _, err := tx.ExecContext(ctx, `INSERT INTO clients (folded, name, number, rule, rule_value, changed_by,
				changed_at)
			VALUES ($1,$2,$3,$4,$5,$6,$7) ON CONFLICT (folded) DO UPDATE SET name = excluded.name, merged = ''`,
			key, to, old.Number, kind, value, by, now); err != nil || key == old.Key {
			return err
		}
		_, err := tx.ExecContext(ctx, `INSERT INTO clients (folded, name, merged, changed_by, changed_at)
			VALUES ($1,$2,$3,$4,$5) ON CONFLICT (folded) DO UPDATE SET merged = excluded.merged,
				changed_by = excluded.changed_by, changed_at = excluded.changed_at`, old.Key, old.Name, key, by, now)
		return err
	}))
}

// ofCompanies finds whom companies were billed to last.
func (l Clients) ofCompanies(ctx context.Context, companies []string) (map[string]string, error) {
	all := make(map[string]string)
	if len(companies) == 0 {
		return all, nil
	}
	for some := range slices.Chunk(companies, pageSize) {
		in, args := among(l.dialect, some)
		rows, err := l.read.QueryContext(ctx, `SELECT company, client FROM company_clients WHERE company `+in, args...)
		err = each(rows, err, func(scan func(...any) error) error {
			var company, client string
			err := scan(&company, &client)
			all[company] = client
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("find the clients of companies: %w", err)
		}
	}
	return all, nil
}
