//go:build !windows

package main

// startedByExplorer is for Windows.
func startedByExplorer() bool { return false }
