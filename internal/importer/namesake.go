package importer

import (
	"fmt"
	"slices"

	"github.com/bulkfiling/bulkfiling/internal/filing"
)

// namesake is a company that a row identifies by its ID.
type namesake struct {
	ref           string
	row           int
	home, filedIn filing.State
}

// addNamesake adds a row with a Company ID and a name.
func (s *repeats) addNamesake(r *Row) error {
	if r.Read == nil || r.Read.Company.Ref == "" || r.Read.Company.Sheet.LegalName == "" {
		return nil
	}
	company := &r.Read.Company
	folded := filing.FoldLegalName(company.Sheet.LegalName)
	one := namesake{company.Ref, r.Number, company.Sheet.FormationState, r.Read.Order.FilingState}
	if !slices.ContainsFunc(s.named[folded],
		func(o namesake) bool { return o.ref == one.ref && o.home == one.home && o.filedIn == one.filedIn }) {
		s.named[folded] = append(s.named[folded], one)
	}
	return nil
}

// assignCompany sets the Company ID of a row without one if another row has an ID for the same
// company. Otherwise the company would be created a second time, and its filing ordered twice.
func (s *repeats) assignCompany(r *Row) {
	if r.Result != filing.Ready || !r.createsCompany {
		return
	}
	sheet := &r.Request.Company.Sheet
	var found []namesake
	for _, other := range s.named[filing.FoldLegalName(sheet.LegalName)] {
		same := other.home == sheet.FormationState
		if other.home == "" {
			same = other.filedIn == r.Request.Order.FilingState
		}
		if same && !slices.ContainsFunc(found, func(o namesake) bool { return o.ref == other.ref }) {
			found = append(found, other)
		}
	}
	if len(found) == 0 {
		return
	}
	problem := s.im.problemAt(r, companyID, Warning, namesakeRule,
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
		return
	}
	r.Request.Company.Ref, r.createsCompany = found[0].ref, false
	r.identify()
}

const namesakeRule = "company.namesake"

// problemAt returns a problem at a row's cell.
func (im *Import) problemAt(r *Row, id columnID, severity Severity, rule, message string) Problem {
	c := &cellReader{im: im, row: &Row{Number: r.Number, Cells: r.Cells}}
	b := c.bindingAt(id)
	c.addProblem(b, c.textOf(b), severity, rule, message)
	return c.row.Problems[0]
}
