package sheet

import (
	"fmt"
	"strings"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/sheettest"
)

// listRows lists rows as "3h: B=text(Acme) C=…".
func listRows(rows []Row) string {
	var b strings.Builder
	for _, row := range rows {
		fmt.Fprintf(&b, "%d", row.Number)
		if row.Hidden {
			b.WriteString("h")
		}
		if row.Struck {
			b.WriteString("s")
		}
		for i, c := range row.Cells {
			if c.Kind == Blank {
				continue
			}
			fmt.Fprintf(&b, " %s=%v(%s)", ColumnName(i), c.Kind, c.Text)
			if c.Year {
				b.WriteString("y")
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}

func TestODS(t *testing.T) {
	data := sheettest.ODS(
		`<style:style style:name="ta1" style:family="table"><style:table-properties `+
			`table:display="true"/></style:style>`+
			`<style:style style:name="ta2" style:family="table"><style:table-properties `+
			`table:display="false"/></style:style>`+
			`<style:style style:name="ce1" style:family="table-cell"><style:text-properties `+
			`style:text-line-through-style="solid"/></style:style>`,
		`<table:tracked-changes><table:table-row><table:table-cell><text:p>old</text:p></table:table-cell>`+
			`</table:table-row></table:tracked-changes>`+
			`<table:table table:name="Clients" table:style-name="ta1"><table:shapes><table:table table:name="X"/><`+
			`/table:shapes>`+
			`<table:table-column table:number-columns-repeated="16384"/>`+
			`<table:table-header-rows><table:table-row><table:table-cell office:value-type="string" `+
			`table:number-columns-spanned="2"><office:annotation><text:p>a comment</text:p></office:annotation>`+
			`<text:p>Legal <text:span>Name</text:span></text:p><text:p>second<text:s text:c="2"/>line</text:p><`+
			`/table:table-cell>`+
			`<table:covered-table-cell/><table:table-cell table:number-columns-repeated="2" `+
			`office:value-type="string">`+
			`<text:p>State</text:p></table:table-cell></table:table-row></table:table-header-rows>`+
			`<table:table-row table:number-rows-repeated="3"><table:table-cell `+
			`table:number-columns-repeated="16384"/><`+
			`/table:table-row>`+
			`<table:table-row-group><table:table-row table:number-rows-repeated="2" table:visibility="filter">`+
			`<table:table-cell office:value-type="float" office:value="2134"><text:p>02134</text:p><`+
			`/table:table-cell>`+
			`<table:table-cell office:value-type="float" office:value="1234.5"><text:p>1.234,50</text:p><`+
			`/table:table-cell>`+
			`<table:table-cell office:value-type="date" office:date-value="2026-03-01"><text:p>2026<`+
			`/text:p></table:table-cell>`+
			`<table:table-cell office:value-type="date" office:date-value="2026-03-01T14:30:00"><text:p>`+
			`1.3.26</text:p><`+
			`/table:table-cell>`+
			`<table:table-cell office:value-type="time" office:time-value="PT14H30M00S"><text:p>14:30</text:p><`+
			`/table:table-cell>`+
			`<table:table-cell office:value-type="time" office:time-value="PT36H00M00S"><text:p>36:00</text:p><`+
			`/table:table-cell>`+
			`<table:table-cell office:value-type="boolean" office:boolean-value="true"><text:p>WAHR<`+
			`/text:p></table:table-cell>`+
			`<table:table-cell office:value-type="percentage" office:value="0.25"><text:p>25%</text:p><`+
			`/table:table-cell>`+
			`<table:table-cell table:formula="of:=1/0" office:value-type="string" office:string-value="" `+
			`calcext:value-type="error"><text:p>#DIV/0!</text:p></table:table-cell>`+
			`<table:table-cell table:formula="of:=[.A1]"/></table:table-row></table:table-row-group>`+
			`<table:table-row><table:table-cell table:style-name="ce1" office:value-type="string" `+
			`office:string-value="dissolved &amp; gone"/></table:table-row>`+
			`<table:table-row table:number-rows-repeated="1048569"><table:table-cell `+
			`table:number-columns-repeated="16384`+
			`"/></table:table-row>`+
			`</table:table><table:table table:name="Old" table:style-name="ta2"/><table:named-expressions/>`)
	f, err := OpenReader("clients.xlsx", strings.NewReader(string(data)), int64(len(data)), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if f.Format() != ODS {
		t.Errorf("format %s", f.Format())
	}
	if got := fmt.Sprint(f.Sheets(), f.Notes()); got != `[{Clients true} {Old false}] [Hidden sheets: "Old".]` {
		t.Errorf("sheets %s", got)
	}
	rows, err := readSheet(f, "Clients")
	if err != nil {
		t.Fatal(err)
	}
	checkRows(t, rows)
	line := " A=number(02134) B=number(1234.5) C=date(2026-03-01)y D=date(2026-03-01T14:30:00) E=date(14:30:00) " +
		"F=number(1.5) G=bool(TRUE) H=number(0.25) I=error(#DIV/0!) J=formula()\n"
	want := "1 A=text(Legal Name second  line) C=text(State) D=text(State)\n5h" + line + "6h" + line +
		"7s A=text(dissolved & gone)\n"
	if got := listRows(rows); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if rows, err := readSheet(f, "Old"); err != nil || len(rows) != 0 {
		t.Errorf("%v, %v", rows, err)
	}
}

func FuzzODS(f *testing.F) {
	f.Add(`<style:style style:name="a" style:family="table"/>`, `<table:table table:name="A"><table:table-row `+
		`table:number-rows-repeated="2"><table:table-cell table:number-columns-repeated="3" `+
		`office:value-type="float" `+
		`office:value="1"><text:p>1</text:p></table:table-cell></table:table-row></table:table>`)
	f.Add("", `<table:table table:name="A"><table:table-row><table:table-cell office:value-type="date" `+
		`office:date-value="2026-03-01"><text:p>x<text:s text:c="3"/></text:p></table:table-cell><`+
		`/table:table-row><`+
		`/table:table>`)
	f.Fuzz(func(t *testing.T, styles, tables string) { fuzzFile(t, sheettest.ODS(styles, tables)) })
}
