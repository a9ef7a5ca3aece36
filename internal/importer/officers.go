package importer

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/sheet"
)

// isOfficersSheet reports whether a sheet lists officers, by its name.
func isOfficersSheet(name string) bool { return filing.FoldName(name) == "officers" }

// refuseOfficersSheet returns an error if another sheet lists the officers of companies to create.
// Only the officers in the company's row are filed.
func (im *Import) refuseOfficersSheet() error {
	if im.product != filing.Formation && im.mapping.binding(companyID) != nil && !im.mapping.describes() {
		// The companies exist, and so do their officers.
		return nil
	}
	for _, s := range im.file.Sheets() {
		if isOfficersSheet(s.Name) && s.Name != im.sheet {
			return &sheet.FormatError{
				File: im.file.Name(), Sheet: s.Name,
				Reason: "officers on a sheet of their own are not read",
				Remedy: `Enter the officers in the company's row, in the columns "Officer 1 First Name", "Officer 1 ` +
					`Last Name", "Officer 1 Title", "Officer 2 First Name" and so on, then delete this sheet`,
			}
		}
	}
	return nil
}

// readOfficers reads the officers of the row. It records the first column of each in c.officers. A
// company's only officer is the primary one unless the row marks the officer as not primary.
func (c *orderReader) readOfficers() []filing.Officer {
	var all []filing.Officer
	c.officers = c.officers[:0]
	c.readPart(ofOfficers)
	for _, n := range c.im.mapping.officers {
		if o, ok := c.readOfficer(officerColumn(n, 0)); ok {
			all = append(all, o)
			c.officers = append(c.officers, officerColumn(n, 0))
		}
	}
	if len(all) == 1 {
		if primary := c.officers[0] + officerPrimary; c.values[primary] == "" && !c.isFaulty(primary) {
			all[0].IsPrimary = true
		}
	}
	return all
}

// readOfficer returns the officer whose columns begin with first. It returns false if the only
// values are defaults of a form.
func (c *orderReader) readOfficer(first columnID) (filing.Officer, bool) {
	v := c.values[first : first+officerColumnCount]
	o := filing.Officer{
		Type:        filing.AgentType(v[officerType]),
		FirstName:   v[officerFirstName],
		LastName:    v[officerLastName],
		CompanyName: v[officerCompanyName],
		Title:       v[officerTitle],
		IsPrimary:   v[officerPrimary] == yes,
		Address:     readAddress(v[officerLine1:]),
	}
	o.Type = c.partyType(o.Type, o.FirstName+o.LastName, o.CompanyName, first+officerType, first+officerFirstName,
		first+officerLastName, first+officerCompanyName)
	empty := o == (filing.Officer{})
	for part := range officerColumnCount {
		empty = empty && !c.isFaulty(first+part)
	}
	return o, !empty
}

// partyType returns the type of an officer or an agent. Without a given type, the names decide.
func (c *orderReader) partyType(given filing.AgentType, person, company string, at columnID,
	names ...columnID) filing.AgentType {
	if slices.ContainsFunc(names, c.isFaulty) {
		c.faulty = append(c.faulty, at)
	}
	switch {
	case given != "", c.isFaulty(at), (person != "") == (company != ""):
		return given
	case company != "":
		return filing.CompanyParty
	}
	return filing.Person
}

// officerField finds the column of a field such as company.officers[2].address.city.
func (c *orderReader) officerField(field string) (*binding, bool) {
	rest, found := strings.CutPrefix(strings.TrimPrefix(field, "formation."), "company.officers")
	if !found {
		return nil, false
	}
	var n int
	// The field is the whole list, which is empty.
	if rest == "" {
		for i := range c.im.mapping.parts[ofOfficers] {
			return &c.im.mapping.parts[ofOfficers][i], true
		}
		return c.bindingAt(legalName), true
	}
	if _, err := fmt.Sscanf(rest, "[%d]", &n); err != nil || n >= len(c.officers) {
		return c.bindingAt(legalName), true
	}
	_, rest, _ = strings.Cut(rest, "].")
	part := columnID(slices.IndexFunc(officerParts, func(p column) bool { return p.field == rest }))
	if part < 0 {
		return c.bindingAt(legalName), true
	}
	return c.bindingAt(c.officers[n] + part), true
}
