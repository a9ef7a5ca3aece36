package importer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/bulkfiling/bulkfiling/internal/filing"
)

const reportHeader = "Company ID,Legal Name,Entity Type,User Email,Filing State,Filing Year,Order Registered " +
	"Agent,Change Of Agent,Agent Type,Agent Company Name,Agent First Name,Agent Last Name,Agent Street,Agent " +
	"City,Agent State,Agent ZIP\n"

// What a row of annual reports becomes.
func TestAnnualReport(t *testing.T) {
	const agent = ",,,Acme Agents,,,1 Main St,Dover,DE,19901\n"
	for _, c := range []struct {
		why     string
		row     string
		options Options
		result  filing.Result
		cells   string // with problems, errors then warnings in brackets
		message string // a part of it
		want    func(*filing.Request) bool
	}{
		{"agent on record", "comp_1,Acme LLC,LLC,a@example.com,DE,2026\n", Options{}, filing.Ready, "", "",
			func(r *filing.Request) bool {
				return r.Product == filing.AnnualReport && r.Company.Ref == "comp_1" &&
					r.User.Email == "a@example.com" && r.Order.FilingState == "DE" &&
					r.Order.AnnualReport.FilingYear == "2026" && r.Order.AnnualReport.RegisteredAgent == nil &&
					r.Order.RegisteredAgent == nil &&
					r.Company.Sheet.EntityType == filing.LLC && r.Company.Sheet.LegalName == "Acme LLC"
			}},
		{"agent ordered", "comp_1,Acme LLC,,a@example.com,DE,2026,yes\n", Options{}, filing.Ready, "", "",
			func(r *filing.Request) bool {
				return r.Order.RegisteredAgent != nil && !r.Order.RegisteredAgent.IsChangeOfAgent
			}},
		{"agent changed", "comp_1,Acme LLC,,a@example.com,DE,2026,yes,yes\n", Options{}, filing.Ready, "", "",
			func(r *filing.Request) bool {
				return r.Order.RegisteredAgent.IsChangeOfAgent
			}},
		{"agent supplied, its type told from its name", "comp_1,Acme LLC,,a@example.com,DE,2026,no" + agent, Options{},
			filing.Ready, "", "", func(r *filing.Request) bool {
				a := r.Order.AnnualReport.RegisteredAgent
				return r.Order.RegisteredAgent == nil && a.Type == filing.CompanyParty &&
					a.CompanyName == "Acme Agents" && a.Street == "1 Main St" && a.City == "Dover" &&
					a.State == "DE" && a.ZIP == "19901"
			}},
		{"a person supplied",
			"comp_1,Acme LLC,,a@example.com,DE,2026,,,,,Grace,Okafor,1 Main St,Dover,Delaware,19901\n",
			Options{}, filing.Ready, "", "", func(r *filing.Request) bool {
				return r.Order.AnnualReport.RegisteredAgent.Type == filing.Person
			}},
		{"agent ordered and supplied", "comp_1,Acme LLC,,a@example.com,DE,2026,yes" + agent, Options{}, filing.Invalid,
			"G2",
			"keep only one of them", nil},
		{"agent columns that say nothing", "comp_1,Acme LLC,,a@example.com,DE,2026,no,,N/A,N/A,-,-,N/A,N/A,N/A,N/A\n",
			Options{}, filing.Ready, "", "", func(r *filing.Request) bool {
				return r.Order.AnnualReport.RegisteredAgent == nil
			}},
		{"a change without an order", "comp_1,Acme LLC,,a@example.com,DE,2026,no,yes\n", Options{}, filing.Invalid,
			"H2",
			"no agent is ordered", nil},
		{"two kinds of names", "comp_1,Acme LLC,,a@example.com,DE,2026,,,,Acme,Grace,Okafor,1 Main St,Dover,DE,19901\n",
			Options{}, filing.Invalid, "I2", "Agent Type", nil},
		{"agent state not known is said once",
			"comp_1,Acme LLC,,a@example.com,DE,2026,,,,Acme,,,1 Main St,Newark,QQ,07102\n",
			Options{}, filing.Invalid, "O2", "not a US state", nil},
		{"every problem at once", ",,LP,a,ZZ,26\n", Options{}, filing.Invalid, "A2 C2 D2 E2 F2",
			"Company ID: the company is missing", nil},
		{"year filled in", "comp_1,Acme LLC,,a@example.com,DE,\n", Options{FilingYear: "2026"}, filing.Ready, "", "",
			func(r *filing.Request) bool { return r.Order.AnnualReport.FilingYear == "2026" }},
		{"year agrees", "comp_1,Acme LLC,,a@example.com,DE,2026\n", Options{FilingYear: "2026"}, filing.Ready, "", "",
			nil},
		{"year contradicts", "comp_1,Acme LLC,,a@example.com,DE,2025\n", Options{FilingYear: "2026"}, filing.Invalid,
			"F2",
			"2025 but --filing-year says 2026", nil},
		{"user filled in", "comp_1,Acme LLC,,,DE,2026\n", Options{User: "user_1"}, filing.Ready, "", "",
			func(r *filing.Request) bool { return r.User.ID == "user_1" }},
		{"user agrees", "comp_1,A LLC,,A@example.com,DE,2026\n", Options{User: "a@example.com"}, filing.Ready, "", "",
			nil},
		{"user contradicts", "comp_1,Acme LLC,,b@example.com,DE,2026\n", Options{User: "a@example.com"},
			filing.Invalid, "D2",
			"--user says a@example.com", nil},
		{"of the state", "comp_1,Acme LLC,,a@example.com,delaware,2026\n", Options{State: "DE"}, filing.Ready, "", "",
			nil},
		{"of another state, whatever else is wrong", ",,LP,a,NY,26\n", Options{State: "DE"}, filing.Skipped, "",
			"filing state is NY", nil},
		{"of no state, which is not guessed", "comp_1,Acme LLC,,a@example.com,,2026\n", Options{State: "DE"},
			filing.Invalid,
			"E2", "filing state is missing", nil},
		{"of a state that cannot be read", "comp_1,Acme LLC,,a@example.com,ZZ,2026\n", Options{State: "DE"},
			filing.Invalid,
			"E2", "not a US state", nil},
		{"a delimiter that was not quoted", "comp_1,Acme, Inc.,CORP,a@example.com,DE,2026\n", Options{},
			filing.Invalid, "D2 E2 F2 G2", "User Email: ", nil},
		{"more cells than the header", "comp_1,Acme LLC,,a@example.com,DE,2026,,,,,,,,,,,beyond\n", Options{},
			filing.Invalid,
			"Q2", "more cells than the header", nil},
		{"slug", "acme-llc,Acme LLC,,a@example.com,DE,2026\n", Options{}, filing.Ready, "", "", nil},
		{"name in place of an id", "Acme LLC,,,a@example.com,DE,2026\n", Options{}, filing.Invalid, "A2",
			"is not a company ID", nil},
	} {
		t.Run(c.why, func(t *testing.T) {
			o := c.options
			o.Product = filing.AnnualReport
			rows := rowsOf(t, opened(t, saved(t, "in.csv", reportHeader+c.row), o))
			if len(rows) != 1 {
				t.Fatalf("%d rows", len(rows))
			}
			r := rows[0]
			var cells []string
			for _, p := range r.problems {
				cell := p.Cell
				if p.Severity == Warning {
					cell = "[" + cell + "]"
				}
				cells = append(cells, cell)
			}
			if got := strings.Join(cells, " "); r.result != c.result || got != c.cells ||
				!strings.Contains(r.message, c.message) {
				t.Errorf("%s at %q: %s", r.result, got, r.message)
			}
			if c.want != nil && (r.result != filing.Ready || !c.want(&r.request)) {
				t.Errorf("%+v", r.request)
			}
		})
	}
}

