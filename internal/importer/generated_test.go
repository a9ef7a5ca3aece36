package importer

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/csv"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/sheet"
)

var update = flag.Bool("update", false, "write templates/ and samples/ again")

// root is where templates/ and samples/ are.
const root = "../.."

// generated are the files of the tree that are made by this package.
var generated = []struct {
	path string
	make func(t *testing.T, path string)
}{
	{"templates/annual-report.xlsx", template4(filing.AnnualReport)},
	{"templates/agent-change.xlsx", template4(filing.AgentChange)},
	{"templates/registered-agent.xlsx", template4(filing.RegisteredAgent)},
	{"templates/formation.xlsx", template4(filing.Formation)},
	{"templates/ein.xlsx", template4(filing.EIN)},
	{"templates/foreign-qualification.xlsx", template4(filing.ForeignQualification)},
	{"samples/annual-reports-de-2026.xlsx", makeAnnualReports},
	{"samples/agent-changes.csv", makeAgentChanges},
	{"samples/registered-agents.csv", makeRegisteredAgents},
	{"samples/formations-2026.xlsx", makeFormations},
	{"samples/eins.csv", makeEINs},
	{"samples/foreign-qualifications.xlsx", makeQualifications},
}

func template4(p filing.Product) func(*testing.T, string) {
	return func(t *testing.T, path string) {
		if err := WriteTemplate(p, path); err != nil {
			t.Fatal(err)
		}
	}
}

// The files in the tree are those that would be made today. They are compared
// by their cells, for a workbook also holds the time at which it was made.
func TestGenerated(t *testing.T) {
	for _, g := range generated {
		t.Run(g.path, func(t *testing.T) {
			inTree := filepath.Join(root, g.path)
			if *update {
				if err := os.MkdirAll(filepath.Dir(inTree), 0o755); err != nil {
					t.Fatal(err)
				}
				g.make(t, inTree)
				return
			}
			fresh := filepath.Join(t.TempDir(), filepath.Base(g.path))
			g.make(t, fresh)
			want, got := cellsOf(t, fresh), cellsOf(t, inTree)
			for i := range max(len(want), len(got)) {
				if i >= len(want) || i >= len(got) || want[i] != got[i] {
					t.Fatalf("the file in the tree is not what is made today (line %d): run make templates", i+1)
				}
			}
		})
	}
}

