package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bulkfiling/bulkfiling/internal/billing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/sheet"
)

// billFlags are what importer bill is asked for.
type billFlags struct {
	month, client, format, out string
	estimated, draft, asJSON   bool
}

func (a *app) billCommand() *cobra.Command {
	var f billFlags
	c := &cobra.Command{
		Use:   "bill",
		Short: "Bill clients for their filings, each filing once",
		Long: `bill makes one bill for each client, matter, and month, and writes all bills of the
month to a file for your accounting program. Service fees and state fees are separate
lines. State fees are passed on as charged; importer bill settings sets what clients
pay as service fees.

Each filing is billed once. Run the same command again to get the same file. What
changes after a bill is issued, such as a refund or a filing that turns out not to be
placed, becomes a credit with the next bills. Issued bills never change. If a filing on
a draft changes, discard the draft and make it again.

Without --format, bill shows what is not billed and changes nothing. A filing whose
cost is an estimate waits until the cost is known. --include-estimated bills it now, marked as an estimate.

Formats:
` + formatList(),
		Example: `  importer bill
  importer bill --month 2026-03 --format xlsx
  importer bill --month 2026-03 --client "Harbor Light" --format xero -o march.csv
  importer bill --month 2026-03 --draft`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.withLedgerToList(c.Context(), "Nothing to bill", func(l *ledger.Ledger) error {
				return a.bill(c.Context(), l, f)
			})
		},
	}
	c.AddCommand(a.billListCommand(), a.billIssueCommand(), a.billDiscardCommand(), a.billSettingsCommand(),
		a.billCostCommand())
	names := make([]string, 0, len(billing.Formats()))
	for _, format := range billing.Formats() {
		names = append(names, string(format))
	}
	c.Flags().StringVar(&f.month, "month", "", "only filings charged in this month, such as 2026-03 (default: all)")
	c.Flags().StringVar(&f.client, "client", "", "only this client")
	c.Flags().StringVar(&f.format, "format", "", "issue the bills and write them: "+strings.Join(names, ", "))
	c.Flags().StringVarP(&f.out, "output", "o", "", "the file to write (default: bills-MONTH with the format's ending)")
	c.Flags().BoolVar(&f.estimated, "include-estimated", false, "bill estimated costs now, marked as estimates")
	c.Flags().BoolVar(&f.draft, "draft", false, "make drafts that you can discard, and issue none")
	c.Flags().BoolVar(&f.asJSON, "json", false, "print one JSON line for each bill, then the counts")
	_ = c.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoFileComp))
	return c
}

// formatList describes the formats for the help text.
func formatList() string {
	var text strings.Builder
	for _, f := range billing.Formats() {
		fmt.Fprintf(&text, "  %-17s%s\n", f, f.About())
	}
	return strings.TrimSuffix(text.String(), "\n")
}

// options reads the flags.
func (f *billFlags) options(ctx context.Context, l *ledger.Ledger) (o ledger.BillOptions, err error) {
	o.Estimated = f.estimated
	if f.month != "" {
		if o.Month, err = billing.ParseMonth(f.month); err != nil {
			return o, usage("--month: %w", err)
		}
	}
	if f.client != "" {
		client, err := l.Clients().Find(ctx, f.client)
		if err != nil {
			return o, usage("--client: %w", err)
		}
		o.Client = client.Key
	}
	return o, nil
}

func (a *app) bill(ctx context.Context, l *ledger.Ledger, f billFlags) error {
	o, err := f.options(ctx, l)
	if err != nil {
		return err
	}
	if f.format == "" {
		if f.out != "" {
			return usage("-o needs --format")
		}
		if !f.draft {
			return a.showUnbilled(ctx, l, o, f.client, f.asJSON)
		}
		return a.makeDrafts(ctx, l, o, f.asJSON)
	}
	format, err := billing.ParseFormat(f.format)
	switch {
	case err != nil:
		return usage("--format: %w", err)
	case f.draft:
		return usage("--draft issues no bills, so there is nothing to write: leave out --format or --draft")
	}
	file := &billFile{format: format, path: f.out}
	if file.path == "" {
		file.path = f.defaultName(format)
	}
	if err := errors.Join(file.check(), mayReplace(ctx, l, file.path)); err != nil {
		return err
	}
	made, waiting, err := l.Bills().Create(withAudit(ctx, "bill", string(o.Month), billNote(f)), o, true)
	if err != nil {
		return err
	}
	bills, err := l.Bills().List(ctx, ledger.BillQuery{Month: o.Month, Client: o.Client, Issued: true, Lines: true})
	if err != nil {
		return err
	}
	drafts, err := l.Bills().List(ctx, ledger.BillQuery{Month: o.Month, Client: o.Client, Drafts: true})
	if err != nil {
		return err
	}
	settings, err := l.Bills().Settings(ctx)
	if err != nil {
		return err
	}
	if len(bills)+len(drafts)+len(selected(waiting, o)) == 0 {
		if err := knowsClient(ctx, l, f.client, o.Client, waiting); err != nil {
			return err
		}
	}
	var paths []string
	if len(bills) > 0 {
		if paths, err = file.write(ctx, l, bills, settings.Accounts); err != nil {
			return err
		}
	}
	sums := sumBills(bills, selected(waiting, o), drafts)
	if f.asJSON {
		return a.printBillsJSON(bills, sums)
	}
	a.sayBilled(bills, len(made), sums, format)
	for _, path := range paths {
		fmt.Fprintf(a.out, "%s\n", path)
	}
	a.sayWaiting(selected(waiting, o), drafts)
	return nil
}

