//go:build !race

package webhook_test

const racing = false
