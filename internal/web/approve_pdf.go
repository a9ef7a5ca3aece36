package web

import (
	"fmt"
	"strings"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/text"
)

var approvalFileRoutes = []route{
	{pattern: "GET /sheets/{sheet}/approval.pdf", may: exporter, serve: (*Site).draftApprovalFile},
	{pattern: "GET /batches/{batch}/approval.pdf", may: exporter, serve: (*Site).batchApprovalFile},
}

// filedWarnings is how many warnings the file lists: it has no tab with all of them.
const filedWarnings = 500

// draftApprovalFile sends the page of a draft's cost as a PDF file.
func (s *Site) draftApprovalFile(v *request) error {
	u, err := s.findUpload(v)
	if err != nil {
		return err
	}
	p, to, err := s.loadDraftPage(v, u, filedWarnings)
	if err != nil {
		return err
	}
	return s.sendApprovalFile(v, p, to, u.ID)
}

// batchApprovalFile sends the page of a batch's approval as a PDF file.
func (s *Site) batchApprovalFile(v *request) error {
	b, err := s.findBatch(v)
	if err != nil {
		return err
	}
	p, to, err := s.loadApprovalPage(v, b, filedWarnings)
	if err != nil {
		return err
	}
	return s.sendApprovalFile(v, p, to, b.ID)
}

// sendApprovalFile sends a page as a PDF file, or redirects to its address.
func (s *Site) sendApprovalFile(v *request, p *approvalPage, to, of string) error {
	if p == nil {
		if page, there := strings.CutSuffix(to, "/approve"); there {
			to = page + "/approval.pdf"
		}
		return v.redirect(to)
	}
	firms, err := s.Ledger.Organizations().List(v.ctx())
	if err != nil {
		return err
	}
	names := make([]string, len(firms))
	for i, firm := range firms {
		names[i] = firm.Label()
	}
	return v.download(baseName(p.Batch.File)+".approval.pdf", func(path string) error {
		if err := p.writePDF(path, text.List(names), s.Settings.Mode); err != nil {
			return err
		}
		return s.recordDownload(v, of, "cost and approval (PDF)")
	})
}

// writePDF writes the page as a PDF file. Its date is the newest time on the page, so
// that the same page makes the same file.
func (p *approvalPage) writePDF(path, firm, mode string) error {
	f, err := p.draw(firm, mode, 0) // to count its pages
	if err == nil {
		f, err = p.draw(firm, mode, f.PageCount())
	}
	if err != nil {
		return err
	}
	if err := f.OutputFileAndClose(path); err != nil {
		return fmt.Errorf("write the PDF file of an approval: %w", err)
	}
	return nil
}

// draw writes the page on paper, of as many pages as its numbers say.
func (p *approvalPage) draw(firm, mode string, pages int) (*pdfPaper, error) {
	f, err := newPDF("Cost and approval · "+p.Batch.File, pages, p.newest())
	if err != nil {
		return nil, err
	}
	paper := approvalPaper{f, p}
	paper.head(firm, mode)
	if p.Problem != "" {
		f.heading("Cost", 12)
		f.paragraph("", "The cost is unknown right now. %s", p.Problem)
	} else {
		paper.cost()
		paper.sums()
		paper.decision()
		paper.warnings()
	}
	paper.history()
	if f.missing {
		f.Ln(2)
		f.paragraph("", "%c stands for a character that the font of this file does not have. The page shows it.",
			noGlyph)
	}
	return f, nil
}

// newest is the newest time on the page.
func (p *approvalPage) newest() time.Time {
	moments := []time.Time{p.Batch.CreatedAt, p.Batch.CanceledAt, p.Batch.Approval.At, p.Batch.Approval.FirstAt}
	if p.Draft != nil {
		moments = append(moments, p.Draft.ChangedAt)
	}
	for _, e := range p.History {
		moments = append(moments, e.At)
	}
	var last time.Time
	for _, at := range moments {
		if at.After(last) {
			last = at
		}
	}
	return last
}

// approvalPaper writes the parts of a page of an approval.
type approvalPaper struct {
	*pdfPaper
	p *approvalPage
}

// person is a name, with the account's id where the name is mistaken for another's.
func (f approvalPaper) person(name string) string {
	if id := f.p.Similar[name]; id != "" {
		return name + " (" + id + ")"
	}
	return name
}

// modeTexts say whether orders are real.
var modeTexts = map[string]string{"test": "TEST: orders here are not real", "live": "LIVE: orders cost real money"}

