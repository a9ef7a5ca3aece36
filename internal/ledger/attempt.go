package ledger

import (
	"context"
	"slices"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
)

// Attempt is one sending of a row's order.
type Attempt struct {
	Row       int64
	Try       int
	StartedAt time.Time
	EndedAt   time.Time
	Class     filing.AnswerKind
	Status    int // HTTP; 0 where none came
	Message   string
	Detail    string // what the network itself said, where the message is in plain words
	Products  []filing.Product
	Supposed  bool // no process recorded it: a person assumes that the row was sent, at some time from StartedAt on
}

// Attempts lists the attempts of a row that have ended, the oldest first.
func (l *Ledger) Attempts(ctx context.Context, row int64) ([]Attempt, error) {
	all, err := l.AttemptsOf(ctx, []int64{row})
	return all[row], err
}

// AttemptsOf lists the attempts of rows that have ended, by row and the oldest first.
func (l *Ledger) AttemptsOf(ctx context.Context, rows []int64) (map[int64][]Attempt, error) {
	all := make(map[int64][]Attempt, len(rows))
	for some := range slices.Chunk(rows, pageSize) {
		in, args := among(l.dialect, some)
		found, err := list[Attempt](ctx, l.read, "read attempts",
			`SELECT row, try, started_at, ended_at, class, status, message, detail, products,
					CASE WHEN owner = '`+assumedOwner+`' THEN 1 ELSE 0 END AS supposed
				FROM attempts
				WHERE row `+in+`
				ORDER BY row, try`, args...)
		if err != nil {
			return nil, err
		}
		for _, a := range found {
			all[a.Row] = append(all[a.Row], a)
		}
	}
	return all, nil
}
