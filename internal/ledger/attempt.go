package ledger

import (
	"context"
	"slices"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/store"
)

// Attempt is one sending of a row's order.
type Attempt struct {
	Row       int64
	Number    int
	StartedAt time.Time
	EndedAt   time.Time
	Outcome   filing.AnswerKind
	// Status is the HTTP status. Zero if no answer arrived.
	Status  int
	Message string
	// Detail is the original network error if Message is in plain words.
	Detail   string
	Products []filing.Product
	// Supposed reports whether a person assumed that the row was sent, at some time from StartedAt
	// on. No process recorded such an attempt.
	Supposed bool
}

// Attempts lists the ended attempts of rows, by row and the oldest first.
func (l *Ledger) Attempts(ctx context.Context, rows ...int64) ([]Attempt, error) {
	var all []Attempt
	for some := range slices.Chunk(rows, pageSize) {
		in, args := store.Among(l.Dialect, some)
		found, err := store.List[Attempt](ctx, l.Read, "read attempts",
			`SELECT row, number, started_at, ended_at, outcome, status, message, detail, products,
					CASE WHEN owner = '`+assumedOwner+`' THEN 1 ELSE 0 END AS supposed
				FROM attempts
				WHERE row `+in+`
				ORDER BY row, number`, args...)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}
