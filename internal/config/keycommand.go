package config

import (
	"bytes"
	"context"
	"errors"
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

// maxKeyOutput is the most that a command prints: a key is one line.
const maxKeyOutput = 64 << 10

// readKeyCommand runs the command that prints the API key.
func (l layers) readKeyCommand() (secret.Value, error) {
	if len(l.settings.key) == 0 || l.ignores("FILING_API_KEY") {
		return secret.Value{}, nil
	}
	key, err := runKeyCommand(l.settings.key)
	if err != nil {
		return secret.Value{}, fmt.Errorf("%s of the settings file %s: %w", keyCommand, l.settings.path, err)
	}
	return secret.New(key), nil
}

// parseCommandSetting reads a command of the settings file: a text, which
// splitCommand splits, or a list of words.
func parseCommandSetting(value any) ([]string, error) {
	list, ok := value.([]any)
	if !ok {
		text, err := settingText(value)
		if err != nil || text == "" {
			return nil, err
		}
		return splitCommand(text)
	}
	words := make([]string, len(list))
	for i, w := range list {
		word, ok := w.(string)
		if !ok {
			return nil, errors.New("must be a text, or a list of texts")
		}
		words[i] = word
	}
	if len(words) > 0 && words[0] == "" {
		return nil, errors.New("names no command")
	}
	return words, nil
}

// splitCommand splits a command into words as a shell does. No shell runs it, so
// that nothing in it is expanded.
func splitCommand(text string) ([]string, error) {
	words, err := shlex.Split(text)
	switch {
	case err != nil:
		return nil, fmt.Errorf("cannot be split into words: %w", err)
	case len(words) == 0 || words[0] == "":
		return nil, errors.New("names no command")
	}
	return words, nil
}

// printed are the keys that commands printed. A command runs once in a process: it
// may ask its person something.
var printed struct {
	sync.Mutex
	keys map[string]string
}

// runKeyCommand runs a command without a shell and returns what it prints, without
// the space around it. It can ask a person at the terminal. Its output is in no
// error and no log: what goes wrong may still have printed the key.
func runKeyCommand(words []string) (string, error) {
	printed.Lock()
	defer printed.Unlock()
	id := strings.Join(words, "\x00")
	if key := printed.keys[id]; key != "" {
		return key, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), keyCommandTimeout)
	defer cancel()
	var out capped
	c := exec.CommandContext(ctx, words[0], words[1:]...)
	c.Stdout = &out
	if term.IsTerminal(int(os.Stdin.Fd())) {
		c.Stdin = os.Stdin
	}
	if term.IsTerminal(int(os.Stderr.Fd())) {
		c.Stderr = os.Stderr // its questions; elsewhere stderr is a log
	}
	c.WaitDelay = time.Second
	err := c.Run()
	key := strings.TrimSpace(out.kept.String())
	switch {
	case ctx.Err() != nil:
		return "", fmt.Errorf("the command %s did not end within %s", words[0], keyCommandTimeout)
	case err != nil:
		return "", fmt.Errorf("the command %s failed: %w", words[0], err)
	case key == "":
		return "", fmt.Errorf("the command %s printed no API key", words[0])
	case out.full || strings.ContainsAny(key, "\r\n"):
		return "", fmt.Errorf("the command %s must print the API key on one line, and nothing else", words[0])
	}
	if printed.keys == nil {
		printed.keys = make(map[string]string)
	}
	printed.keys[id] = key
	return key, nil
}

// capped keeps the beginning of an output.
type capped struct {
	kept bytes.Buffer
	full bool
}

func (c *capped) Write(p []byte) (int, error) {
	if room := maxKeyOutput - c.kept.Len(); len(p) > room {
		c.full = true
		c.kept.Write(p[:room])
		return len(p), nil
	}
	return c.kept.Write(p)
}
