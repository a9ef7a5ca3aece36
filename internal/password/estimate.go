package password

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"github.com/ccojocar/zxcvbn-go/data"
)

// The estimate is that of zxcvbn, with the lists and keyboards of its Go library.
// The library itself reads them when a process starts, 25 MB and half of the time
// that a short command takes; here they are read for the first password.

// span is a part of a password that is easier to guess than its characters: those
// from from to before to.
type span struct {
	from, to int
	bits     float64
}

// knowledge is what someone who guesses knows.
type knowledge struct {
	ranks     map[string]int // of the words, by how common they are
	longest   int            // characters of the longest word
	keyboards []keyboard
	lookalike map[rune][]rune // the letters that a character stands for
}

// keyboard has the neighbors of each key by direction, each without and with shift.
type keyboard struct {
	next         map[rune][]string
	keys, degree float64
}

// loadKnowledge reads the lists, once.
var loadKnowledge = sync.OnceValue(func() *knowledge {
	k := &knowledge{ranks: make(map[string]int, 1<<17), lookalike: make(map[rune][]rune)}
	for _, name := range []string{"MaleNames", "FemaleNames", "Surnames", "English", "Passwords"} {
		var list struct{ List []string }
		readList(name, &list)
		ranks, longest := rank(list.List)
		for word, n := range ranks {
			if known, ok := k.ranks[word]; !ok || n < known {
				k.ranks[word] = n
			}
		}
		k.longest = max(k.longest, longest)
	}
	for _, name := range []string{"Qwerty", "Dvorak", "Keypad", "MacKeypad"} {
		k.keyboards = append(k.keyboards, readKeyboard(name))
	}
	// Characters count as on a QWERTY keyboard or, where digits are the keys, a keypad.
	k.keyboards[1].keys, k.keyboards[1].degree = k.keyboards[0].keys, k.keyboards[0].degree
	k.keyboards[3].keys, k.keyboards[3].degree = k.keyboards[2].keys, k.keyboards[2].degree
	var leet struct{ Graph map[string][]string }
	readList("L33t", &leet)
	for letter, characters := range leet.Graph {
		for _, c := range characters {
			first := []rune(c)[0]
			k.lookalike[first] = append(k.lookalike[first], []rune(letter)[0])
		}
	}
	return k
})

// readList reads one of the library's lists.
func readList(name string, to any) {
	text, err := data.Asset("data/" + name + ".json")
	if err == nil {
		err = json.Unmarshal(text, to)
	}
	if err != nil { // it is part of the program
		panic(fmt.Sprintf("read the list %s: %v", name, err))
	}
}

func readKeyboard(name string) keyboard {
	var graph struct{ Graph map[string][]string }
	readList(name, &graph)
	k := keyboard{next: make(map[rune][]string), keys: float64(len(graph.Graph))}
	var characters, directions float64
	for key, next := range graph.Graph {
		k.next[[]rune(key)[0]] = next
		for _, neighbor := range next {
			characters += float64(len(neighbor))
			directions++
		}
	}
	k.degree = characters / directions
	return k
}

// rank numbers words by their place in a list and returns the length of the longest.
func rank(list []string) (ranks map[string]int, longest int) {
	ranks = make(map[string]int, len(list))
	for i, word := range list {
		ranks[strings.ToLower(word)] = i + 1
		longest = max(longest, len([]rune(word)))
	}
	return ranks, longest
}

// estimate returns how many bits of guesses find a password for someone who knows
// common words, names, passwords, keyboards, sequences and dates, and the given words.
func estimate(password string, words []string) float64 {
	known, text := loadKnowledge(), []rune(password)
	own, longest := rank(words)
	spans := findWords(text, own, longest)
	spans = append(spans, findWords(text, known.ranks, known.longest)...)
	for _, variant := range readLookalikes(text, known.lookalike) {
		spans = append(spans, findWords(variant, known.ranks, known.longest)...)
	}
	for i := range known.keyboards {
		spans = append(spans, known.keyboards[i].find(text)...)
	}
	spans = append(spans, findRepeats(text)...)
	spans = append(spans, findSequences(text)...)
	spans = append(spans, findDates(text)...)

	ending := make([][]span, len(text)+1)
	for _, s := range spans {
		ending[s.to] = append(ending[s.to], s)
	}
	each := math.Log2(alphabet(text))
	best := make([]float64, len(text)+1) // bits of the characters before each place
	for i := 1; i <= len(text); i++ {
		best[i] = best[i-1] + each
		for _, s := range ending[i] {
			best[i] = min(best[i], best[s.from]+s.bits)
		}
	}
	return best[len(text)]
}

