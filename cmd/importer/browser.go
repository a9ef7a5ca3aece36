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

// onDesktop reports whether a browser can be opened for the person at this computer:
// not on CI, or at the other end of SSH. On other systems than Windows and macOS other
// users see the arguments of the command, where the sign-in link would be.
func (a *app) onDesktop() bool {
	return (runtime.GOOS == "windows" || runtime.GOOS == "darwin") && a.getenv("CI") == "" &&
		a.getenv("SSH_CONNECTION") == ""
}

// clickedOn reports whether the program was started by a double click: without
// arguments, and not from a shell or a script.
func (a *app) clickedOn(args []string) bool {
	if len(args) > 0 {
		return false
	}
	if mousetrap.StartedByExplorer() { // false on other systems than Windows
		return true
	}
	if runtime.GOOS != "darwin" {
		return false
	}
	home, err := os.UserHomeDir() // Finder opens a terminal there with the path of the program
	dir, wrong := os.Getwd()
	return err == nil && wrong == nil && a.getenv("TERM_PROGRAM") == "Apple_Terminal" && dir == home &&
		filepath.IsAbs(os.Args[0])
}

// openCommand is the command of Windows or macOS that opens a link in the browser.
func openCommand(goos, link string) *exec.Cmd {
	if goos == "windows" {
		return exec.Command("rundll32", "url.dll,FileProtocolHandler", link)
	}
	// The link is a secret, and other users see the arguments of a command.
	c := exec.Command("osascript", "-")
	c.Stdin = strings.NewReader(fmt.Sprintf("open location %q\n", link))
	return c
}

// waitForClose keeps the window open in which a person reads an error: that of a
// double click closes with the program.
func (a *app) waitForClose() {
	if runtime.GOOS == "windows" && a.clicked {
		a.say("Press Enter to close this window.")
		var line string
		_, _ = fmt.Fscanln(a.in, &line) // whatever was pressed
	}
}
