package config

import (
	"log/slog"
	"os"
	"runtime/debug"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

// memoryShare is the share of the container's memory that a server uses before the
// garbage collector works harder. The rest is for stacks and for memory that is
// freed late.
const memoryShare = 0.85

// Of a process: garbage of up to four times what is in use is collected together,
// which costs a tenth less processor time for each order, up to the memory that a
// machine can always spare.
const (
	garbagePercent = 400
	spareMemory    = 200 << 20
)

// SpendMemory lets a process spend memory to save processor time. GOGC and GOMEMLIMIT
// win.
func SpendMemory() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(garbagePercent)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(spareMemory)
	}
}

// LimitMemory keeps a server below the memory of its container, or of its machine
// without one. GOMEMLIMIT wins. The limit is soft; package sheet bounds the memory
// of a single spreadsheet.
func LimitMemory(log *slog.Logger) {
	if set := os.Getenv("GOMEMLIMIT"); set != "" {
		log.Info("memory limit set", "gomemlimit", set) // by the runtime
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
