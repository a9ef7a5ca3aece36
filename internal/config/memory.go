package config

import (
	"log/slog"
	"os"
	"runtime/debug"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

// memoryShare is the share of the container's memory at which a server's garbage collector starts
// to work harder. The rest is for stacks and for memory that is freed late.
const memoryShare = 0.85

// A process lets garbage grow to four times the live heap, which saves a tenth of the processor time
// of each order. spareMemory is in bytes and limits the memory. Every machine can spare as much.
const (
	garbagePercent = 400
	spareMemory    = 200 << 20
)

// SpendMemory makes a process use more memory to save processor time. GOGC and GOMEMLIMIT override
// it.
func SpendMemory() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(garbagePercent)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(spareMemory)
	}
}

// LimitMemory keeps a server below the memory of its container, or of its machine if there is no
// container. GOMEMLIMIT overrides it. The limit is soft. Package sheet limits the memory of a
// single spreadsheet.
func LimitMemory(log *slog.Logger) {
	if set := os.Getenv("GOMEMLIMIT"); set != "" {
		log.Info("memory limit set", "gomemlimit", set) // the runtime has set it
		return
	}
	limit, err := memlimit.Set(memlimit.WithRatio(memoryShare),
		memlimit.WithProvider(memlimit.ApplyFallback(memlimit.FromCgroup, memlimit.FromSystem)))
	if err != nil {
		log.Warn("no memory limit is set", "err", err)
		return
	}
	log.Info("memory limit set", "bytes", limit)
}
