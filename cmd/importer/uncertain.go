package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"bulkfiling/internal/filing"
	"bulkfiling/internal/money"
	"bulkfiling/internal/report"
	"bulkfiling/internal/resolve"
)

// list shows the uncertain rows, those of a batch together.
func (r *resolver) list(ctx context.Context) error {
	orders, err := r.uncertain(ctx)
	if err != nil {
		return err
	}
	if err := r.link(ctx, orders); err != nil {
		return err
	}
	// Batches that were taken in at once have their rows mixed.
	var batches []string
	of := make(map[string][]*resolve.UncertainOrder)
	for _, d := range orders {
		if of[d.Row.Batch] == nil {
			batches = append(batches, d.Row.Batch)
		}
		of[d.Row.Batch] = append(of[d.Row.Batch], d)
	}
	switch {
	case r.flags.asJSON:
		lines := json.NewEncoder(r.out)
		for _, batch := range batches {
			for _, d := range of[batch] {
				if err := lines.Encode(uncertainLine(d)); err != nil {
					return err
				}
			}
		}
		return nil
	case len(orders) == 0 && r.batch.ID != "":
		fmt.Fprintf(r.out, "No row of batch %s is uncertain.\n", r.batch.ID)
	case len(orders) == 0:
		fmt.Fprintln(r.out, "No row is uncertain.")
	}
	for i, id := range batches {
		if i > 0 {
			fmt.Fprintln(r.out)
		}
		b, err := r.ledger.Batch(ctx, id)
		if err != nil {
			return err
		}
		fmt.Fprintf(r.out, "Sent, and without a trustworthy answer: %s of batch %s (%s).\n", count(len(of[id]), "row"),
			id, b.File)
		for _, d := range of[id] {
			r.show(d)
		}
		r.advise(id, of[id])
	}
	return r.unnamed(ctx)
}

// unnamed lists formations that are placed and lack their company.
func (r *resolver) unnamed(ctx context.Context) error {
	rows, err := r.ledger.UnnamedFormations(ctx, r.batch.ID)
	if err != nil || len(rows) == 0 {
		return err
	}
	fmt.Fprintln(r.out, "\nPlaced, and nobody told which company was formed:")
	for _, row := range rows {
		fmt.Fprintf(r.out, "  %s: importer resolve %s --row %d --company COMPANY_ID\n", row.Request.LegalName(),
			row.Batch, row.Number)
	}
	return nil
}

// show prints a row and all that is known of it.
func (r *resolver) show(d *resolve.UncertainOrder) {
	fmt.Fprintf(r.out, "\nrow %d  %s\n", d.Row.Number, d.Ordered())
	line := func(name, format string, args ...any) {
		fmt.Fprintf(r.out, "  %-10s  %s\n", name, fmt.Sprintf(format, args...))
	}
	line("company", "%s", d.CompanyText())
	sent := d.Sent()
	for _, a := range sent {
		if a.Supposed {
			line("sent?", "%s", report.AnswerText(a))
			continue
		}
		line("sent", "%s: %s", a.StartedAt.Local().Format("2006-01-02 15:04:05"), report.AnswerText(a))
	}
	if len(sent) == 0 {
		line("sent", "before %s: %s", d.Row.UpdatedAt.Local().Format("2006-01-02 15:04:05"), d.Row.Message)
	}
	line("money held", "%s", d.Row.Reserved.Dollars())
	if d.Dashboard != "" {
		line("dashboard", "%s", d.Dashboard)
	} else if !r.flags.noLinks {
		line("dashboard", "no link: %s", d.NoDashboard)
	}
	for _, e := range d.Candidates {
		line("evidence", "%s", e)
		line("", "to accept it: %s", accept(d, e))
	}
	if d.MoreCandidates > 0 {
		line("", "and %s more that fit", count(d.MoreCandidates, "order"))
	}
}

// accept is the command that settles a row by a piece of evidence.
func accept(d *resolve.UncertainOrder, c resolve.Candidate) string {
	command := fmt.Sprintf("importer resolve %s --row %d --order %s", d.Row.Batch, d.Row.Number, c.Order)
	if company := d.Accept(c).CompanyID; company != "" {
		command += " --company " + company
	}
	return command
}

