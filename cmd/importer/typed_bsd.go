//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// inputQueue is FREAD of sys/fcntl.h: the input queue.
const inputQueue = 1

// dropTyped discards what was typed at a terminal and not read yet.
func dropTyped(terminal *os.File) error {
	return unix.IoctlSetPointerInt(int(terminal.Fd()), unix.TIOCFLUSH, inputQueue)
}
