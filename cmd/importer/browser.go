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

// onDesktop reports whether a browser can be opened for the person at this computer. This is not
// the case on CI or over SSH. It is limited to Windows and macOS, because on other systems other
// users see the arguments of the command, which would include the sign-in link.
func (a *app) onDesktop() bool {
	return (runtime.GOOS == "windows" || runtime.GOOS == "darwin") && a.getenv("CI") == "" &&
		a.getenv("SSH_CONNECTION") == ""
}

// clickedOn reports whether the program was started by a double click. It then has no arguments,
// and was not started from a shell or a script.
func (a *app) clickedOn(args []string) bool {
	if len(args) > 0 {
		return false
	}
	// StartedByExplorer is false on other systems than Windows.
	if mousetrap.StartedByExplorer() {
		return true
	}
	if runtime.GOOS != "darwin" {
		return false
	}
	// Finder opens a terminal in the home folder with the path of the program.
	home, err := os.UserHomeDir()
	dir, wrong := os.Getwd()
	return err == nil && wrong == nil && a.getenv("TERM_PROGRAM") == "Apple_Terminal" && dir == home &&
		filepath.IsAbs(os.Args[0])
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

// waitForClose keeps the window open so that a person can read an error. The window of a double
// click closes with the program.
func (a *app) waitForClose() {
	if runtime.GOOS == "windows" && a.clicked {
		a.say("Press Enter to close this window.")
		var line string
		// Any input closes the window.
		_, _ = fmt.Fscanln(a.in, &line)
	}
}
