//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// inputQueue is FREAD of sys/fcntl.h: the queue of what was typed.
const inputQueue = 1

// dropTyped throws away what was typed at a terminal and not read yet.
func dropTyped(terminal *os.File) error {
	return unix.IoctlSetPointerInt(int(terminal.Fd()), unix.TIOCFLUSH, inputQueue)
}