// sayBilled says what was issued, and what the file lacks.
func (a *app) sayBilled(bills []billing.Bill, made int, sums billSums, format billing.Format) {
	for _, b := range bills {
		if format.LeavesOutCredits() && b.Total < 0 {
			a.say("%s is not in the file: QuickBooks Online imports no credits. Enter a credit memo of %s for %s.",
				b.Name(), (-b.Total).Dollars(), legible(b.To()))
		}
	}
	if len(bills) == 0 {
		fmt.Fprintln(a.out, "Nothing to bill. No file was written.")
		return
	}
	fmt.Fprintf(a.out, "%s issued now. %s with %s, %s in all:\n", count(made, "bill"), count(sums.Bills, "bill"),
		count(sums.Lines, "line"), sums.Total.Dollars())
}

// knowsClient returns an error for a client whom nothing is or was billed to: a name
// that was misspelled has no bills either.
func knowsClient(ctx context.Context, l *ledger.Ledger, name, key string, waiting []billing.Waiting) error {
	if name == "" {
		return nil
	}
	recorded, err := l.Clients().List(ctx)
	if err != nil {
		return err
	}
	bills, err := l.Bills().List(ctx, ledger.BillQuery{})
	if err != nil {
		return err
	}
	names := make(map[string]string)
	for _, w := range waiting {
		names[w.ClientKey] = w.Client.Name
	}
	for _, b := range bills {
		names[b.ClientKey] = b.Client
	}
	for _, c := range recorded {
		names[c.Key] = c.Name
	}
	if _, known := names[key]; known {
		return nil
	}
	var near []string
	for other, name := range names {
		if strings.Contains(other, key) || strings.Contains(key, other) {
			near = append(near, name)
		}
	}
	slices.Sort(near)
	text := "To list the clients: importer bill"
	if len(near) > 0 {
		text = "Did you mean " + strings.Join(near[:min(len(near), 3)], ", ") + "?"
	}
	return usage("--client: no filing is billed to %q. %s", name, text)
}

// billNote is the note of the audit event.
func billNote(f billFlags) string {
	parts := []string{f.format}
	if f.client != "" {
		parts = append(parts, "client "+f.client)
	}
	if f.estimated {
		parts = append(parts, "with estimates")
	}
	if f.draft {
		parts = append(parts, "drafts")
	}
	return strings.TrimSpace(strings.Join(parts, ", "))
}

// selected are those of what waits that the options are about.
func selected(waiting []billing.Waiting, o ledger.BillOptions) (all []billing.Waiting) {
	for _, w := range waiting {
		if (o.Month == "" || w.Month == o.Month) && (o.Client == "" || w.ClientKey == o.Client) {
			all = append(all, w)
		}
	}
	return all
}

// billSums are the last line of importer bill --json.
type billSums struct {
	Bills    int         `json:"bills"`
	Lines    int         `json:"lines"`
	Total    money.Cents `json:"total"`
	Unbilled int         `json:"unbilled"` // filings that are on no issued bill
}

func sumBills(bills []billing.Bill, waiting []billing.Waiting, drafts []billing.Bill) billSums {
	s := billSums{Bills: len(bills)}
	for _, w := range waiting {
		if w.Because != billing.WaitsForDraft { // the drafts have it
			s.Unbilled++
		}
	}
	for _, b := range bills {
		s.Lines += b.LineCount
		s.Total += b.Total
	}
	for _, b := range drafts {
		s.Unbilled += b.LineCount
	}
	return s
}

