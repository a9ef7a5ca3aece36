package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// dropTyped discards terminal input that was typed and not yet read.
func dropTyped(terminal *os.File) error {
	return unix.IoctlSetInt(int(terminal.Fd()), unix.TCFLSH, unix.TCIFLUSH)
}
