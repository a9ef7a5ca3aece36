package main

import (
	"os"

	"golang.org/x/sys/windows"
)

// dropTyped discards console input that was typed and not yet read.
func dropTyped(console *os.File) error {
	return windows.FlushConsoleInputBuffer(windows.Handle(console.Fd()))
}
