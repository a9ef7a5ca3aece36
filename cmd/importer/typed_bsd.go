//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// inputQueue is FREAD in sys/fcntl.h. It selects the input queue.
const inputQueue = 1

// dropTyped discards terminal input that was typed and not yet read.
func dropTyped(terminal *os.File) error {
	return unix.IoctlSetPointerInt(int(terminal.Fd()), unix.TIOCFLUSH, inputQueue)
}
