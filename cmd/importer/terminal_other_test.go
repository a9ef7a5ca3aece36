//go:build !linux

package main

import "github.com/rogpeppe/go-internal/testscript"

func presses(ts *testscript.TestScript, _ bool, _ []string) { ts.Fatalf("presses needs Linux") }
