package ledger

import (
	"context"
	"fmt"
	"sync"
)

// derived keeps a value that is computed from the rows, and takes long with many of
// them, until the next commit.
type derived[T any] struct {
	mu      sync.Mutex
	version string // of the ledger when the value was computed; "" for none
	value   T
}

// get returns the value as of a control row, or a later one.
func (d *derived[T]) get(c *control, compute func() (T, error)) (T, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if version := c.version(); d.version != version {
		value, err := compute()
		if err != nil {
			return value, err
		}
		d.version, d.value = version, value
	}
	return d.value, nil
}

// version names a state of the ledger: it differs after each commit, and if the ledger
// went back in time.
func (c *control) version() string {
	return fmt.Sprintf("%s %d", c.lineage, c.commits)
}

// Version names the present state of the ledger: what was computed from its rows is
// right as long as it is the same.
func (l Fleet) Version(ctx context.Context) (string, error) {
	c, err := l.readControl(ctx, l.read)
	if err != nil {
		return "", err
	}
	return c.version(), nil
}
