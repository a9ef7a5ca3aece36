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

// givenNames and familyNames are placeholders that are also names of people.
var (
	givenNames  = text.WordTable(map[bool]string{true: "Na Nan Nat"})
	familyNames = text.WordTable(map[bool]string{true: "Above Blank Na Nan Nil None Null Same Self"})
)

// isName reports whether a word is the first or last name of a person although it
// is a placeholder: it is written as a name, and the other name is one.
func (c *checker) isName(b *binding, word string) bool {
	other := columnID(0)
	switch field := strings.ToLower(b.field); {
	case familyNames[word] && strings.HasSuffix(field, "lastname"):
		other = -1
	case givenNames[word] && strings.HasSuffix(field, "firstname"):
		other = 1
	default:
		return false
	}
	beside := c.bindingAt(b.id + other)
	if b.officer != nil {
		listed := c.im.officers.columns[officerFirstName]
		if other > 0 {
			listed = c.im.officers.columns[officerLastName]
		}
		listed.officer = b.officer
		beside = &listed
	}
	return text.PlaceholderOf(c.textOf(beside)) == text.Value
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