// state is where the approval stands.
func (p *approvalPage) state() string {
	switch {
	case p.Draft != nil:
		return "Not submitted"
	case p.Batch.Canceled:
		return "Canceled"
	case p.Waits:
		return "Waiting for approval"
	case p.Again != nil:
		return "Waiting for approval of a new cost"
	case p.Batch.Approval.By != "":
		return "Approved"
	}
	return "Submitted"
}

// head says what the file is about, and who did what with it.
func (f approvalPaper) head(firm, mode string) {
	p := f.p
	if firm != "" {
		f.paragraph("B", "%s", firm)
	}
	f.heading("Cost and approval", 17)
	f.pair("Mode", modeTexts[mode])
	f.pair("State", p.state())
	f.pair("Product", text.Capital(p.Batch.Product.Title()))
	f.pair("File", p.Batch.File)
	if p.Draft == nil {
		f.pair("Batch", p.Batch.ID)
		at := p.Batch.CreatedAt
		if e := p.Submitted(); e != nil {
			at = e.At
		}
		f.pair("Submitted by", f.person(p.By())+", "+text.UTC(at))
	} else {
		f.pair("Uploaded by", f.person(p.Draft.CreatedBy)+", "+text.UTC(p.Draft.CreatedAt))
	}
	switch a := p.Batch.Approval; {
	case p.Draft != nil:
	case a.HasFirst():
		f.pair("First approval", f.person(a.First)+", "+text.UTC(a.FirstAt)+". One more approval is needed.")
	case a.By != "":
		if a.First != "" {
			f.pair("First approval", f.person(a.First)+", "+text.UTC(a.FirstAt))
		}
		f.pair("Approved by", f.person(a.By)+", "+text.UTC(a.At))
	}
	if p.Batch.Canceled && p.Batch.CanceledBy != "" {
		f.pair("Canceled by", f.person(p.Batch.CanceledBy)+", "+text.UTC(p.Batch.CanceledAt))
	}
	f.pair("Orders", number(p.Orders))
	f.pair("Plan", p.Plan)
}

// costColumns are as wide as the page together.
var costColumns = []pdfColumn{
	{name: "Filing", width: pdfWidth - 118},
	{name: "Count", width: 16, right: true},
	{name: "Service fee", width: 34, right: true},
	{name: "State fee", width: 38, right: true},
	{name: "Total", width: 30, right: true},
}

// cost is the table of the cost, what it rests on, and what it leaves out.
func (f approvalPaper) cost() {
	p, s := f.p, f.p.Summary
	f.heading("Cost", 12)
	if len(p.Changes) > 0 {
		f.paragraph("B", "The cost changed since the batch was submitted.")
		for _, change := range p.Changes {
			f.item("•", change)
		}
		f.Ln(1)
	}
	var rows [][]string
	for _, l := range s.Lines {
		name, fee := text.Capital(l.Product.Title()), l.FeeText()
		if l.Who != "" {
			name += ", " + l.Who
		}
		if l.Mark != 0 {
			fee += fmt.Sprintf(" [%d]", l.Mark)
		}
		rows = append(rows, []string{name, number(l.Count), l.ServiceText(), fee, l.TotalText()})
	}
	if len(rows) > 0 {
		sums := []string{"Total", number(s.Filings), s.ServiceSum(), s.FeeSum(), s.TotalSum()}
		f.table(costColumns, append(rows, sums))
		if s.Filings != s.Orders {
			f.paragraph("", "%s: an order can have several filings.", s.CountText())
		}
		for _, note := range s.Footnotes {
			f.item(fmt.Sprintf("[%d]", note.Number), note.Text)
		}
	} else if p.Draft != nil || p.Waits {
		f.paragraph("", "There is nothing to order.")
	}
	if p.Any() {
		f.Ln(1)
		f.paragraph("B", "Not included:")
		for _, one := range p.excludedTexts() {
			f.item("•", one)
		}
	}
	if len(p.Notes) > 0 {
		f.heading("Notes", 12)
		for _, note := range p.Notes {
			f.item("•", note)
		}
	}
	if p.Season != nil {
		f.heading("Plan of the schedule", 12)
		f.paragraph("", "%s", p.Season.Text())
	}
}

// excludedTexts are what is not included, a line each.
func (e Excluded) excludedTexts() (all []string) {
	if e.Invalid > 0 {
		line := count(e.Invalid, "row") + " with errors"
		switch e.Held {
		case 0:
		case 1:
			line += " (1 of them differs from the filing service's record)"
		default:
			line += " (" + number(e.Held) + " of them differ from the filing service's record)"
		}
		all = append(all, line)
	}
	for _, one := range []struct {
		n    int
		text string
	}{{e.Skipped, "skipped"}, {e.Before, "ordered before or covered by a subscription"}, {e.Canceled, "canceled"}} {
		if one.n > 0 {
			all = append(all, number(one.n)+" "+one.text)
		}
	}
	return all
}

