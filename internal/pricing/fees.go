package pricing

import (
	"bytes"
	"cmp"
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/season"
	"github.com/bulkfiling/bulkfiling/internal/sheet"
)

// residence distinguishes a company formed in the filing state from one formed in another state.
type residence string

const (
	domestic residence = "domestic"
	foreign  residence = "foreign"
)

// charge is the kind of fee that a line sets.
type charge string

const (
	annualReportFee         charge = "annual-report"
	formationFee            charge = "formation"
	foreignQualificationFee charge = "foreign-qualification"
	// expeditedService is a charge of the filing service. Assumption: its amount is not shown in
	// the spec.
	expeditedService charge = "expedited-service"
)

var charges = []charge{annualReportFee, formationFee, foreignQualificationFee, expeditedService}

// feeKey selects the companies and filings of a fee line. An empty field matches all.
type feeKey struct {
	Product    charge
	State      filing.State
	EntityType filing.EntityType
	Residence  residence
}

// FeeLine is a line of a fee table.
type FeeLine struct {
	feeKey
	Fee     season.Fee
	Builtin bool
	// Minimum reports whether the fee can be higher.
	Minimum bool
	// Note is how the fee varies.
	Note string
	// Read names the source of a built-in fee. It is empty if the fee is the operator's.
	Read string

	// none reports whether the state requires no report.
	none bool
	// source names web pages or statutes.
	source string
	// basis is the evidence behind source.
	basis string
}

// certainty returns Known for the operator's own fees, because the operator is responsible for
// them. A built-in fee is Estimated, because it may have changed since it was read.
func (l *FeeLine) certainty() money.Certainty {
	if l.Builtin {
		return money.Estimated
	}
	return money.Known
}

type feeTable map[feeKey]*FeeLine

// Fees looks up state fees in the operator's file first, then in the built-in table. Within a table
// the most specific line wins.
type Fees struct {
	tables []feeTable
	// today returns the current date. Some fees apply until a date or from one.
	today func() season.Date
}

