package pricing

import (
	"bytes"
	_ "embed"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gocarina/gocsv"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/season"
	"github.com/bulkfiling/bulkfiling/internal/sheet"
)

// ErrFees is returned for a file of fees that cannot be used.
var ErrFees = errors.New("state fees")

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
	charge     charge
	state      filing.State
	entityType filing.EntityType
	residence  residence
}

// charged is what a line of fees says.
type charged struct {
	fee     season.Fee
	builtin bool
	none    bool   // the state asks for no report
	minimum bool   // it can be more
	note    string // how it varies
	source  string // pages or statutes
	basis   string // what the source rests on
}

// certainty is that of a figure: an operator answers for their own file, and a
// built-in figure was read some time ago.
func (c charged) certainty() money.Certainty {
	if c.builtin {
		return money.Estimated
	}
	return money.Known
}

type feeTable map[feeKey]charged

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
	table, err := parseFees("formation.csv", formationCSV)
	if err != nil {
		panic(err) // it is part of the program, and a test reads it
	}
	for key, c := range table {
		c.builtin = true
		table[key] = c
	}
	for _, l := range season.Builtin().Lines() {
		if len(l.Fee) == 0 {
			continue
		}
		table[feeKey{annualReportFee, l.State, l.EntityType, residence(l.Company())}] = charged{
			fee:     l.Fee,
			builtin: true,
			none:    l.What == "",
			minimum: l.FeeMinimum,
			note:    l.FeeNote,
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

// LoadFees reads the file that FILING_FEES names, over the built-in fees:
// CSV with the columns product, state, entityType and amount in any order and
// case, and optionally company (domestic or foreign). product is annual-report,
// formation, foreign-qualification or expedited-service; any other field but
// amount may be empty and then stands for all. amount is in dollars, or several
// of them with the filing years or days they hold for (300 until 2025; 400). Other
// columns are ignored. Errors name file, line and column, all of them at once.
func LoadFees(path string) (*Fees, error) {
	data, err := readFees(path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFees, err)
	}
	table, err := parseFees(filepath.Base(path), data)
	if err != nil {
		return nil, err
	}
	return newFees(table, builtin()), nil
}

// maxFees is the size of a file of fees, which has some hundred lines.
const maxFees = 4 << 20

// readFees reads a file of fees within the limits of every spreadsheet.
func readFees(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxFees+1))
	if err != nil {
		return nil, err
	}
	name := filepath.Base(path)
	if len(data) > maxFees {
		return nil, fmt.Errorf("%s: the file is larger than %d MB: name the file of fees", name, maxFees>>20)
	}
	return data, sheet.Verify(name, bytes.NewReader(data), int64(len(data)))
}

// feeLine is a line as it is written: text, so that what is wrong with it can be
// said in its own words.
type feeLine struct {
	Product    string `csv:"product"`
	State      string `csv:"state"`
	EntityType string `csv:"entityType"`
	Company    string `csv:"company"`
	Amount     string `csv:"amount"`
	Varies     string `csv:"varies"`
	Source     string `csv:"source"`
	Basis      string `csv:"basis"`
}

// feeColumns are the columns by their folded names. The first needed of them have
// to be there: a forgotten entityType would make a fee of one type a fee of both.
var feeColumns = []string{"product", "state", "entityType", "amount", "company", "varies", "source", "basis"}

const needed = 4

func parseFees(name string, data []byte) (feeTable, error) {
	canonical, at, err := canonicalFees(name, data)
	if err != nil {
		return nil, err
	}
	var lines []feeLine
	if err := gocsv.UnmarshalBytes(canonical, &lines); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrFees, name, err)
	}
	table := make(feeTable, len(lines))
	first := make(map[feeKey]int, len(lines))
	var errs []error
	for i, line := range lines {
		key, fee, err := line.parse()
		if err == nil && first[key] != 0 {
			err = fmt.Errorf("it says again what line %d says", first[key])
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%w: %s, line %d: %w", ErrFees, name, at[i], err))
			continue
		}
		varies, note, _ := strings.Cut(line.Varies, ":")
		table[key] = charged{
			fee:     fee,
			minimum: varies == "minimum",
			note:    strings.TrimSpace(note),
			source:  line.Source,
			basis:   line.Basis,
		}
		first[key] = at[i]
	}
	return table, errors.Join(errs...)
}

