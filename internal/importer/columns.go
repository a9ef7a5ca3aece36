package importer

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/bulkfiling/bulkfiling/internal/filing"
)

// columnID is the index of a column in the table.
type columnID int16

// none means no column of the table.
const none columnID = -1

// The columns of a row. The columns of the officers follow, officer by officer.
const (
	companyID columnID = iota
	legalName
	confirmedName
	entityType
	structureType
	taxElection
	formationState
	formationDate
	fiscalEndMonth
	principalLine1
	principalLine2
	principalCity
	principalState
	principalPostalCode
	principalCountry
	mailingLine1
	mailingLine2
	mailingCity
	mailingState
	mailingPostalCode
	mailingCountry
	userID
	userEmail
	userName
	userPhone
	filingState
	filingYear
	orderAgent
	changeOfAgent
	agentType
	agentCompanyName
	agentFirstName
	agentLastName
	agentStreet
	agentLine2
	agentCity
	agentState
	agentZIP
	expedited
	alternativeNames
	orderEIN
	orderAnnualReport
	orderQualification
	chargeClient
	chargeMatter
	billTo
	chargeReference
	businessCategory
	businessPurpose
	applicationReason
	vehicle55kPounds
	gamblingWagering
	fileForm720
	alcoholTobaccoFirearms
	fileForm944
	w2Expected
	agricultureEmployees
	otherEmployees
	firstWagesDate
	partyFirstName
	partyLastName
	partyTitle
	partySSN
	partyPhone
	partyIsForeign
	// firstOfficer is the first of the officer columns.
	firstOfficer
)

// kind is the form of a column's values. It decides how they are read.
type kind uint8

const (
	// nameKind is text in which "NA" and "None" may be a name.
	nameKind kind = iota
	textKind
	// companyKind is comp_… or a slug.
	companyKind
	// userKind is user_….
	userKind
	emailKind
	phoneKind
	stateKind
	yearKind
	boolKind
	dateKind
	zipKind
	// entityKind is an entity type.
	entityKind
	// choiceKind is one of the column's choices.
	choiceKind
	// countKind is a whole number.
	countKind
	// ssnKind is never shown.
	ssnKind
	// openKind is one of the column's choices, or another text that the rules judge.
	openKind
	// placeKind is the state of an address, which may be abroad.
	placeKind
	countryKind
)

// part is a piece of an order that only some rows have. Its columns are read only in those rows.
type part uint8

const (
	ofEvery part = iota
	// ofAgent is an agent that the row supplies.
	ofAgent
	// ofEIN is an EIN that the row orders.
	ofEIN
	// ofReport is an annual report that the row orders.
	ofReport
	// ofCompany is a company to create.
	ofCompany
	// ofOfficers are the officers of the company to create.
	ofOfficers
	parts
)

// column is one row of the table of columns.
type column struct {
	// header is the header in the templates and the documentation.
	header string
	// field is the filing service's field, without the product if several products share the field.
	field string
	kind  kind
	// rule is the rule that an unreadable value breaks.
	rule string
	// aliases are other wordings of the header.
	aliases []string
	// weak are wordings that count only if no other header claims the column.
	weak []string

	// used are the products whose orders have the column. Products in recordOnly read its values
	// for the record. The values are not part of the order, and only warnings concern them.
	// Products in may use the column in the rows that have its part.
	used, recordOnly, may []filing.Product
	part                  part
	// unsent reports whether the column is never part of an order.
	unsent bool
	// suggests is the product that the column suggests.
	suggests filing.Product

	// choices are the values of a choiceKind, in the filing service's spelling.
	choices []string
	// means maps folded wordings to choices.
	means map[string]string
	// about is one or two sentences for the person who fills in the column.
	about   string
	example string
}

func (c *column) uses(p filing.Product) bool { return slices.Contains(c.used, p) }
func (c *column) has(p filing.Product) bool {
	return slices.Contains(c.used, p) || slices.Contains(c.recordOnly, p) || slices.Contains(c.may, p)
}

// values returns the choices of a drop-down, or nil if any text may be entered.
func (c *column) values() []string {
	switch c.kind {
	case boolKind:
		return []string{"yes", "no"}
	case placeKind, stateKind:
		states := filing.States()
		all := make([]string, len(states))
		for i, s := range states {
			all[i] = string(s)
		}
		return all
	case entityKind:
		return []string{string(filing.LLC), string(filing.Corp)}
	}
	return c.choices
}

// choosing returns the column with choices and further words for them.
func (c column) choosing(choices []string, means map[string]string) column {
	c.choices, c.means = choices, means
	return c
}

