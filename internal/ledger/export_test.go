package ledger

import (
	"context"

	"github.com/bulkfiling/bulkfiling/internal/store"
)

// SynchronousCommit is how a connection to a server waits for its commits.
func (l *Ledger) SynchronousCommit(ctx context.Context) (setting string, err error) {
	err = l.Read.QueryRowContext(ctx, `SHOW synchronous_commit`).Scan(&setting)
	return setting, err
}

// Committed is what became of one transition of a group.
type Committed struct {
	Begun Begun
	Err   error
}

// CommitTogether commits intents, outcomes and deferrals in one group, in the order in which
// they would have come.
func (l *Ledger) CommitTogether(transitions ...any) []Committed {
	group := make([]*transition, len(transitions))
	for i, t := range transitions {
		switch t := t.(type) {
		case Intent:
			group[i] = &transition{intent: &t}
		case Outcome:
			group[i] = &transition{outcome: &t}
		case Deferral:
			group[i] = &transition{deferral: &t}
		default:
			panic("no transition")
		}
	}
	l.commit(group)
	results := make([]Committed, len(group))
	for i, t := range group {
		results[i] = Committed{t.begun, t.err}
	}
	return results
}

// PlansOfViews are the plans by which SQLite reads what the pages and an idle worker
// ask for again and again.
func (l *Ledger) PlansOfViews(ctx context.Context) (map[string][]string, error) {
	warned, warnedArgs := (&RowQuery{Batch: "b", Warned: true}).condition(l.Dialect)
	exceptions, exceptionArgs := (&RowQuery{Batch: "b", Exceptions: true}).condition(l.Dialect)
	plans := make(map[string][]string)
	for _, q := range []struct {
		name, query string
		args        []any
	}{
		{"rows in flight", `SELECT r.id, r.cells FROM rows r WHERE ` + placingRows, nil},
		{"backlog", selectBacklog, nil},
		{"pending correction", selectPendingCorrection, []any{"b", 2}},
		{"results", selectResults + `r.batch = $1 AND r.number > $2 ORDER BY r.number, r.id LIMIT 10`, []any{"b", 2}},
		{"warned", `SELECT COUNT(*) FROM result_rows r WHERE ` + warned, warnedArgs},
		{"exceptions", `SELECT COUNT(*) FROM result_rows r WHERE ` + exceptions, exceptionArgs},
	} {
		plan, err := store.List[struct {
			ID, Parent, NotUsed int
			Detail              string
		}](ctx, l.Read, "explain", `EXPLAIN QUERY PLAN `+q.query, q.args...)
		if err != nil {
			return nil, err
		}
		for _, step := range plan {
			plans[q.name] = append(plans[q.name], step.Detail)
		}
	}
	return plans, nil
}
