package web

import (
	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/report"
)

var designRoutes = []route{
	{pattern: "GET /design", may: operator, serve: (*Site).design},
}

// designPage shows each part of the pages in each of its states.
type designPage struct {
	Colors   []designColor
	Results  []filing.Result
	States   []designState
	Messages []flashMessage
	Steps    []step
	Stack    stack
	Amount   money.Cents
	Pager    pager
	Field    any
	Wrong    any
}

// designColor is a custom property of the stylesheet and its use.
type designColor struct{ Name, Use string }

var designColors = []designColor{
	{"paper", "Page"},
	{"sheet", "Tables, panels"},
	{"stripe", "Every other row"},
	{"sunk", "Grid headers, empty bars"},
	{"ink", "Text"},
	{"soft", "Secondary text"},
	{"rule", "Lines"},
	{"edge", "Borders of controls"},
	{"accent", "Actions"},
	{"good", "Placed, filed"},
	{"warn", "Waiting, warnings"},
	{"bad", "Errors, rejected"},
	{"uncertain", "Uncertain"},
	{"idle", "Skipped, canceled"},
}

// designState is the state of a batch in words, and its class.
type designState struct{ Name, Class string }

var designStates = []designState{
	{"Not submitted", "prepared"},
	{"Waiting for approval", "waiting"},
	{"Placing", "running"},
	{"Paused", "paused"},
	{"Needs attention", "attention"},
	{"Done", "finished"},
}

var designMessages = []flashMessage{
	{"ok", "Submitted. The orders are being placed."},
	{"note", "This spreadsheet was already submitted. Nothing was ordered twice."},
	{"warn", "The cost changed to $29,575.00. Nothing was sent. Review the cost summary, then submit again."},
	{"bad", "The file was not uploaded. Choose a spreadsheet (Excel or CSV), then upload it again."},
}

// designField is a line of text of a form, for the part "field".
type designField struct {
	ID, Name, Label, Type, Value, Hint, Error, Autocomplete string
	Required                                                bool
}

// design shows the parts of the pages to those who build and review them.
func (s *Site) design(v *request) error {
	counts := ledger.Counts{filing.Placed: 640, filing.Ready: 148, filing.Uncertain: 7, filing.Rejected: 5}
	return v.show("design.html", "Design", designPage{
		Colors:   designColors,
		Results:  filing.Results,
		States:   designStates,
		Messages: designMessages,
		Steps:    steps(1),
		Stack:    stackOf(report.Headline{Counts: counts}.String(), counts),
		Amount:   2_957_500,
		Field: designField{
			ID:    "design-year",
			Name:  "year",
			Label: "Filing year",
			Value: "2026",
			Hint:  "Four digits",
		},
		Wrong: designField{ID: "design-wrong", Name: "wrong", Label: "Filing year", Value: "25",
			Error: "Enter the year with four digits, such as 2025."},
		Pager: pager{From: 26, To: 50, Total: 208, Newer: "/design", Older: "/design"},
	})
}
