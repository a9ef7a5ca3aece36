package ledger

import (
	"context"
	"fmt"
	"time"

	"bulkfiling/internal/filing"
)

// Attempt is one sending of a row's order.
type Attempt struct {
	Try       int
	StartedAt time.Time
	EndedAt   time.Time
	Class     filing.Class
	Status    int // HTTP; 0 where none came
	Message   string
	Supposed  bool // nobody saw it: a person supposes that the row was sent, at some time from StartedAt on
}

// Attempts lists the attempts of a row that have ended, the oldest first.
func (l *Ledger) Attempts(ctx context.Context, row int64) ([]Attempt, error) {
	var all []Attempt
	err := drain(l.read.QueryContext(ctx, `SELECT try, started_at, ended_at, class, status, message, CASE WHEN owner = '`+supposedOwner+`' THEN 1 ELSE 0 END FROM attempts WHERE row = $1 ORDER BY try`, row))(func(scan func(...any) error) error {
		var a Attempt
		var started, ended int64
		if err := scan(&a.Try, &started, &ended, &a.Class, &a.Status, &a.Message, &a.Supposed); err != nil {
			return err
		}
		a.StartedAt, a.EndedAt = moment(started), moment(ended)
		all = append(all, a)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the attempts of row %d: %w", row, err)
	}
	return all, nil
}
