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
// With -ahead other keys were pressed before the command began.
//
//	presses -ahead y 3 '[y/N] ' n importer run roster.csv
func presses(ts *testscript.TestScript, neg bool, args []string) {
	ahead := ""
	if len(args) > 1 && args[0] == "-ahead" {
		ahead, args = args[1]+"\n", args[2:]
	}
	if neg || len(args) < 4 {
		ts.Fatalf("usage: presses [-ahead KEYS] STATUS QUESTION KEYS command [argument...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	keys := strings.ReplaceAll(args[2], "+", "\r") + "\r"
	if args[2] == "^C" {
		keys = "\x03"
	}
	keyboard, terminal, err := openTerminal()
	ts.Check(err)
	defer keyboard.Close()
	defer terminal.Close()
	_, err = keyboard.WriteString(ahead)
	ts.Check(err)
	cmd := scriptCommand(ts, args[3:])
	said := &asked{question: []byte(args[1]), seen: make(chan struct{})}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = terminal, ts.Stdout(), said
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 0}
	ts.Check(cmd.Start())
	defer cmd.Process.Kill() // of no effect where it has ended
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case <-said.seen:
	case err := <-ended:
		ts.Fatalf("it ended and never asked: %v\n%s", err, said.text())
	case <-time.After(patience):
		ts.Fatalf("it never asked\n%s", said.text())
	}
	_, err = keyboard.WriteString(keys)
	ts.Check(err)
	select {
	case err := <-ended:
		if got := exitStatus(ts, err); got != want {
			ts.Fatalf("exit status %d, want %d\n%s", got, want, said.text())
		}
	case <-time.After(patience):
		ts.Fatalf("it goes on after %s\n%s", args[2], said.text())
	}
	fmt.Fprint(ts.Stderr(), said.text())
	var state syscall.Termios
	ts.Check(control(terminal, syscall.TCGETS, unsafe.Pointer(&state)))
	if state.Lflag&syscall.ECHO == 0 {
		ts.Fatalf("the terminal no longer shows what is typed")
	}
}

// asked is what a command says, and the moment of its question.
type asked struct {
	question []byte
	seen     chan struct{}

	mu   sync.Mutex
	said []byte
	once sync.Once
}

func (a *asked) Write(p []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.said = append(a.said, p...)
	if bytes.Contains(a.said, a.question) {
		a.once.Do(func() { close(a.seen) })
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
