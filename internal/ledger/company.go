package ledger

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/store"
)

// Remember stores the company that a look-up returned, under the requested reference.
func (l Companies) Remember(ctx context.Context, ref string, c filing.Company) error {
	return l.remember(ctx, "companies", ref, c)
}

// RememberUser stores the user that a look-up returned, under the requested reference.
func (l Companies) RememberUser(ctx context.Context, ref string, u filing.User) error {
	return l.remember(ctx, "users", ref, u)
}

func (db *database) remember(ctx context.Context, table, ref string, record any) error {
	f, err := newFact(table, ref, record, store.ToMillis(db.Now()))
	if err != nil {
		return err
	}
	return store.Wrap("save "+ref+" of "+table, db.submit(ctx, &transition{fact: f}))
}

func newFact(table, ref string, record any, at int64) (*fact, error) {
	body, err := json.Marshal(record)
	if err != nil {
		return nil, fmt.Errorf("save %s of %s: %w", ref, table, err)
	}
	return &fact{table: table, ref: ref, record: string(body), at: at}, nil
}

// Find returns the companies that were looked up before, by reference.
func (l Companies) Find(ctx context.Context, refs []string) (map[string]filing.Company, error) {
	return recall[filing.Company](ctx, l.Dialect, l.Read, "companies", "", refs)
}

// FindSince returns the companies that were looked up since a batch was created, by reference. Each
// order is sent with one of them.
func (l Companies) FindSince(ctx context.Context, batch string, refs []string) (map[string]filing.Company, error) {
	return recall[filing.Company](ctx, l.Dialect, l.Read, "companies", batch, refs)
}

// FindUsers returns the users that were looked up before, by reference.
func (l Companies) FindUsers(ctx context.Context, refs []string) (map[string]filing.User, error) {
	return recall[filing.User](ctx, l.Dialect, l.Read, "users", "", refs)
}

// NamesOf finds the legal names of rows' companies, by row ID. It prefers the name in the
// sheet to the name that the service returned when the company was looked up.
func (l Companies) NamesOf(ctx context.Context, rows []Row) (map[int64]string, error) {
	names := make(map[int64]string, len(rows))
	refs := make(map[int64]string) // of the rows that have no name in the sheet
	for _, r := range rows {
		ref := r.Company
		if r.Request != nil {
			// A company that is named by its slug was looked up under the slug.
			names[r.ID], ref = r.Request.LegalName(), cmp.Or(r.Request.Company.Ref, ref)
		}
		if names[r.ID] == "" && ref != "" {
			refs[r.ID] = ref
		}
	}
	known, err := l.Find(ctx, slices.Compact(slices.Sorted(maps.Values(refs))))
	if err != nil {
		return nil, err
	}
	for id, ref := range refs {
		names[id] = known[ref].LegalName
	}
	return names, nil
}

// recall reads the look-ups since the batch was created, or all look-ups if batch is empty.
func recall[T any](
	ctx context.Context,
	d store.Dialect,
	q store.Querier,
	table, batch string,
	refs []string,
) (map[string]T,
	error) {
	known := make(map[string]T, len(refs))
	for some := range slices.Chunk(refs, pageSize) { // a statement has a limited number of arguments
		in, args := store.Among(d, some, batch)
		found, err := store.List[struct {
			Ref    string
			Record T
		}](ctx, q, "find "+table, `SELECT ref, record FROM `+table+`
			WHERE ($1 = '' OR at >= (SELECT created_at FROM batches WHERE id = $1)) AND ref `+in, args...)
		if err != nil {
			return nil, err
		}
		for _, f := range found {
			known[f.Ref] = f.Record
		}
	}
	return known, nil
}
