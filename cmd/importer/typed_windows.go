package main

import (
	"os"

	"golang.org/x/sys/windows"
)

// dropTyped discards what was typed at a console and not read yet.
func dropTyped(console *os.File) error {
	return windows.FlushConsoleInputBuffer(windows.Handle(console.Fd()))
}
