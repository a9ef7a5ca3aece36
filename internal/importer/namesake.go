package importer

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"bulkfiling/internal/filing"
)

// namesakes are the companies that rows of a sheet name by their Company ID, by
// their folded names. They are read when the first row comes that describes a
// company without one: that company may be the same.
type namesakes struct {
	im    *Import
	read  bool
	named map[string][]namesake
	keys  keyMaker
}

// namesake is a company that a row names by its id.
type namesake struct {
	ref           string
	row           int
	home, filedIn filing.State
}

// load goes through the sheet for the rows that give a Company ID and a name.
func (n *namesakes) load() error {
	if n.read {
		return nil
	}
	n.read, n.named = true, make(map[string][]namesake)
	if n.im.mapping.binding(companyID) == nil || n.im.mapping.binding(legalName) == nil {
		return nil
	}
	r, err := n.im.rows(n.im.sheet)
	if err != nil {
		return err
	}
	defer r.Close()
	c, s := n.im.newChecker(), &chunk{}
	for {
		if err := r.Read(&s.block); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		c.checkChunk(s)
		for i := range s.rows {
			request := s.rows[i].Read
			if request == nil || request.Company.Ref == "" || request.Company.Sheet.LegalName == "" {
				continue
			}
			folded := filing.FoldLegalName(request.Company.Sheet.LegalName)
			one := namesake{request.Company.Ref, s.rows[i].Number, request.Company.Sheet.FormationState,
				request.Order.FilingState}
			if !slices.ContainsFunc(n.named[folded],
				func(o namesake) bool { return o.ref == one.ref && o.home == one.home && o.filedIn == one.filedIn }) {
				n.named[folded] = append(n.named[folded], one)
			}
		}
	}
}

// adopt gives a row that describes a company without a Company ID the id under
// which another row of the sheet names it. A company is one, whether its id is
// there or not: it is not created a second time, and its filing is not bought
// twice.
func (n *namesakes) assignCompany(r *Row) error {
	if err := n.load(); err != nil {
		return err
	}
	sheet := &r.Request.Company.Sheet
	var found []namesake
	for _, other := range n.named[filing.FoldLegalName(sheet.LegalName)] {
		same := other.home == sheet.FormationState
		if other.home == "" {
			same = other.filedIn == r.Request.Order.FilingState
		}
		if same && !slices.ContainsFunc(found, func(o namesake) bool { return o.ref == other.ref }) {
			found = append(found, other)
		}
	}
	if len(found) == 0 {
		return nil
	}
	problem := n.im.problemAt(r, companyID, Warning, "company.namesake",
		fmt.Sprintf(
			"possible duplicate: row %d lists this company as %s. This row uses that company, and no new company is "+
				"created: enter the Company ID, or correct the name", found[0].row, found[0].ref))
	if len(found) > 1 {
		problem.Severity = Error
		problem.Message = fmt.Sprintf(
			"rows %d and %d use this name for two companies, %s and %s: enter the Company ID of the right one",
			found[0].row, found[1].row, found[0].ref, found[1].ref)
	}
	r.Problems = append(r.Problems, problem)
	if len(found) > 1 {
		r.Result, r.Message, r.Request = filing.Invalid, r.message(), nil
		return nil
	}
	r.Request.Company.Ref, r.createsCompany = found[0].ref, false
	r.keys = n.keys.of(r.Request, r.keys[:0])
	return nil
}

// problemAt is a problem at a row's cell of a column.
func (im *Import) problemAt(r *Row, id columnID, severity Severity, rule, message string) Problem {
	c := &checker{im: im, row: &Row{Number: r.Number, Cells: r.Cells}}
	b := c.bindingAt(id)
	c.addProblem(b, c.textOf(b), severity, rule, message)
	return c.row.Problems[0]
}
