package simulate

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/xuri/excelize/v2"

	"github.com/bulkfiling/bulkfiling/internal/approval"
	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/importer"
	"github.com/bulkfiling/bulkfiling/internal/intake"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/pricing"
	"github.com/bulkfiling/bulkfiling/internal/report"
	"github.com/bulkfiling/bulkfiling/internal/sandbox"
)

// sheet is a spreadsheet of the firm.
type sheet struct {
	name    string
	product filing.Product
	content []byte
	// batch is empty until the sheet is recorded.
	batch string
	// recorded is the time at which it was recorded first.
	recorded time.Time
}

// kind is a kind of spreadsheet. Its columns are added to the ones that all spreadsheets have. {year}
// is a filing year, and {maybe} is "yes" or empty.
type kind struct {
	product filing.Product
	columns [][2]string
	// newName is the name of companies that the filing service does not know yet. It is empty if the
	// kind is for known companies.
	newName string
}

const user = "user_1"

// einColumns describe an application for an EIN.
var einColumns = [][2]string{
	{"Business Category", "Consulting"}, {"Business Purpose", "Bookkeeping"},
	{"Application Reason", "Banking purposes"}, {"Vehicle 55k Pounds", "no"}, {"Gambling Wagering", "no"},
	{"File Form 720", "no"}, {"Alcohol Tobacco Firearms", "no"}, {"File Form 944", "no"}, {"Is W2 Expected", "no"},
	{"Agriculture Employees Count", "0"}, {"Other Employees Count", "0"}, {"Responsible Party First Name", "Ana"},
	{"Responsible Party Last Name", "Silva"}, {"Responsible Party Title", "Member"},
	{"Responsible Party Phone Number", "(302) 555-0142"}, {"Responsible Party SSN", "078-05-1120"},
	{"Responsible Party Is Foreign", "no"},
}

// formationColumns describe a company that is formed.
var formationColumns = [][2]string{
	{"Entity Type", "LLC"}, {"Structure Type", "MEMBER"}, {"Principal Line 1", "1 Main St"},
	{"Principal City", "Dover"}, {"Principal State", "DE"}, {"Principal Postal Code", "19901"},
	{"Order Registered Agent", "yes"}, {"Officer 1 First Name", "Ana"}, {"Officer 1 Last Name", "Silva"},
	{"Officer 1 Title", "Member"}, {"Officer 1 Line 1", "1 Main St"}, {"Officer 1 City", "Dover"},
	{"Officer 1 State", "DE"}, {"Officer 1 Postal Code", "19901"}, {"Order EIN", "{maybe}"},
}

var kinds = []kind{
	{filing.AnnualReport, [][2]string{{"Filing Year", "{year}"}}, ""},
	{filing.AnnualReport, [][2]string{{"Filing Year", "{year}"}}, ""},
	{filing.AnnualReport, [][2]string{{"Filing Year", "{year}"}, {"Order Registered Agent", "{maybe}"}}, ""},
	{filing.RegisteredAgent, [][2]string{{"Order Registered Agent", "yes"}}, ""},
	{filing.AgentChange, [][2]string{{"Change Of Agent", "yes"}}, ""},
	{filing.EIN, einColumns, ""},
	{filing.AnnualReport, append([][2]string{{"Filing Year", "{year}"}, {"Order EIN", "{maybe}"}}, einColumns...), ""},
	{filing.ForeignQualification, [][2]string{
		{"Order Foreign Qualification", "yes"}, {"Order Registered Agent", "{maybe}"}}, ""},
	{filing.Formation, append(formationColumns, einColumns...), "Heron %d LLC"},
	{filing.AnnualReport, createdColumns, "Egret %d LLC"},
}

// createdColumns describe a company that the filing service does not know yet, and its report.
var createdColumns = [][2]string{
	{"Entity Type", "LLC"}, {"Formation State", "DE"}, {"Formation Date", "1999-05-04"},
	{"Principal Line 1", "1 Main St"}, {"Principal City", "Dover"}, {"Principal State", "DE"},
	{"Principal Postal Code", "19901"}, {"Filing Year", "{year}"}, {"Order Registered Agent", "yes"},
}