// asText reports whether the column is formatted as text. A spreadsheet program then does not read
// its values as numbers or dates.
func (c *column) asText() bool {
	return c.kind == zipKind || c.kind == companyKind || c.kind == userKind || c.kind == phoneKind || c.kind == ssnKind
}

// Sets of products that share columns.
var (
	anyProduct = filing.Products
	onExisting = []filing.Product{filing.AnnualReport, filing.AgentChange, filing.RegisteredAgent, filing.EIN,
		filing.ForeignQualification}
	agentOrders = []filing.Product{filing.AgentChange, filing.RegisteredAgent}
	withAgent   = []filing.Product{filing.AnnualReport, filing.ForeignQualification, filing.Formation}
	byFacts     = []filing.Product{filing.AnnualReport, filing.ForeignQualification}
	formation   = []filing.Product{filing.Formation}
	ein         = []filing.Product{filing.EIN, filing.Formation}
	annual      = []filing.Product{filing.AnnualReport}
	onlyEIN     = []filing.Product{filing.EIN}
	byState     = []filing.Product{filing.AnnualReport, filing.ForeignQualification, filing.Formation, filing.EIN}

	qualification = []filing.Product{filing.ForeignQualification}

	notEINs           = allBut(filing.EIN, filing.Formation)
	notReports        = allBut(filing.AnnualReport)
	notQualifications = allBut(filing.ForeignQualification)
)

// allBut returns all products except the given ones.
func allBut(out ...filing.Product) []filing.Product {
	return slices.DeleteFunc(slices.Clone(filing.Products),
		func(p filing.Product) bool { return slices.Contains(out, p) })
}

