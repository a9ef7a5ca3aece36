package importer

import (
	"strconv"
	"strings"

	"github.com/bulkfiling/bulkfiling/internal/sheet"
	"github.com/bulkfiling/bulkfiling/internal/text"
)

// isEmptyWord reports whether a text means that its cell is empty.
func isEmptyWord(s string) bool { return text.PlaceholderOf(s) == text.Nothing }

// isFilled reports whether a cell has a value for an order.
func isFilled(k kind, cell sheet.Cell) bool {
	return cell.Kind != sheet.Blank && (cell.Text == "" || !isEmptyWord(cell.Text)) && !isVoidZero(k, cell.Text)
}

// isVoidZero reports whether a text is the zero of a formula that refers to a blank cell.
func isVoidZero(k kind, s string) bool { return k != boolKind && k != countKind && text.IsZero(s) }

// familyNames are placeholders that are also last names.
var familyNames = text.WordTable(map[bool]string{true: "Above Blank Na Nan Nil None Null Same Self"})

// readPlaceholder reports whether a cell has no value for an order, and adds a problem if its text
// is a stand-in for a value. A zero is a value only in a column of numbers or of yes and no.
func (c *cellReader) readPlaceholder(b *binding, word string) bool {
	meaning := text.PlaceholderOf(word)
	switch {
	case meaning == text.Value:
		return isVoidZero(b.kind, word)
	// The word is written as a name, next to a first name.
	case familyNames[word] && strings.HasSuffix(strings.ToLower(b.field), "lastname") && c.values[b.id-1] != "":
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
