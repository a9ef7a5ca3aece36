package ledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/audit"
	"github.com/bulkfiling/bulkfiling/internal/store"
)

// ErrOrganization is returned if a ledger with the orders of one organization is used for another
// one.
var ErrOrganization = errors.New("the ledger belongs to another organization")

// Organization has the details by which the filing service identifies the organization of an API
// key.
type Organization struct {
	Name      string `json:"name,omitempty"`
	CreatedAt string `json:"createdAt,omitempty"`
	Domain    string `json:"domain,omitempty"`
	Subdomain string `json:"subdomain,omitempty"`
}

// Known reports whether the organization can be recognized.
func (o Organization) Known() bool { return o.CreatedAt != "" || o.Domain != "" || o.Subdomain != "" }

// Same reports whether both are the same organization. It compares the times of creation, then
// domain and subdomain. If the times are the same but both domain and subdomain differ, they are
// two organizations.
func (o Organization) Same(other Organization) bool {
	if !o.Known() || !other.Known() {
		return false
	}
	address := strings.EqualFold(o.Domain, other.Domain) && strings.EqualFold(o.Subdomain, other.Subdomain)
	if o.CreatedAt == "" || other.CreatedAt == "" {
		return address && o.Domain+o.Subdomain != ""
	}
	moved := o.Domain != "" && other.Domain != "" && !strings.EqualFold(o.Domain, other.Domain) &&
		o.Subdomain != "" && other.Subdomain != "" && !strings.EqualFold(o.Subdomain, other.Subdomain)
	return sameMoment(o.CreatedAt, other.CreatedAt) && !moved
}

func sameMoment(a, b string) bool {
	at, errA := time.Parse(time.RFC3339, a)
	bt, errB := time.Parse(time.RFC3339, b)
	if errA != nil || errB != nil {
		return a == b
	}
	return at.Equal(bt)
}

// Label returns the organization's name, or a substitute if it has none.
func (o Organization) Label() string {
	return cmp.Or(o.Name, strings.Trim(o.Subdomain+"."+o.Domain, "."), "an organization without a name")
}

// String returns the name and the time of creation, which distinguishes organizations of the same
// name.
func (o Organization) String() string {
	name := o.Label()
	if o.CreatedAt != "" {
		name += ", created " + o.CreatedAt
	}
	return name
}

// Client identifies the sender of orders through the ledger.
type Client struct {
	// Mode is "test" or "live".
	Mode string
	// Organization is the organization that the filing service reports. Zero if it reports none.
	Organization Organization
	// Unnamed identifies the key and the address if the filing service reports no organization.
	Unnamed string
	// Decided reports whether a person confirmed that the ledger belongs to this organization.
	Decided bool
}

// BindClient binds the ledger to a mode and an organization at the first use. It returns ErrMode or
// ErrOrganization for any other.
func (l Organizations) BindClient(ctx context.Context, c Client) error {
	return l.change(audit.Without(ctx), func(tx *Tx) error {
		if tx.control.mode != "" && tx.control.mode != c.Mode {
			return modeError(tx.control.mode, c.Mode)
		}
		known, unnamed, err := listOrganizations(ctx, tx)
		if err != nil {
			return err
		}
		for _, o := range known {
			if o.Same(c.Organization) {
				tx.control.mode = c.Mode
				return nil
			}
		}
		switch {
		case c.Decided:
		case !c.Organization.Known():
			for _, u := range unnamed {
				if u == c.Unnamed {
					return nil
				}
			}
			return fmt.Errorf("%w: the filing service does not say which one the key belongs to", ErrOrganization)
		case len(known) > 0:
			return fmt.Errorf("%w: it holds the orders of %s, and the key belongs to %s", ErrOrganization, known[0],
				c.Organization)
		}
		tx.control.mode = c.Mode
		if c.Organization.Known() {
			c.Unnamed = ""
		}
		_, err = tx.ExecContext(
			ctx, `INSERT INTO organizations (created, domain, subdomain, unnamed, name, at)
				VALUES ($1,$2,$3,$4,$5,$6) ON CONFLICT DO NOTHING`,
			c.Organization.CreatedAt, c.Organization.Domain, c.Organization.Subdomain, c.Unnamed, c.Organization.Name,
			store.ToMillis(l.Now()))
		return err
	})
}

// Account identifies the filing account of the sender by its mode and the details that identify the
// organization.
func (c Client) Account() string {
	o := c.Organization
	switch at, err := time.Parse(time.RFC3339, o.CreatedAt); {
	case err == nil:
		return c.Mode + " " + at.UTC().Format(time.RFC3339Nano)
	case o.CreatedAt != "":
		return c.Mode + " " + o.CreatedAt
	case o.Known():
		return c.Mode + " " + strings.ToLower(o.Subdomain+"."+o.Domain)
	}
	return c.Mode + " " + c.Unnamed
}

// Accounts lists the filing accounts whose orders the ledger has.
func (l Organizations) Accounts(ctx context.Context) ([]string, error) {
	var mode string
	if err := l.Read.QueryRowContext(ctx, `SELECT mode FROM control WHERE id = 1`).Scan(&mode); err != nil {
		return nil, fmt.Errorf("read the ledger's accounts: %w", err)
	}
	known, unnamed, err := listOrganizations(ctx, l.Read)
	var all []string
	for _, o := range known {
		all = append(all, Client{Mode: mode, Organization: o}.Account())
	}
	for _, u := range unnamed {
		all = append(all, Client{Mode: mode, Unnamed: u}.Account())
	}
	return all, store.Wrap("read the ledger's accounts", err)
}

// List lists the organizations that the ledger is bound to. The list is empty if it is not bound
// yet.
func (l Organizations) List(ctx context.Context) ([]Organization, error) {
	known, _, err := listOrganizations(ctx, l.Read)
	return known, err
}

func listOrganizations(ctx context.Context, q store.Querier) (known []Organization, unnamed []string, err error) {
	all, err := store.List[struct {
		Organization
		Unnamed string
	}](ctx, q, "read the ledger's organizations",
		`SELECT created AS created_at, domain, subdomain, unnamed, name FROM organizations ORDER BY at, created`)
	for _, o := range all {
		if o.Known() {
			known = append(known, o.Organization)
		} else {
			unnamed = append(unnamed, o.Unnamed)
		}
	}
	return known, unnamed, err
}
