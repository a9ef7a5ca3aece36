package config

import (
	"log/slog"
	"math"
	"os"
	"runtime/debug"
	"testing"
)

func TestLimitMemory(t *testing.T) {
	was := debug.SetMemoryLimit(math.MaxInt64)
	defer debug.SetMemoryLimit(was)
	log := slog.New(slog.DiscardHandler)
	t.Setenv("GOMEMLIMIT", "300MiB")
	LimitMemory(log)
	if got := debug.SetMemoryLimit(-1); got != math.MaxInt64 {
		t.Errorf("GOMEMLIMIT does not win: %d", got)
	}
	if err := os.Unsetenv("GOMEMLIMIT"); err != nil { // Setenv puts back what was there
		t.Fatal(err)
	}
	LimitMemory(log)
	if got := debug.SetMemoryLimit(-1); got <= 0 || got == math.MaxInt64 {
		t.Errorf("no limit is set: %d", got)
	}
}

func TestSpendMemory(t *testing.T) {
	was, limit := debug.SetGCPercent(100), debug.SetMemoryLimit(math.MaxInt64)
	defer debug.SetMemoryLimit(limit)
	defer debug.SetGCPercent(was)
	t.Setenv("GOGC", "50")
	t.Setenv("GOMEMLIMIT", "")
	SpendMemory()
	if got, limit := debug.SetGCPercent(100), debug.SetMemoryLimit(-1); got != 100 || limit != spareMemory {
		t.Errorf("garbage is collected at %d %%, memory is limited to %d", got, limit)
	}
}