// cellsOf is every row of every sheet as a line.
func cellsOf(t testing.TB, path string) (lines []string) {
	t.Helper()
	f, err := sheet.Open(path, sheet.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, info := range f.Sheets() {
		lines = append(lines, fmt.Sprintf("%s %t", info.Name, info.Visible))
		r, err := f.Rows(info.Name)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		for {
			var b sheet.Block
			if err := r.Read(&b); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			for _, row := range b.Rows {
				lines = append(lines, fmt.Sprintf("%d %s", row.Number, sheet.EncodeCells(row.Cells)))
			}
		}
	}
	return lines
}

// The samples come out as their story says.
func TestSamples(t *testing.T) {
	for _, c := range []struct {
		path    string
		product filing.Product
		tally   Tally
		rules   []string // broken, in the order of the rows
	}{
		{"samples/annual-reports-de-2026.xlsx", filing.AnnualReport, Tally{60, 53, 6, 1}, []string{
			"annual-report.year", "agent.state-is-filing-state", "agent.addressZip", "company.required",
			"company.entityType", "user.email",
		}},
		{"samples/agent-changes.csv", filing.AgentChange, Tally{20, 18, 1, 1}, []string{"filing-state.known"}},
		{"samples/registered-agents.csv", filing.RegisteredAgent, Tally{16, 16, 0, 0}, nil},
		{"samples/formations-2026.xlsx", filing.Formation, Tally{24, 24, 0, 0}, nil},
		{"samples/eins.csv", filing.EIN, Tally{20, 20, 0, 0}, nil},
		{"samples/foreign-qualifications.xlsx", filing.ForeignQualification, Tally{18, 18, 0, 0}, nil},
		{"templates/formation.xlsx", filing.Formation, Tally{1, 0, 0, 1}, nil},
		{"templates/ein.xlsx", filing.EIN, Tally{1, 0, 0, 1}, nil},
		{"templates/foreign-qualification.xlsx", filing.ForeignQualification, Tally{1, 0, 0, 1}, nil},
		{"templates/registered-agent.xlsx", filing.RegisteredAgent, Tally{1, 0, 0, 1}, nil},
		{"templates/annual-report.xlsx", filing.AnnualReport, Tally{1, 0, 0, 1}, nil},
		{"templates/agent-change.xlsx", filing.AgentChange, Tally{1, 0, 0, 1}, nil},
	} {
		t.Run(c.path, func(t *testing.T) {
			im := opened(t, filepath.Join(root, c.path), Options{})
			if im.Product() != c.product {
				t.Errorf("product %s", im.Product())
			}
			var rules []string
			tally, err := im.Check(context.Background(), func(p Problem) error {
				if p.Severity == Error {
					rules = append(rules, p.Rule)
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if tally != c.tally || !slices.Equal(rules, c.rules) {
				t.Errorf("%+v %q\n%q", tally, rules, im.Notes())
			}
		})
	}
}

// A template's example row is right but for its company.
func TestTemplateExample(t *testing.T) {
	for _, p := range Templates() {
		t.Run(string(p), func(t *testing.T) {
			im := opened(t, saved(t, "filled.csv", filledTemplate(t, p)), Options{})
			if im.Product() != p {
				t.Errorf("product %s", im.Product())
			}
			for _, r := range rowsOf(t, im) {
				if r.result != filing.Ready || len(r.problems) > 0 {
					t.Errorf("%s: %s %+v", r.result, r.message, r.problems)
				}
			}
		})
	}
}

// filledTemplate returns the header and the example of a template, with a company
// of its own.
func filledTemplate(t *testing.T, p filing.Product) string {
	path := filepath.Join(t.TempDir(), "template.xlsx")
	if err := WriteTemplate(p, path); err != nil {
		t.Fatal(err)
	}
	company := strings.NewReplacer(exampleCompany, "comp_1", exampleName, "Harbor Light Bakery LLC")
	var text strings.Builder
	for _, line := range cellsOf(t, path)[1:3] {
		_, cells, _ := strings.Cut(line, " ")
		row, err := sheet.DecodeCells([]byte(cells))
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range row {
			text.WriteString(company.Replace(c.Text) + "\t")
		}
		text.WriteString("\n")
	}
	return text.String()
}

// companyIDOf returns a made-up company ID that is always the same for a name.
func companyIDOf(name string) string {
	sum := sha256.Sum256([]byte(name))
	return "comp_" + new(big.Int).SetBytes(sum[:8]).Text(62)[:10]
}

// sampleCompanies are sixty companies, awkward names among them. None exists.
var sampleCompanies = []struct{ name, kind, formed, owner, contact string }{
	{"Harbor Light Bakery LLC", "LLC", "2014-03-18", "Ana Silva", "ana@harborlight.example"},
	{"+1 Fitness LLC", "LLC", "2019-07-02", "Marcus Bell", "marcus@plusonefitness.example"},
	{"@Home Health Corp", "CORP", "2011-11-21", "Priya Raman", "priya@athomehealth.example"},
	{"O’Neill & Sons, Inc.", "CORP", "1998-05-04", "Declan O’Neill", "declan@oneillsons.example"},
	{"Total Solutions LLC", "LLC", "2016-01-12", "Grace Okafor", "grace@totalsolutions.example"},
	{"Zoë’s Café & Crêperie LLC", "LLC", "2020-09-30", "Zoë Marchand", "zoe@zoescafe.example"},
	{"Brandywine Valley Orchards LLC", "LLC", "2009-02-27", "Tom Whitfield", "tom@bvorchards.example"},
	{"123 Main Street Holdings LLC", "LLC", "2021-06-15", "Tom Whitfield", "tom@bvorchards.example"},
	{"Müller Präzision America Inc.", "CORP", "2007-10-08", "Jürgen Müller", "j.mueller@mueller-us.example"},
	{"Cape Henlopen Surf School LLC", "LLC", "2018-04-03", "Lena Fisk", "lena@henlopensurf.example"},
	{"N.A. Freight Brokers, Inc.", "CORP", "2003-08-19", "Ron Petrov", "ron@nafreight.example"},
	{"The “Good” Pickle Company LLC", "LLC", "2022-01-05", "Maya Stern", "maya@goodpickle.example"},
	{"First State Solar LLC", "LLC", "2015-12-01", "Andre Coleman", "andre@firststatesolar.example"},
	{"Nanticoke River Marina LLC", "LLC", "2001-05-22", "Jo Hastings", "jo@nanticokemarina.example"},
	{"Blue Hen Analytics Inc.", "CORP", "2017-03-14", "Wei Zhang", "wei@bluehenanalytics.example"},
	{"Lewes Harbor Pilots LLC", "LLC", "1996-09-09", "Sam Burton", "sam@lewespilots.example"},
	{"Kent County Roofing & Siding LLC", "LLC", "2012-06-28", "Luis Ortega", "luis@kentroofing.example"},
	{"Odessa Antiques LLC", "LLC", "2010-10-10", "Ruth Clay", "ruth@odessaantiques.example"},
	{"Rehoboth Candle Works LLC", "LLC", "2019-02-14", "Nina Castellano", "nina@rehobothcandle.example"},
	{"Smyrna Tool & Die Corp", "CORP", "1988-01-29", "Walt Jessup", "walt@smyrnatool.example"},
	{"Peregrine Title Services LLC", "LLC", "2013-07-23", "Alicia Monroe", "alicia@peregrinetitle.example"},
	{"Dover Downs Kennels LLC", "LLC", "2008-11-11", "Beth Yoder", "beth@doverkennels.example"},
	{"Wilmington Wool & Thread Co. LLC", "LLC", "2016-08-16", "Iris Adeyemi", "iris@wilmwool.example"},
	{"C&D Canal Tugboats Inc.", "CORP", "1979-04-25", "Pete Dunmore", "pete@cdtugs.example"},
	{"Bombay Hook Birding Tours LLC", "LLC", "2021-03-20", "Carla Finch", "carla@bombayhooktours.example"},
	{"Slaughter Beach Kayaks LLC", "LLC", "2020-05-29", "Owen Tate", "owen@slaughterbeachkayaks.example"},
	{"Middletown Orthodontics LLC", "LLC", "2014-09-02", "Dr. Hana Kim", "hana@middletownortho.example"},
	{"Delmarva Poultry Logistics LLC", "LLC", "2006-02-17", "Earl Simmons", "earl@delmarvapoultry.example"},
	{"Christiana Print House Inc.", "CORP", "1994-12-12", "Vera Novak", "vera@christianaprint.example"},
	{"Georgetown Feed & Seed LLC", "LLC", "2005-03-31", "Hank Lofland", "hank@gtownfeed.example"},
	{"Laurel Crown Estates LLC", "LLC", "2018-10-24", "Tom Whitfield", "tom@bvorchards.example"},
	{"Red Clay Robotics Inc.", "CORP", "2022-07-07", "Arjun Mehta", "arjun@redclayrobotics.example"},
	{"Seaford Net & Line LLC", "LLC", "1999-06-18", "Dot Cannon", "dot@seafordnet.example"},
	{"Bethany Boardwalk Arcades LLC", "LLC", "2011-05-27", "Nick Pappas", "nick@bethanyarcades.example"},
	{"Arden Guild Theatre Supply LLC", "LLC", "2009-09-14", "Frances Lowell", "frances@ardenguild.example"},
	{"Newark Bicycle Exchange LLC", "LLC", "2017-04-20", "Ike Turner Jr.", "ike@newarkbikes.example"},
	{"Fenwick Island Rentals LLC", "LLC", "2013-01-15", "Joan Marsh", "joan@fenwickrentals.example"},
	{"Harrington Fairgrounds Catering LLC", "LLC", "2019-08-08", "Bo Wagner", "bo@hfcatering.example"},
	{"Claymont Steelworks Heritage Corp", "CORP", "2004-11-03", "Gina Rossi", "gina@claymontsteel.example"},
	{"Milford Shipyard Lofts LLC", "LLC", "2020-12-18", "Tom Whitfield", "tom@bvorchards.example"},
	{"Ocean View Veterinary LLC", "LLC", "2015-02-09", "Dr. Paul Esham", "paul@oceanviewvet.example"},
	{"Hockessin Horticulture LLC", "LLC", "2010-03-26", "Mei Lin", "mei@hockessinhort.example"},
	{"Selbyville Poultry Partners LLC", "LLC", "2002-07-30", "Earl Simmons", "earl@delmarvapoultry.example"},
	{"St. Georges Bridge Inn LLC", "LLC", "2012-10-01", "Kay Thornton", "kay@stgeorgesinn.example"},
	{"Elsmere Auto Glass LLC", "LLC", "2018-06-06", "Victor Ruiz", "victor@elsmereglass.example"},
	{"Trap Pond Outfitters LLC", "LLC", "2021-09-10", "Owen Tate", "owen@slaughterbeachkayaks.example"},
	{"Bridgeville Apple Scrapple Corp", "CORP", "1992-10-15", "Ned Rapa", "ned@applescrapple.example"},
	{"Greenwood Amish Furniture LLC", "LLC", "2007-05-08", "Beth Yoder", "beth@doverkennels.example"},
	{"Prime Hook Wildlife Media LLC", "LLC", "2022-11-28", "Carla Finch", "carla@bombayhooktours.example"},
	{"Pike Creek Pediatrics LLC", "LLC", "2016-04-11", "Dr. Hana Kim", "hana@middletownortho.example"},
	{"Leipsic Crab House LLC", "LLC", "1990-06-01", "Sam Burton", "sam@lewespilots.example"},
	{"Ardentown Music Press Inc.", "CORP", "2013-12-05", "Frances Lowell", "frances@ardenguild.example"},
	{"Mispillion Light Brewing LLC", "LLC", "2019-11-22", "Kofi Mensah", "kofi@mispillionbrewing.example"},
	{"Gumboro Timber LLC", "LLC", "1997-08-13", "Hank Lofland", "hank@gtownfeed.example"},
	{"Viola Quilting LLC", "LLC", "2020-02-20", "Ruth Clay", "ruth@odessaantiques.example"},
	{"Dagsboro Data Centers LLC", "LLC", "2021-12-31", "Wei Zhang", "wei@bluehenanalytics.example"},
	{"Woodside Dairy Corp", "CORP", "1985-03-07", "Bo Wagner", "bo@hfcatering.example"},
	{"Kitts Hummock Oysters LLC", "LLC", "2017-09-19", "Dot Cannon", "dot@seafordnet.example"},
	{"Cheswold Aviation Services LLC", "LLC", "2008-04-22", "Ron Petrov", "ron@nafreight.example"},
}

// suppliedAgents are the agents that some companies have of their own.
var suppliedAgents = [][5]string{
	{"First State Agents Inc.", "200 Continental Drive", "Newark", "DE", "19713"},
	{"Kent Corporate Services LLC", "8 The Green", "Dover", "DE", "19901"},
}

// makeAnnualReports makes the sample of the demo: sixty rows under a title, six
// of them wrong and one a repeat.
func makeAnnualReports(t *testing.T, path string) {
	book, err := sheet.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer book.Abort()
	const zip = 14
	s, err := book.Sheet("Annual Reports 2026", sheet.SheetOptions{
		Widths:      []float64{18, 36, 11, 15, 15, 34, 20, 11, 11, 22, 30, 24, 14, 11, 11},
		HeaderRows:  3,
		TextColumns: []int{0, zip},
	})
	if err != nil {
		t.Fatal(err)
	}
	write := func(cells ...sheet.OutCell) {
		t.Helper()
		if err := s.Row(cells...); err != nil {
			t.Fatal(err)
		}
	}
	write(sheet.Str("Delaware annual reports, season 2026").WithStyle(sheet.StyleTitle))
	write()
	header := texts("Company ID", "Legal Name", "Entity Type", "Formation State", "Formation Date", "User Email",
		"User Name", "Filing State", "Filing Year",
		"Order Registered Agent", "Agent Company Name", "Agent Street", "Agent City", "Agent State", "Agent ZIP")
	for i := range header {
		header[i].Style = sheet.StyleHeader
	}
	write(header...)
	for i, company := range sampleCompanies {
		formed, err := time.Parse(time.DateOnly, company.formed)
		if err != nil {
			t.Fatal(err)
		}
		row := []sheet.OutCell{
			sheet.Str(companyIDOf(company.name)), sheet.Str(company.name), sheet.Str(company.kind),
			sheet.Str("DE"), sheet.Time(formed),
			sheet.Str(company.contact), sheet.Str(company.owner), sheet.Str("DE"), sheet.Int(2026), sheet.Str("no"),
		}
		supplied := suppliedAgents[i%len(suppliedAgents)]
		switch {
		case i%3 == 1:
			row[9] = sheet.Str("yes")
		case i%5 == 3:
			row = append(row, texts(supplied[:]...)...)
		}
		switch company.name {
		case "Nanticoke River Marina LLC":
			row[8] = sheet.Int(26)
		case "Smyrna Tool & Die Corp":
			row = append(row[:10], texts("Garden State Agents LLC", "1 Riverfront Plaza", "Newark", "NJ", "07102")...)
			row[9] = sheet.Str("no")
		case "Christiana Print House Inc.":
			row = append(row[:10], texts(supplied[:4]...)...)
			row[9] = sheet.Str("no")
			row = append(row, sheet.Int(7102))
		case "Newark Bicycle Exchange LLC":
			row[0] = sheet.OutCell{}
		case "Selbyville Poultry Partners LLC":
			row[1], row[2] = sheet.Str("Selbyville Poultry Partners LP"), sheet.Str("LP")
		case "Prime Hook Wildlife Media LLC":
			row[5] = sheet.Str("carla@bombayhooktours.example; office@primehook.example")
		case "Dagsboro Data Centers LLC":
			row[7] = sheet.Str("Delaware")
		}
		write(row...)
		if company.name == "Elsmere Auto Glass LLC" {
			write(row...) // the repeat
		}
	}
	if err := book.Save(); err != nil {
		t.Fatal(err)
	}
}

// makeAgentChanges makes a CSV as a European Excel does: semicolons, and a byte
// order mark before names with accents.
func makeAgentChanges(t *testing.T, path string) {
	var b bytes.Buffer
	b.WriteString("\ufeff")
	w := csv.NewWriter(&b)
	w.Comma = ';'
	w.UseCRLF = true
	write := func(cells ...string) {
		if err := w.Write(cells); err != nil {
			t.Fatal(err)
		}
	}
	write("Company ID", "Legal Name", "User Email", "User Name", "User Phone", "Filing State", "Change Of Agent")
	states := []string{"DE", "NY", "California", "tx", "FL"}
	for i := range 19 {
		company := sampleCompanies[i]
		state := states[i%len(states)]
		if i == 11 {
			state = "Delawere"
		}
		row := []string{companyIDOf(company.name), company.name, company.contact, company.owner,
			fmt.Sprintf("(302) 555-01%02d", 10+i), state, "yes"}
		write(row...)
		if i == 15 {
			write(row...)
		}
	}
	w.Flush()
	if err := errors.Join(w.Error(), os.WriteFile(path, b.Bytes(), 0o644)); err != nil {
		t.Fatal(err)
	}
}