// columns is the table. Source: docs/columns.md for the headers, spec section 2 for the fields,
// their kinds and choices, and section 4 for the products that use them.
var columns = slices.Concat([]column{
	companyID: {
		header: "Company ID",
		field:  "companyId",
		kind:   companyKind,
		rule:   "company.id",
		used:   onExisting,
		may:    formation,
		aliases: []string{"companyIdOrSlug", "Company ID or Slug", "Company Slug", "Company Identifier", "Comp ID",
			"Slug"},
		about: "The company as the filing service knows it: its id (comp_…) or its slug, the last part of its web " +
			"address. Left empty, the company is created from the columns that describe it.",
		example: "comp_8k2mP4",
	},
	legalName: {
		header:     "Legal Name",
		field:      "company.legalName",
		kind:       nameKind,
		rule:       "company.legalName",
		used:       formation,
		recordOnly: onExisting,
		aliases: []string{"legalName", "Entity Name", "Company Name", "Company", "Entity", "Name of Entity",
			"Current Entity Name", "Business Name", "Legal Entity", "Legal Entity Name", "Company Legal Name",
			"Corporation Name"},
		weak: []string{"Client Name", "Customer", "Customer Name"},
		about: "The company's full legal name. An existing company is found by its Company ID, and the name is " +
			"compared with the filing service's record: a row that names another company is not sent. A formation " +
			"and a company that is new to the filing service use this name.",
		example: "Harbor Light Bakery LLC",
	},
	confirmedName: {
		header:     "Confirmed Name",
		field:      "confirmedName",
		kind:       nameKind,
		rule:       "company.confirmed-name",
		recordOnly: onExisting,
		aliases:    []string{"Confirmed Legal Name", "Confirmed Company Name"},
		about: "The company's name at the filing service, entered by a person who has checked that the Company ID " +
			"is right although the Legal Name differs. The row is sent only if it is that name.",
		example: "Lakeshore Holdings LLC",
	},
	entityType: {
		header: "Entity Type",
		field:  "company.entityType",
		kind:   entityKind,
		rule:   "company.entityType",
		used:   slices.Concat(byFacts, formation),
		may:    slices.Concat(agentOrders, onlyEIN),
		part:   ofCompany,
		aliases: []string{"entityType", "Type of Entity", "Company Type", "Entity Kind", "Legal Form", "Business Type",
			"Type of Business"},
		weak:    []string{"Type"},
		about:   "LLC or CORP, the two types the filing service accepts. Added to a company without a type.",
		example: "LLC",
	},
	structureType: companyChoice("Structure Type", "structureType", filing.StructureTypes,
		map[string]string{"membermanaged": "MEMBER", "managermanaged": "MANAGER", "members": "MEMBER",
			"managers": "MANAGER"},
		"For an LLC: MEMBER or MANAGER, as the company is managed.", "MEMBER", "Management Structure", "Managed By",
		"LLC Structure"),
	taxElection: companyChoice("Tax Election", "taxElection", filing.TaxElections,
		map[string]string{"ccorp": "C Corporation", "scorp": "S Corporation", "c": "C Corporation",
			"s": "S Corporation"},
		"For a corporation: C Corporation or S Corporation.", "C Corporation", "Tax Classification"),
	formationState: {
		header: "Formation State",
		field:  "company.formationState",
		kind:   stateKind,
		rule:   "company.formationState",
		used:   byState,
		may:    agentOrders,
		part:   ofCompany,
		aliases: []string{"formationState", "State of Formation", "State of Incorporation", "State of Organization",
			"Incorporation State", "Inc State", "Home State", "Domicile State", "Domestic State",
			"Formation Jurisdiction", "Jurisdiction of Formation", "Jurisdiction of Incorporation"},
		about: "The state the company was formed in. It completes a company that lacks it, and is the Filing " +
			"State of a formation or an EIN that names none.",
		example: "DE",
	},
	formationDate: {
		header:     "Formation Date",
		field:      "company.formationDate",
		kind:       dateKind,
		rule:       "company.formationDate",
		recordOnly: byFacts,
		may:        slices.Concat(agentOrders, onlyEIN),
		part:       ofCompany,
		aliases: []string{"formationDate", "Date of Formation", "Date Formed", "Formed", "Formed On",
			"Incorporation Date", "Date of Incorporation", "Organization Date", "Inception Date"},
		about:   "The day the company was formed, as a date or as YYYY-MM-DD.",
		example: "2019-04-30",
	},
	fiscalEndMonth: companyChoice("Fiscal End Month", "fiscalEndMonth", filing.Months, monthWords,
		"The last month of the company's fiscal year.", "December", "Fiscal Year End", "Fiscal Year End Month", "FYE",
		"Year End Month"),
	principalLine1: address("Principal Line 1", "principalAddress.line1", textKind,
		"Street and number of the principal office.", "12 Market Street"),
	principalLine2: address("Principal Line 2", "principalAddress.line2", textKind, "Suite, floor or unit.",
		"Suite 400"),
	principalCity: address("Principal City", "principalAddress.city", textKind, "City of the principal office.",
		"Wilmington"),
	principalState: address("Principal State", "principalAddress.state", placeKind,
		"State of the principal office.", "DE"),
	principalPostalCode: address("Principal Postal Code", "principalAddress.postalCode", zipKind,
		"ZIP code of the principal office.", "19801"),
	principalCountry: address("Principal Country", "principalAddress.country", countryKind,
		"Two-letter country code. Left empty, it is US where the state is one of the US.", "US"),
	mailingLine1: address("Mailing Line 1", "mailingAddress.line1", textKind,
		"Street and number for mail. Left empty, mail goes to the principal office.", "12 Market Street"),
	mailingLine2: address("Mailing Line 2", "mailingAddress.line2", textKind, "Suite, floor or unit.",
		"Suite 400"),
	mailingCity:  address("Mailing City", "mailingAddress.city", textKind, "City for mail.", "Wilmington"),
	mailingState: address("Mailing State", "mailingAddress.state", placeKind, "State for mail.", "DE"),
	mailingPostalCode: address("Mailing Postal Code", "mailingAddress.postalCode", zipKind, "ZIP code for mail.",
		"19801"),
	mailingCountry: address("Mailing Country", "mailingAddress.country", countryKind,
		"Two-letter country code. Left empty, it is US where the state is one of the US.", "US"),
	userID: userColumn("User ID", "userId", "id", userKind,
		"The owner of the order, as the filing service knows them (user_…). Give this or the User Email.",
		"user_5tQ9wL", "User"),
	userEmail: userColumn("User Email", "email", "email", emailKind,
		"The owner's email address. A user who is new to the filing service is created with it.",
		"ana@harborlight.example", "E-mail", "Email Address", "User Email Address", "Contact Email", "Owner Email",
		"Customer Email", "Client Email", "userIdOrEmail"),
	userName: userColumn("User Name", "fullName", "name", nameKind,
		"The owner's full name. Needed only for a user who is new to the filing service.", "Ana Silva", "Full Name",
		"User Full Name", "Contact", "Contact Name", "Owner Name"),
	userPhone: userColumn("User Phone", "phoneNumber", "phone", phoneKind,
		"The owner's phone number, used only when the user is created. Ten digits are read as a US number.",
		"+13025550142", "Phone", "Phone Number", "User Phone Number", "Contact Phone", "Telephone", "Tel", "Mobile"),
	filingState: {
		header: "Filing State",
		field:  "filingState",
		kind:   stateKind,
		rule:   "filing-state.known",
		used:   anyProduct,
		aliases: []string{"Filing Jurisdiction", "State of Filing", "State Filed In", "Report State",
			"Registration State"},
		weak:    []string{"State"},
		about:   "The state that gets the filing: a two-letter code, or its name.",
		example: "DE",
	},
	filingYear: {
		header:   "Filing Year",
		field:    "annualReport.filingYear",
		kind:     yearKind,
		rule:     "annual-report.year",
		used:     annual,
		may:      notReports,
		part:     ofReport,
		suggests: filing.AnnualReport,
		aliases: []string{"filingYear", "Report Year", "Annual Report Year", "AR Year", "Reporting Year", "Filing Yr",
			"Year", "Yr"},
		about:   "The year of the report, four digits.",
		example: "2026",
	},
	orderAgent: {
		header:   "Order Registered Agent",
		field:    "registeredAgent",
		kind:     boolKind,
		rule:     "registered-agent.order",
		suggests: filing.RegisteredAgent,
		used:     slices.Concat(agentOrders, withAgent),
		may:      onlyEIN,
		aliases: []string{"Order Our Registered Agent", "Order Agent", "Order Our Agent", "Order RA", "Order Our RA",
			"Registered Agent", "RA", "Registered Agent Service", "RA Service"},
		about: "yes orders the filing service's own registered agent in the filing state, billed yearly. Leave it " +
			"empty if an agent is on record or supplied.",
		example: "no",
	},
	changeOfAgent: {
		header:   "Change Of Agent",
		field:    "registeredAgent.isChangeOfAgent",
		kind:     boolKind,
		rule:     "registered-agent.change",
		suggests: filing.AgentChange,
		used:     slices.Concat(agentOrders, annual, []filing.Product{filing.ForeignQualification}),
		may:      slices.Concat(formation, onlyEIN),
		aliases: []string{"isChangeOfAgent", "Change Agent", "Agent Change", "Change of Registered Agent",
			"Change of RA", "Change RA", "RA Change"},
		about:   "yes replaces the agent on record with the filing service's own; no is a first appointment.",
		example: "yes",
	},
	agentType: agentColumn("Agent Type", "type", choiceKind,
		"Of an agent you supply: PERSON or COMPANY. Left empty, it follows from the names.", "COMPANY", "type").
		choosing(partyTypes, partyWords),
	agentCompanyName: func() column {
		c := agentColumn("Agent Company Name", "companyName", nameKind, "Name of a supplied agent that is a company.",
			"First State Agents Inc.", "company", "company name", "name", "business name", "firm")
		c.aliases = append(c.aliases, "New Agent", "New Registered Agent", "New RA")
		return c
	}(),
	agentFirstName: agentColumn("Agent First Name", "firstName", nameKind,
		"First name of a supplied agent that is a person.", "Grace", "first name", "first", "given name"),
	agentLastName: agentColumn("Agent Last Name", "lastName", nameKind,
		"Last name of a supplied agent that is a person.", "Okafor", "last name", "last", "surname", "family name"),
	agentStreet: agentColumn("Agent Street", "addressStreet", textKind,
		"Street address of a supplied agent, in the filing state.", "200 Continental Drive",
		"street", "street address", "address", "address street", "address line 1", "address 1", "line 1"),
	agentLine2: agentColumn("Agent Line 2", "line2", textKind,
		"Suite, floor or unit of a supplied agent. It is sent as part of the Agent Street.", "Suite 400",
		"line 2", "address 2", "address line 2", "street 2", "suite", "unit", "floor"),
	agentCity: agentColumn("Agent City", "addressCity", textKind, "City of a supplied agent.", "Newark",
		"city", "address city"),
	agentState: agentColumn("Agent State", "addressState", stateKind,
		"State of a supplied agent. It must be the filing state.", "DE", "state", "address state"),
	agentZIP: agentColumn("Agent ZIP", "addressZip", zipKind,
		"ZIP code of a supplied agent: five digits, or five and four. Keep the column as text, so that "+
			"leading zeros stay.", "19713",
		"zip", "zip code", "postal code", "postcode", "address zip", "address postal code"),
	expedited: {
		header:   "Expedited",
		field:    "formation.expedited",
		kind:     boolKind,
		rule:     "formation.expedited",
		used:     formation,
		suggests: filing.Formation,
		aliases:  []string{"Expedite", "Rush", "Expedited Filing"},
		about:    "yes orders the faster filing of a formation, where the state offers it to LLCs.",
		example:  "no",
	},
	alternativeNames: {
		header:   "Alternative Names",
		field:    "formation.alternativeNames",
		kind:     nameKind,
		rule:     "formation.alternativeNames",
		used:     formation,
		suggests: filing.Formation,
		aliases:  []string{"alternativeNames", "Alternate Names", "Fallback Names", "Backup Names"},
		about:    "Up to ten further names, divided by semicolons, in the order of preference.",
		example:  "Harbor Light Foods LLC; Harbor Light Kitchen LLC",
	},
	orderEIN: orderColumn("Order EIN", "ein", "ein", filing.EIN, ein, notEINs,
		"yes orders a federal employer identification number, alone or with what else the row orders.",
		"EIN Order", "Order Tax ID", "Get EIN"),
	orderAnnualReport: orderColumn("Order Annual Report", "annualReport", "annual-report", filing.AnnualReport, annual,
		notReports, "yes orders the annual report, alone or with what else the row orders. Without the column, every "+
			"row of a sheet of annual reports orders it.",
		"Annual Report", "Order AR", "File Annual Report"),
	orderQualification: orderColumn("Order Foreign Qualification", "foreignQualification", "foreign-qualification",
		filing.ForeignQualification, qualification, notQualifications,
		"yes qualifies the company in the filing state, alone or with what else the row orders.",
		"Foreign Qualification", "Order FQ", "Qualify"),
	chargeClient: chargeColumn("Client", "client", "The client whose charges the row belongs to.", "Harbor Light",
		"Client Number", "Client Code", "Client ID"),
	chargeMatter: chargeColumn("Matter", "matter", "The client's matter that the row's charges belong to.",
		"2026 annual reports",
		"Matter Number", "Matter ID", "Matter Name"),
	billTo: chargeColumn("Bill To", "billTo", "Who pays for the row, listed with its charges.",
		"Harbor Light Bakery LLC", "Billed To",
		"Invoice To"),
	chargeReference: chargeColumn("Reference", "reference", "Your own reference, listed with the row's charges.",
		"PO 4711", "Ref",
		"Reference Number", "Our Reference", "Your Reference", "PO Number", "Purchase Order"),
	businessCategory: einColumn("Business Category", "businessCategory", openKind,
		"The line of business. The filing service accepts these and may accept others.", "Consulting").
		choosing(filing.BusinessCategories, nil),
	businessPurpose: einColumn("Business Purpose", "businessPurpose", textKind,
		"What the company does, in a few words.", "Bookkeeping for small firms"),
	applicationReason: einColumn("Application Reason", "applicationReason", choiceKind,
		"Why the number is applied for.", "Started a new business").choosing(filing.ApplicationReasons, nil),
	vehicle55kPounds: einColumn("Vehicle 55k Pounds", "vehicle55kPounds", boolKind,
		"Has a highway vehicle of 55,000 pounds or more?", "no"),
	gamblingWagering: einColumn("Gambling Wagering", "gamblingWagering", boolKind,
		"Involves gambling or wagering?", "no"),
	fileForm720: einColumn("File Form 720", "fileForm720", boolKind,
		"Files Form 720, the excise tax return?", "no"),
	alcoholTobaccoFirearms: einColumn("Alcohol Tobacco Firearms", "alcoholTobaccoFirearms", boolKind,
		"Makes or sells alcohol, tobacco or firearms?", "no"),
	fileForm944: einColumn("File Form 944", "fileForm944", boolKind,
		"Files employment taxes once a year, on Form 944?", "no"),
	w2Expected: einColumn("Is W2 Expected", "isW2Expected", boolKind,
		"Expects to pay employees within a year?", "no", "W2 Expected"),
	agricultureEmployees: einColumn("Agriculture Employees Count", "agricultureEmployeesCount", countKind,
		"How many agricultural employees are expected.", "0"),
	otherEmployees: einColumn("Other Employees Count", "otherEmployeesCount", countKind,
		"How many other employees are expected.", "0"),
	firstWagesDate: einColumn("First Wages Date", "firstWagesDate", dateKind,
		"The day of the first wages, where employees are expected.", "2026-06-01"),
	partyFirstName: einColumn("Responsible Party First Name", "responsiblePartyFirstName", nameKind,
		"First name of the person answerable to the tax authority.", "Ana"),
	partyLastName: einColumn("Responsible Party Last Name", "responsiblePartyLastName", nameKind,
		"Last name of that person.", "Silva"),
	partyTitle: einColumn("Responsible Party Title", "responsiblePartyTitle", nameKind, "Title of that person.",
		"Managing Member"),
	partySSN: einColumn("Responsible Party SSN", "responsiblePartySsn", ssnKind,
		"Social Security number of that person, nine digits. Left empty for a foreign person. Keep the column as "+
			"text, so that leading zeros stay.", "078-05-1120", "SSN", "Social Security Number",
		"Responsible Party Social Security Number"),
	partyPhone: einColumn("Responsible Party Phone Number", "responsiblePartyPhoneNumber", phoneKind,
		"Phone number of that person.", "+13025550142", "Responsible Party Phone"),
	partyIsForeign: einColumn("Responsible Party Is Foreign", "responsiblePartyIsForeign", boolKind,
		"yes where that person is foreign and has no SSN.", "no", "Foreign Responsible Party"),
}, officerColumns())

