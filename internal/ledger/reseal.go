package ledger

import (
	"context"
	"database/sql"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"
)

// sealedColumn is a column whose values are sealed.
type sealedColumn struct {
	table, column string
	keys          []string // that name a row, in their order
	where         string   // picks the rows whose value is sealed
	blob          bool     // else base64
	page          int      // how many values are read at once
	place         func(keys []any) []byte
}

// sealedColumns are all that a rotation reseals and an audit opens. Flows are
// not among them: they end within minutes.
var sealedColumns = []sealedColumn{
	{
		table:  "secrets",
		column: "sealed",
		keys:   []string{"batch", "number"},
		where:  "sealed <> ''",
		page:   200,
		place:  func(k []any) []byte { return fmt.Appendf(nil, "%s|%d", k...) },
	},
	{
		table:  "upload_parts",
		column: "sealed",
		keys:   []string{"upload", "part"},
		where:  "1 = 1",
		blob:   true,
		page:   8,
		place:  func(k []any) []byte { return fmt.Appendf(nil, "upload|%s|%d", k...) },
	},
	{
		table:  "originals",
		column: "sealed",
		keys:   []string{"batch", "part"},
		where:  "1 = 1",
		blob:   true,
		page:   8,
		place:  func(k []any) []byte { return fmt.Appendf(nil, "original|%s|%d", k...) },
	},
	{
		table:  "uploads",
		column: "edits",
		keys:   []string{"id"},
		where:  "edits <> ''",
		page:   20,
		place:  func(k []any) []byte { return fmt.Appendf(nil, "edits|%s", k...) },
	},
	{
		table:  "rosters",
		column: "content",
		keys:   []string{"hash"},
		where:  "1 = 1",
		blob:   true,
		page:   1,
		place:  func(k []any) []byte { return fmt.Appendf(nil, "roster|%s", k...) },
	},
	{
		table:  "endpoints",
		column: "sealed",
		keys:   []string{"id"},
		where:  "sealed <> ''",
		page:   200,
		place:  func(k []any) []byte { return fmt.Appendf(nil, "endpoint|%s", k...) },
	},
	{
		table:  "factors",
		column: "data",
		keys:   []string{"id"},
		where:  "kind = '" + string(FactorApp) + "'",
		page:   200,
		place:  func(k []any) []byte { return fmt.Appendf(nil, "factor|%s", k...) },
	},
	{
		table:  "sessions",
		column: "provider_token",
		keys:   []string{"hash"},
		where:  "provider_token <> ''",
		page:   200,
		place:  func(k []any) []byte { return fmt.Appendf(nil, "session|%s", k...) },
	},
}

// Sealed is what of the ledger's sealed values their keys say.
type Sealed struct {
	Values int // that are sealed
	Old    int // of them, under a key before the present one
	Closed int // of them, under a key that is not here
}

// sealedValue is a value with the keys of its row.
type sealedValue struct {
	keys []any
	raw  []byte
}

// pageOf reads the values behind a row; all from the first where it is nil. Only
// those that the mark does not seal, where one is given.
func (c *sealedColumn) pageOf(ctx context.Context, q querier, after []any,
	notUnder string) (all []sealedValue, err error) {
	query := `SELECT ` + strings.Join(c.keys, ", ") + `, ` + c.column + ` FROM ` + c.table + ` WHERE ` + c.where
	var args []any
	arg := func(v any) string {
		args = append(args, v)
		return fmt.Sprintf("$%d", len(args))
	}
	if notUnder != "" {
		if c.blob {
			query += fmt.Sprintf(` AND substr(%s, 1, %d) <> %s`, c.column, len(notUnder), arg([]byte(notUnder)))
		} else {
			mark := base64.StdEncoding.EncodeToString([]byte(notUnder))
			query += fmt.Sprintf(` AND substr(%s, 1, %d) <> %s`, c.column, len(mark), arg(mark))
		}
	}
	if after != nil {
		var at []string
		for _, k := range after {
			at = append(at, arg(k))
		}
		query += ` AND (` + strings.Join(c.keys, ", ") + `) > (` + strings.Join(at, ", ") + `)`
	}
	query += fmt.Sprintf(` ORDER BY %s LIMIT %d`, strings.Join(c.keys, ", "), c.page)
	rows, err := q.QueryContext(ctx, query, args...)
	all, err = collect(rows, err, func(scan func(...any) error) (sealedValue, error) {
		v := sealedValue{keys: make([]any, len(c.keys))}
		into := make([]any, 0, len(c.keys)+1)
		for i := range v.keys {
			into = append(into, &v.keys[i])
		}
		if err := scan(append(into, &v.raw)...); err != nil {
			return v, err
		}
		return v, nil
	})
	return all, wrap("read what is sealed in "+c.table, err)
}