// basis identifies the lines of the tables and the date.
func (f *Fees) basis() string {
	lines := []string{f.today().String()}
	for i, table := range f.tables {
		for _, line := range table {
			lines = append(lines, fmt.Sprintf("%d %+v", i, *line))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// formation.csv has the state fees for formations and foreign qualifications. Package season has
// the fees of the annual reports beside their due dates.
//
//go:embed formation.csv
var formationCSV []byte

// builtin is the built-in table. It has every state and both entity types, domestic and foreign.
// All its fees are estimates, because they were read some time ago and mostly from copies of the
// states' pages.
var builtin = sync.OnceValue(func() feeTable {
	table, err := readFees(sheet.OpenReader("formation.csv", bytes.NewReader(formationCSV), int64(len(formationCSV)),
		sheet.Limits{}))
	if err != nil {
		panic(err) // the file is embedded, and a test reads it
	}
	for _, c := range table {
		c.Builtin = true
	}
	for _, l := range season.Builtin().Lines() {
		if len(l.Fee) == 0 {
			continue
		}
		key := feeKey{annualReportFee, l.State, l.EntityType, residence(l.Company())}
		table[key] = &FeeLine{
			feeKey:  key,
			Fee:     l.Fee,
			Builtin: true,
			Minimum: l.FeeMinimum,
			Note:    l.FeeNote,
			none:    l.What == "",
			source:  l.Source,
			basis:   l.Basis,
		}
	}
	for _, line := range table {
		line.Read = season.SourceText(line.source, line.basis)
	}
	return table
})

// BuiltinFees returns the fees of the built-in table.
func BuiltinFees() *Fees { return newFees(builtin()) }

func newFees(tables ...feeTable) *Fees { return &Fees{tables: tables, today: today} }

// today returns the date that fees are quoted for.
func today() season.Date { return season.DateOf(time.Now()) }

// LoadFees reads the file that FILING_FEES names and places it before the built-in fees. It is a
// CSV or XLSX file with the columns product, state, entityType, amount and optionally company
// (domestic or foreign), in any order and case. Other columns are ignored.
//
// The product is annual-report, formation, foreign-qualification or expedited-service. Any other
// field except amount may be empty and then matches all. The amount is in dollars. It may be a list
// of amounts with the filing years or dates of each (300 until 2025; 400). The error lists all
// problems by file, line and column.
func LoadFees(path string) (*Fees, error) {
	table, err := readFees(sheet.Open(path, sheet.Limits{}))
	if err != nil {
		return nil, err
	}
	return newFees(table, builtin()), nil
}

func readFees(f *sheet.File, err error) (feeTable, error) {
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return season.ReadTable(f, feeColumns, func(c *FeeLine) feeKey { return c.feeKey })
}

// feeColumns are the columns of formation.csv. The column entityType is required, because a fee of
// one type would otherwise apply to both.
var feeColumns = []season.Column[FeeLine]{
	{Name: "product", Wants: "annual-report, formation, foreign-qualification or expedited-service",
		Set: func(c *FeeLine, s string) bool {
			i := slices.IndexFunc(charges, func(known charge) bool {
				return filing.FoldName(string(known)) == filing.FoldName(s)
			})
			if i >= 0 {
				c.Product = charges[i]
			}
			return i >= 0
		}},
	{Name: "state", Wants: "a US state: a code such as DE, a name, or nothing for all",
		Set: func(c *FeeLine, s string) (ok bool) {
			c.State, ok = filing.ParseState(s)
			return ok || s == ""
		}},
	{Name: "entityType", Wants: "LLC, CORP or nothing for both", Set: func(c *FeeLine, s string) (ok bool) {
		c.EntityType, ok = filing.ParseEntityType(s)
		return ok || s == ""
	}},
	{Name: "amount", Wants: season.FeeForms, Set: func(c *FeeLine, s string) (ok bool) {
		c.Fee, ok = season.ParseFee(s)
		return ok && s != ""
	}},
	{Name: "company", Optional: true, Wants: "domestic, foreign or nothing for both",
		Set: func(c *FeeLine, s string) bool {
			c.Residence = residence(strings.ToLower(s))
			return c.Residence == "" || c.Residence == domestic || c.Residence == foreign
		}},
	{Name: "varies", Optional: true, Set: func(c *FeeLine, s string) bool {
		varies, note, _ := strings.Cut(s, ":")
		c.Minimum, c.Note = varies == "minimum", strings.TrimSpace(note)
		return true
	}},
	season.TextColumn("source", true, func(c *FeeLine) *string { return &c.source }),
	season.TextColumn("basis", true, func(c *FeeLine) *string { return &c.basis }),
}

// StateFee describes the state's part of a line.
type StateFee struct {
	State filing.State `json:"state,omitempty"`
	// EntityType is empty if it is unknown or does not affect the fee.
	EntityType filing.EntityType `json:"entityType,omitempty"`
	// Company is domestic or foreign, or empty if it is unknown or does not affect the fee.
	Company string `json:"company,omitempty"`
	// Minimum reports whether facts that are not recorded here can make the fee higher.
	Minimum bool `json:"minimum,omitempty"`
	// Note is how the fee varies.
	Note string `json:"note,omitempty"`
	// Read is the source of an estimate. It is empty if the fee is no estimate.
	Read string `json:"read,omitempty"`
	// NoReport reports whether the state requires no report of such a company.
	NoReport bool `json:"noReport,omitempty"`
	// Largest reports whether the fee is the largest that can apply, because the entity type or the
	// state of formation is unknown.
	Largest bool `json:"largest,omitempty"`
}

// fee returns the known fee of a charge for a company. If a fact is missing and the fee depends on
// it, the estimate is the largest fee, so that the order never costs more than its quote.
func (f *Fees) fee(c charge, state filing.State, company Facts, year int) (money.Cost, StateFee) {
	types := []filing.EntityType{company.EntityType}
	if company.EntityType == "" {
		types = []filing.EntityType{filing.LLC, filing.Corp}
	}
	residences := []residence{domestic, foreign}
	switch {
	case c == foreignQualificationFee:
		residences = residences[1:]
	case c != annualReportFee, company.FormationState == state:
		residences = residences[:1]
	case company.FormationState != "":
		residences = residences[1:]
	}
	fee := StateFee{State: state, EntityType: company.EntityType}
	if c == annualReportFee && len(residences) == 1 {
		fee.Company = string(residences[0])
	}
	var cost money.Cost
	first := true
	for _, t := range types {
		for _, r := range residences {
			amount, line, ok := f.find(feeKey{c, state, t, r}, year)
			switch {
			case !ok: // the cost is unknown, and at least zero
				return money.Cost{Certainty: money.Unknown},
					StateFee{State: state, EntityType: company.EntityType, Company: fee.Company}
			case !first && amount != cost.Amount:
				fee.Largest, cost.Certainty = true, money.Estimated
			}
			if first || amount > cost.Amount {
				cost.Amount, fee.Minimum, fee.Note = amount, line.Minimum, line.Note
				fee.NoReport = line.none
				fee.Read = line.Read
			}
			cost.Certainty, first = max(cost.Certainty, line.certainty()), false
		}
	}
	return cost, fee
}

// Lines lists the known fees by product and state. The operator's lines precede the built-in ones.
func (f *Fees) Lines() []*FeeLine {
	var all []*FeeLine
	for _, table := range f.tables {
		all = slices.AppendSeq(all, maps.Values(table))
	}
	slices.SortFunc(all, func(a, b *FeeLine) int {
		return cmp.Or(cmp.Compare(a.Product, b.Product), cmp.Compare(a.State, b.State), order(a)-order(b),
			cmp.Compare(a.EntityType, b.EntityType), cmp.Compare(a.Residence, b.Residence))
	})
	return all
}

func order(l *FeeLine) int {
	if l.Builtin {
		return 1
	}
	return 0
}

// unless returns Known or Unknown.
func unless(known bool) money.Certainty {
	if known {
		return money.Known
	}
	return money.Unknown
}

// find returns the most specific line that applies to the year of a report, or to today. The state
// takes precedence over the entity type, and the entity type over the residence.
func (f *Fees) find(key feeKey, year int) (money.Cents, *FeeLine, bool) {
	today := f.today()
	for _, table := range f.tables {
		for _, s := range []filing.State{key.State, ""} {
			for _, t := range []filing.EntityType{key.EntityType, ""} {
				for _, r := range []residence{key.Residence, ""} {
					line, ok := table[feeKey{key.Product, s, t, r}]
					if !ok {
						continue
					}
					if amount, holds := line.Fee.At(year, today); holds {
						return amount, line, true
					}
				}
			}
		}
	}
	return 0, nil, false
}

// expeditedFees are the states' fees for an expedited formation of an LLC. They replace the
// standard fees. Other states do not offer it.
// Source: spec section 4, rule 6.
var expeditedFees = map[filing.State]money.Cents{
	"AZ": 85_00,
	"DE": 185_00,
	"FL": 195_00,
	"NV": 550_00,
	"NY": 205_00,
	"WY": 103_75,
}
