package jobs

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

// Finding is what a comparison found at a row before it is approved.
type Finding struct {
	Row      int
	Column   int    // of the sheet, from 0; -1 where it lacks the column
	Header   string // the template's
	Message  string
	HeldBack bool // the row is not sent because of it
}

// Review is the result of comparing a batch's rows.
type Review struct {
	Findings []Finding
	HeldBack int // rows that are not sent: their Company ID is another company's
	Accepted int // rows whose name was accepted as the filing service has it
	Released int // rows that an earlier comparison had held back, and that are ready again
}

// Compare looks up the companies and users of a batch's rows that may still be sent,
// and compares the rows with the filing service's records of their companies, and with
// the names that were bought or looked up here. It only reads from the filing service,
// because the batch is not approved yet: missing users and incomplete companies are
// left to the resolver, and errors to the row's own result. A row that names another
// company than its Company ID is held back, unless accept says that a person accepts
// the names of the filing service; a row that an earlier comparison held back is
// compared again.
//
// Compare calls at with how many of the rows are looked up, and of how many; at may be
// nil.
func Compare(ctx context.Context, s Records, l *ledger.Ledger, throttle Throttle, concurrency int, batch string,
	accept bool, at func(done, total int)) (Review, error) {
	b, err := l.Batch(ctx, batch)
	if err != nil {
		return Review{}, err
	}
	c := &comparison{
		ledger:    l,
		batch:     b,
		accept:    accept,
		nearNames: nearNames{ledger: l, batch: b.ID},
		lookup:    newLookup(s, l, concurrency, throttle, &sendState{}, l.Now),
		asked:     make(map[string]bool),
	}
	counts, err := l.Counts(ctx, batch)
	if err != nil {
		return Review{}, err
	}
	done := 0
	lookedUp := func() {
		if at != nil {
			at(done, counts[filing.Ready])
		}
		done++
	}
	for page, err := range l.RowPages(ctx, batch, mayBeCompared) {
		if err == nil {
			err = c.lookUpPage(ctx, page, lookedUp)
		}
		if err != nil {
			return c.review, err
		}
	}
	for page, err := range l.RowPages(ctx, batch, mayBeCompared) {
		if err == nil {
			err = c.comparePage(ctx, page)
		}
		if err != nil {
			return c.review, err
		}
	}
	return c.review, nil
}

// mayBeCompared reports whether a row may still be sent, and was not sent before.
func mayBeCompared(r *ledger.Row) bool {
	return r.Result == filing.Ready && !r.Uncertain || r.HeldBack()
}

type comparison struct {
	ledger    *ledger.Ledger
	batch     ledger.Batch
	accept    bool
	lookup    *lookup
	asked     map[string]bool // what was asked for, so that what fails is asked for once
	nearNames nearNames
	review    Review
}

// lookUpPage looks up what the rows of a page name and what is not known for the
// batch yet: their users and, by ID or as they describe them, their companies. It
// calls lookedUp for each row.
func (c *comparison) lookUpPage(ctx context.Context, page []ledger.Row, lookedUp func()) error {
	f := c.lookup
	if err := f.loadKnown(ctx, page); err != nil {
		return err
	}
	requests, _, err := f.identify(ctx, page)
	if err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(cap(f.slots))
	for _, r := range requests {
		lookedUp()
		if r.User.ID == "" && c.askOnce("user "+r.User.Ref()) {
			g.Go(func() error { return ignoreLookupError(f.findUser(ctx, r.User)) })
		}
		key := companyKey{c.batch.ID, r.Company.Ref}
		known, found := f.cachedCompany(key)
		if r.Order.Formation == nil && key.ref != "" && (!found || !isUsable(r, known.Company)) &&
			c.askOnce("company "+key.ref) {
			g.Go(func() error {
				_, err := f.findCompany(ctx, key.batch, r)
				return ignoreLookupError(err)
			})
		}
	}
	return g.Wait()
}

func (c *comparison) askOnce(what string) bool {
	first := !c.asked[what]
	c.asked[what] = true
	return first
}