// advise prints how the rows of a batch are settled.
func (r *resolver) advise(batch string, orders []*resolve.UncertainOrder) {
	line := func(rest string) { fmt.Fprintf(r.out, "  importer resolve %s %s\n", batch, rest) }
	fmt.Fprintln(r.out, "\nLook whether the order is there, then settle each row:")
	line("--row N --order ORDER_ID")
	line("--row N --not-placed")
	if slices.ContainsFunc(orders, func(d *resolve.UncertainOrder) bool { return d.FormsCompany() }) {
		fmt.Fprintln(
			r.out, "A company that was created is settled with its id, and that of a formation is given beside "+
				"the order:")
		line("--row N --company COMPANY_ID")
		line("--row N --order ORDER_ID --company COMPANY_ID")
	}
	if slices.ContainsFunc(orders, func(d *resolve.UncertainOrder) bool { return d.Row.Creating && d.Assumed() }) {
		fmt.Fprintln(
			r.out, "Where a creation and its order are both in doubt, the company alone says that the order was not "+
				"made: it is sent then.")
	}
	if len(orders) > 1 {
		fmt.Fprintln(r.out, "Or all at once, in a sheet to fill in:")
		line("-o uncertain.xlsx")
		line("--from uncertain.xlsx")
	}
}

// uncertainJSON is a line of resolve --json.
type uncertainJSON struct {
	Batch       string          `json:"batch"`
	Row         int             `json:"row"`
	Ordered     string          `json:"ordered"`
	Company     string          `json:"company,omitempty"` // comp_<id>, or the reference in the sheet
	LegalName   string          `json:"legalName,omitempty"`
	Creating    bool            `json:"creating,omitempty"` // the company's creation is in doubt, not an order
	Held        money.Cents     `json:"held"`
	Attempts    []attemptJSON   `json:"attempts"`
	Dashboard   string          `json:"dashboard,omitempty"`
	NoDashboard string          `json:"noDashboard,omitempty"`
	Evidence    []candidateJSON `json:"evidence"`
	More        int             `json:"moreEvidence,omitempty"` // orders that may be the row's and are not listed
}

type attemptJSON struct {
	StartedAt time.Time         `json:"startedAt"`
	EndedAt   time.Time         `json:"endedAt"`
	Class     filing.AnswerKind `json:"class"`
	Status    int               `json:"status,omitempty"` // HTTP
	Message   string            `json:"message"`
	Detail    string            `json:"detail,omitempty"` // the network's own words, where the message is in plain ones
	// nobody saw it: a person supposes that it was sent, from startedAt on
	Supposed bool `json:"supposed,omitempty"`
}

type candidateJSON struct {
	Order   string         `json:"order"`
	Event   string         `json:"event"`
	Product filing.Product `json:"product"`
	Status  string         `json:"status,omitempty"`
	Company string         `json:"company,omitempty"`
	At      time.Time      `json:"at"`
	Also    []string       `json:"fitsAlso,omitempty"` // "BATCH row N", the first of them
	Others  int            `json:"fitsOthers,omitempty"`
	Accept  string         `json:"accept"`
}

func uncertainLine(d *resolve.UncertainOrder) uncertainJSON {
	line := uncertainJSON{
		Batch:       d.Row.Batch,
		Row:         d.Row.Number,
		Ordered:     d.Ordered(),
		Company:     d.Row.CompanyRef(),
		LegalName:   d.Company,
		Creating:    d.Row.Creating,
		Held:        d.Row.Reserved,
		Attempts:    []attemptJSON{},
		Dashboard:   d.Dashboard,
		NoDashboard: d.NoDashboard,
		Evidence:    []candidateJSON{},
		More:        d.MoreCandidates,
	}
	for _, a := range d.Attempts {
		line.Attempts = append(line.Attempts, attemptJSON{a.StartedAt, a.EndedAt, a.Class, a.Status, a.Message,
			a.Detail, a.Supposed})
	}
	for _, e := range d.Candidates {
		piece := candidateJSON{
			Order:   e.Order,
			Event:   e.Event,
			Product: e.Product,
			Status:  e.Status,
			Company: e.Company,
			At:      e.At.UTC(),
			Others:  e.Others,
			Accept:  accept(d, e),
		}
		for _, other := range e.Also {
			piece.Also = append(piece.Also, fmt.Sprintf("%s row %d", other.Batch, other.Number))
		}
		line.Evidence = append(line.Evidence, piece)
	}
	return line
}
