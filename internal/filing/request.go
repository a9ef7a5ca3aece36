package filing

import (
	"cmp"
	"strings"
)

// Request is what a row of a sheet asks for: an order whose user and company
// are still references, to be resolved by look-ups before it is sent.
type Request struct {
	Product Product    `json:"product"`
	User    UserRef    `json:"user"`
	Company CompanyRef `json:"company"`
	Order   Order      `json:"order"`
}

// UserRef names a user as the sheet does. ID wins over Email; Name and Phone
// serve only to create a user that the service does not know.
type UserRef struct {
	ID    string `json:"id,omitempty"`
	Email string `json:"email,omitempty"`
	Name  string `json:"name,omitempty"`
	Phone string `json:"phone,omitempty"` // E.164
}

// Ref tells users apart: the id where there is one, else the e-mail, which is
// one address in whatever case it is written.
func (u UserRef) Ref() string {
	if u.ID != "" {
		return u.ID
	}
	return strings.ToLower(u.Email)
}

// CompanyRef names a company by id or slug, with what the sheet knows of it:
// entity type and formation state complete a company that lacks them.
type CompanyRef struct {
	Ref   string  `json:"ref,omitempty"` // comp_<id> or the URL slug
	Sheet Company `json:"sheet"`
	// the name at the filing service, where a person accepts that it differs
	Confirmed string `json:"confirmed,omitempty"`
}

// CreatesCompany reports whether the order is for a company that the service
// does not know yet, and that the sheet describes.
func (r *Request) CreatesCompany() bool { return r.Order.Formation == nil && r.Company.Ref == "" }

// LegalName is the company's name as the sheet has it; empty where the sheet
// names the company by reference alone.
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
