package importer

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/sheet"
	"github.com/bulkfiling/bulkfiling/internal/text"
)

// ColumnSummary returns a sentence about the meaning of each column. Columns with other headers
// than ours are listed with their cells, and the other columns by name. It includes options that
// fill a column.
func (im *Import) ColumnSummary() string {
	bound := slices.DeleteFunc(slices.Clone(im.mapping.bindings),
		func(b *binding) bool { return b == nil })
	slices.SortFunc(bound, func(a, b *binding) int { return a.index - b.index })
	headings := make([]heading, 0, len(bound))
	for _, b := range bound {
		h := im.layout.headings[b.index]
		h.column = b.id
		headings = append(headings, h)
	}
	return filing.HideSSNs("Columns read: " + im.layout.summarize(headings, im.options.filledColumns()) + ".")
}

// filledColumns lists the options that fill a column.
func (o *Options) filledColumns() (all []string) {
	for _, s := range []struct {
		id    columnID
		value string
		flag  string
	}{
		{filingState, string(o.State), "--state"}, {filingYear, o.FilingYear, "--filing-year"},
		{userID, o.User, "--user"},
	} {
		if s.value == "" {
			continue
		}
		name := columns[s.id].header
		if s.id == userID && strings.Contains(s.value, "@") {
			name = columns[userEmail].header
		}
		if o.OnPage {
			s.flag = "for all rows"
		}
		all = append(all, fmt.Sprintf("%s <- %s (%s)", name, s.value, s.flag))
	}
	return all
}

// summarize lists columns with their meanings.
func (l *layout) summarize(headings []heading, more []string) string {
	var named, told []string
	for _, h := range headings {
		c := &columns[h.column]
		switch {
		case c.unsent:
			told = append(told, fmt.Sprintf("%s (%s, never sent)", h.text, l.cell(h.index)))
		case l.row > 0 && h.strength == exact && h.folded == foldHeader(c.header):
			named = append(named, c.header)
		default:
			told = append(told, fmt.Sprintf("%s <- %s", c.header, h.name(l.row)))
		}
	}
	told = append(told, more...)
	if len(named) == 0 {
		return strings.Join(told, ", ")
	}
	asHeaded := "as headed: " + text.FirstOf(named, 12)
	if len(told) == 0 {
		return asHeaded
	}
	return strings.Join(told, ", ") + "; " + asHeaded
}

// noProduct returns the error for columns that suggest no product. It lists the recognized and the
// unrecognized columns.
func (l *layout) noProduct(o *Options) error {
	var known []heading
	var unknown []string
	for _, h := range l.resolve() {
		switch {
		case h.column != none:
			known = append(known, h)
		case h.text != "" && !h.ours && !resultColumns[h.folded]:
			unknown = append(unknown, h.name(l.row))
		}
	}
	reason := "the columns do not tell which product to file; recognized: " + l.summarize(known, o.filledColumns())
	if len(unknown) > 0 {
		reason += "; not recognized: " + text.FirstOf(unknown, 10)
	}
	return &sheet.FormatError{
		Reason: filing.HideSSNs(reason),
		Remedy: text.Capital(o.remedyText(chooseProduct, filing.JoinProducts(filing.Products, ", "))),
	}
}

// severalProducts returns the error for columns that fit more than one product. It lists the
// columns that suggest each.
func (l *layout) severalProducts(mains []filing.Product, o *Options) error {
	var speaks []string
	for _, h := range l.resolve() {
		if h.column == none || !slices.Contains(mains, columns[h.column].suggests) {
			continue
		}
		speaks = append(speaks, fmt.Sprintf("%s suggests %s", h.name(l.row), article(columns[h.column].suggests)))
	}
	if o.FilingYear != "" {
		speaks = append(speaks, "the filing year suggests "+article(filing.AnnualReport))
	}
	return &sheet.FormatError{
		Reason: "the columns fit several products: " + strings.Join(speaks, ", "),
		Remedy: text.Capital(o.remedyText(chooseProduct, filing.JoinProducts(mains, ", "))),
	}
}