// What a row of agent orders becomes, the product told or named.
func TestAgentOrders(t *testing.T) {
	for _, c := range []struct {
		why     string
		header  string
		row     string
		product filing.Product
		result  filing.Result
		becomes filing.Product
		message string
	}{
		{"change", "Change Of Agent", "yes", "", filing.Ready, filing.AgentChange, ""},
		{"a first appointment among changes", "Change Of Agent", "no", "", filing.Ready, filing.RegisteredAgent, ""},
		{"not said", "Change Of Agent", "", "", filing.Invalid, "", "the cell is blank"},
		{"not said, product named", "Change Of Agent", "", filing.AgentChange, filing.Ready, filing.AgentChange, ""},
		{"contradicts the product", "Change Of Agent", "no", filing.AgentChange, filing.Invalid, "",
			"the product is agent-change"},
		{"contradicts the other product", "Change Of Agent", "yes", filing.RegisteredAgent, filing.Invalid, "",
			"the product is registered-agent"},
		{"no column, product named", "Legal Name", "Acme", filing.AgentChange, filing.Ready, filing.AgentChange, ""},
		{"new, product named", "Legal Name", "Acme", filing.RegisteredAgent, filing.Ready, filing.RegisteredAgent, ""},
		{"ordered", "Order Registered Agent", "yes", "", filing.Ready, filing.RegisteredAgent, ""},
		{"not ordered", "Order Registered Agent", "no", "", filing.Skipped, "", "no registered agent is ordered"},
		{"empty among yes", "Order Registered Agent", "", "", filing.Skipped, "", "is not yes"},
		{"unreadable", "Order Registered Agent", "perhaps", "", filing.Invalid, "", "not yes or no"},
		{"a column without use is not looked at", "Entity Type", "LP", filing.AgentChange, filing.Ready,
			filing.AgentChange, ""},
	} {
		t.Run(c.why, func(t *testing.T) {
			text := "Company ID,User ID,Filing State," + c.header + "\ncomp_1,user_1,DE," + c.row + "\n"
			rows := rowsOf(t, opened(t, saved(t, "in.csv", text), Options{Product: c.product}))
			r := rows[0]
			if r.result != c.result || !strings.Contains(r.message, c.message) || r.request.Product != c.becomes {
				t.Errorf("%s %s: %s", r.result, r.request.Product, r.message)
			}
			if r.result == filing.Ready &&
				r.request.Order.RegisteredAgent.IsChangeOfAgent != (c.becomes == filing.AgentChange) {
				t.Errorf("%+v", r.request.Order.RegisteredAgent)
			}
		})
	}
}