// maxOfficers is how many officers fit in a row.
const maxOfficers = 25

// The columns of one officer, in order.
const (
	officerType columnID = iota
	officerFirstName
	officerLastName
	officerCompanyName
	officerTitle
	officerPrimary
	officerLine1
	officerLine2
	officerCity
	officerState
	officerPostalCode
	officerCountry
	officerColumnCount
)

// officerColumn returns the column of officer n, counted from 0.
func officerColumn(n int, part columnID) columnID {
	return firstOfficer + columnID(n)*officerColumnCount + part
}

// officerParts are the columns of an officer, without the number.
var officerParts = []column{
	officerType: officerPart("Type", "type", choiceKind, "PERSON or COMPANY. Left empty, it follows from the names.",
		"PERSON").choosing(partyTypes, partyWords),
	officerFirstName:   officerPart("First Name", "firstName", nameKind, "First name of a person.", "Ana"),
	officerLastName:    officerPart("Last Name", "lastName", nameKind, "Last name of a person.", "Silva"),
	officerCompanyName: officerPart("Company Name", "companyName", nameKind, "Name of a company.", ""),
	officerTitle: officerPart("Title", "title", openKind,
		"The title. At least one officer of an LLC is a Member or Managing Member.", "Managing Member").
		choosing(slices.Concat(filing.Titles[filing.LLC], filing.Titles[filing.Corp]), titleWords),
	officerPrimary: officerPart("Primary", "isPrimary", boolKind, "yes for exactly one officer.", "yes",
		"Is Primary", "Primary Officer"),
	officerLine1: officerPart("Line 1", "address.line1", textKind, "Street and number.", "12 Market Street",
		"Street", "Street Address", "Address", "Address Line 1"),
	officerLine2: officerPart("Line 2", "address.line2", textKind, "Suite, floor or unit.", "",
		"Address Line 2", "Suite"),
	officerCity:  officerPart("City", "address.city", textKind, "City.", "Wilmington", "Address City"),
	officerState: officerPart("State", "address.state", placeKind, "State.", "DE", "Address State"),
	officerPostalCode: officerPart("Postal Code", "address.postalCode", zipKind, "ZIP code.", "19801",
		"ZIP", "ZIP Code"),
	officerCountry: officerPart("Country", "address.country", countryKind,
		"Two-letter country code. Left empty, it is US where the state is one of the US.", "US", "Country Code"),
}

