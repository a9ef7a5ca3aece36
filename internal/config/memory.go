package config

import (
	"log/slog"
	"os"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

// memoryShare is how much of what its container may have a server uses before
// the garbage collector works harder: the rest is for stacks, and for what is
// freed a moment too late.
const memoryShare = 0.85

// LimitMemory keeps a server below the memory of its container, or else of its
// machine. GOMEMLIMIT wins. The limit is soft: what a single spreadsheet can
// take is bounded by package sheet.
func LimitMemory(log *slog.Logger) {
	if set := os.Getenv("GOMEMLIMIT"); set != "" {
		log.Info("memory limit set", "GOMEMLIMIT", set) // by the runtime
		return
	}
	limit, err := memlimit.Set(
		memlimit.WithRatio(memoryShare),
		memlimit.WithProvider(memlimit.ApplyFallback(memlimit.FromCgroup, memlimit.FromSystem)),
	)
	if err != nil {
		log.Warn("no memory limit is set", "err", err)
		return
	}
	log.Info("memory limit set", "bytes", limit)
}
