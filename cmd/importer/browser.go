package main

import (
	"context"
	"fmt"
	"html"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/inconshreveable/mousetrap"
)

// openedLife is how long the file that leads the browser to the sign-in link stays.
const openedLife = time.Minute

// openedFile is that file where the data folder is hidden: a sandboxed browser, such
// as one of snap, reads no hidden folder.
const openedFile = "bulkfiling-sign-in.html"

// onDesktop reports whether a person sits at this computer, as far as can be told:
// not in a container, on CI, or at the other end of SSH.
func (a *app) onDesktop() bool {
	if a.getenv("CI") != "" || a.getenv("SSH_CONNECTION") != "" || a.getenv("KUBERNETES_SERVICE_HOST") != "" ||
		a.getenv("container") != "" || exists("/.dockerenv") || exists("/run/.containerenv") {
		return false
	}
	switch runtime.GOOS {
	case "windows", "darwin":
		return true
	}
	return a.getenv("DISPLAY") != "" || a.getenv("WAYLAND_DISPLAY") != ""
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
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
	if !a.onDesktop() {
		return false
	}
	if runtime.GOOS == "darwin" { // Finder opens a terminal with the path of the program
		home, err := os.UserHomeDir()
		dir, wrong := os.Getwd()
		return err == nil && wrong == nil && a.getenv("TERM_PROGRAM") == "Apple_Terminal" && dir == home &&
			filepath.IsAbs(os.Args[0])
	}
	for _, stream := range []any{a.in, a.out, a.err} {
		f, ok := stream.(*os.File)
		if !ok || a.terminal(f) {
			return false
		}
		if info, err := f.Stat(); err != nil || info.Mode()&fs.ModeNamedPipe != 0 || info.Mode().IsRegular() {
			return false // a program or a file takes what is printed
		}
	}
	return true
}

// openBrowser opens the browser at the sign-in link, or at the page if there is
// none. It returns the function that removes what it left.
func (a *app) openBrowser(ctx context.Context, p *page, in invitation) (remove func(), err error) {
	remove = func() {}
	address := in.page
	if in.link != "" {
		address = in.link
	}
	if showsArguments(runtime.GOOS) && in.link != "" {
		if address, err = p.writeOpened(in.link); err != nil {
			return remove, err
		}
		remove = func() { _ = os.Remove(address) } // the link in it works once
	}
	c := openCommand(runtime.GOOS, address)
	if err := c.Start(); err != nil {
		remove()
		return func() {}, fmt.Errorf("open the browser: %w", err)
	}
	go func() { _ = c.Wait() }() // some wait for the browser to end
	timer := time.AfterFunc(openedLife, remove)
	context.AfterFunc(ctx, func() { timer.Stop() })
	return remove, nil
}

// showsArguments reports whether other users see the arguments of the command that
// opens the browser, where the link would be. A file hides it then.
func showsArguments(goos string) bool { return goos != "windows" && goos != "darwin" }

// openCommand is the command of a system that opens an address or a file in the
// browser.
func openCommand(goos, address string) *exec.Cmd {
	switch goos {
	case "windows":
		return exec.Command("rundll32", "url.dll,FileProtocolHandler", address)
	case "darwin":
		// The link is a secret, and other users see the arguments of a command.
		c := exec.Command("osascript", "-")
		c.Stdin = strings.NewReader(fmt.Sprintf("open location %q\n", address))
		return c
	}
	return exec.Command("xdg-open", address)
}

// writeOpened writes a file that only the user can read and that leads a browser to
// the link: other users see the arguments of a command.
func (p *page) writeOpened(link string) (string, error) {
	path := filepath.Join(p.env.LinkDir(), openedFile)
	if home := p.app.getenv("HOME"); home != "" && strings.Contains(path, string(filepath.Separator)+".") {
		path = filepath.Join(home, openedFile)
	}
	return path, writeLink(path, `<!doctype html><meta charset="utf-8"><title>Bulkfiling</title>`+
		`<meta http-equiv="refresh" content="0;url=`+html.EscapeString(link)+`">`)
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