// newSheet makes a spreadsheet of a few rows.
func (w *world) newSheet() *sheet {
	k := kinds[w.dice.IntN(len(kinds))]
	header := []string{"Company ID", "Legal Name", "User ID", "Filing State"}
	for _, c := range k.columns {
		header = append(header, c[0])
	}
	lines := []string{strings.Join(header, ",")}
	for range 1 + w.dice.IntN(3) {
		lines = append(lines, strings.Join(w.newLine(k), ","))
	}
	s := &sheet{
		name:    fmt.Sprintf("sheet %d", len(w.sheets)+1),
		product: k.product,
		content: []byte(strings.Join(lines, "\n") + "\n"),
	}
	w.sheets = append(w.sheets, s)
	return s
}

// newLine makes a row. Some rows have an old or wrong name or a wrong ID, or lack a value.
func (w *world) newLine(k kind) []string {
	c, _ := pick(w, w.companies)
	id, name, state := c.id, c.name, []string{"DE", "NV"}[w.dice.IntN(2)]
	switch w.dice.IntN(12) {
	case 0, 1:
		name = strings.Replace(c.name, "LLC", "Inc.", 1)
	case 2:
		other, _ := pick(w, w.companies)
		id = other.id
	case 3, 4:
		name = c.names[0].name
	}
	if k.newName != "" {
		id, state = "", "DE"
		if n := w.dice.IntN(5); n < 4 || k.product == filing.Formation {
			name = fmt.Sprintf(k.newName, n)
		} else {
			name = strings.Replace(c.name, "LLC", "Inc.", 1)
		}
	}
	cells := []string{id, name, user, state}
	for _, column := range k.columns {
		value := column[1]
		switch value {
		case "{year}":
			value = []string{"2000", "2000", "2001", "2001", ""}[w.dice.IntN(5)]
		case "{maybe}":
			value = []string{"yes", ""}[w.dice.IntN(2)]
		}
		cells = append(cells, value)
	}
	return cells
}

// correctionOf makes a spreadsheet from the rows of a batch that need attention: names are those of
// the filing service, and missing years are filled in.
func (w *world) correctionOf(of *sheet) (*sheet, error) {
	path := filepath.Join(w.dir, fmt.Sprintf("attention %d.xlsx", len(w.sheets)))
	defer os.Remove(path)
	if err := report.WriteAttention(context.Background(), w.office.ledger, of.batch, path); err != nil {
		return nil, err
	}
	f, err := excelize.OpenFile(path)
	must(err)
	defer f.Close()
	const attention = "Needs Attention"
	rows, err := f.GetRows(attention)
	must(err)
	for y, cells := range rows[1:] {
		for x, header := range rows[0] {
			cell, _ := excelize.CoordinatesToCellName(x+1, y+2)
			switch {
			case header == "Legal Name" && cells[0] != "":
				for _, c := range w.companies {
					if c.id == cells[0] {
						must(f.SetCellStr(attention, cell, c.name))
					}
				}
			case header == "Filing Year" && (len(cells) <= x || cells[x] == ""):
				must(f.SetCellStr(attention, cell, "2000"))
			}
		}
	}
	var content bytes.Buffer
	must(f.Write(&content))
	s := &sheet{
		name:    fmt.Sprintf("sheet %d", len(w.sheets)+1),
		product: of.product,
		content: content.Bytes(),
	}
	w.sheets = append(w.sheets, s)
	return s, nil
}

// errEnded means that the office ended in the middle of its work.
var errEnded = errors.New("the office ended")

// submit submits a spreadsheet. If asks is set, its batch waits for approval. The office ends after
// some of the stages if ends names one.
func (w *world) submit(s *sheet, asks bool, ends int) (said string, err error) {
	ctx := context.Background()
	name := s.name + ".csv"
	if bytes.HasPrefix(s.content, []byte("PK")) {
		name = s.name + ".xlsx"
	}
	im, err := importer.OpenReader(name, bytes.NewReader(s.content), int64(len(s.content)),
		importer.Options{Product: s.product, Now: time.Now()})
	if err != nil {
		return "", err
	}
	defer im.Close()
	l := w.office.ledger
	recorded, err := intake.Record(ctx, l, im, intake.Recording{By: "ana", Patience: time.Second})
	if err != nil {
		return "", err
	}
	if s.recorded.IsZero() {
		s.recorded = time.Now()
	}
	s.batch = recorded.Batch
	if ends == 1 {
		return "", errEnded
	}
	b, err := l.Batch(ctx, s.batch)
	if err != nil || b.Open || b.Canceled {
		return "it was submitted before", err
	}
	quoting := intake.Quoting{Ledger: l, Prices: w.quoter(w.office), Records: w.office.client, Concurrency: 1}
	quote, err := quoting.Quote(ctx, s.batch)
	if err != nil {
		return "", err
	}
	if ends == 2 {
		return "", errEnded
	}
	if _, err = intake.RequestApproval(ctx, l, s.batch, asks); err != nil {
		return "", err
	}
	if ends == 3 {
		return "", errEnded
	}
	f, err := l.Figures(ctx, s.batch)
	must(err)
	said = fmt.Sprintf("%s: %s", quote.TotalText(), countsText(f.Counts))
	if asks {
		said += ", waiting for approval"
	}
	rows := w.rows(s.batch)
	if err := l.OpenBatch(ctx, s.batch); err != nil {
		return said, err
	}
	if !asks {
		w.allow(s, rows)
	}
	return said, nil
}