// canonicalFees rewrites a file of fees for gocsv: commas, the spelling of
// feeColumns in the header, no blank rows, and rows as long as the header. It
// also returns the line of each row in the file as it was.
func canonicalFees(name string, data []byte) (canonical []byte, lines []int, err error) {
	reader := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(data, []byte("\ufeff"))))
	first, _, _ := bytes.Cut(data, []byte("\n"))
	if bytes.Count(first, []byte(";")) > bytes.Count(first, []byte(",")) {
		reader.Comma = ';'
	}
	reader.FieldsPerRecord = -1
	reader.TrimLeadingSpace = true
	header, err := reader.Read()
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %s: read the header: %w", ErrFees, name, err)
	}
	if header, err = feeHeader(header); err != nil {
		return nil, nil, fmt.Errorf("%w: %s, line 1: %w", ErrFees, name, err)
	}
	rows := [][]string{header}
	for {
		row, err := reader.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, nil, fmt.Errorf("%w: %s: %w", ErrFees, name, err)
		}
		if !slices.ContainsFunc(row, func(s string) bool { return strings.TrimSpace(s) != "" }) {
			continue
		}
		line, _ := reader.FieldPos(0)
		if len(row) > len(header) {
			return nil, nil, fmt.Errorf(
				"%w: %s, line %d: %d fields under a header of %d: an amount with a comma in it needs quotes", ErrFees,
				name, line, len(row), len(header))
		}
		lines = append(lines, line)
		rows = append(rows, append(row, make([]string, len(header)-len(row))...))
	}
	var b bytes.Buffer
	err = csv.NewWriter(&b).WriteAll(rows)
	return b.Bytes(), lines, err
}

// feeHeader returns the header in the spelling of feeColumns, with "" for every
// other column.
func feeHeader(given []string) ([]string, error) {
	header := make([]string, len(given))
	for i, h := range given {
		for _, column := range feeColumns {
			if filing.FoldName(h) != filing.FoldName(column) {
				continue
			}
			if slices.Contains(header, column) {
				return nil, fmt.Errorf("the column %s is there twice", column)
			}
			header[i] = column
		}
	}
	for _, column := range feeColumns[:needed] {
		if !slices.Contains(header, column) {
			return nil, fmt.Errorf("the column %s is missing: the header is product,state,entityType,amount and not %q",
				column, strings.Join(given, ", "))
		}
	}
	return header, nil
}

// parse reads one line; its errors name the column.
func (l feeLine) parse() (feeKey, season.Fee, error) {
	var key feeKey
	var errs []error
	wrong := func(column, value, remedy string) {
		errs = append(errs, fmt.Errorf("%s: %q is not %s", column, value, remedy))
	}
	i := slices.IndexFunc(charges,
		func(c charge) bool { return filing.FoldName(string(c)) == filing.FoldName(l.Product) })
	if i < 0 {
		wrong("product", l.Product, "annual-report, formation, foreign-qualification or expedited-service")
	} else {
		key.charge = charges[i]
	}
	var ok bool
	if state := strings.TrimSpace(l.State); state != "" {
		if key.state, ok = filing.ParseState(state); !ok {
			wrong("state", state, "a US state: use a code such as DE, a name, or nothing for all")
		}
	}
	if entityType := strings.TrimSpace(l.EntityType); entityType != "" {
		if key.entityType, ok = filing.ParseEntityType(entityType); !ok {
			wrong("entityType", entityType, "LLC, CORP or nothing for both")
		}
	}
	switch key.residence = residence(strings.ToLower(strings.TrimSpace(l.Company))); key.residence {
	case "", domestic, foreign:
	default:
		wrong("company", l.Company, "domestic, foreign or nothing for both")
	}
	fee, err := season.ParseFee(l.Amount)
	if err != nil || len(fee) == 0 {
		wrong("amount", l.Amount, "an amount in dollars, such as 138.75")
	}
	return key, fee, errors.Join(errs...)
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
				cost.Amount, fee.Minimum, fee.Note = amount, line.minimum, line.note
				fee.NoReport = line.none
				if line.builtin {
					fee.Read = season.SourceText(line.source, line.basis)
				}
			}
			cost.Certainty, first = max(cost.Certainty, line.certainty()), false
		}
	}
	return cost, fee
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
func (f *Fees) find(key feeKey, year int) (money.Cents, charged, bool) {
	today := f.today()
	for _, table := range f.tables {
		for _, s := range []filing.State{key.state, ""} {
			for _, t := range []filing.EntityType{key.entityType, ""} {
				for _, r := range []residence{key.residence, ""} {
					line, ok := table[feeKey{key.charge, s, t, r}]
					if !ok {
						continue
					}
					if amount, holds := line.fee.At(year, today); holds {
						return amount, line, true
					}
				}
			}
		}
	}
	return 0, charged{}, false
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
