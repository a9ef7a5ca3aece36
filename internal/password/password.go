// Package password refuses passwords that are easy to guess.
package password

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Bounds of a password, in characters.
const (
	Min = 12
	Max = 1000
)

// ErrWeak is returned for a password that is not accepted; the error around it
// says why, and what to do.
var ErrWeak = errors.New("the password is not accepted")

// The bits that a password needs against someone who knows common passwords, words,
// names, dates and keyboards: as it is, and without the characters between its words.
// They are the scores 3 and 2 of zxcvbn: a million and ten thousand seconds at ten
// thousand guesses a second, half of them in vain.
const (
	enough     = 34.22
	enoughBare = 27.58
)

const (
	looked      = 64 // characters that are estimated: the work grows with their square
	minLeft     = 8  // characters beside the words that everybody knows
	minDistinct = 5
	minWord     = 3
)

// product are words that come to everybody's mind here.
var product = []string{"bulkfiling", "bulk", "filing", "filings", "importer", "annual", "report", "registered",
	"agent", "accounting"}

// Check refuses a password that is short, repeats itself, is made of common
// passwords, words and patterns, or of words that belong to its context: names of
// the account, the firm, the product and the host. It returns ErrWeak. What it
// says never repeats the password.
func Check(password string, context ...string) error {
	switch n := utf8.RuneCountInString(password); {
	case n < Min:
		return fmt.Errorf("%w: it has fewer than %d characters. Several unrelated words make a good one", ErrWeak, Min)
	case n > Max:
		return fmt.Errorf("%w: it has more than %d characters", ErrWeak, Max)
	}
	plain := shortened(norm.NFKC.String(password))
	bare := strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, plain)
	if repeats(strings.ToLower(plain)) || repeats(bare) {
		return fmt.Errorf("%w: it repeats itself. Use several unrelated words, or a password manager", ErrWeak)
	}
	words := wordsOf(slices.Concat(product, context))
	left := plain
	for _, word := range words {
		left = without(left, word)
	}
	if left != plain && utf8.RuneCountInString(left) < minLeft {
		return fmt.Errorf(
			"%w: little of it is not the name of a person, the firm, this product or its address. Use several "+
				"unrelated words, or a password manager", ErrWeak)
	}
	for text, bits := range map[string]float64{plain: enough, bare: enoughBare} {
		if text != "" && estimate(text, words) < bits {
			return fmt.Errorf(
				"%w: it is made of common passwords, words or patterns that are tried first. Use several unrelated "+
					"words, or a password manager", ErrWeak)
		}
	}
	return nil
}

func shortened(text string) string {
	if runes := []rune(text); len(runes) > looked {
		return string(runes[:looked])
	}
	return text
}

// repeats reports whether a text is one part again and again, or hardly has
// different characters.
func repeats(text string) bool {
	runes := []rune(text)
	distinct := make(map[rune]bool)
	for _, r := range runes {
		distinct[r] = true
	}
	if len(runes) > 0 && len(distinct) < minDistinct {
		return true
	}
	for size := 1; size <= len(runes)/2; size++ {
		same := true
		for i := size; i < len(runes) && same; i++ {
			same = runes[i] == runes[i-size]
		}
		if same {
			return true
		}
	}
	return false
}

// wordsOf lists the words of texts that are likely in a password, each once, long
// ones first.
func wordsOf(texts []string) []string {
	seen := make(map[string]bool)
	var words []string
	add := func(word string) {
		if word = strings.ToLower(norm.NFKC.String(word)); utf8.RuneCountInString(word) >= minWord && !seen[word] {
			seen[word] = true
			words = append(words, word)
		}
	}
	for _, text := range texts {
		parts := strings.FieldsFunc(text,
			func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsMark(r) && !unicode.IsDigit(r) })
		if len(parts) < 6 {
			add(strings.Join(parts, ""))
		}
		for _, part := range parts {
			add(part)
		}
	}
	slices.SortStableFunc(words, func(a, b string) int { return len(b) - len(a) })
	return words
}

// without removes a word from a text, in any case.
func without(text, word string) string {
	lower := strings.ToLower(text)
	if len(lower) != len(text) {
		text = lower // some letters have another length in lower case
	}
	for {
		at := strings.Index(lower, word)
		if at < 0 {
			return text
		}
		text, lower = text[:at]+text[at+len(word):], lower[:at]+lower[at+len(word):]
	}
}
