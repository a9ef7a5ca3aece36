package filing

import "strings"

// EntityType is the kind of a company. Source: spec section 2, Company.
type EntityType string

// The only supported entity types.
const (
	LLC  EntityType = "LLC"
	Corp EntityType = "CORP"
)

// entityTypes maps common spellings to the filing service's two types. The keys have only letters,
// in capitals. Other kinds of companies (LP, PLLC, nonprofit) are not included, because a guess would
// file the wrong form.
var entityTypes = map[string]EntityType{
	"LLC": LLC, "LIMITEDLIABILITYCOMPANY": LLC, "LIMITEDLIABILITYCO": LLC, "LC": LLC,
	"CORP": Corp, "CORPORATION": Corp, "INC": Corp, "INCORPORATED": Corp,
	"CCORP": Corp, "SCORP": Corp, "CCORPORATION": Corp, "SCORPORATION": Corp,
}

// ParseEntityType reads an entity type in any common spelling, such as "llc", "L.L.C.",
// "Corporation" and "Inc.".
func ParseEntityType(text string) (EntityType, bool) {
	letters := strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			return r
		}
		return -1
	}, strings.ToUpper(text))
	t, ok := entityTypes[letters]
	return t, ok
}

// Address is a postal address. Source: spec section 2, Address. Whether State and PostalCode are
// required is not shown.
type Address struct {
	Line1      string `json:"line1"`
	Line2      string `json:"line2,omitempty"`
	City       string `json:"city"`
	State      string `json:"state,omitempty"`
	PostalCode string `json:"postalCode,omitempty"`
	Country    string `json:"country"`
}

// AgentType is the kind of an agent or officer.
type AgentType string

// Source: spec section 2, Officer and Supplied registered agent.
const (
	Person       AgentType = "PERSON"
	CompanyParty AgentType = "COMPANY"
)

// Officer is an officer or member of a company. Source: spec section 2, Officer.
type Officer struct {
	Type        AgentType `json:"type"`
	FirstName   string    `json:"firstName,omitempty"`
	LastName    string    `json:"lastName,omitempty"`
	CompanyName string    `json:"companyName,omitempty"`
	Title       string    `json:"title,omitempty"`
	Address     *Address  `json:"address,omitempty"`
	IsPrimary   bool      `json:"isPrimary"`
}

// Agent is a registered agent that the customer supplies.
// Source: spec section 2, Supplied registered agent.
type Agent struct {
	Type        AgentType `json:"type"`
	CompanyName string    `json:"companyName,omitempty"`
	FirstName   string    `json:"firstName,omitempty"`
	LastName    string    `json:"lastName,omitempty"`
	Street      string    `json:"addressStreet"`
	City        string    `json:"addressCity"`
	State       State     `json:"addressState"` // must equal the order's filing state
	ZIP         string    `json:"addressZip"`
}

// Company is the filing service's record of a company, or the facts of a sheet about a company.
// Source: spec section 2, Company.
type Company struct {
	ID               string     `json:"id,omitempty"` // comp_<id>
	LegalName        string     `json:"legalName,omitempty"`
	TradeName        string     `json:"tradeName,omitempty"`
	EIN              string     `json:"ein,omitempty"`
	EntityType       EntityType `json:"entityType,omitempty"`
	StructureType    string     `json:"structureType,omitempty"` // MEMBER or MANAGER; LLC
	TaxElection      string     `json:"taxElection,omitempty"`   // CORP
	FiscalEndMonth   string     `json:"fiscalEndMonth,omitempty"`
	FormationDate    string     `json:"formationDate,omitempty"` // YYYY-MM-DD
	FormationState   State      `json:"formationState,omitempty"`
	PrincipalAddress *Address   `json:"principalAddress,omitempty"`
	MailingAddress   *Address   `json:"mailingAddress,omitempty"`
	Officers         []Officer  `json:"officers,omitempty"`
}

// NewCompany is the body of POST /companies. Source: spec section 4.
type NewCompany struct {
	LegalName        string     `json:"legalName"`
	EntityType       EntityType `json:"entityType"`
	FormationDate    string     `json:"formationDate,omitempty"`
	FormationState   State      `json:"formationState"`
	PrincipalAddress *Address   `json:"principalAddress,omitempty"`
	MailingAddress   *Address   `json:"mailingAddress,omitempty"`
	Officers         []Officer  `json:"officers,omitempty"`
	UserID           string     `json:"userId"`
}

// ForUser returns the creation of the company that a sheet describes.
func (c Company) ForUser(userID string) NewCompany {
	return NewCompany{
		LegalName:        c.LegalName,
		EntityType:       c.EntityType,
		FormationDate:    c.FormationDate,
		FormationState:   c.FormationState,
		PrincipalAddress: c.PrincipalAddress,
		MailingAddress:   c.MailingAddress,
		Officers:         c.Officers,
		UserID:           userID,
	}
}

// Key returns the business key of the creation. The filing service does not prevent a second
// creation.
func (c NewCompany) Key() Key {
	return join(string(CompanyRecord), FoldLegalName(c.LegalName), string(c.FormationState))
}

// FormationKey returns the business key of the company's formation.
func (c NewCompany) FormationKey() Key { return formationKey(c.LegalName, c.FormationState) }

// User is a customer of the organization. Source: spec section 2, User.
type User struct {
	ID          string `json:"id,omitempty"` // user_<id>
	FullName    string `json:"fullName,omitempty"`
	Email       string `json:"email,omitempty"`
	PhoneNumber string `json:"phoneNumber,omitempty"` // E.164
}

// Price is one line of the organization's price list.
// Source: spec section 2, Price. Assumption: amounts are dollars.
type Price struct {
	Type string `json:"type"`
	Name string `json:"name"`
	// WholesaleAmount is the decimal number of the answer.
	WholesaleAmount string `json:"wholesaleAmount"`
	Enabled         bool   `json:"enabled"`
}
