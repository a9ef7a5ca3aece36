package config

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/google/shlex"
	"golang.org/x/term"

	"github.com/bulkfiling/bulkfiling/internal/secret"
)

// keyCommandTimeout is how long a person has to unlock what the command asks.
var keyCommandTimeout = 2 * time.Minute

// printedKeys are the keys that commands printed, by the command. A command runs once in a
// process: it may ask its person something.
var printedKeys sync.Map

// runKeyCommand runs a command that prints the API key on one line. It is split into words as a
// shell does, and no shell runs it. Its output is in no error: what goes wrong may still have
// printed the key.
func runKeyCommand(command string) (secret.Value, error) {
	if key, ok := printedKeys.Load(command); ok {
		return key.(secret.Value), nil
	}
	words, err := shlex.Split(command)
	if err != nil || len(words) == 0 {
		return secret.Value{}, fmt.Errorf("key_command cannot be split into words: %s", command)
	}
	ctx, cancel := context.WithTimeout(context.Background(), keyCommandTimeout)
	defer cancel()
	c := exec.CommandContext(ctx, words[0], words[1:]...)
	c.WaitDelay = time.Second
	if term.IsTerminal(int(os.Stdin.Fd())) {
		c.Stdin, c.Stderr = os.Stdin, os.Stderr
	}
	out, err := c.Output()
	key := strings.TrimSpace(string(out))
	switch {
	case ctx.Err() != nil:
		return secret.Value{}, fmt.Errorf("the command %s did not end within %s", words[0], keyCommandTimeout)
	case err != nil:
		return secret.Value{}, fmt.Errorf("the command %s failed: %w", words[0], err)
	case key == "" || strings.ContainsAny(key, "\r\n"):
		return secret.Value{}, fmt.Errorf("the command %s must print the API key on one line, and nothing else",
			words[0])
	}
	printedKeys.Store(command, secret.New(key))
	return secret.New(key), nil
}