func officerPart(header, field string, k kind, about, example string, aliases ...string) column {
	return column{header: header, field: field, kind: k, aliases: aliases, about: about, example: example}
}

// partyTypes are the choices for a person or a company.
var partyTypes = []string{string(filing.Person), string(filing.CompanyParty)}

// titleWords maps other wordings to the titles of corporations.
var titleWords = map[string]string{
	"chiefexecutiveofficer": "CEO", "chieffinancialofficer": "CFO", "chiefoperatingofficer": "COO",
	"vp": "Vice President", "pres": "President", "managingmbr": "Managing Member",
}

// officerColumns returns the columns of Officer 1, Officer 2 and so on.
func officerColumns() []column {
	all := make([]column, 0, maxOfficers*int(officerColumnCount))
	for n := range maxOfficers {
		for _, p := range officerParts {
			name := p.header
			p.header = fmt.Sprintf("Officer %d %s", n+1, name)
			p.field = fmt.Sprintf("company.officers[%d].%s", n, p.field)
			p.rule = "officer." + strings.ToLower(strings.ReplaceAll(name, " ", "-"))
			p.used, p.may, p.part = formation, onExisting, ofOfficers
			words := p.aliases
			p.aliases = nil
			for _, word := range words {
				p.aliases = append(p.aliases, fmt.Sprintf("Officer %d %s", n+1, word))
			}
			all = append(all, p)
		}
	}
	return all
}

