//go:build !race

package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/sheettest"
)

// What no file of less than a megabyte makes a command use.
const (
	hostileMemory = 300 << 10 // KiB
	hostileTime   = 5 * time.Second
)

// hostileSample: one hostile file of so many is measured, unless
// HOSTILE_FILES=all. All of them take half a minute.
const hostileSample = 5

// TestHostileFilesCostLittle checks hostile files as a user does, each in a
// process of its own, and measures that: its largest size in memory, and the
// time of all its processors.
func TestHostileFilesCostLittle(t *testing.T) {
	if testing.Short() {
		t.Skip("skipping a test of time in short mode")
	}
	dir := t.TempDir()
	for i, hostile := range sheettest.Files() {
		if os.Getenv("HOSTILE_FILES") != "all" && i%hostileSample != 0 {
			continue
		}
		t.Run(hostile.Name, func(t *testing.T) {
			path := filepath.Join(dir, hostile.Name)
			must(t, os.WriteFile(path, hostile.Bytes(), 0o600))
			defer os.Remove(path)
			c := exec.CommandContext(t.Context(), "importer", "check", path, "-o",
				filepath.Join(t.TempDir(), "checked.xlsx"))
			c.Env = append(os.Environ(), "FILING_DATA_DIR="+t.TempDir())
			said, err := c.CombinedOutput()
			if exited := new(exec.ExitError); err != nil &&
				(!errors.As(err, &exited) || exited.ExitCode() < 0 || exited.ExitCode() > 2) {
				t.Fatalf("%v\n%.2000s", err, said)
			}
			state := c.ProcessState
			used := state.SysUsage().(*syscall.Rusage)
			took := state.UserTime() + state.SystemTime()
			t.Logf("%d MB, %.1f s", used.Maxrss>>10, took.Seconds())
			if used.Maxrss > hostileMemory || took > hostileTime {
				t.Errorf("%d MB in memory, %s of processor time\n%.500s", used.Maxrss>>10, took, said)
			}
		})
	}
}
