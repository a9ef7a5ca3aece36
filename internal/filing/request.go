package filing

import (
	"cmp"
	"strings"
)

// Request is the order of a row of a sheet. Its user and company are references
// that lookups resolve before it is sent.
type Request struct {
	Product Product    `json:"product"`
	User    UserRef    `json:"user"`
	Company CompanyRef `json:"company"`
	Order   Order      `json:"order"`

	// Named is the key of the main item as the sheet named it when the row was read: what a
	// recorded order counts for.
	Named Key `json:"named,omitempty"`
}

// SheetKeys returns the key of each item, the main one first, with the company as the sheet
// names it, and last that of the company that the row describes, if it has no ID; see
// [Order.Keys]. A company ID is exact; a slug is part of a web address and ignores case.
// Only the ledger can know that an ID and a slug are of one company.
func (r *Request) SheetKeys() []Key {
	o := r.Order
	described := r.Company.Sheet.ForUser("").Key()
	switch ref := r.Company.Ref; {
	case o.Formation != nil:
	case ref == "":
		o.CompanyID = string(described)
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
		all = append(all, described)
	}
	return all
}

// UserRef names a user as the sheet does. ID wins over Email; Name and Phone
// serve only to create a user who is new to the filing service.
type UserRef struct {
	ID    string `json:"id,omitempty"`
	Email string `json:"email,omitempty"`
	Name  string `json:"name,omitempty"`
	Phone string `json:"phone,omitempty"` // E.164
}

// Ref identifies a user: the id if there is one, else the email address, in lower
// case.
func (u UserRef) Ref() string {
	if u.ID != "" {
		return u.ID
	}
	return strings.ToLower(u.Email)
}

// CompanyRef names a company by id or slug, with the facts of the sheet: entity
// type and formation state are added to a company without them.
type CompanyRef struct {
	Ref   string  `json:"ref,omitempty"` // comp_<id> or the URL slug
	Sheet Company `json:"sheet"`
	// the name at the filing service, if a person accepts that it differs
	Confirmed string `json:"confirmed,omitempty"`
}

// CreatesCompany reports whether the order is for a company that the sheet
// describes and that has to be created.
func (r *Request) CreatesCompany() bool { return r.Order.Formation == nil && r.Company.Ref == "" }

// LegalName returns the company's name in the sheet; empty if the sheet names the
// company only by reference.
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
