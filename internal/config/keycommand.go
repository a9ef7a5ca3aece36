package config

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

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

// splitCommand splits a command into its words, at spaces that are not quoted. No
// shell runs it, so that nothing in it is expanded: what only a shell understands
// is an error. Within ' ' everything is itself, and within " " everything except \"
// and \\. Elsewhere a backslash quotes the character after it. On Windows, where
// paths have backslashes, they are always themselves.
func splitCommand(text string) ([]string, error) { return splitCommandFor(runtime.GOOS, text) }

func splitCommandFor(goos, text string) ([]string, error) {
	s := splitter{backslash: goos != "windows"}
	for _, r := range text {
		if err := s.read(r); err != nil {
			return nil, err
		}
	}
	switch {
	case s.quote != 0:
		return nil, fmt.Errorf("has a quotation mark (%c) without its end", s.quote)
	case s.escaped:
		return nil, errors.New("ends with a backslash")
	}
	s.end()
	if len(s.words) == 0 || s.words[0] == "" {
		return nil, errors.New("names no command")
	}
	return s.words, nil
}

// joinCommand is the value of the settings file for a command: a text where its
// words need no quotes, else the list of them.
func joinCommand(words []string) any {
	text := strings.Join(words, " ")
	if again, err := splitCommand(text); err == nil && slices.Equal(again, words) {
		return text
	}
	list := make([]any, len(words))
	for i, w := range words {
		list[i] = w
	}
	return list
}

// splitter is the state of splitCommand between two characters.
type splitter struct {
	backslash bool // a backslash quotes the next character
	words     []string
	word      strings.Builder
	began     bool // a word that can be empty, such as ''
	quote     rune // ' or " where one is open; 0 elsewhere
	escaped   bool // the last character was a backslash
}

func (s *splitter) end() {
	if s.began {
		s.words = append(s.words, s.word.String())
	}
	s.word.Reset()
	s.began = false
}

func (s *splitter) add(r rune) {
	s.began = true
	s.word.WriteRune(r)
}

func (s *splitter) read(r rune) error {
	switch {
	case s.escaped:
		if s.quote == '"' && r != '"' && r != '\\' {
			s.add('\\')
		}
		s.escaped = false
		s.add(r)
	case r == '\\' && s.quote != '\'' && s.backslash:
		s.escaped, s.began = true, true
	case s.quote != 0 && r == s.quote:
		s.quote = 0
	case s.quote != 0:
		s.add(r)
	case r == '\'' || r == '"':
		s.quote, s.began = r, true
	case r == ' ' || r == '\t' || r == '\n' || r == '\r':
		s.end()
	case strings.ContainsRune("|&;<>$`()", r):
		return fmt.Errorf("has %c, but no shell runs it: quote it, or name the shell, such as sh -c '…'", r)
	default:
		s.add(r)
	}
	return nil
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
