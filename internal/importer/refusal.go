package importer

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/sheet"
)

// refusals are what people write in any column of a row that is not to be
// filed.
var refusals = []string{
	"do not file", "don t file", "dont file", "do not send", "do not submit", "do not process", "not to be filed",
	"not yet approved", "not approved", "on hold",
}

// closedWords are what a remark column says about a company that no longer
// exists, or for which nothing is to be filed.
var closedWords = []string{
	"dissolved", "inactive", "withdrawn", "terminated", "canceled", "cancelled", "revoked", "closed", "hold", "skip",
	"merged", "sold", "former client",
}

// remarkWords are the words in the headers of remark columns.
var remarkWords = []string{"status", "note", "notes", "comment", "comments", "remark", "remarks", "instruction",
	"instructions", "action", "flag", "memo", "todo"}

// remarkColumn is a column that is not sent and may say that a row is not to be
// filed.
type remarkColumn struct {
	index  int
	header string
	remark bool
}

// findRemarkColumns finds the columns that are not part of the order but may
// speak against it.
func (p *mapping) findRemarkColumns(l *layout) {
	for _, h := range l.headings {
		bound := slices.ContainsFunc(p.bindings,
			func(b *binding) bool { return b != nil && b.officer == nil && b.index == h.index && !b.unsent })
		if bound || resultColumns[h.folded] || slices.Contains(p.secret, h.index) {
			continue
		}
		isRemark := slices.ContainsFunc(headerWords(h.text),
			func(w string) bool { return slices.Contains(remarkWords, w) })
		p.remarkColumns = append(p.remarkColumns, remarkColumn{h.index, h.text, isRemark})
	}
}

// warnOfRefusal warns of a row that the sheet itself marks as not to be filed:
// in words, or by striking it through.
func (c *checker) warnOfRefusal(struck bool) {
	for _, w := range c.im.mapping.remarkColumns {
		if w.index >= len(c.row.Cells) || c.row.Cells[w.index].Kind != sheet.Text {
			continue
		}
		text := c.row.Cells[w.index].Text
		says := refusalIn(text)
		if says == refusesNothing || says == refusesAsRemark && !w.remark {
			continue
		}
		b := &binding{column: &column{}, id: none, index: w.index, header: w.header}
		c.addWarning(b, shorten(filing.HideSSNs(text)), "row.refused",
			fmt.Sprintf(
				"the cell says %q, but the row will be filed: remove the row, or clear this cell",
				shorten(filing.HideSSNs(text))))
	}
	if struck {
		first := slices.IndexFunc(c.row.Cells, func(cell sheet.Cell) bool { return cell.Kind != sheet.Blank })
		b := &binding{column: &column{}, id: none, index: first}
		c.addWarning(b, "", "row.struck",
			"the row is struck through, but it will be filed: remove the row, or remove the "+
				"strikethrough")
	}
}

// refusal is how clearly a text says that a row is not to be filed.
type refusal uint8

const (
	refusesNothing  refusal = iota
	refusesAsRemark         // in a remark column
	refuses
)

// refusalIn looks for such words in a text.
func refusalIn(text string) refusal {
	if len(text) < 4 {
		return refusesNothing
	}
	words := " " + strings.Join(strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9')
	}), " ") + " "
	says := func(phrase string) bool { return strings.Contains(words, " "+phrase+" ") }
	switch {
	case slices.ContainsFunc(refusals, says):
		return refuses
	case slices.ContainsFunc(closedWords, says):
		return refusesAsRemark
	}
	return refusesNothing
}

// idInAddress returns the company ID or slug at the end of a web address.
func idInAddress(text string) (id string, ok bool) {
	rest, isAddress := text, strings.HasPrefix(strings.ToLower(text), "www.")
	if _, after, found := strings.Cut(text, "://"); found {
		rest, isAddress = after, true
	}
	if !isAddress {
		return "", false
	}
	rest, _, _ = strings.Cut(rest, "?")
	rest, _, _ = strings.Cut(rest, "#")
	parts := strings.Split(strings.TrimRight(rest, "/"), "/")
	for _, part := range slices.Backward(parts[1:]) {
		if filing.IsCompanyID(part) {
			return part, true
		}
	}
	id = parts[len(parts)-1]
	return id, len(parts) > 1 && filing.IsSlug(id)
}