// decode is the value as a keyring opens it.
func (c *sealedColumn) decode(raw []byte) ([]byte, error) {
	if c.blob {
		return raw, nil
	}
	return base64.StdEncoding.DecodeString(string(raw))
}

// sealedUnder reports whether a value was sealed by the key that seals now.
func (k keyring) sealedUnder(sealed []byte) bool {
	return strings.HasPrefix(string(sealed[:min(len(sealed), markBytes)]), k[0].mark)
}

// Check opens every sealed value and counts those under an older key and
// those that no key opens. It makes no key where nothing is sealed.
func (l SealKeys) Check(ctx context.Context) (Sealed, error) {
	var found Sealed
	for i := range sealedColumns {
		c := &sealedColumns[i]
		var after []any
		for {
			page, err := c.pageOf(ctx, l.read, after, "")
			if err != nil {
				return found, err
			}
			if len(page) == 0 {
				break
			}
			keys, err := l.presentKeys()
			if err != nil {
				return found, err
			}
			for _, v := range page {
				found.Values++
				sealed, err := c.decode(v.raw)
				if err == nil {
					_, err = keys.Open(nil, nil, sealed, c.place(v.keys))
				}
				switch {
				case err != nil:
					found.Closed++
				case !keys.sealedUnder(sealed):
					found.Old++
				}
			}
			after = page[len(page)-1].keys
		}
	}
	return found, nil
}

// presentKeys are the keys that are here; none where there is no file of them.
func (l SealKeys) presentKeys() (keyring, error) {
	if _, err := os.Stat(l.sealing.path); l.sealing.given == "" && errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return l.sealer()
}

// Reseal reseals what an older key has sealed, some values in a transaction,
// beside processes that work. One that broke off goes on where it was when it
// is called again: what is under the present key is passed over. It returns how
// many values it has sealed and how many no key opens; those stay as they are.
func (l SealKeys) Reseal(ctx context.Context) (done, closed int, err error) {
	for i := range sealedColumns {
		n, shut, err := l.resealColumn(ctx, &sealedColumns[i])
		done, closed = done+n, closed+shut
		if err != nil {
			return done, closed, fmt.Errorf("reseal %s: %w", sealedColumns[i].table, err)
		}
	}
	return done, closed, nil
}

// resealColumn seals the values of a column with the first key, page by page. It
// returns how many, and how many no key opens.
func (l SealKeys) resealColumn(ctx context.Context, c *sealedColumn) (done, closed int, err error) {
	var after []any
	for {
		keys, err := l.sealer()
		if err != nil {
			return done, closed, err
		}
		page, err := c.pageOf(ctx, l.read, after, keys[0].mark)
		if err != nil || len(page) == 0 {
			return done, closed, err
		}
		after = page[len(page)-1].keys
		fresh := make([]any, len(page)) // nil for a value that no key opens
		for i, v := range page {
			if fresh[i] = c.reseal(keys, v); fresh[i] == nil {
				closed++
			}
		}
		n := 0
		err = l.change(ctx, func(tx *sql.Tx, _ *control) error {
			n = 0
			for i, v := range page {
				if fresh[i] == nil {
					continue
				}
				changed, err := c.replace(ctx, tx, v, fresh[i])
				if err != nil {
					return err
				}
				n += changed
			}
			return nil
		})
		if err != nil {
			return done, closed, err
		}
		done += n
	}
}

