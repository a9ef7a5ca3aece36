package importer

import (
	"context"
	"fmt"
	"slices"

	"github.com/bulkfiling/bulkfiling/internal/filing"
)

// namesakes are the companies that rows of the sheet give by their Company ID,
// by folded name. They are loaded at the first row that describes a company
// without an ID: it may be one of them.
type namesakes struct {
	im    *Import
	read  bool
	named map[string][]namesake
}

// namesake is a company that a row gives by its ID.
type namesake struct {
	ref           string
	row           int
	home, filedIn filing.State
}

// load reads the rows with a Company ID and a name.
func (n *namesakes) load() error {
	if n.read {
		return nil
	}
	n.read, n.named = true, make(map[string][]namesake)
	if n.im.mapping.binding(companyID) == nil || n.im.mapping.binding(legalName) == nil {
		return nil
	}
	return n.im.readChunks(context.Background(), func(rows []Row) error {
		for i := range rows {
			n.add(&rows[i])
		}
		return nil
	})
}

// add takes in a row with a Company ID and a name.
func (n *namesakes) add(r *Row) {
	request := r.Read
	if request == nil || request.Company.Ref == "" || request.Company.Sheet.LegalName == "" {
		return
	}
	folded := filing.FoldLegalName(request.Company.Sheet.LegalName)
	one := namesake{request.Company.Ref, r.Number, request.Company.Sheet.FormationState, request.Order.FilingState}
	if !slices.ContainsFunc(n.named[folded],
		func(o namesake) bool { return o.ref == one.ref && o.home == one.home && o.filedIn == one.filedIn }) {
		n.named[folded] = append(n.named[folded], one)
	}
}

// assignCompany gives a row without a Company ID the ID under which another row
// names its company. Otherwise the company would be created a second time, and
// its filing ordered twice.
func (n *namesakes) assignCompany(r *Row) error {
	if r.Result != filing.Ready || !r.createsCompany {
		return nil
	}
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
	problem := n.im.problemAt(r, companyID, Warning, namesakeRule,
		fmt.Sprintf(
			"possible duplicate: row %d lists this company as %s. This row uses that company, and no new company is "+
				"created: enter the Company ID, or correct the name", found[0].row, found[0].ref))
	for _, other := range found {
		problem.Suggest = append(problem.Suggest, other.ref)
	}
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
	r.identify()
	return nil
}

const namesakeRule = "company.namesake"

// problemAt returns a problem at a row's cell.
func (im *Import) problemAt(r *Row, id columnID, severity Severity, rule, message string) Problem {
	c := &checker{im: im, row: &Row{Number: r.Number, Cells: r.Cells}}
	b := c.bindingAt(id)
	c.addProblem(b, c.textOf(b), severity, rule, message)
	return c.row.Problems[0]
}