type billLine struct {
	ID       string      `json:"id"`
	Number   string      `json:"number,omitempty"`
	Type     string      `json:"type"`
	Client   string      `json:"client"`
	BillTo   string      `json:"billTo,omitempty"`
	Matter   string      `json:"matter,omitempty"`
	Month    string      `json:"month"`
	Dated    string      `json:"dated,omitempty"`
	Due      string      `json:"due,omitempty"`
	Lines    int         `json:"lines"`
	Total    money.Cents `json:"total"`
	Proposed bool        `json:"proposed,omitempty"`
}

func billLineOf(b *billing.Bill) billLine {
	line := billLine{
		ID:     b.ID,
		Type:   "invoice",
		Client: b.Client,
		BillTo: b.BillTo,
		Matter: b.Matter,
		Month:  string(b.Month),
		Dated:  b.Dated,
		Due:    b.Due,
		Lines:  b.LineCount,
		Total:  b.Total,
	}
	if b.Credit {
		line.Type = "credit"
	}
	if b.Issued() {
		line.Number = b.Name()
	}
	return line
}

func (a *app) printBillsJSON(bills []billing.Bill, sums billSums) error {
	lines := json.NewEncoder(a.out)
	for i := range bills {
		line := billLineOf(&bills[i])
		line.Proposed = line.ID == ""
		if err := lines.Encode(line); err != nil {
			return err
		}
	}
	return lines.Encode(sums)
}

// showUnbilled shows what the next bills would be; it changes nothing.
func (a *app) showUnbilled(ctx context.Context, l *ledger.Ledger, o ledger.BillOptions, client string,
	asJSON bool) error {
	proposed, all, err := l.Bills().Propose(ctx, o)
	if err != nil {
		return err
	}
	waiting := selected(all, o)
	made, err := l.Bills().List(ctx, ledger.BillQuery{Month: o.Month, Client: o.Client})
	if err != nil {
		return err
	}
	var issued, drafts []billing.Bill
	for _, b := range made {
		if b.Issued() {
			issued = append(issued, b)
		} else {
			drafts = append(drafts, b)
		}
	}
	if asJSON {
		return a.printBillsJSON(append(issued, proposed...), sumBills(append(issued, proposed...), waiting, drafts))
	}
	sums := sumBills(issued, nil, nil)
	if len(made)+len(proposed)+len(waiting) == 0 {
		if err := knowsClient(ctx, l, client, o.Client, all); err != nil {
			return err
		}
	}
	fmt.Fprintf(a.out, "Issued: %s, %s\n", count(sums.Bills, "bill"), sums.Total.Dollars())
	if len(proposed) == 0 {
		fmt.Fprintln(a.out, "Nothing to bill now.")
	} else {
		fmt.Fprintf(a.out, "\nTo be billed:\n")
		if err := a.listBills(proposed); err != nil {
			return err
		}
	}
	a.sayWaiting(waiting, drafts)
	if len(proposed) > 0 {
		fmt.Fprintln(a.out, "\nTo issue these bills: importer bill --format xlsx")
	}
	return nil
}

func (a *app) listBills(bills []billing.Bill) error {
	table := newTable(a.out)
	fmt.Fprintf(table, "BILL\tCLIENT\tMATTER\tMONTH\tDATE\tLINES\t%12s\tID\n", "TOTAL")
	for i := range bills {
		b := &bills[i]
		name := b.Name()
		switch {
		case b.ID == "" && b.Credit:
			name = "Credit"
		case b.ID == "":
			name = "-"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%d\t%12s\t%s\n", name, legible(b.To()), legible(cmp.Or(b.Matter, "-")),
			b.Month,
			cmp.Or(b.Dated, "-"), b.LineCount, b.Total.Dollars(), cmp.Or(b.ID, "-"))
	}
	return table.Flush()
}

// sayWaiting says what is left unbilled, and why.
func (a *app) sayWaiting(waiting []billing.Waiting, drafts []billing.Bill) {
	var cost money.Cost
	n, changed := 0, 0
	for _, w := range waiting {
		switch w.Because {
		case billing.WaitsForCost:
			n++
			cost, _ = cost.Plus(w.Cost)
		case billing.WaitsForDraft:
			changed++
		}
	}
	if n > 0 {
		a.say("%s not billed, %s: the cost is not known for certain. Bill estimates with --include-estimated",
			countOf(n, "filing is", "filings are"), cost)
	}
	if changed > 0 {
		a.say("%s changed since the draft was made. Discard the draft and make it again to bill the new amount. "+
			"If you issue the draft, the change is on the next bill.", countOf(changed, "filing has", "filings have"))
	}
	if len(drafts) > 0 {
		a.say("%s not issued: importer bill issue --all, or importer bill discard ID.",
			countOf(len(drafts), "draft is", "drafts are"))
	}
}

