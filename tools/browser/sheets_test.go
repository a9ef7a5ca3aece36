//go:build unix

package browser

import (
	"fmt"
	"strings"
)

// Company names that are markup, a formula, or written from right to left.
const (
	script  = "<script>alert(1)</script> LLC"
	formula = "=cmd|'/c calc'!A1"
	hebrew  = "שלום עולם LLC"
)

var reportHeader = []string{
	"Company ID", "Legal Name", "Entity Type", "Formation State", "User Email", "User Name", "User Phone",
	"Filing State", "Filing Year",
	"Agent Company Name", "Agent Street", "Agent City", "Agent State", "Agent ZIP",
}

var places = []struct{ state, city, zip string }{{"DE", "Newark", "19713"}, {"NY", "Albany", "12207"},
	{"WY", "Cheyenne", "82001"}}

// fees are those of the sandbox: what the filing service charges is known to the
// cent.
const fees = "product,state,entityType,amount\nannual-report,DE,LLC,400\nannual-report,NY,,9\nannual-report,WY,,60\n"

var firms = []string{
	"Harbor Light Bakery", "Brandywine Bicycle Works", "Cape Henlopen Kayaks", "Rehoboth Roasters",
	"Blue Heron Veterinary", "Old Mill Joinery",
	"Silver Birch Dental", "Lakeshore Title Services", "Mason & Daughters Plumbing", "Northwind Survey",
	"Quarry Road Press", "Saltmarsh Seafood",
	"Juniper Hill Nursery", "Three Rivers Freight", "Whitecap Sailing School", "Foxglove Florists",
	"Granite State Tile", "Copper Kettle Catering",
}

// company is the id of the nth company of a sheet.
func company(sheet string, n int) string { return fmt.Sprintf("comp_%s%06d", sheet, n) }

// reports is a sheet of annual reports, all of them in order.
func reports(sheet string, n int) table {
	t := table{reportHeader}
	for i := range n {
		name := fmt.Sprintf("%s %s", firms[i%len(firms)],
			[]string{"LLC", "of Dover LLC", "Holdings LLC", "East LLC", "& Sons LLC"}[i/len(firms)%5])
		p := places[i%len(places)]
		t = append(t, []string{
			company(sheet, i), name, "LLC", p.state, fmt.Sprintf("owner%d@harborlight.example", i%5), "Ana Silva",
			"+13025550142", p.state, "2026",
			"First State Agents Inc.", "200 Continental Drive", p.city, p.state, p.zip,
		})
	}
	return t
}

// Numbers that no page and no file may show.
var ssns = []string{"536-22-7781", "536227781", "601-33-4928", "601334928", "123-45-678", "123-45-6789", "123456789"}

// eins is a sheet of EINs; the second number is too short.
func eins() table {
	t := table{strings.Split(
		"Company ID,Legal Name,Entity Type,Formation State,User Email,User Name,User Phone,Filing State,Business "+
			"Category,Business Purpose,Application Reason,Vehicle 55k Pounds,Gambling Wagering,File Form 720,"+
			"Alcohol Tobacco Firearms,File Form 944,Is W2 Expected,Agriculture Employees Count,Other Employees "+
			"Count,First Wages Date,Responsible Party First Name,Responsible Party Last Name,"+
			"Responsible Party Title,Responsible Party SSN,Responsible Party Phone Number,Responsible Party "+
			"Is Foreign", ",")}
	for i, ssn := range []string{"536-22-7781", "123-45-678", "601-33-4928"} {
		t = append(
			t, strings.Split(
				fmt.Sprintf(
					"%s,%s LLC,LLC,DE,owner%d@harborlight.example,Ana Silva,+13025550142,DE,Consulting,Bookkeeping "+
						"for small firms,Started a new business,no,no,no,"+
						"no,no,no,0,0,,Ana,Silva,Managing Member,%s,(302) 555-0142,no", company("ein", i), firms[i], i,
					ssn), ","))
	}
	return t
}
