package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// dropTyped discards what was typed at a terminal and not read yet.
func dropTyped(terminal *os.File) error {
	return unix.IoctlSetInt(int(terminal.Fd()), unix.TCFLSH, unix.TCIFLUSH)
}