func (a *app) makeDrafts(ctx context.Context, l *ledger.Ledger, o ledger.BillOptions, asJSON bool) error {
	made, waiting, err := l.Bills().Create(withAudit(ctx, "bill-draft", string(o.Month), ""), o, false)
	if err != nil {
		return err
	}
	drafts, err := l.Bills().List(ctx, ledger.BillQuery{Month: o.Month, Client: o.Client, Drafts: true})
	if err != nil {
		return err
	}
	waiting = selected(waiting, o)
	if asJSON {
		return a.printBillsJSON(drafts, sumBills(drafts, waiting, nil))
	}
	fmt.Fprintf(a.out, "%s made now.\n", count(len(made), "draft"))
	if len(drafts) > 0 {
		if err := a.listBills(drafts); err != nil {
			return err
		}
	}
	a.sayWaiting(waiting, drafts)
	return nil
}

// defaultName is the name of the file where none is given.
func (f *billFlags) defaultName(format billing.Format) string {
	name := "bills"
	if f.month != "" {
		name += "-" + strings.TrimSpace(f.month)
	}
	if format != billing.XLSX && format != billing.CSV {
		name += "." + string(format)
	}
	return name + format.Ending()
}

// billFile is the file that bills are written to, and those beside it where the
// receiver takes so many bills at once only.
type billFile struct {
	format billing.Format
	path   string
}

func (f *billFile) check() error {
	if ending := f.format.Ending(); !strings.EqualFold(filepath.Ext(f.path), ending) {
		return usage("-o %s: the file name must end with %s", f.path, ending)
	}
	if found, err := os.Stat(filepath.Dir(f.path)); err != nil || !found.IsDir() {
		return usage("-o %s: there is no folder %s", f.path, filepath.Dir(f.path))
	}
	if found, err := os.Stat(f.path); err == nil && found.IsDir() {
		return usage("-o %s is a folder: name a file", f.path)
	}
	return nil
}

// write writes the bills. A file that is the same already stays as it is; one that this
// program did not write, or that was changed since, is not replaced.
func (f *billFile) write(ctx context.Context, l *ledger.Ledger, bills []billing.Bill, accounts billing.Accounts) (
	paths []string, err error) {
	var contents [][]byte
	if f.format == billing.XLSX {
		content, err := f.workbook(bills)
		if err != nil {
			return nil, err
		}
		contents = [][]byte{content}
	} else if contents, err = f.format.Files(bills, accounts); err != nil {
		return nil, err
	}
	for i, content := range contents {
		path := f.path
		if i > 0 {
			ending := filepath.Ext(path)
			path = fmt.Sprintf("%s-%d%s", strings.TrimSuffix(path, ending), i+1, ending)
		}
		if err := replaceOurs(ctx, l, path, content); err != nil {
			return nil, err
		}
		paths = append(paths, path)
	}
	return paths, nil
}

// workbook makes the content of an XLSX.
func (f *billFile) workbook(bills []billing.Bill) ([]byte, error) {
	file, err := sheet.TempBeside(f.path)
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", f.path, err)
	}
	defer os.Remove(file.Name())
	if err := file.Close(); err != nil {
		return nil, err
	}
	if err := billing.WriteXLSX(file.Name(), bills); err != nil {
		return nil, err
	}
	return os.ReadFile(file.Name())
}

// mayReplace returns an error for a file that this program did not write, or that was
// changed since.
func mayReplace(ctx context.Context, l *ledger.Ledger, path string) error {
	hash, err := sheet.HashFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if ours, err := l.IsResults(ctx, hash); err != nil || !ours {
		return errors.Join(
			err, fmt.Errorf("%s was not written by this program, or was changed since. It was not replaced. "+
				"Name another file with -o", path))
	}
	return nil
}

// replaceOurs writes a file, in place of one that this program wrote.
func replaceOurs(ctx context.Context, l *ledger.Ledger, path string, content []byte) error {
	before, err := os.ReadFile(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
	case err != nil:
		return err
	case bytes.Equal(before, content):
		return nil
	default:
		if err := mayReplace(ctx, l, path); err != nil {
			return err
		}
	}
	if err := sheet.WriteFile(path, content); err != nil {
		return err
	}
	hash, err := sheet.HashFile(path)
	if err != nil {
		return err
	}
	return l.RecordResults(ctx, hash)
}