// addressParts has the wordings of an address's parts. The key is the last word of the part's
// field.
var addressParts = map[string][]string{
	"line1":      {"line 1", "street", "street address", "address", "address 1", "address line 1", "street 1"},
	"line2":      {"line 2", "address 2", "address line 2", "street 2", "suite"},
	"city":       {"city", "town"},
	"state":      {"state"},
	"postalCode": {"postal code", "zip", "zip code", "postcode"},
	"country":    {"country", "country code"},
}

// address returns a column of the principal or the mailing address. Bare words ("Street", "Zip")
// mean the principal address unless another column claims them.
func address(header, field string, k kind, about, example string) column {
	c := column{
		header:  header,
		field:   "company." + field,
		kind:    k,
		rule:    "company." + field,
		used:    formation,
		may:     onExisting,
		part:    ofCompany,
		about:   about,
		example: example,
	}
	which, part, _ := strings.Cut(field, ".")
	prefixes := []string{"mailing", "mailing address", "mail"}
	if which == "principalAddress" {
		prefixes = []string{"principal", "principal address", "principal office", "business", "business address",
			"company", "company address"}
		c.weak = addressParts[part]
	}
	for _, prefix := range prefixes {
		for _, word := range addressParts[part] {
			c.aliases = append(c.aliases, prefix+" "+word)
		}
	}
	return c
}