// sums is what it costs in all, and what that leaves of the balance.
func (f approvalPaper) sums() {
	p := f.p
	if p.Draft == nil && !p.Waits {
		f.heading("Charges", 12)
		if e := p.Submitted(); e != nil {
			f.pair("Approved cost", e.Cost.String())
		}
		f.pair("Charged so far", p.Charged.String())
		f.pair("Expected total", p.Expected.String())
		return
	}
	f.heading("Balance", 12)
	f.pair(p.Summary.Headline(), p.Summary.TotalSum())
	if p.Summary.Missing != "" {
		f.paragraph("", "State fees not known: %s. They are charged in addition.", p.Summary.Missing)
	}
	if !p.Balance.HasDeposit {
		f.pair("Balance now", "unknown")
		f.paragraph("", "No deposit is recorded. The filing service reports it if funds are insufficient.")
		return
	}
	f.pair("Balance now", p.Funds.Now.Dollars())
	if p.Funds.Others != 0 {
		f.pair("Other orders waiting", fmt.Sprintf("%s (%s)", (-p.Funds.Others).Dollars(), number(p.Funds.Queued)))
	}
	f.pair("After this", p.Funds.After.Dollars())
	if p.Funds.Short > 0 {
		f.Ln(1)
		f.paragraph("", "%s will wait for a deposit of %s. Orders with the earliest due date are placed first.",
			count(p.Funds.Short, "order"), p.Funds.ShortBy.Dollars())
	}
}

// decision is what an approval does, and who it waits for.
func (f approvalPaper) decision() {
	p := f.p
	f.Ln(1)
	switch {
	case p.Draft != nil && p.Orders == 0:
		return
	case p.Draft != nil:
		switch p.People {
		case 0:
		case 2:
			f.paragraph("", "Two approvers review it before anything is sent.")
		default:
			f.paragraph("", "An approver reviews it before anything is sent.")
		}
	case p.Waits:
		if !p.Batch.Approval.HasFirst() && p.People == 2 {
			f.paragraph("", "Two approvers must approve this batch.")
		}
		f.waitsFor(p.approvers)
		f.paragraph("",
			"The approval covers exactly these orders at this cost. If either changes first, nothing is sent.")
	case p.Again != nil:
		c := p.Again.Increase
		if p.Again.More {
			f.paragraph("", "The cost of %s is now %s. Approved: %s.", count(c.Rows, "row"), c.Cost,
				c.Approved.Dollars())
		} else {
			f.paragraph("", "Someone asked to send %s again. The cost is %s.", count(c.Rows, "row"), c.Cost)
		}
		f.waitsFor(p.Again.approvers)
	default:
		return
	}
	f.paragraph("B", "Filings can't be undone.")
}

// waitsFor names who can approve.
func (f approvalPaper) waitsFor(a approvers) {
	if !a.Second {
		return
	}
	if len(a.Who) == 0 {
		f.paragraph("", "No one can approve this batch yet. Ask an operator to give someone else the approver role.")
		return
	}
	f.paragraph("", "Waiting for a second person. Can approve: %s.", text.List(a.Who))
}

// warnings are those on the rows that are sent.
func (f approvalPaper) warnings() {
	w := f.p.Warnings
	if w.Count == 0 {
		return
	}
	f.heading("Warnings", 12)
	f.paragraph("", "%s on %s to be sent.", count(w.Count, "warning"), count(w.Rows, "row"))
	for _, one := range w.First {
		where := one.Where
		if one.Column != "" {
			where += ", " + one.Column
		}
		f.item("•", where+": "+one.Message)
	}
	if more := w.Count - len(w.First); more > 0 {
		f.paragraph("", "%s more. The page of the batch lists all of them.", number(more))
	}
}

// history is who did what and when, with their comments.
func (f approvalPaper) history() {
	if len(f.p.History) == 0 {
		return
	}
	f.heading("History", 12)
	for i, e := range f.p.History {
		f.item(fmt.Sprintf("%d.", i+1), f.step(e))
		f.Ln(0.8)
	}
}

// step is a step of the approval in words, its comment below.
func (f approvalPaper) step(e ledger.ApprovalEvent) string {
	line := f.person(e.By) + " " + stepText(e) + ", " + text.UTC(e.At)
	if e.Comment != "" {
		line += "\n“" + e.Comment + "”"
	}
	return line
}
