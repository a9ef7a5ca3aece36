package ledger

import (
	"context"
	"fmt"
	"sync"
)

// derived caches a value that is computed from the rows until the next commit, because the
// computation is slow if there are many rows.
type derived[T any] struct {
	mu sync.Mutex
	// version is the version of the ledger when the value was computed. Empty until then.
	version string
	value   T
}

// get returns the value as of a control row or a later one.
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

// version identifies a state of the ledger. It changes with each commit, and if the ledger goes
// back in time.
func (c *control) version() string {
	return fmt.Sprintf("%s %d", c.lineage, c.commits)
}

// Version identifies the current state of the ledger. A value that was computed from its rows is
// valid as long as the version stays the same.
func (l Fleet) Version(ctx context.Context) (string, error) {
	c, err := l.readControl(ctx, l.Read)
	if err != nil {
		return "", err
	}
	return c.version(), nil
}
