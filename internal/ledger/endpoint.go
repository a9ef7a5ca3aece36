package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Endpoint is where the service's events arrive. Its signing secret is sealed
// like a Social Security number and never shown again.
type Endpoint struct {
	ID        string // the service's, or one of ours where it named none
	URL       string
	CreatedAt time.Time
}

// Set records an endpoint and seals its secret.
func (l Endpoints) Set(ctx context.Context, e Endpoint, secret string) error {
	sealed, err := l.sealText("endpoint|"+e.ID, []byte(secret))
	if err != nil {
		return err
	}
	at := e.CreatedAt
	if at.IsZero() {
		at = l.now()
	}
	_, err = l.exclusively(
		ctx, `INSERT INTO endpoints (id, url, sealed, created_at)
			VALUES ($1,$2,$3,$4) ON CONFLICT (id) DO UPDATE SET url = excluded.url, sealed = excluded.sealed,
				created_at = excluded.created_at`,
		e.ID, e.URL, sealed, toMillis(at))
	return wrap("save the endpoint "+e.ID, err)
}

// Delete forgets an endpoint: its secret is not accepted any more. It
// returns ErrNotFound.
func (l Endpoints) Delete(ctx context.Context, id string) error {
	return wrap("delete the endpoint "+id,
		changed(ErrNotFound)(l.exclusively(ctx, `DELETE FROM endpoints WHERE id = $1`, id)))
}

// List lists the endpoints, the newest first.
func (l Endpoints) List(ctx context.Context) ([]Endpoint, error) {
	var all []Endpoint
	err := l.eachEndpoint(ctx, func(e Endpoint, _ string) error {
		all = append(all, e)
		return nil
	})
	return all, err
}

// Secrets opens the signing secrets of all endpoints, the newest first.
// Beside those that it could open it returns ErrSealed where some were sealed
// under another key.
func (l Endpoints) Secrets(ctx context.Context) ([]string, error) {
	var secrets []string
	var closed error
	err := l.eachEndpoint(ctx, func(e Endpoint, sealed string) error {
		secret, err := l.openText("endpoint|"+e.ID, sealed)
		switch {
		case err == nil:
			secrets = append(secrets, string(secret))
		case errors.Is(err, ErrSealed):
			closed = errors.Join(closed, fmt.Errorf("the secret of endpoint %s: %w", e.ID, err))
		default:
			return err
		}
		return nil
	})
	return secrets, errors.Join(err, closed)
}

func (l Endpoints) eachEndpoint(ctx context.Context, do func(e Endpoint, sealed string) error) error {
	rows, err := l.read.QueryContext(ctx,
		`SELECT id, url, sealed, created_at FROM endpoints ORDER BY created_at DESC, id`)
	err = each(rows, err, func(scan func(...any) error) error {
		var e Endpoint
		var sealed string
		var at int64
		if err := scan(&e.ID, &e.URL, &sealed, &at); err != nil {
			return err
		}
		e.CreatedAt = fromMillis(at)
		return do(e, sealed)
	})
	return wrap("read the endpoints", err)
}
