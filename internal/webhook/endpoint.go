package webhook

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/store"
)

// Endpoints stores the addresses at which the filing service's events arrive.
type Endpoints struct{ db *store.DB }

// NewEndpoints returns the endpoints of a database.
func NewEndpoints(db *store.DB) *Endpoints { return &Endpoints{db} }

// Endpoint is an address at which the filing service's events arrive. Its signing secret is sealed
// like a Social Security number and never shown again.
type Endpoint struct {
	// ID is the ID that the service returned, or a generated one if it returned none.
	ID        string    `json:"id"`
	URL       string    `json:"url"`
	CreatedAt time.Time `json:"createdAt"`
}

// Set records an endpoint and seals its secret.
func (l *Endpoints) Set(ctx context.Context, e Endpoint, secret string) error {
	sealed, err := l.db.SealText("endpoint|"+e.ID, []byte(secret))
	if err != nil {
		return err
	}
	at := e.CreatedAt
	if at.IsZero() {
		at = l.db.Now()
	}
	_, err = l.db.ExecChange(
		ctx, `INSERT INTO endpoints (id, url, sealed, created_at)
			VALUES ($1,$2,$3,$4) ON CONFLICT (id) DO UPDATE SET url = excluded.url, sealed = excluded.sealed,
				created_at = excluded.created_at`,
		e.ID, e.URL, sealed, store.ToMillis(at))
	return store.Wrap("save the endpoint "+e.ID, err)
}

// Delete deletes an endpoint, whose secret is no longer accepted. It returns ErrNotFound.
func (l *Endpoints) Delete(ctx context.Context, id string) error {
	return store.Wrap("delete the endpoint "+id,
		store.RequireChange(store.ErrNotFound)(l.db.ExecChange(ctx, `DELETE FROM endpoints WHERE id = $1`, id)))
}

// List lists the endpoints, the newest first.
func (l *Endpoints) List(ctx context.Context) ([]Endpoint, error) {
	return store.List[Endpoint](ctx, l.db.Read, "read the endpoints",
		`SELECT id, url, created_at FROM endpoints ORDER BY created_at DESC, id`)
}

// Secrets opens the signing secrets of all endpoints, the newest first. If some were sealed under
// another key, it returns ErrSealed together with the secrets that it could open.
func (l *Endpoints) Secrets(ctx context.Context) ([]string, error) {
	all, err := store.List[struct{ ID, Sealed string }](ctx, l.db.Read, "read the endpoints",
		`SELECT id, sealed FROM endpoints ORDER BY created_at DESC, id`)
	var secrets []string
	for _, e := range all {
		secret, failed := l.db.UnsealText("endpoint|"+e.ID, e.Sealed)
		if failed != nil {
			err = errors.Join(err, fmt.Errorf("the secret of endpoint %s: %w", e.ID, failed))
			continue
		}
		secrets = append(secrets, string(secret))
	}
	return secrets, err
}