// comparePage compares the rows of a page and keeps what changed.
func (c *comparison) comparePage(ctx context.Context, page []ledger.Row) error {
	requests, _, err := c.lookup.identify(ctx, page)
	if err != nil {
		return err
	}
	names := make(map[filing.Key]filing.Company)
	var changed []ledger.Reviewed
	for i := range page {
		row, r := &page[i], requests[i]
		record, _ := c.lookup.cachedCompany(companyKey{c.batch.ID, r.Company.Ref})
		collectNames(names, r, record.Company)
		reviewed, differs := c.compareRow(row, r, record.Company)
		if r.Order.Formation != nil || r.CreatesCompany() {
			warnings, err := c.nearNames.warningsFor(ctx, row)
			if err != nil {
				return err
			}
			for _, w := range warnings {
				reviewed.Faults = append(reviewed.Faults, c.faultFor(w, filing.LegalNameColumn))
				c.addFinding(row, w, filing.LegalNameColumn)
			}
			differs = differs || len(warnings) > 0
		}
		c.nearNames.add(row)
		if differs {
			changed = append(changed, reviewed)
		}
	}
	if err := c.ledger.Companies().RememberNames(ctx, names); err != nil {
		return err
	}
	return c.ledger.KeepReview(ctx, c.batch.ID, changed)
}

// compareRow compares a row, whose request has its Company ID, with the record of its
// company, and reports whether that changes the row.
func (c *comparison) compareRow(row *ledger.Row, r *filing.Request, record filing.Company) (reviewed ledger.Reviewed,
	changed bool) {
	kept := slices.DeleteFunc(slices.Clone(row.Faults),
		func(f ledger.Fault) bool { return strings.HasPrefix(f.Rule, filing.RecordRule) })
	reviewed = ledger.Reviewed{Row: row.ID, Result: filing.Ready, Faults: kept}
	differences := r.Differences(record)
	if c.accept && slices.ContainsFunc(differences,
		func(d filing.Difference) bool { return d.Column == filing.ConfirmedNameColumn }) {
		request, named := *row.Request, *r
		request.Company.Confirmed, named.Company.Confirmed = record.LegalName, record.LegalName
		reviewed.Request = &request
		differences = named.Differences(record)
		c.review.Accepted++
	}
	for _, d := range differences {
		reviewed.Faults = append(reviewed.Faults, c.faultFor(d, d.Column))
		if d.Column != filing.ConfirmedNameColumn {
			c.addFinding(row, d, d.Column)
		}
		if !d.Warning && reviewed.Result != filing.Invalid {
			reviewed.Result, reviewed.Message = filing.Invalid, d.Message
			c.review.HeldBack++
		}
	}
	if row.Result == filing.Invalid && reviewed.Result == filing.Ready {
		c.review.Released++
	}
	return reviewed, len(differences) > 0 || len(kept) != len(row.Faults) || row.Result != reviewed.Result
}

func (c *comparison) faultFor(d filing.Difference, at filing.CompanyColumn) ledger.Fault {
	return faultAt(c.batch, d, at)
}

// faultAt is a difference at the cell that it is about.
func faultAt(b ledger.Batch, d filing.Difference, at filing.CompanyColumn) ledger.Fault {
	f := ledger.Fault{
		Column:  slices.Index(b.Fields, at.Field),
		Rule:    d.Rule,
		Message: d.Message,
		Warning: d.Warning,
	}
	if f.Column < 0 {
		f.Header = at.Header
	}
	return f
}

func (c *comparison) addFinding(row *ledger.Row, d filing.Difference, at filing.CompanyColumn) {
	c.review.Findings = append(c.review.Findings, Finding{
		Row:      row.Number,
		Column:   slices.Index(c.batch.Fields, at.Field),
		Header:   at.Header,
		Message:  d.Message,
		HeldBack: !d.Warning,
	})
}

// collectNames collects the names by which rows without a Company ID mean a company:
// its own name, and that of a row if a person confirmed it for the company.
func collectNames(names map[filing.Key]filing.Company, r *filing.Request, record filing.Company) {
	if record.ID == "" || record.LegalName == "" || record.FormationState == "" {
		return
	}
	key := func(name string) filing.Key {
		return filing.NewCompany{LegalName: name, FormationState: record.FormationState}.Key()
	}
	names[key(record.LegalName)] = record
	confirmed := slices.ContainsFunc(r.Differences(record),
		func(d filing.Difference) bool { return d.Rule == filing.ConfirmedNameRule })
	if _, taken := names[key(r.LegalName())]; confirmed && !taken {
		names[key(r.LegalName())] = record
	}
}

