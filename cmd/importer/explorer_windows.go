package main

import "github.com/inconshreveable/mousetrap"

// startedByExplorer reports whether a person clicked on the program.
func startedByExplorer() bool { return mousetrap.StartedByExplorer() }
