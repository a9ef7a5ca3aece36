package importer

import (
	"strconv"
	"strings"

	"github.com/bulkfiling/bulkfiling/internal/sheet"
	"github.com/bulkfiling/bulkfiling/internal/text"
)

// isEmptyWord reports whether a text means that its cell is empty.
func isEmptyWord(s string) bool { return text.PlaceholderOf(s) == text.Nothing }

// isFilled reports whether a cell has a value as far as an order is concerned.
func isFilled(k kind, cell sheet.Cell) bool {
	return cell.Kind != sheet.Blank && (cell.Text == "" || !isEmptyWord(cell.Text)) && !isVoidZero(k, cell.Text)
}

// isVoidZero recognizes what a formula shows that refers to a blank cell.
func isVoidZero(k kind, s string) bool { return k != boolKind && k != countKind && text.IsZero(s) }

// familyNames are placeholders that are also last names.
var familyNames = text.WordTable(map[bool]string{true: "Above Blank Na Nan Nil None Null Same Self"})

// isName reports whether a word is a person's last name although it is a
// placeholder: it is written as a name, and a first name is beside it.
func (c *checker) isName(b *binding, word string) bool {
	return familyNames[word] && strings.HasSuffix(strings.ToLower(b.field), "lastname") && c.values[b.id-1] != ""
}

// readPlaceholder returns whether a cell has no value as far as an order is concerned,
// and adds a problem if its text stands for one. A zero is a value only where a number
// or a yes may be.
func (c *checker) readPlaceholder(b *binding, word string) bool {
	meaning := text.PlaceholderOf(word)
	switch {
	case meaning == text.Value:
		return isVoidZero(b.kind, word)
	case c.isName(b, word):
		c.addWarning(b, word, "cell.placeholder", strconv.Quote(word)+
			" will be sent as a name: if it is not one, correct or clear the cell")
		return false
	case meaning == text.Nothing:
	case b.unsent:
		c.addWarning(b, word, "cell.placeholder", strconv.Quote(word)+
			" will be listed as it stands: enter the value itself, or clear the cell")
	default:
		c.refuse(b, word, "cell.placeholder", strconv.Quote(word)+
			" is not a value that can be filed: enter the value itself, or clear the cell if there is none")
	}
	return true
}