// allow records that a person approved the ready ones of the rows at their cost.
func (w *world) allow(s *sheet, rows []ledger.Row) {
	for _, r := range rows {
		if r.Result != filing.Ready {
			continue
		}
		cents := int64(r.Cost.Amount)
		if r.Cost.IsUnknown() {
			cents = math.MaxInt64
		}
		for _, key := range w.keysOf(r) {
			w.allowed[key] = append(w.allowed[key], allowance{cents, time.Now(), r.Request.LegalName(), s.recorded})
		}
	}
}

// approve approves a batch that waits for approval.
func (w *world) approve(s *sheet) error {
	ctx, l := context.Background(), w.office.ledger
	p, err := pricing.Propose(ctx, l, w.quoter(w.office), s.batch)
	if err != nil && !errors.Is(err, approval.ErrChanged) {
		return err
	}
	rows := w.rows(s.batch)
	if err := p.Approve(ctx, l, "bea"); err != nil {
		return err
	}
	w.allow(s, rows)
	return nil
}

// approveCosts approves the rows of a batch that wait because of their cost.
func (w *world) approveCosts(s *sheet) (rows int, err error) {
	ctx, l := context.Background(), w.office.ledger
	looked, err := approval.New(l).CostIncrease(ctx, s.batch)
	if err != nil || looked.Rows == 0 {
		return 0, err
	}
	dearer := slices.DeleteFunc(w.rows(s.batch), func(r ledger.Row) bool { return r.BlockedOn != "approval" })
	if err := approval.New(l).ApproveCosts(ctx, s.batch, looked); err != nil {
		return 0, err
	}
	w.allow(s, dearer)
	return looked.Rows, nil
}

// sandboxProducts are the filing service's names of products.
var sandboxProducts = map[filing.Product]string{
	filing.AnnualReport:         "annual_report",
	filing.RegisteredAgent:      "registered_agent",
	filing.AgentChange:          "registered_agent",
	filing.EIN:                  "ein",
	filing.ForeignQualification: "foreign_qualification",
	filing.Formation:            "formation",
}

// keysOf returns what a row wants, as the books name it. A row without a Company ID may mean a known
// company by its name.
func (w *world) keysOf(row ledger.Row) map[filing.Product]string {
	r := row.Request
	id := r.Company.Ref
	if c := w.companyWith(row.Company); c != nil && id == "" && c.hadName(r.LegalName(), time.Time{}, time.Now()) {
		id = c.id
	}
	keys := make(map[filing.Product]string)
	for _, p := range r.Order.Products() {
		item := sandbox.Item{
			Product:   sandboxProducts[p],
			CompanyID: cmp.Or(id, named(r.LegalName())),
			State:     string(r.Order.FilingState),
			UserID:    user,
			LegalName: r.LegalName(),
		}
		if r.Order.AnnualReport != nil {
			item.Year = r.Order.AnnualReport.FilingYear
		}
		keys[p] = item.Key()
	}
	return keys
}

// keyOf returns the key of an item in the books. A company that was formed is known by its name.
func (w *world) keyOf(o sandbox.Order, i sandbox.Item) string {
	if w.companyWith(i.CompanyID) == nil {
		i.CompanyID = named(o.CompanyName)
	}
	return i.Key()
}

func named(company string) string { return "named " + strings.ToLower(company) }

func countsText(counts ledger.Counts) string {
	var texts []string
	for _, r := range filing.Results {
		if n := counts[r]; n > 0 {
			texts = append(texts, fmt.Sprintf("%d %s", n, r))
		}
	}
	return strings.Join(texts, ", ")
}

func writeFile(path string, content []byte) error { return os.WriteFile(path, content, 0o600) }
