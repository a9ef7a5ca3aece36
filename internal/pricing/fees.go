package pricing

import (
	"bytes"
	"cmp"
	_ "embed"
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

// residence tells a company at home in the filing state from one that comes
// from another state.
type residence string

const (
	domestic residence = "domestic"
	foreign  residence = "foreign"
)

// charge is what a line of fees is for.
type charge string

const (
	annualReportFee         charge = "annual-report"
	formationFee            charge = "formation"
	foreignQualificationFee charge = "foreign-qualification"
	// the service's own charge; Assumption: its amount is not shown in the spec
	expeditedService charge = "expedited-service"
)

var charges = []charge{annualReportFee, formationFee, foreignQualificationFee, expeditedService}

// feeKey is what a line of fees applies to; an empty field stands for all.
type feeKey struct {
	Product    charge
	State      filing.State
	EntityType filing.EntityType
	Residence  residence
}

// FeeLine is a line of fees.
type FeeLine struct {
	feeKey
	Fee     season.Fee
	Builtin bool
	Minimum bool   // it can be more
	Note    string // how it varies

	none   bool   // the state asks for no report
	source string // pages or statutes
	basis  string // what the source rests on
}

// Read says where a built-in fee was read. It is empty for other fees.
func (l *FeeLine) Read() string {
	if !l.Builtin {
		return ""
	}
	return season.SourceText(l.source, l.basis)
}

// certainty is that of a figure: an operator answers for their own file, and a
// built-in figure was read some time ago.
func (l *FeeLine) certainty() money.Certainty {
	if l.Builtin {
		return money.Estimated
	}
	return money.Known
}

type feeTable map[feeKey]*FeeLine

// Fees are the state fees, one table behind another: the operator's file, then
// the built-in figures. Within a table the most specific line wins.
type Fees struct {
	tables []feeTable
	today  func() season.Date // some fees hold until a day, or from one
}

// formation.csv holds what the states charge for formations and foreign
// qualifications; their annual reports are in the table of package season, with
// the due dates.
//
//go:embed formation.csv
var formationCSV []byte

// builtin is the built-in table: every state, both entity types, at home and
// foreign. No figure of it counts as known: each was read some time ago, most
// from copies of the states' pages.
var builtin = sync.OnceValue(func() feeTable {
	table, err := readFees(sheet.OpenReader("formation.csv", bytes.NewReader(formationCSV), int64(len(formationCSV)),
		sheet.Limits{}))
	if err != nil {
		panic(err) // it is part of the program, and a test reads it
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
	return table
})

// BuiltinFees returns the fees of the built-in table.
func BuiltinFees() *Fees { return newFees(builtin()) }

func newFees(tables ...feeTable) *Fees { return &Fees{tables: tables, today: today} }

// today is the day that fees are quoted for.
func today() season.Date { return season.DateOf(time.Now()) }

// LoadFees reads the file that FILING_FEES names, over the built-in fees: a CSV or
// XLSX file with the columns product, state, entityType and amount in any order and
// case, and optionally company (domestic or foreign). product is annual-report,
// formation, foreign-qualification or expedited-service; any other field but
// amount may be empty and then stands for all. amount is in dollars, or several
// of them with the filing years or days they hold for (300 until 2025; 400). Other
// columns are ignored. Errors name file, line and column, all of them at once.
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

// feeColumns are those of formation.csv. entityType must be there: without it, a fee
// of one type would be a fee of both.
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

// StateFee is what is known of the state's part of a line.
type StateFee struct {
	State      filing.State      `json:"state,omitempty"`
	EntityType filing.EntityType `json:"entityType,omitempty"` // "" where it is not known, or does not matter
	// domestic or foreign; "" where it is not known, or does not matter
	Company  string `json:"company,omitempty"`
	Minimum  bool   `json:"minimum,omitempty"`  // the fee can be more, by facts that are not known here
	Note     string `json:"note,omitempty"`     // how it varies
	Read     string `json:"read,omitempty"`     // where an estimate was read; "" for no estimate
	NoReport bool   `json:"noReport,omitempty"` // the state asks for none of such a company
	// the type or the home of the company is not known: the largest fee it may be
	Largest bool `json:"largest,omitempty"`
}

// fee is what one charge takes of a company, as far as is known of it. Where a
// fact is missing and the fees differ by it, the largest is the estimate: the
// order then never costs more than was said.
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
			case !ok: // nothing at least, where it is not known
				return money.Cost{Certainty: money.Unknown},
					StateFee{State: state, EntityType: company.EntityType, Company: fee.Company}
			case !first && amount != cost.Amount:
				fee.Largest, cost.Certainty = true, money.Estimated
			}
			if first || amount > cost.Amount {
				cost.Amount, fee.Minimum, fee.Note = amount, line.Minimum, line.Note
				fee.NoReport = line.none
				fee.Read = line.Read()
			}
			cost.Certainty, first = max(cost.Certainty, line.certainty()), false
		}
	}
	return cost, fee
}

// Lines lists what is known, by product and state, the operator's own lines
// before the built-in ones.
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

// unless is the certainty of what is known, or else is not known at all.
func unless(known bool) money.Certainty {
	if known {
		return money.Known
	}
	return money.Unknown
}

// find returns the most specific line that holds for the year of a report, or
// today: by state before by entity type before by residence.
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

// expeditedFees are the states' fees for an expedited formation of an LLC,
// which replace the standard ones. Elsewhere it is not offered.
// Source: spec section 4, rule 6.
var expeditedFees = map[filing.State]money.Cents{
	"AZ": 85_00,
	"DE": 185_00,
	"FL": 195_00,
	"NV": 550_00,
	"NY": 205_00,
	"WY": 103_75,
}
