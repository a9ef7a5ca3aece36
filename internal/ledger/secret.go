package ledger

import (
	"context"
	"fmt"
	"slices"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/store"
)

// Social Security numbers are needed only from the import to the order. In between they are sealed
// with a key that is not in the database, like all other data that may contain one. See sealer.

// sealedPlace binds a sealed number to its row, so that it cannot be used for another row.
func sealedPlace(batch string, number int) string { return fmt.Sprintf("%s|%d", batch, number) }

// withoutSecret returns the request in the form that may be stored, and the number that it had, or
// an empty string if it had none.
func withoutSecret(r *filing.Request) (*filing.Request, string) {
	if r == nil || r.Order.EIN == nil || r.Order.EIN.ResponsiblePartySSN == "" {
		return r, ""
	}
	stored, ein := *r, *r.Order.EIN
	ein.ResponsiblePartySSN = ""
	stored.Order.EIN = &ein
	return &stored, r.Order.EIN.ResponsiblePartySSN
}

func (db *database) sealSecret(batch string, number int, secret string) (string, error) {
	return db.SealText(sealedPlace(batch, number), []byte(secret))
}

// Unseal opens the Social Security number of a row that is about to be sent.
func (l *Ledger) Unseal(ctx context.Context, r Row) (string, error) {
	// A sealed number is bound to its place.
	at := r.InBatch()
	sealed, err := store.Find[string](ctx, l.Read, store.ErrSealed,
		fmt.Sprintf("row %d of batch %s", at.Number, at.Batch),
		`SELECT sealed FROM secrets WHERE batch = $1 AND number = $2`, at.Batch, at.Number)
	if err != nil {
		return "", err
	}
	secret, err := l.UnsealText(sealedPlace(at.Batch, at.Number), sealed)
	return string(secret), store.Wrap(fmt.Sprintf("row %d of batch %s", at.Number, at.Batch), err)
}

// eraseSecrets erases numbers that are not needed any more.
const eraseSecrets = `DELETE FROM secrets WHERE (batch, number) IN (SELECT v.batch, v.number {{v}})`

// needsNoSecret reports whether the row will not be sent again or its EIN was placed. A rejected row
// keeps its number, because a retry needs it.
func (s *rowState) needsNoSecret() bool {
	switch s.result {
	case filing.Placed, filing.Exists, filing.Skipped, filing.Canceled:
		return true
	}
	return slices.Contains(splitProducts(s.dropped), filing.EIN)
}