// alphabet returns how many characters there are of the kinds that a text has.
func alphabet(text []rune) float64 {
	var lower, upper, digits, others float64
	for _, r := range text {
		switch {
		case unicode.IsLower(r):
			lower = 26
		case unicode.IsDigit(r):
			digits = 10
		case unicode.IsUpper(r):
			upper = 26
		default:
			others = 33
		}
	}
	return lower + upper + digits + others
}

// findWords finds the words of a ranked list in any case.
func findWords(text []rune, ranks map[string]int, longest int) []span {
	lower := make([]rune, len(text))
	for i, r := range text {
		lower[i] = unicode.ToLower(r)
	}
	var found []span
	for from := range lower {
		for to := from + 1; to <= min(len(lower), from+longest); to++ {
			if n, ok := ranks[string(lower[from:to])]; ok {
				found = append(found, span{from, to, math.Log2(float64(n)) + capitalBits(text[from:to])})
			}
		}
	}
	return found
}

// capitalBits returns what capitals add to a word: one bit for the first, the last or
// all letters, otherwise the choice of the letters.
func capitalBits(word []rune) float64 {
	var upper, lower float64
	for _, r := range word {
		switch {
		case unicode.IsUpper(r):
			upper++
		case unicode.IsLower(r):
			lower++
		}
	}
	first, last := unicode.IsUpper(word[0]), unicode.IsUpper(word[len(word)-1])
	switch {
	case upper == 0:
		return 0
	case int(upper) == len(word), upper == 1 && (first || last):
		return 1
	}
	var ways float64
	for i := 0.0; i <= min(upper, lower); i++ {
		ways += choose(upper+lower, i)
	}
	return max(1, math.Log2(ways))
}

// readLookalikes returns a text with letters for the characters that stand for them:
// one text for each way to read the characters that stand for several.
func readLookalikes(text []rune, lookalike map[rune][]rune) [][]rune {
	present := make(map[rune]bool)
	for _, r := range text {
		if lookalike[r] != nil {
			present[r] = true
		}
	}
	if len(present) == 0 {
		return nil
	}
	variants := [][]rune{text}
	for r := range present {
		var more [][]rune
		for _, letter := range lookalike[r] {
			for _, variant := range variants {
				more = append(more, []rune(strings.ReplaceAll(string(variant), string(r), string(letter))))
			}
		}
		variants = more
	}
	return variants
}

// find finds keys that follow each other on a keyboard.
func (k *keyboard) find(text []rune) []span {
	var found []span
	for from := 0; from < len(text)-1; {
		to, last, turns, shifted := from+1, -1, 0.0, 0.0
		for ; to < len(text); to++ {
			direction, shift := k.direction(text[to-1], text[to])
			if direction < 0 {
				break
			}
			if shift {
				shifted++
			}
			if direction != last {
				turns, last = turns+1, direction
			}
		}
		if to-from > 2 {
			found = append(found, span{from, to, k.bits(float64(to-from), turns, shifted)})
		}
		from = to
	}
	return found
}

// direction returns in which direction a key is next to another, -1 for neither, and
// whether it is pressed with shift.
func (k *keyboard) direction(from, to rune) (direction int, shift bool) {
	for i, neighbor := range k.next[from] {
		if at := strings.IndexRune(neighbor, to); at >= 0 {
			return i, at == 1
		}
	}
	return -1, false
}

