package ledger

import (
	"fmt"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// scripts are those in everyday use (UAX #31, table 5). Letters of others are
// read by hardly anybody, and some look like Latin ones.
var scripts = map[string]*unicode.RangeTable{
	"Arabic": unicode.Arabic, "Armenian": unicode.Armenian, "Bengali": unicode.Bengali, "Bopomofo": unicode.Bopomofo,
	"Cyrillic":   unicode.Cyrillic,
	"Devanagari": unicode.Devanagari, "Ethiopic": unicode.Ethiopic, "Georgian": unicode.Georgian,
	"Greek": unicode.Greek, "Gujarati": unicode.Gujarati,
	"Gurmukhi": unicode.Gurmukhi, "Han": unicode.Han, "Hangul": unicode.Hangul, "Hebrew": unicode.Hebrew,
	"Hiragana": unicode.Hiragana,
	"Kannada":  unicode.Kannada, "Katakana": unicode.Katakana, "Khmer": unicode.Khmer, "Lao": unicode.Lao,
	"Latin":     unicode.Latin,
	"Malayalam": unicode.Malayalam, "Myanmar": unicode.Myanmar, "Sinhala": unicode.Sinhala, "Tamil": unicode.Tamil,
	"Telugu": unicode.Telugu,
	"Thai":   unicode.Thai, "Tibetan": unicode.Tibetan,
}

// together are the scripts that are written side by side (UTS #39, highly
// restrictive). All others stand alone in a name.
var together = []map[string]bool{
	{"Latin": true, "Han": true, "Hiragana": true, "Katakana": true},
	{"Latin": true, "Han": true, "Hangul": true},
	{"Latin": true, "Han": true, "Bopomofo": true},
}

// lookalikes maps characters to those that they are mistaken for: what stands
// before the colon to what stands behind it. Taken from the confusables of UTS
// #39, as far as names in lower case of the scripts above have them, and with
// letters added that differ in little.
var lookalikes = readLookalikes(
	"0о೦ο௦օסه०๐໐ᴏσ:o", "1ӏاוլʟ|ǀ:l", "аαɑᴀ:a", "вβьʙƅ:b", "сϲᴄ:c", "ԁᴅ:d", "еεҽᴇ:e", "ցɡԍɢ:g", "һнհʜ:h", "іιıɩɪ:i",
	"јϳյᴊ:j", "кκᴋ:k", "ղпηոɴ:n",
	"рρᴘ:p", "ԛզ:q", "гґʀ:r", "ѕꜱ:s", "тτᴛԏ:t", "иυսμʋᴜ:u", "νѵᴠ:v", "хχ:x", "уγүʏყ:y", "ζᴢ:z", "з:3", "ƨ:2",
	"mмᴍ:rn", "wωѡԝաᴡ:vv",
	"口囗:ロ", "一ー:-", "二:ニ", "八:ハ", "卜:ト", "力:カ", "夕:タ", "工:エ", "へ:ヘ", "り:リ", "才:オ",
	"‐‒–—―−﹣_:-", "’‘ʼʹ´`:'",
)

func readLookalikes(lines ...string) map[rune]string {
	all := make(map[rune]string)
	for _, line := range lines {
		from, to, _ := strings.Cut(line, ":")
		for _, r := range from {
			all[r] = to
		}
	}
	return all
}

// checkName refuses a folded name that is made to look like another: one with
// characters that stand for others, with invisible ones, or with letters of
// several scripts. It returns ErrAccount.
func checkName(name string) error {
	if norm.NFKC.String(name) != name {
		return fmt.Errorf("%w: the name has special forms of characters. Write it with ordinary letters", ErrAccount)
	}
	found := make(map[string]bool)
	for _, r := range name {
		switch {
		case unicode.In(r, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point):
			return fmt.Errorf("%w: the name has invisible characters", ErrAccount)
		case unicode.In(r, unicode.Common, unicode.Inherited):
			continue
		}
		script := ""
		for name, table := range scripts {
			if unicode.Is(table, r) {
				script = name
			}
		}
		if script == "" {
			return fmt.Errorf("%w: the name has letters of a script that is not in everyday use", ErrAccount)
		}
		found[script] = true
	}
	if len(found) < 2 {
		return nil
	}
	for _, allowed := range together {
		mixed := true
		for script := range found {
			mixed = mixed && allowed[script]
		}
		if mixed {
			return nil
		}
	}
	return fmt.Errorf("%w: the name mixes letters of different alphabets, which look alike. Write it with one",
		ErrAccount)
}

// skeleton is what is left of a name for the eye. Names with the same one are
// mistaken for each other.
func skeleton(name string) string {
	var b strings.Builder
	for _, r := range norm.NFD.String(strings.ToLower(norm.NFKC.String(name))) {
		if to, ok := lookalikes[r]; ok {
			b.WriteString(to)
		} else if !unicode.In(r, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point) {
			b.WriteRune(r)
		}
	}
	return norm.NFD.String(b.String())
}

// refuseSimilar refuses a name that is mistaken for that of an account that is
// there. It returns ErrAccount.
func refuseSimilar(name string, all []Account) error {
	look := skeleton(name)
	for _, a := range all {
		if a.Name != name && skeleton(a.Name) == look {
			return fmt.Errorf("%w: the name looks like that of the account %s. Add something that tells them apart",
				ErrAccount, a.Name)
		}
	}
	return nil
}
