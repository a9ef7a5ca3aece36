package lookup

import (
	"cmp"
	"context"
	"fmt"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

// nearNames finds names that differ only in the ending, accents or spaces from names that were
// bought or looked up here, or that other rows of the batch have.
type nearNames struct {
	ledger *ledger.Ledger
	batch  string
	loaded bool
	onFile map[nearName][]ledger.NameOnFile
}

type nearName struct {
	bare  string
	state filing.State
}

func (n *nearNames) load(ctx context.Context) error {
	if n.loaded {
		return nil
	}
	n.loaded = true
	all, err := n.ledger.Companies().ListNames(ctx)
	if err != nil {
		return err
	}
	for _, name := range all {
		if name.Batch != n.batch { // add adds the rows of the batch
			n.put(name)
		}
	}
	return nil
}

func (n *nearNames) put(name ledger.NameOnFile) {
	if n.onFile == nil {
		n.onFile = make(map[nearName][]ledger.NameOnFile)
	}
	at := nearName{filing.BareName(name.Name), name.State}
	n.onFile[at] = append(n.onFile[at], name)
}

// add adds the name of a row for the comparison of later rows.
func (n *nearNames) add(row *ledger.Row) {
	if name := row.Request.LegalName(); name != "" && row.Result == filing.Ready {
		n.put(ledger.NameOnFile{
			Name:    name,
			State:   homeState(row.Request),
			Company: row.Request.Company.Ref,
			Batch:   n.batch,
			Number:  row.Number,
		})
	}
}

// homeState returns the formation state of a row's company, if the row has it.
func homeState(r *filing.Request) filing.State {
	if r.Order.Formation == nil {
		return cmp.Or(r.Company.Sheet.FormationState, r.Order.FilingState)
	}
	return r.Order.FilingState
}

// differences returns a warning if the name of a new company is close to another company's.
func (n *nearNames) differences(ctx context.Context, row *ledger.Row) ([]filing.Difference, error) {
	if err := n.load(ctx); err != nil {
		return nil, err
	}
	name, state := row.Request.LegalName(), homeState(row.Request)
	folded := filing.FoldLegalName(name)
	var others []ledger.NameOnFile
	for _, other := range n.onFile[nearName{filing.BareName(name), state}] {
		if filing.FoldLegalName(other.Name) == folded && (other.Bought != "" || other.Batch == n.batch) {
			return nil, nil // the same company, found as a duplicate purchase
		}
		others = append(others, other)
	}
	if len(others) == 0 {
		return nil, nil
	}
	text := fmt.Sprintf("the name is close to %s. If it is the same company, leave this row out",
		describeName(others[0]))
	if row.Request.Order.Formation == nil {
		text = fmt.Sprintf(
			"the name is close to %s. If it is the same company, give its Company ID: without one, a new company "+
				"is created", describeName(others[0]))
	}
	if more := len(others) - 1; more > 0 {
		text += fmt.Sprintf(" (%d more names are close)", more)
	}
	return []filing.Difference{
		{Rule: filing.RecordRule + "near-name", Column: filing.LegalNameColumn, Message: text, Warning: true},
	}, nil
}

// describeName describes the origin of a name with its file, row and day.
func describeName(n ledger.NameOnFile) string {
	day := n.At.UTC().Format("Jan 2, 2006")
	company := ""
	if n.Company != "" {
		company = ", " + n.Company
	}
	switch {
	case n.File != "" && n.Bought == filing.Formation:
		return fmt.Sprintf("%q, ordered as a formation on %s in row %d of %s%s", n.Name, day, n.Number, n.File, company)
	case n.File != "":
		return fmt.Sprintf("%q, created on %s for row %d of %s%s", n.Name, day, n.Number, n.File, company)
	case n.At.IsZero():
		return fmt.Sprintf("%q in row %d of this spreadsheet%s", n.Name, n.Number, company)
	}
	return fmt.Sprintf("%q, on file since %s%s", n.Name, day, company)
}
