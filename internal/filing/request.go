package filing

import (
	"cmp"
	"strings"
)

// Request is the order of a row of a sheet. Its user and company are references that are resolved
// before it is sent.
type Request struct {
	Product Product    `json:"product"`
	User    UserRef    `json:"user"`
	Company CompanyRef `json:"company"`
	Order   Order      `json:"order"`

	// Named is the key of the main item at the time the row was read, with the company as the sheet
	// names it. A recorded order counts only for this key.
	Named Key `json:"named,omitempty"`
}

// SheetKeys returns the key of each item with the company as the sheet names it, see [Order.Keys].
// The main item comes first, and the key of a described company without an ID last. A slug ignores
// case. Only the ledger can know that an ID and a slug refer to the same company.
func (r *Request) SheetKeys() []Key {
	o := r.Order
	switch ref := r.Company.Ref; {
	case o.Formation != nil:
	case ref == "":
		o.CompanyID = string(r.Company.Sheet.ForUser("").Key())
	case IsCompanyID(ref):
		o.CompanyID = ref
	default:
		o.CompanyID = strings.ToLower(ref)
	}
	var all []Key
	for _, p := range o.Products() {
		all = append(all, o.key(p))
	}
	if r.CreatesCompany() {
		all = append(all, r.Company.Sheet.ForUser("").Key())
	}
	return all
}

// UserRef names a user as the sheet does. ID takes precedence over Email. Name and Phone are used
// only to create a user.
type UserRef struct {
	ID    string `json:"id,omitempty"`
	Email string `json:"email,omitempty"`
	Name  string `json:"name,omitempty"`
	Phone string `json:"phone,omitempty"` // E.164
}

// Ref returns the ID, or else the email address in lowercase.
func (u UserRef) Ref() string {
	if u.ID != "" {
		return u.ID
	}
	return strings.ToLower(u.Email)
}

// CompanyRef names a company as the sheet does.
type CompanyRef struct {
	// Ref is comp_<id> or the slug of a web address.
	Ref string `json:"ref,omitempty"`
	// Sheet has the facts of the sheet.
	Sheet Company `json:"sheet"`
	// Confirmed is the name at the filing service, if a person accepted that it differs.
	Confirmed string `json:"confirmed,omitempty"`
}

// CreatesCompany reports whether the company has to be created from the facts of the sheet.
func (r *Request) CreatesCompany() bool { return r.Order.Formation == nil && r.Company.Ref == "" }

// LegalName returns the company's name in the sheet. It is empty if the sheet has only a reference.
func (r *Request) LegalName() string {
	if f := r.Order.Formation; f != nil {
		return cmp.Or(f.Company.LegalName, r.Company.Sheet.LegalName)
	}
	return r.Company.Sheet.LegalName
}

// NeedsCompanyFacts reports whether the order depends on the company's entity
// type and formation state. Source: spec section 4, rules 9 and 10.
func (r *Request) NeedsCompanyFacts() bool {
	return r.Order.AnnualReport != nil || r.Order.ForeignQualification != nil
}
