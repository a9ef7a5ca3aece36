package importer

import (
	"strconv"
	"strings"

	"github.com/bulkfiling/bulkfiling/internal/sheet"
	"github.com/bulkfiling/bulkfiling/internal/text"
)

// isEmptyWord reports whether a text means that its cell is empty.
func isEmptyWord(s string) bool { return text.PlaceholderOf(s) == text.Nothing }

// isFilled reports whether a cell has a value as far as an order is concerned. A
// zero is one only where a number or a yes may be.
func isFilled(k kind, cell sheet.Cell) bool {
	switch {
	case cell.Kind == sheet.Blank, cell.Text != "" && isEmptyWord(cell.Text):
		return false
	case k == boolKind, k == countKind:
		return true
	}
	return !text.IsZero(cell.Text)
}

// familyNames are placeholders that are also last names.
var familyNames = text.WordTable(map[bool]string{true: "Above Blank Na Nan Nil None Null Same Self"})

// isName reports whether a word is a person's last name although it is a
// placeholder: it is written as a name, and a first name is beside it.
func (c *checker) isName(b *binding, word string) bool {
	return familyNames[word] && strings.HasSuffix(strings.ToLower(b.field), "lastname") && c.values[b.id-1] != ""
}

// readPlaceholder returns whether a text is no value, and adds a problem if it
// stands for one.
func (c *checker) readPlaceholder(b *binding, word string) bool {
	meaning := text.PlaceholderOf(word)
	switch {
	case meaning == text.Value:
		return false
	case c.isName(b, word):
		c.addWarning(b, word, "cell.placeholder", strconv.Quote(word)+
			" will be sent as a name: if it is not one, correct or clear the cell")
		return false
	case meaning == text.StandIn && b.unsent:
		c.addWarning(b, word, "cell.placeholder", strconv.Quote(word)+
			" will be listed as it stands: enter the value itself, or clear the cell")
	case meaning == text.StandIn:
		c.refuse(b, word, "cell.placeholder", strconv.Quote(word)+
			" is not a value that can be filed: enter the value itself, or clear the cell if there is none")
	}
	return true
}