// reseal seals a value with the first key; nil where no key opens it.
func (c *sealedColumn) reseal(keys keyring, v sealedValue) any {
	sealed, err := c.decode(v.raw)
	if err != nil {
		return nil
	}
	value, err := keys.Open(nil, nil, sealed, c.place(v.keys))
	if err != nil {
		return nil
	}
	fresh := keys.Seal(nil, nil, value, c.place(v.keys))
	if c.blob {
		return fresh
	}
	return base64.StdEncoding.EncodeToString(fresh)
}

// replace puts a value in place of the one that was read. One that was changed or
// removed since stays so.
func (c *sealedColumn) replace(ctx context.Context, tx *sql.Tx, v sealedValue, fresh any) (int, error) {
	was := any(v.raw)
	if !c.blob {
		was = string(v.raw)
	}
	args := []any{fresh, was}
	query := `UPDATE ` + c.table + ` SET ` + c.column + ` = $1 WHERE ` + c.column + ` = $2`
	for i, k := range c.keys {
		args = append(args, v.keys[i])
		query += fmt.Sprintf(` AND %s = $%d`, k, len(args))
	}
	return affected(tx.ExecContext(ctx, query, args...))
}

// Count is what is known of the keys: how many there are, and the file that
// they come from; empty where they were given.
func (l SealKeys) Count() (n int, path string, err error) {
	keys, err := l.sealer()
	if err != nil || l.sealing.given != "" {
		return len(keys), "", err
	}
	return len(keys), l.sealing.path, nil
}

// ErrKeyFresh is returned for keys that are to be dropped within an hour of a new
// one: an upload that began before may still be sealed with them.
var ErrKeyFresh = errors.New("keys before it are dropped an hour later at the earliest")

// dropAfter is that hour.
const dropAfter = time.Hour

// ErrKeyGiven is returned for a change of keys that are not in the key file.
var ErrKeyGiven = errors.New("the sealing keys come from FILING_SEAL_KEY")

// Add puts a new key before those of the key file: it seals from now on,
// in every process, and those before it open what they have sealed. It returns
// ErrKeyGiven.
func (l SealKeys) Add(ctx context.Context) error {
	if _, err := l.sealer(); err != nil { // makes the first key
		return err
	}
	return l.changeKeys(ctx, func(keys []string) ([]string, error) { return append([]string{newKey()}, keys...), nil })
}

// DropOld removes all keys of the key file but the one that seals. It
// returns ErrKeyGiven, ErrKeyFresh, and ErrSealed where a value is still under one
// of them.
func (l SealKeys) DropOld(ctx context.Context) error {
	if l.sealing.given != "" {
		return ErrKeyGiven
	}
	// The key first, then all that is checked of it: one that comes later is another.
	text, err := readKey(l.sealing.path)
	if err != nil {
		return err
	}
	checked := strings.Fields(text)
	info, err := os.Stat(l.sealing.path)
	switch {
	case err != nil:
		return fmt.Errorf("read the sealing key: %w", err)
	case time.Since(info.ModTime()) < dropAfter:
		return fmt.Errorf("the newest key is from %s: %w", info.ModTime().Format(time.TimeOnly), ErrKeyFresh)
	}
	found, err := l.Check(ctx)
	if err == nil && found.Old > 0 {
		err = fmt.Errorf("%d values are still sealed with an older key: %w", found.Old, ErrSealed)
	}
	if err != nil {
		return err
	}
	return l.changeKeys(ctx, func(keys []string) ([]string, error) {
		if !slices.Equal(keys, checked) {
			return nil, fmt.Errorf("another process changed the keys, so none was dropped: %w", ErrKeyFresh)
		}
		return keys[:1], nil
	})
}

// changeKeys replaces the key file, one process at a time.
func (l SealKeys) changeKeys(ctx context.Context, to func([]string) ([]string, error)) error {
	if l.sealing.given != "" {
		return ErrKeyGiven
	}
	return wrap("change the sealing keys", l.change(ctx, func(*sql.Tx, *control) error {
		text, err := readKey(l.sealing.path)
		if err != nil {
			return err
		}
		keys, err := to(strings.Fields(text))
		if err != nil {
			return err
		}
		content := strings.Join(keys, "\n") + "\n"
		return writeKeys(l.sealing.path, content, func(fresh string) error { return os.Rename(fresh, l.sealing.path) })
	}))
}
