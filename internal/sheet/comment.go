package sheet

import (
	"strconv"
	"strings"
)

// Comment is a note at a cell, or the discussion there.
type Comment struct {
	// Column counts from 0.
	Column int
	Author string
	Text   string
}

// Comments returns the comments at the cells of a sheet by row. A CSV has none.
func (f *File) Comments(sheet string) (map[int][]Comment, error) {
	w, ok := f.body.(*workbook)
	if !ok {
		return nil, nil
	}
	t, err := w.tab(f.ownName(sheet))
	if err != nil {
		return nil, err
	}
	relations, err := w.relations(t.part)
	if err != nil {
		return nil, err
	}
	all := make(map[int][]Comment)
	for _, r := range relations {
		if r.kind == "comments" && w.parts[r.target] != nil {
			if err := w.readComments(r.target, all); err != nil {
				return nil, partError(r.target, err)
			}
		}
	}
	return all, nil
}

// readComments adds the comments of a part.
func (w *workbook) readComments(part string, all map[int][]Comment) error {
	content, err := w.open(part, w.limits.PartBytes)
	if err != nil {
		return err
	}
	defer content.Close()
	s := newScanner(content)
	var authors []string
	inAuthor := false
	for {
		token, err := s.next()
		switch {
		case err != nil:
			return err
		case token == tokenEOF:
			return nil
		case token == tokenText && inAuthor:
			authors[len(authors)-1] = string(unescape(s.text))
		case token != tokenStart:
			inAuthor = false
		case string(s.name) == "author":
			authors, inAuthor = append(authors, ""), true
		case string(s.name) == "comment":
			e := element{attributes: s.attributes}
			column, row, ok := parseCellName([]byte(e.get("ref")))
			c := Comment{Column: column}
			if i, err := strconv.Atoi(e.get("authorId")); err == nil && i >= 0 && i < len(authors) {
				c.Author = authors[i]
			}
			text, _, err := s.richText(nil, w.limits.CellBytes)
			if err != nil {
				return err
			}
			c.Text = string(appendClean(nil, unescape(text)))
			// Older programs show this text in place of a threaded comment.
			if strings.HasPrefix(c.Text, "[Threaded comment]") {
				_, c.Text, _ = strings.Cut(c.Text, " Comment: ")
			}
			if ok && c.Text != "" {
				all[row] = append(all[row], c)
			}
		}
	}
}
