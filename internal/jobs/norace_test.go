//go:build !race

package jobs_test

// slowdown is how much longer an answer may take under the race detector.
const slowdown = 1
