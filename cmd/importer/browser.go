package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/inconshreveable/mousetrap"
)

// isDesktop reports whether a browser can be opened for the person at this computer. This is not
// the case on CI or over SSH. It is limited to Windows and macOS, because on other systems other
// users see the arguments of the command, which would include the sign-in link.
func isDesktop(getenv func(string) string) bool {
	return (runtime.GOOS == "windows" || runtime.GOOS == "darwin") && getenv("CI") == "" &&
		getenv("SSH_CONNECTION") == ""
}

// clickedOn reports whether the program was started by a double click. It then has no arguments,
// and was not started from a shell or a script.
func clickedOn(args []string) bool {
	if len(args) > 0 {
		return false
	}
	// StartedByExplorer is false on other systems than Windows.
	if mousetrap.StartedByExplorer() {
		return true
	}
	// Finder opens a terminal in the home folder with the path of the program.
	home, err := os.UserHomeDir()
	dir, wrong := os.Getwd()
	return runtime.GOOS == "darwin" && err == nil && wrong == nil && dir == home && filepath.IsAbs(os.Args[0]) &&
		os.Getenv("TERM_PROGRAM") == "Apple_Terminal"
}

// openCommand returns the command of Windows or macOS that opens a link in the browser.
func openCommand(goos, link string) *exec.Cmd {
	if goos == "windows" {
		return exec.Command("rundll32", "url.dll,FileProtocolHandler", link)
	}
	// Pass the link on stdin, because it is a secret and other users see the arguments of a
	// command.
	c := exec.Command("osascript", "-")
	c.Stdin = strings.NewReader(fmt.Sprintf("open location %q\n", link))
	return c
}

// waitForClose keeps the window of a double click open so that a person can read an error. On
// Windows the window closes with the program.
func waitForClose(t *terminal) {
	if runtime.GOOS == "windows" {
		t.say("Press Enter to close this window.")
		var line string
		// Any input closes the window.
		_, _ = fmt.Fscanln(t.in, &line)
	}
}