// A report that is ordered beside the main product of a sheet depends on the
// same facts of the company as one in a sheet of reports.
func TestFactsOfAnyMainProduct(t *testing.T) {
	for main, column := range map[filing.Product]string{
		filing.AnnualReport: "Order Annual Report", filing.AgentChange: "Order Annual Report",
		filing.RegisteredAgent: "Order Annual Report", filing.ForeignQualification: "Order Annual Report",
	} {
		text := "Company ID,User ID,Filing State,Order Registered Agent,Filing Year,Entity Type,Formation " +
			"State,Formation Date,Principal City," + column +
			"\ncomp_1,user_1,NV,yes,2026,Limited Liability Company,Delaware,2019-04-30,,yes\ncomp_2,user_1,NV,yes," +
			"2026,LP,DE,2019-04-30,,yes\n"
		if main == filing.AgentChange {
			text += "comp_3,user_1,NV,yes,2026,LP,DE,2019-04-30,,no\n"
		}
		rows := rowsOf(t, opened(t, saved(t, "in.csv", text), Options{Product: main}))
		known := rows[0].request.Company.Sheet
		if rows[0].result != filing.Ready || known.EntityType != filing.LLC || known.FormationState != "DE" ||
			known.FormationDate != "2019-04-30" {
			t.Errorf("%s: %s %s; %+v", main, rows[0].result, rows[0].message, known)
		}
		if rows[1].result != filing.Invalid || !strings.Contains(rows[1].message, "limited partnership") {
			t.Errorf("%s: %s %s", main, rows[1].result, rows[1].message)
		}
		if len(rows) > 2 && rows[2].result != filing.Ready { // nothing depends on it
			t.Errorf("%s: %s %s", main, rows[2].result, rows[2].message)
		}
	}
}

