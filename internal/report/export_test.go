package report

// CostCell and CostText are what Results say of a row's cost.
var (
	CostCell = costCell
	CostText = costText
)

// ResultColumns are the headers of the result columns.
var ResultColumns = resultColumns
