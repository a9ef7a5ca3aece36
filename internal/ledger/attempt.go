package ledger

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
)

// Attempt is one sending of a row's order.
type Attempt struct {
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
	rows, err := l.read.QueryContext(ctx, `SELECT `+attemptColumns+` FROM attempts WHERE row = $1 ORDER BY try`, row)
	all, err := collect(rows, err, func(scan func(...any) error) (Attempt, error) { return scanAttempt(scan) })
	return all, wrap(fmt.Sprintf("read the attempts of row %d", row), err)
}

// AttemptsOf lists the attempts of many rows, by row.
func (l *Ledger) AttemptsOf(ctx context.Context, rows []int64) (map[int64][]Attempt, error) {
	all := make(map[int64][]Attempt, len(rows))
	for some := range slices.Chunk(rows, pageSize) {
		in, args := among(l.dialect, some)
		found, err := l.read.QueryContext(ctx,
			`SELECT row, `+attemptColumns+` FROM attempts WHERE row `+in+` ORDER BY row, try`,
			args...)
		err = each(found, err, func(scan func(...any) error) error {
			var row int64
			a, err := scanAttempt(scan, &row)
			all[row] = append(all[row], a)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("read attempts: %w", err)
		}
	}
	return all, nil
}

const attemptColumns = `try, started_at, ended_at, class, status, message, detail, CASE WHEN owner = '` +
	assumedOwner + `' THEN 1 ELSE 0 END, products`

func scanAttempt(scan func(...any) error, before ...any) (Attempt, error) {
	var a Attempt
	var started, ended int64
	var products string
	err := scan(append(before, &a.Try, &started, &ended, &a.Class, &a.Status, &a.Message, &a.Detail, &a.Supposed,
		&products)...)
	a.Products = splitProducts(products)
	a.StartedAt, a.EndedAt = fromMillis(started), fromMillis(ended)
	return a, err
}