// --state with a company list that has no filing state.
func TestStateOfCompanyList(t *testing.T) {
	for _, c := range []struct {
		why, text string
		want      []filing.Result
	}{
		{"by the formation state", "Company ID,Formation State\ncomp_1,DE\ncomp_2,NY\ncomp_3,\n",
			[]filing.Result{filing.Ready, filing.Skipped, filing.Ready}},
		{"filled in where no column gives a state", "Company ID,Legal Name\ncomp_1,Acme\n",
			[]filing.Result{filing.Ready}},
		{"the formation state for an empty filing state",
			"Company ID,Filing State,Formation State\ncomp_1,,DE\ncomp_2,,NY\ncomp_3,,\n",
			[]filing.Result{filing.Ready, filing.Skipped, filing.Invalid}},
	} {
		t.Run(c.why, func(t *testing.T) {
			im := opened(t, saved(t, "in.csv", c.text),
				Options{Product: filing.AnnualReport, State: "DE", FilingYear: "2026", User: "user_1"})
			var got []filing.Result
			for _, r := range rowsOf(t, im) {
				got = append(got, r.result)
				if r.result == filing.Ready && r.request.Order.FilingState != "DE" {
					t.Errorf("filing state %q", r.request.Order.FilingState)
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("%v", got)
			}
		})
	}
}

// Rows that are no filings are skipped, and real companies never are.
func TestNoFiling(t *testing.T) {
	for _, c := range []struct {
		row  string
		want filing.Result
		why  string
	}{
		{"Total,,,,", filing.Skipped, isTotal},
		{"Grand Total:,60,,,", filing.Skipped, isTotal},
		{",TOTAL 60,,,,1234.50", filing.Skipped, isTotal},
		{"Prepared by Ana on 7/1/2026", filing.Skipped, isFootnote},
		{"* agent on record", filing.Skipped, isFootnote},
		{",Delaware companies", filing.Skipped, isFootnote},
		{",,,,,see the notes", filing.Skipped, isFootnote},
		{"Company ID,Legal Name,User Email,Filing State,Filing Year,Fee", filing.Skipped, isHeading},
		{"0,0,0,0,0,75", filing.Skipped, isBlank},
		{`NULL,\N,TBD,-,0.00`, filing.Skipped, isBlank},
		{"comp_EXAMPLE,Harbor Light,a@example.com,DE,2026", filing.Skipped, isExample},

		{"comp_1,Total Wine LLC,a@example.com,DE,2026", filing.Ready, ""},
		{"total,Total LLC,a@example.com,DE,2026", filing.Ready, ""},
		{",Total,,,2026", filing.Invalid, "the company is missing"},
		{",Total Wine LLC,,,2026", filing.Invalid, "the company is missing"},
		{",Total Wine LLC", filing.Invalid, "the company is missing"},
		{"comp_1", filing.Invalid, "the user is missing"},
		{"acme-llc", filing.Invalid, "the user is missing"},
		{",,a@example.com", filing.Invalid, "the company is missing"},
	} {
		t.Run(c.row, func(t *testing.T) {
			text := "Company ID,Legal Name,User Email,Filing State,Filing " +
				"Year,Fee\ncomp_0,Acme,a@example.com,DE,2026,75\n" + c.row + "\n"
			im := opened(t, saved(t, "in.csv", text), Options{})
			rows := rowsOf(t, im)
			if len(rows) != 2 {
				t.Fatalf("%d rows", len(rows))
			}
			if r := rows[1]; r.result != c.want || !strings.Contains(r.message, c.why) {
				t.Errorf("%s: %s", r.result, r.message)
			}
			noted := slices.ContainsFunc(im.Notes(), func(n string) bool {
				return strings.Contains(n, "1 row is not a filing and was skipped: 3 (")
			})
			if noted != (c.want == filing.Skipped) {
				t.Errorf("notes %q", im.Notes())
			}
		})
	}
}

// Of valid rows that order the same in other words, the first one goes. Rows that send
// different things for it do not go. A name that differs is a warning: one of the IDs may be
// wrong, and each row is compared with the record of its company.
func TestRepeats(t *testing.T) {
	const ready, skipped, invalid = filing.Ready, filing.Skipped, filing.Invalid
	text := "Company ID,Legal Name,User ID,Filing State,Filing Year\n"
	all := []struct {
		row     string
		want    filing.Result
		message string // or the text of a warning
	}{
		{"comp_1,,,DE,2026", invalid, "the user is missing"}, // 2
		{"comp_1,Acme,user_1,DE,2026", ready, ""},            // 3: the first that is valid
		{"comp_1,ACME,user_1,Delaware,2026.0", skipped, "duplicate of row 3"},
		{"comp_1,Acme,user_1,DE,2025", ready, ""},
		{"comp_1,Acme,user_1,NY,2026", ready, ""},
		{"comp_A,Acme,user_1,DE,2026", ready, ""},
		{"comp_a,Acme,user_1,DE,2026", ready, ""}, // 8: IDs have case
		{"acme,Acme,user_1,DE,2026", ready, ""},
		{"ACME,Acme,user_1,DE,2026", skipped, "duplicate of row 9"}, // slugs have none
		{"comp_2,Acme,user_1,DE,2026", invalid, "row 12 orders the same with other details: make the rows alike"},
		{"comp_2,Acme,user_2,DE,2026", invalid, "row 11 orders the same with other details (User ID): make"},
		{"comp_2,Acme,user_1,DE,2026", invalid, "row 11 orders the same with other details"},
		{"comp_3,Acme LLC,user_1,DE,2026", ready, "row 15 orders the same for a company of another name"},
		{"comp_3,Zebra LLC,user_1,DE,2026", ready, "row 14 orders the same for a company of another name"},
		{"comp_3,ACME L.L.C.,user_1,DE,2026", skipped, "duplicate of row 14"},
	}
	for _, c := range all {
		text += c.row + "\n"
	}
	for i, r := range rowsOf(t, opened(t, saved(t, "in.csv", text), Options{})) {
		said := r.message
		for _, p := range r.problems {
			said += p.Message
		}
		if r.result != all[i].want || (said == "") != (all[i].message == "") ||
			!strings.Contains(said, all[i].message) {
			t.Errorf("row %d: %s, %s", r.number, r.result, said)
		}
	}
}

// A problem in a column that the sheet does not have names our column and no cell.
func TestProblemWithoutColumn(t *testing.T) {
	im := opened(t, saved(t, "in.csv", "Company ID,Filing State,Filing Year\ncomp_1,DE,2026\n"), Options{})
	p := rowsOf(t, im)[0].problems[0]
	if p.Cell != "" || p.Column != "User ID" || p.ColumnIndex != -1 || p.Row != 2 || p.Rule != "user.required" {
		t.Errorf("%+v", p)
	}
}

// An error of the consumer, or of the caller's context, ends the reading at once.
func TestEachEnds(t *testing.T) {
	im := opened(t, saved(t, "in.csv", "Company ID,User ID,Filing State,Filing Year\n"+
		strings.Repeat("comp_1,user_1,DE,2026\n", 2000)), Options{})
	stop := errors.New("enough")
	n := 0
	if err := im.Each(context.Background(), func(*Row) error {
		if n++; n == 10 {
			return stop
		}
		return nil
	}); !errors.Is(err, stop) || n != 10 {
		t.Errorf("%v after %d rows", err, n)
	}
	ctx, cancel := context.WithCancel(context.Background())
	n = 0
	if err := im.Each(ctx, func(*Row) error {
		if n++; n == 10 {
			cancel()
		}
		return nil
	}); !errors.Is(err, context.Canceled) || n > 2000-1 {
		t.Errorf("%v after %d rows", err, n)
	}
}

// Rows out are rows in, in their order, whatever stands in them; and what is
// ready breaks no rule.
func TestRowsOutAreRowsIn(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		header := []string{"Company ID", "Legal Name", "User Email", "Filing State", "Filing Year",
			"Order Registered Agent", "Change Of Agent", "Agent Company Name", "Agent ZIP", "Notes"}
		keep := rapid.IntRange(2, len(header)).Draw(rt, "columns")
		header = append([]string(nil), header[:keep]...)
		values := rapid.SampledFrom([]string{
			"", "", "comp_1", "comp_2", "acme", "Acme LLC", "Total", "a@example.com", "a@b", "DE", "Delaware", "NY",
			"ZZ", "2026", "2025", "26", "yes", "no", "x", "N/A", "#N/A", "19901", "2134", "O’Neill", "\uFFFD", "=1+1",
			"a;b", "\"q\"", "line\nbreak", "Company ID",
		})
		count := rapid.IntRange(1, 700).Draw(rt, "rows")
		some := rapid.SliceOfN(rapid.SliceOfN(values, keep, keep), 1, 12).Draw(rt, "kinds of rows")
		grid := [][]string{header}
		var numbers []int
		for i := range count {
			row := some[i%len(some)]
			grid = append(grid, row)
			if strings.Join(row, "") != "" {
				numbers = append(numbers, i+2)
			}
		}
		path := dir + "/in.csv"
		if err := writeFile(path, csvText(grid)); err != nil {
			rt.Fatal(err)
		}
		im, err := Open(path, Options{
			Product:    filing.AnnualReport,
			Now:        july,
			FilingYear: rapid.SampledFrom([]string{"", "2026"}).Draw(rt, "year"),
			State:      filing.State(rapid.SampledFrom([]string{"", "DE"}).Draw(rt, "state")),
		})
		if err != nil {
			if len(numbers) > 0 && !strings.Contains(err.Error(), "several columns") {
				rt.Fatal(err)
			}
			return
		}
		defer im.Close()
		var got []int
		bought := map[string]bool{}
		var tally Tally
		err = im.Each(context.Background(), func(r *Row) error {
			got = append(got, r.Number)
			tally.add(r.Result)
			checkRowOut(rt, r, bought)
			return nil
		})
		if err != nil {
			rt.Fatal(err)
		}
		if !slices.Equal(got, numbers) || tally.Rows != len(numbers) ||
			tally.Ready+tally.Invalid+tally.Skipped != tally.Rows {
			rt.Errorf("%d rows out of %d, %+v", len(got), len(numbers), tally)
		}
	})
}

// checkRowOut checks that a row has a reason or an order that breaks no rule and
// that no row before it has.
func checkRowOut(rt *rapid.T, r *Row, bought map[string]bool) {
	switch r.Result {
	case filing.Ready:
		for _, v := range r.Request.Violations(2026) {
			if !v.Warning {
				rt.Errorf("row %d is ready and breaks %s", r.Number, v.Rule)
			}
		}
		what := fmt.Sprint(strings.ToLower(r.Request.Company.Ref), r.Request.Order.FilingState,
			r.Request.Order.AnnualReport.FilingYear)
		if bought[what] {
			rt.Errorf("row %d buys %s again", r.Number, what)
		}
		bought[what] = true
	case filing.Invalid:
		if r.Message == "" || len(r.Problems) == 0 || r.Request != nil {
			rt.Errorf("row %d is invalid without a reason", r.Number)
		}
	case filing.Skipped:
		if r.Message == "" || r.Request != nil {
			rt.Errorf("row %d is skipped without a reason", r.Number)
		}
	default:
		rt.Errorf("row %d is %s", r.Number, r.Result)
	}
}