// addresses are the columns of each address that a row can have, in the order
// line 1, line 2, city, state, postal code, country.
var addresses = func() [][]columnID {
	all := [][]columnID{
		{principalLine1, principalLine2, principalCity, principalState, principalPostalCode, principalCountry},
		{mailingLine1, mailingLine2, mailingCity, mailingState, mailingPostalCode, mailingCountry},
		{agentStreet, agentLine2, agentCity, agentState, agentZIP, none},
	}
	for n := range maxOfficers {
		var officer []columnID
		for _, part := range []columnID{officerLine1, officerLine2, officerCity, officerState, officerPostalCode,
			officerCountry} {
			officer = append(officer, officerColumn(n, part))
		}
		all = append(all, officer)
	}
	return all
}()

// addressPart is the position of a column in addresses.
type addressPart struct{ address, index int }

var addressPartOf = func() map[columnID]addressPart {
	all := make(map[columnID]addressPart)
	for i, columns := range addresses {
		for j, id := range columns {
			if id != none {
				all[id] = addressPart{i, j}
			}
		}
	}
	return all
}()

// userColumn returns a column of the owner of an order.
func userColumn(header, field, rule string, k kind, about, example string, aliases ...string) column {
	return column{
		header:  header,
		field:   field,
		kind:    k,
		rule:    "user." + rule,
		used:    anyProduct,
		aliases: aliases,
		about:   about,
		example: example,
	}
}

// companyChoice returns a column of a company with a few choices.
func companyChoice(header, field string, choices []string, means map[string]string, about, example string,
	aliases ...string) column {
	return column{
		header:  header,
		field:   "company." + field,
		kind:    choiceKind,
		rule:    "company." + field,
		used:    formation,
		may:     onExisting,
		part:    ofCompany,
		aliases: aliases,
		choices: choices,
		means:   means,
		about:   about,
		example: example,
	}
}

// agentColumn returns a column of a supplied agent. words are wordings of the header after "Agent".
func agentColumn(header, field string, k kind, about, example string, words ...string) column {
	c := column{
		header:  header,
		field:   "registeredAgent." + field,
		kind:    k,
		rule:    "agent." + field,
		used:    withAgent,
		may:     onlyEIN,
		part:    ofAgent,
		about:   about,
		example: example,
	}
	for _, prefix := range []string{"agent", "registered agent", "RA", "supplied agent", "current agent", "new agent",
		"new registered agent", "new RA"} {
		for _, word := range words {
			c.aliases = append(c.aliases, prefix+" "+word)
		}
	}
	return c
}

// orderColumn returns the column that orders a product by yes or no.
func orderColumn(header, field, rule string, product filing.Product, used, may []filing.Product, about string,
	aliases ...string) column {
	return column{
		header:   header,
		field:    field,
		kind:     boolKind,
		rule:     rule + ".order",
		used:     used,
		may:      may,
		suggests: product,
		aliases:  aliases,
		about:    about,
		example:  "yes",
	}
}

