package filing

import (
	"cmp"
	"fmt"
)

// CompanyColumn is a column about the company that the filing service's record can contradict.
type CompanyColumn struct {
	// Header is our header.
	Header string
	// Field is the filing service's field.
	Field string
}

// The columns that are compared with the record. The value of ConfirmedNameColumn is the name that
// a person accepted.
var (
	CompanyIDColumn      = CompanyColumn{"Company ID", "companyId"}
	LegalNameColumn      = CompanyColumn{"Legal Name", "company.legalName"}
	ConfirmedNameColumn  = CompanyColumn{"Confirmed Name", "confirmedName"}
	EntityTypeColumn     = CompanyColumn{"Entity Type", "company.entityType"}
	FormationStateColumn = CompanyColumn{"Formation State", "company.formationState"}
	FilingStateColumn    = CompanyColumn{"Filing State", "filingState"}
)

// RecordRule begins the name of every rule that compares with the record. ConfirmedNameRule warns
// that the names differ and that a person confirmed the row's name for the company. NoRecordRule
// warns that the filing service has no record with the row's Company ID, and RefusedRecordRule that
// it refuses to give the record.
const (
	RecordRule        = "record."
	ConfirmedNameRule = RecordRule + "name-confirmed"
	NoRecordRule      = RecordRule + "company"
	RefusedRecordRule = RecordRule + "refused"
)

// Difference is a contradiction between a row and the filing service's record of its company.
type Difference struct {
	// Rule begins with RecordRule.
	Rule    string
	Column  CompanyColumn
	Message string
	// Warning reports whether the row is sent nevertheless.
	Warning bool
	// Suggest is the value of the column that accepts the record.
	Suggest string
}

// Differences compares a row with the filing service's record of the company that the row names. A
// row with another name must not be sent, unless a person confirmed the name at the filing service.
// A foreign qualification in the state in which the company was formed must not be sent either.
func (r *Request) Differences(c Company) []Difference {
	var all []Difference
	if r.Order.ForeignQualification != nil && c.FormationState != "" && c.FormationState == r.Order.FilingState {
		all = append(all, Difference{Rule: RecordRule + "home-state", Column: FilingStateColumn,
			Message: fmt.Sprintf(
				"%s was formed in %s according to the filing service and needs no foreign qualification there: "+
					"correct the Filing State, or remove the row", c.title(r.Company.Ref), c.FormationState)})
	}
	all = append(all, r.nameDifferences(c)...)
	sheet := &r.Company.Sheet
	if sheet.EntityType != "" && c.EntityType != "" && sheet.EntityType != c.EntityType {
		all = append(all, Difference{Rule: RecordRule + "entity-type", Column: EntityTypeColumn, Warning: true,
			Message: fmt.Sprintf("the spreadsheet says %s, but the filing service has %s on record and uses that",
				sheet.EntityType, c.EntityType)})
	}
	if sheet.FormationState != "" && c.FormationState != "" && sheet.FormationState != c.FormationState {
		all = append(all, Difference{Rule: RecordRule + "formation-state", Column: FormationStateColumn, Warning: true,
			Message: fmt.Sprintf("the spreadsheet says %s, but the filing service has %s on record and uses that",
				sheet.FormationState, c.FormationState)})
	}
	return all
}

func (r *Request) nameDifferences(c Company) []Difference {
	name := r.LegalName()
	if name == "" || c.LegalName == "" {
		return nil
	}
	rest, ending := comparableName(name)
	recordRest, recordEnding := comparableName(c.LegalName)
	entity, recordEntity := r.Company.Sheet.EntityType, cmp.Or(c.EntityType, nameEndings[recordEnding])
	switch confirmed := r.Company.Confirmed; {
	case rest == recordRest && ending == recordEnding:
		return nil
	case confirmed != "" && FoldLegalName(confirmed) == FoldLegalName(c.LegalName):
		return []Difference{{Rule: ConfirmedNameRule, Column: LegalNameColumn, Warning: true,
			Message: fmt.Sprintf("%s is %q at the filing service; the name was confirmed", r.Company.Ref, c.LegalName)}}
	case rest == recordRest && ending == "" && (entity == "" || entity == recordEntity):
		return []Difference{{Rule: RecordRule + "name-ending", Column: LegalNameColumn, Warning: true,
			Message: fmt.Sprintf("%s is %q at the filing service; the name in the spreadsheet has no ending",
				r.Company.Ref, c.LegalName)}}
	default:
		all := []Difference{{Rule: RecordRule + "name", Column: LegalNameColumn, Message: r.MismatchMessage(c)}}
		text := fmt.Sprintf("to file for %s anyway, enter its name at the filing service here: %s",
			r.Company.Ref, c.LegalName)
		if confirmed != "" {
			text = fmt.Sprintf(
				"%q was confirmed, but %s is %q at the filing service: enter that name here to file for it", confirmed,
				r.Company.Ref, c.LegalName)
		}
		return append(all, Difference{
			Rule:    RecordRule + "name",
			Column:  ConfirmedNameColumn,
			Suggest: c.LegalName,
			Message: text,
		})
	}
}

// MismatchMessage returns the message for a row with the name of another company.
func (r *Request) MismatchMessage(c Company) string {
	return fmt.Sprintf(
		"%s is %q at the filing service, but the spreadsheet says %q. Correct the Company ID or the name, or enter "+
			"the filing service's name under Confirmed Name to confirm it", r.Company.Ref, c.LegalName, r.LegalName())
}

// title returns a company's name for a sentence.
func (c *Company) title(ref string) string {
	if c.LegalName != "" {
		return fmt.Sprintf("%q", c.LegalName)
	}
	return ref
}
