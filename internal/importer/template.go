package importer

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/sheet"
)

// exampleCompany is the company of a template's example row, which is never filed.
const exampleCompany = "comp_EXAMPLE"

// exampleName is the legal name in a template's example row if the row forms the company.
const exampleName = "EXAMPLE COMPANY LLC"

const isExample = "the example row of the template, not a filing"

// template is the content of a product's template.
type template struct {
	sheet   string
	columns []columnID
	// needed are the columns that each row needs.
	needed []columnID
	// empty are the columns that are empty in the example row.
	empty []columnID
	// says replaces the columns' examples in the example row.
	says map[columnID]string
	// hints are shown above the table of columns.
	hints []string
}

// templates has a template for each product.
var templates = map[filing.Product]template{
	filing.AnnualReport: {
		sheet: "Annual Reports",
		columns: []columnID{
			companyID, legalName, entityType, formationState, userEmail, userName, userPhone, filingState, filingYear,
			orderAgent, changeOfAgent,
			agentType, agentCompanyName, agentFirstName, agentLastName, agentStreet, agentCity, agentState, agentZIP,
		},
		needed: []columnID{companyID, userEmail, filingState, filingYear},
		empty:  []columnID{changeOfAgent, agentFirstName, agentLastName},
		hints: []string{
			"One row orders the annual report of one company in one state for one year.",
			"The filing state must have a registered agent: one on record with the filing service, one ordered in " +
				"the row, or one supplied in the Agent columns.",
		},
	},
	filing.AgentChange: {
		sheet:   "Agent Changes",
		columns: []columnID{companyID, legalName, userEmail, userName, userPhone, filingState, changeOfAgent},
		needed:  []columnID{companyID, userEmail, filingState, changeOfAgent},
		hints: []string{
			"One row makes the filing service's own agent the registered agent of one company in one state.",
			"yes under Change Of Agent replaces the agent on record; no is a first appointment.",
		},
	},
	filing.RegisteredAgent: {
		sheet:   "Registered Agents",
		columns: []columnID{companyID, legalName, userEmail, userName, userPhone, filingState, orderAgent},
		needed:  []columnID{companyID, userEmail, filingState, orderAgent},
		hints: []string{"One row appoints the filing service's own agent for one company in a state where it " +
			"has none."},
	},
	filing.Formation: {
		sheet: "Formations",
		columns: slices.Concat([]columnID{
			legalName, alternativeNames, entityType, structureType, taxElection, fiscalEndMonth, filingState, expedited,
			userEmail, userName, userPhone,
			principalLine1, principalLine2, principalCity, principalState, principalPostalCode, principalCountry,
			mailingLine1, mailingLine2, mailingCity, mailingState, mailingPostalCode, mailingCountry,
			orderAgent, agentType, agentCompanyName, agentFirstName, agentLastName, agentStreet, agentCity, agentState,
			agentZIP,
		}, officersOf(4), []columnID{orderEIN}, einDetails),
		needed: []columnID{
			legalName, entityType, filingState, userEmail, principalLine1, principalCity, principalState,
			officerColumn(0, officerTitle), officerColumn(0, officerPrimary), officerColumn(0, officerLine1),
			officerColumn(0, officerCity), officerColumn(0, officerState),
		},
		empty: slices.Concat([]columnID{
			taxElection, mailingLine1, mailingLine2, mailingCity, mailingState, mailingPostalCode, mailingCountry,
			agentType, agentCompanyName, agentFirstName, agentLastName, agentStreet, agentCity, agentState, agentZIP,
		}, officersOf(4)[officerColumnCount:], einDetails),
		says: map[columnID]string{legalName: exampleName, orderAgent: yes, orderEIN: no},
		hints: []string{
			"One row forms one company in one state.",
			"An LLC needs a Structure Type, a corporation a Tax Election.",
			"At least one officer is needed, exactly one of all is primary, and an LLC needs a Member or Managing " +
				"Member. Officers beyond the fourth go into further columns (Officer 5 Type …).",
			"Every company needs a registered agent: enter yes under Order Registered Agent or fill in the Agent " +
				"columns, but not both.",
			"yes under Order EIN orders the EIN with the formation. Fill in the columns after it then.",
		},
	},
	filing.EIN: {
		sheet: "EINs",
		columns: slices.Concat([]columnID{companyID, legalName, userEmail, userName, userPhone, filingState},
			einDetails),
		needed: slices.Concat([]columnID{companyID, userEmail, filingState}, einAlways),
		empty:  []columnID{firstWagesDate},
		hints: []string{
			"One row applies for the employer identification number (EIN) of one company.",
			"If employees are expected, enter at least 1 employee in one of the two counts, and the First Wages " +
				"Date.",
			"The Social Security number is needed unless the responsible party is foreign. It is sent to the " +
				"filing service and never stored.",
		},
	},
	filing.ForeignQualification: {
		sheet: "Foreign Qualifications",
		columns: []columnID{
			companyID, legalName, entityType, formationState, userEmail, userName, userPhone, filingState,
			orderQualification, orderAgent,
			agentType, agentCompanyName, agentFirstName, agentLastName, agentStreet, agentCity, agentState, agentZIP,
		},
		needed: []columnID{companyID, userEmail, filingState, orderQualification},
		empty:  []columnID{agentFirstName, agentLastName},
		says: map[columnID]string{
			filingState: "NY",
			agentState:  "NY",
			agentCity:   "Albany",
			agentStreet: "90 State Street",
			agentZIP:    "12207",
		},
		hints: []string{
			"One row qualifies one company in one state other than its own.",
			"The filing state must have a registered agent: one on record with the filing service, one ordered in " +
				"the row, or one supplied in the Agent columns.",
		},
	},
}

