package main

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"github.com/rogpeppe/go-internal/testscript"
)

// presses runs a command at a terminal of its own, waits until it asks, presses
// keys (^C is what it is at any terminal, + is Enter) and Enter, and wants an
// exit status and a terminal that still shows what is typed. The command's
// output is that of the script.
//
//	presses 130 '[y/N] ' ^C importer run roster.csv
//
// With -ahead other keys were pressed before the command began. With -then there is
// another question after the first. With -hidden the terminal shows no key.
//
//	presses -ahead y 3 '[y/N] ' n importer run roster.csv
//	presses -then '[y/N] ' y 0 'API key' sk_live_1 importer setup
func presses(ts *testscript.TestScript, neg bool, args []string) {
	ahead, hidden := "", false
	var later []step
	for len(args) > 2 && strings.HasPrefix(args[0], "-") {
		switch args[0] {
		case "-ahead":
			ahead, args = args[1]+"\n", args[2:]
		case "-then":
			later, args = append(later, newStep(args[1], args[2])), args[3:]
		case "-hidden":
			hidden, args = true, args[1:]
		default:
			ts.Fatalf("presses has no option %s", args[0])
		}
	}
	if neg || len(args) < 4 {
		ts.Fatalf("usage: presses [-ahead KEYS] [-then QUESTION KEYS]... [-hidden] STATUS QUESTION KEYS command " +
			"[argument...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	steps := append([]step{newStep(args[1], args[2])}, later...)
	keyboard, terminal, err := openTerminal()
	ts.Check(err)
	defer keyboard.Close()
	defer terminal.Close()
	_, err = keyboard.WriteString(ahead)
	ts.Check(err)
	cmd := scriptCommand(ts, args[3:])
	said := &asked{steps: steps}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = terminal, ts.Stdout(), said
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 0}
	ts.Check(cmd.Start())
	defer cmd.Process.Kill() // of no effect where it has ended
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for _, s := range steps {
		select {
		case <-s.seen:
		case err := <-ended:
			ts.Fatalf("it ended and never asked %s: %v\n%s", s.question, err, said.text())
		case <-time.After(testTimeout):
			ts.Fatalf("it never asked %s\n%s", s.question, said.text())
		}
		_, err = keyboard.WriteString(s.keys)
		ts.Check(err)
	}
	select {
	case err := <-ended:
		if got := exitStatus(ts, err); got != want {
			ts.Fatalf("exit status %d, want %d\n%s", got, want, said.text())
		}
	case <-time.After(testTimeout):
		ts.Fatalf("it goes on after %s\n%s", args[2], said.text())
	}
	fmt.Fprint(ts.Stderr(), said.text())
	if shown := shownBy(keyboard); hidden && shown != "" {
		ts.Fatalf("the terminal shows %q", shown)
	}
	var state syscall.Termios
	ts.Check(control(terminal, syscall.TCGETS, unsafe.Pointer(&state)))
	if state.Lflag&syscall.ECHO == 0 {
		ts.Fatalf("the terminal no longer shows what is typed")
	}
}

// shownBy is what a terminal shows of the keys that were pressed.
func shownBy(keyboard *os.File) string {
	fd := int(keyboard.Fd())
	shown := make([]byte, 4096)
	if err := syscall.SetNonblock(fd, true); err != nil {
		return err.Error()
	}
	n, err := syscall.Read(fd, shown)
	if err != nil {
		return "" // EAGAIN: nothing
	}
	return string(shown[:n])
}

// step is a question and the keys that answer it.
type step struct {
	question []byte
	keys     string
	seen     chan struct{}
}

func newStep(question, keys string) step {
	s := step{[]byte(question), strings.ReplaceAll(keys, "+", "\r") + "\r", make(chan struct{})}
	if keys == "^C" {
		s.keys = "\x03"
	}
	return s
}

// asked is what a command says, and the moments of its questions.
type asked struct {
	steps []step // that are still to come

	mu   sync.Mutex
	said []byte
	from int // where the next question is looked for
}

func (a *asked) Write(p []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.said = append(a.said, p...)
	for len(a.steps) > 0 {
		at := bytes.Index(a.said[a.from:], a.steps[0].question)
		if at < 0 {
			break
		}
		a.from += at + len(a.steps[0].question)
		close(a.steps[0].seen)
		a.steps = a.steps[1:]
	}
	return len(p), nil
}

func (a *asked) text() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return string(a.said)
}

// openTerminal makes a terminal and what its keys go into.
func openTerminal() (keyboard, terminal *os.File, err error) {
	keyboard, err = os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		return nil, nil, err
	}
	var unlock, number int32
	err = control(keyboard, syscall.TIOCSPTLCK, unsafe.Pointer(&unlock))
	if err == nil {
		err = control(keyboard, syscall.TIOCGPTN, unsafe.Pointer(&number))
	}
	if err == nil {
		terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	}
	if err != nil {
		keyboard.Close()
	}
	return keyboard, terminal, err
}

func control(f *os.File, request uintptr, value unsafe.Pointer) error {
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), request, uintptr(value)); errno != 0 {
		return errno
	}
	return nil
}