// chargeColumn returns a column that is shown with the charges of its row and never sent.
func chargeColumn(header, field, about, example string, aliases ...string) column {
	return column{
		header:     header,
		field:      field,
		kind:       textKind,
		rule:       "charges." + field,
		recordOnly: anyProduct,
		unsent:     true,
		aliases:    aliases,
		about:      about + " It is never sent to the filing service.",
		example:    example,
	}
}

func einColumn(header, field string, k kind, about, example string, aliases ...string) column {
	return column{
		header:   header,
		field:    "ein." + field,
		kind:     k,
		rule:     "ein." + field,
		used:     ein,
		may:      notEINs,
		part:     ofEIN,
		suggests: filing.EIN,
		aliases:  append(aliases, field),
		about:    about,
		example:  example,
	}
}

// partyWords maps other words to a person or a company.
var partyWords = map[string]string{
	"individual": string(filing.Person), "naturalperson": string(filing.Person), "p": string(filing.Person),
	"business": string(filing.CompanyParty), "entity": string(filing.CompanyParty),
	"organization": string(filing.CompanyParty),
	"corporation":  string(filing.CompanyParty), "commercial": string(filing.CompanyParty),
	"c": string(filing.CompanyParty),
}

// monthWords maps the abbreviations and numbers of the months to their names.
var monthWords = func() map[string]string {
	words := make(map[string]string, 4*len(filing.Months))
	for i, m := range filing.Months {
		words[strings.ToLower(m)] = m
		words[strings.ToLower(m[:3])] = m
		words[fmt.Sprint(i+1)] = m
		words[fmt.Sprintf("%02d", i+1)] = m
	}
	words["sept"] = "September"
	return words
}()

// resultColumns are the columns that a results workbook adds. Import ignores them without a note if
// the workbook is uploaded again.
var resultColumns = map[string]bool{
	"result": true, "message": true, "orderids": true, "filingstatus": true, "filingdate": true, "cost": true,
	"attempts": true, "updatedat": true, "subscription": true,
}

// strength is how certain the meaning of a header is.
type strength uint8

const (
	unknown strength = iota
	// weak is a bare word such as "State".
	weak
	// alias is another wording.
	alias
	// exact is our header or the filing service's field.
	exact
	// mapped is given by the options.
	mapped
)

// wording is the meaning of a header.
type wording struct {
	column   columnID
	strength strength
}

// wordings maps a folded header to its strongest meaning. The meaning of "State" alone depends on
// its neighbors, see resolve.
var wordings, wordingTexts = func() (map[string]wording, map[string]string) {
	all := make(map[string]wording, 8*len(columns))
	texts := make(map[string]string, 8*len(columns))
	add := func(text string, id columnID, s strength) {
		word := filing.FoldName(text)
		if old, taken := all[word]; !taken || old.strength < s {
			all[word], texts[word] = wording{id, s}, text
		}
	}
	for i := range columns {
		c, id := &columns[i], columnID(i)
		add(c.header, id, exact)
		add(c.field, id, exact)
		switch object, field, _ := strings.Cut(c.field, "."); object {
		case "company":
			add(field, id, exact)
			add("formation."+c.field, id, exact)
		case "annualReport", "formation", "ein":
			add(field, id, exact)
		case "registeredAgent":
			add("annualReport."+c.field, id, exact)
		}
		for _, a := range c.aliases {
			add(a, id, alias)
		}
		for _, w := range c.weak {
			add(w, id, weak)
		}
	}
	delete(all, "")
	// A column with the header EIN holds the number and does not order one.
	delete(all, "ein")
	return all, texts
}()

// spellings are the wordings that a misspelled header may mean.
var spellings = sync.OnceValue(func() (all []spelling) {
	for folded, w := range wordings {
		if w.strength > weak {
			all = append(all, spelling{folded, headerWords(wordingTexts[folded]), w})
		}
	}
	return all
})

// columnOfField finds the column with a field of the filing service.
func columnOfField(field string) columnID {
	if id, ok := columnsByField[field]; ok {
		return id
	}
	// annualReport.registeredAgent.type and registeredAgent.type are one column.
	_, rest, _ := strings.Cut(field, ".")
	if id, ok := columnsByField[rest]; ok {
		return id
	}
	return none
}

var columnsByField = func() map[string]columnID {
	all := make(map[string]columnID, len(columns))
	for i := range columns {
		all[columns[i].field] = columnID(i)
	}
	return all
}()