// einAlways are the columns that every EIN application needs. einDetails are all columns of an
// application.
var (
	einAlways = []columnID{
		businessCategory, businessPurpose, applicationReason, vehicle55kPounds, gamblingWagering, fileForm720,
		alcoholTobaccoFirearms, fileForm944,
		w2Expected, partyFirstName, partyLastName, partyTitle, partyPhone,
	}
	einDetails = func() (all []columnID) {
		for id := businessCategory; id <= partyIsForeign; id++ {
			all = append(all, id)
		}
		return all
	}()
)

// officersOf returns the columns of the first n officers.
func officersOf(n int) (all []columnID) {
	for id := firstOfficer; id < officerColumn(n, 0); id++ {
		all = append(all, id)
	}
	return all
}

// templateRows is how many rows of a template have drop-downs.
const templateRows = 5000

// WriteTemplate writes the empty workbook of a product. It has the product's columns with
// drop-downs, an example row that is never filed, and a sheet that explains the columns.
func WriteTemplate(product filing.Product, path string) error {
	t, ok := templates[product]
	if !ok {
		return fmt.Errorf("there is no template for %q: there are those of %s", string(product),
			filing.JoinProducts(filing.Products, ", "))
	}
	book, err := sheet.Create(path)
	if err != nil {
		return err
	}
	defer book.Abort()
	if err := t.writeForm(book); err != nil {
		return err
	}
	if err := t.writeColumns(book); err != nil {
		return err
	}
	return book.Save()
}

// example returns the column's cell in the example row.
func (t *template) example(id columnID) sheet.OutCell {
	switch {
	case id == companyID:
		return sheet.Str(exampleCompany).WithStyle(sheet.StyleGrey)
	case t.says[id] != "":
		return sheet.Str(t.says[id]).WithStyle(sheet.StyleGrey)
	case slices.Contains(t.empty, id):
		return sheet.OutCell{}
	case id == orderAgent && !slices.Contains(t.columns, agentCompanyName):
		// The row of this sheet orders no other product.
		return sheet.Str(yes).WithStyle(sheet.StyleGrey)
	}
	return sheet.Str(columns[id].example).WithStyle(sheet.StyleGrey)
}

func (t *template) writeForm(book *sheet.Workbook) error {
	o := sheet.SheetOptions{HeaderRows: 1, HeaderColumns: 2, TabColor: "1F3864"}
	var header, example []sheet.OutCell
	for i, id := range t.columns {
		c := &columns[id]
		header = append(header, sheet.Str(c.header).WithStyle(sheet.StyleHeader))
		example = append(example, t.example(id))
		o.Widths = append(o.Widths, float64(min(max(len(c.header), len(c.example))+4, 32)))
		if c.asText() || c.kind == yearKind {
			o.TextColumns = append(o.TextColumns, i)
		}
		if values := c.values(); values != nil {
			o.Choices = append(o.Choices, sheet.Choice{
				Column:   i,
				FirstRow: 2,
				LastRow:  templateRows,
				Values:   values,
				Prompt:   c.about,
			})
		}
	}
	s, err := book.Sheet(t.sheet, o)
	if err != nil {
		return err
	}
	if err := s.Row(header...); err != nil {
		return err
	}
	return s.Row(example...)
}

// when describes the rows that need a column.
func (t *template) when(id columnID) string {
	switch c := &columns[id]; {
	case slices.Contains(t.needed, id):
		return "always"
	case id == structureType:
		return "for an LLC"
	case id == taxElection:
		return "for a CORP"
	case c.part == ofAgent, c.kind == boolKind && c.part == ofEvery, id == alternativeNames:
		return "if wanted"
	case id == agricultureEmployees, id == otherEmployees, id == firstWagesDate:
		return "for employees"
	case c.part == ofEIN:
		return "for an EIN"
	case c.part == ofOfficers:
		return "for an officer"
	}
	return "if known"
}

// writeColumns explains the columns. Its first row has no header of a sheet of filings, so that it
// is not read as one.
func (t *template) writeColumns(book *sheet.Workbook) error {
	s, err := book.Sheet("How to fill in", sheet.SheetOptions{Widths: []float64{28, 12, 70, 34}, TabColor: "7F7F7F"})
	if err != nil {
		return err
	}
	rows := [][]sheet.OutCell{{sheet.Str("How to fill in the sheet " + t.sheet).WithStyle(sheet.StyleTitle)}}
	for _, hint := range append(t.hints,
		"The gray row is an example. It is never filed. Delete it or write over it.",
		"You can leave out, move and add columns.") {
		rows = append(rows, []sheet.OutCell{sheet.Str(hint)})
	}
	rows = append(rows, nil, []sheet.OutCell{
		sheet.Str("Heading").WithStyle(sheet.StyleHeader), sheet.Str("Needed").WithStyle(sheet.StyleHeader),
		sheet.Str("What to enter").WithStyle(sheet.StyleHeader),
		sheet.Str("Values").WithStyle(sheet.StyleHeader),
	})
	for _, id := range t.columns {
		c := &columns[id]
		values := strings.Join(c.values(), ", ")
		if c.kind == stateKind || c.kind == placeKind {
			values = "two-letter code or name of a state"
		}
		rows = append(rows, []sheet.OutCell{
			sheet.Str(c.header).WithStyle(sheet.StyleBold), sheet.Str(t.when(id)),
			sheet.Str(c.about).WithStyle(sheet.StyleWrap),
			sheet.Str(values).WithStyle(sheet.StyleWrap),
		})
	}
	for _, row := range rows {
		if err := s.Row(row...); err != nil {
			return err
		}
	}
	return nil
}
