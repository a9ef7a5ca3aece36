package report

// CostCell and CostText are what Results say of a row's cost.
var (
	CostCell = costCell
	CostText = costText
)

// ResultColumns are the headers of the result columns.
var ResultColumns = resultColumns

// NotOrdered and NotDue are the reasons why next year's spreadsheet does not have a row.
var (
	NotOrdered = notOrdered
	NotDue     = notDue
)
