//go:build race

package webhook_test

// racing is whether the race detector is on: it makes SQLite ten times slower.
const racing = true