// nearNames finds names that differ in the ending, accents or spaces alone from
// those that were bought or looked up here, and from those of other rows of the batch.
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
		if name.Batch != n.batch { // its own rows are added one by one
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

// add adds a row's own name, for the rows after it.
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

// homeState is where a row's company is formed, as far as the row has it.
func homeState(r *filing.Request) filing.State {
	if r.Order.Formation == nil {
		return cmp.Or(r.Company.Sheet.FormationState, r.Order.FilingState)
	}
	return r.Order.FilingState
}

// warningsFor warns where a new company has a name close to another company's.
func (n *nearNames) warningsFor(ctx context.Context, row *ledger.Row) ([]filing.Difference, error) {
	if err := n.load(ctx); err != nil {
		return nil, err
	}
	name, state := row.Request.LegalName(), homeState(row.Request)
	folded := filing.FoldLegalName(name)
	var others []ledger.NameOnFile
	for _, other := range n.onFile[nearName{filing.BareName(name), state}] {
		if filing.FoldLegalName(other.Name) == folded && (other.Bought != "" || other.Batch == n.batch) {
			return nil, nil // the same company: its purchase is found as a duplicate
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

// describeName says where another name is: file, row and day.
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

// mismatchError keeps a row from being sent: it names another company than its
// Company ID.
type mismatchError struct {
	record      filing.Company
	differences []filing.Difference
}

func (m *mismatchError) Error() string { return m.differences[0].Message }

// checkNames compares a row that is about to be sent with its company's record. It
// returns a *mismatchError.
func checkNames(r *filing.Request, record filing.Company) error {
	differences := r.Differences(record)
	if at := slices.IndexFunc(differences, isBlocking); at >= 0 {
		return &mismatchError{
			record, slices.Insert(slices.Delete(slices.Clone(differences), at, at+1), 0, differences[at]),
		}
	}
	return nil
}

// holdBack records that a row names another company than its Company ID.
func (p *placer) holdBack(ctx context.Context, row ledger.Row, m *mismatchError) error {
	b, err := p.ledger.Batch(ctx, row.Batch)
	if err != nil {
		return err
	}
	faults := slices.DeleteFunc(slices.Clone(row.Faults),
		func(f ledger.Fault) bool { return strings.HasPrefix(f.Rule, filing.RecordRule) })
	for _, d := range m.differences {
		faults = append(faults, faultAt(b, d, d.Column))
	}
	p.log.Warn("row held back", "batch", row.Batch, "row", row.Number, "row_id", row.ID, "company", m.record.ID,
		"rule", m.differences[0].Rule) // the message has the names
	return p.ledger.KeepReview(ctx, b.ID,
		[]ledger.Reviewed{{Row: row.ID, Result: filing.Invalid, Message: m.Error(), Faults: faults}})
}

// rememberNames keeps the names by which rows without a Company ID mean a company
// that this process asked for.
func (d *resolver) rememberNames(ctx context.Context, key companyKey, r *filing.Request) error {
	record, _ := d.cachedCompany(key)
	if record.asked.IsZero() {
		return nil // the process that asked has kept them
	}
	names := make(map[filing.Key]filing.Company)
	collectNames(names, r, record.Company)
	return d.ledger.Companies().RememberNames(ctx, names)
}

// unnamedCompany is the message of a row that needs the company that another row formed.
func unnamedCompany(row, holder ledger.Row) string {
	return fmt.Sprintf("%s formed this company, and its Company ID is not known yet: importer resolve mark %s:%d "+
		"placed --company COMPANY_ID, then importer retry %s", rowRef(row, holder), holder.Batch, holder.Number,
		row.Batch)
}

// formationError is the error of a row whose company another row forms.
func formationError(row *ledger.Row, n ledger.NamedCompany, formation filing.Key) error {
	holder := ledger.Row{Batch: n.Batch, Number: n.Number}
	if n.Formed {
		return &lookupError{
			next:    filing.Rejected,
			message: unnamedCompany(*row, holder),
		}
	}
	return &lookupError{
		next:    filing.Ready,
		wait:    formation,
		message: fmt.Sprintf("%s is forming this company: this row waits for it", rowRef(*row, holder)),
	}
}