// bits counts the ways over the keyboard of a length or less with so many turns or less.
func (k *keyboard) bits(length, turns, shifted float64) float64 {
	var ways float64
	for i := 2.0; i <= length+1; i++ {
		for j := 1.0; j <= min(turns, i-1)+1; j++ {
			ways += choose(i-1, j-1) * k.keys * math.Pow(k.degree, j)
		}
	}
	bits := math.Log2(ways)
	if shifted > 0 {
		ways = 0
		for i := 0.0; i < min(shifted, length-shifted)+1; i++ {
			ways += choose(length, i)
		}
		bits += math.Log2(ways)
	}
	return bits
}

// findRepeats finds one character three times or more.
func findRepeats(text []rune) []span {
	var found []span
	for from := 0; from < len(text); {
		to := from + 1
		for to < len(text) && unicode.ToLower(text[to]) == unicode.ToLower(text[to-1]) {
			to++
		}
		if to-from > 2 {
			found = append(found, span{from, to, math.Log2(alphabet(text[from:to]) * float64(to-from))})
		}
		from = to
	}
	return found
}

// findSequences finds letters or digits in their order or against it.
func findSequences(text []rune) []span {
	kind := func(r rune) (letters float64) {
		switch {
		case (r >= 'a' && r <= 'z') || (r >= 'A' && r <= 'Z'):
			return 26
		case r >= '0' && r <= '9':
			return 10
		}
		return 0
	}
	var found []span
	for from := 0; from < len(text)-1; {
		to, step := from+1, text[from+1]-text[from]
		for to < len(text) && (step == 1 || step == -1) && text[to]-text[to-1] == step && kind(text[to-1]) != 0 &&
			kind(text[to]) == kind(text[from]) {
			to++
		}
		if to-from > 2 {
			bits := math.Log2(float64(to - from))
			if text[from] != 'a' && text[from] != '1' {
				bits += math.Log2(kind(text[from]))
				if unicode.IsUpper(text[from]) {
					bits++
				}
			}
			if step < 0 {
				bits++
			}
			found = append(found, span{from, to, bits})
		}
		from = to
	}
	return found
}

// dateForm is a date: two numbers of one or two digits and a year, before or after
// them, with separators or without.
var dateForm = regexp.MustCompile(`^(?:(\d{1,2})([\s\-/\\_.]?)(\d{1,2})[\s\-/\\_.]?(19\d\d|20\d\d|\d\d)|` +
	`(19\d\d|20\d\d|\d\d)([\s\-/\\_.]?)(\d{1,2})[\s\-/\\_.]?(\d{1,2}))$`)

// Lengths of a date: 1126, 11/26/2026.
const shortestDate, longestDate = 4, 10

// findDates finds dates.
func findDates(text []rune) []span {
	var found []span
	for from := range text {
		if text[from] < '0' || text[from] > '9' {
			continue
		}
		for to := from + shortestDate; to <= min(len(text), from+longestDate); to++ {
			m := dateForm.FindStringSubmatch(string(text[from:to]))
			if m == nil {
				continue
			}
			if m[4] == "" { // the year is first
				m[1], m[2], m[3], m[4] = m[7], m[6], m[8], m[5]
			}
			if !isDay(m[1], m[3]) {
				continue
			}
			years := 200.0
			if len(m[4]) == 2 {
				years = 100
			}
			bits := math.Log2(31 * 12 * years)
			if m[2] != "" {
				bits += 2
			}
			found = append(found, span{from, to, bits})
		}
	}
	return found
}

// isDay reports whether one of two numbers can be a day and the other a month.
func isDay(a, b string) bool {
	one, _ := strconv.Atoi(a)
	other, _ := strconv.Atoi(b)
	return one >= 1 && other >= 1 && max(one, other) <= 31 && min(one, other) <= 12
}

// choose returns the number of choices of k of n.
func choose(n, k float64) float64 {
	if k > n {
		return 0
	}
	ways := 1.0
	for i := 1.0; i <= k; i++ {
		ways *= (n - i + 1) / i
	}
	return ways
}
