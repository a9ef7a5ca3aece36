package sheet_test

import (
	"fmt"
	"strings"

	"github.com/bulkfiling/bulkfiling/internal/sheet"
)

func ExampleOpenReader() {
	upload := strings.NewReader("Company ID,Legal Name\n\ncomp_1, Harbor Light Bakery LLC \n")
	file, err := sheet.OpenReader("companies.csv", upload, upload.Size(), sheet.Limits{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer file.Close()
	err = file.EachRow(file.Sheets()[0].Name, func(row *sheet.Row) error {
		for i, cell := range row.Cells {
			fmt.Printf("%s %q\n", sheet.CellName(i, row.Number), cell.Text)
		}
		return nil
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output:
	// A1 "Company ID"
	// B1 "Legal Name"
	// A3 "comp_1"
	// B3 "Harbor Light Bakery LLC"
}
