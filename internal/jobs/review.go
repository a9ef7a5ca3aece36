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

// Finding is a difference that a comparison found in a row.
type Finding struct {
	Row int
	// Column is the column of the sheet, from 0. It is -1 if the sheet lacks the column.
	Column int
	// Header is the header of the column in the template.
	Header  string
	Message string
	// HeldBack reports whether the row is not sent because of the difference.
	HeldBack bool
}

// Review is the result of comparing the rows of a batch.
type Review struct {
	Findings []Finding
	// HeldBack is the number of rows whose Company ID is another company's.
	HeldBack int
	// Accepted is the number of rows whose name was accepted as the filing service has it.
	Accepted int
	// Released is the number of rows that an earlier comparison held back and that are ready now.
	Released int
}

// Compare looks up the companies and users of the rows of a batch that may still be sent. It
// compares the rows with the records of their companies, and with the names that were bought or
// looked up here. It only reads from the filing service, because the batch is not approved yet.
// The resolver creates missing users and completes companies later. A row that names another
// company than its Company ID is held back, unless accept reports that a person accepts the names
// of the filing service. Rows that an earlier comparison held back are compared again.
//
// Compare calls at with the progress of the look-ups. at may be nil.
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

// mayBeCompared reports whether a row may still be sent and was not sent before.
func mayBeCompared(r *ledger.Row) bool {
	return r.Result == filing.Ready && !r.Uncertain || r.HeldBack()
}

type comparison struct {
	ledger *ledger.Ledger
	batch  ledger.Batch
	accept bool
	lookup *lookup
	// asked has the references that were looked up, so that a failed look-up is not repeated.
	asked     map[string]bool
	nearNames nearNames
	review    Review
}

// lookUpPage looks up the users and companies of a page of rows that were not looked up for the
// batch yet. It calls lookedUp for each row.
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

// comparePage compares a page of rows and records the changes.
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

// compareRow compares a row with the record of its company and reports whether the row changes.
// The request r has the Company ID.
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

// faultAt returns a difference as the fault of a cell.
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

// collectNames collects the names by which rows without a Company ID refer to a company: its legal
// name, and the name of a row if a person confirmed it.
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

// warningsFor returns a warning if the name of a new company is close to another company's.
func (n *nearNames) warningsFor(ctx context.Context, row *ledger.Row) ([]filing.Difference, error) {
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

// mismatchError is the error of a row that names another company than its Company ID.
type mismatchError struct {
	record      filing.Company
	differences []filing.Difference
}

func (m *mismatchError) Error() string { return m.differences[0].Message }

// checkNames compares a row that is about to be sent with the record of its company. It returns a
// *mismatchError if they differ.
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
		"rule", m.differences[0].Rule)
	return p.ledger.KeepReview(ctx, b.ID,
		[]ledger.Reviewed{{Row: row.ID, Result: filing.Invalid, Message: m.Error(), Faults: faults}})
}

// rememberNames remembers the names by which rows without a Company ID refer to a company that
// this process looked up.
func (d *resolver) rememberNames(ctx context.Context, key companyKey, r *filing.Request) error {
	record, _ := d.cachedCompany(key)
	if record.asked.IsZero() {
		return nil // remembered by the process that looked it up
	}
	names := make(map[filing.Key]filing.Company)
	collectNames(names, r, record.Company)
	return d.ledger.Companies().RememberNames(ctx, names)
}

// unnamedCompany returns the message of a row that needs the Company ID of a company that another
// row formed.
func unnamedCompany(row, holder ledger.Row) string {
	return fmt.Sprintf("%s formed this company, and its Company ID is not known yet: importer resolve mark %s:%d "+
		"placed --company COMPANY_ID, then importer retry %s", rowRef(row, holder), holder.Batch, holder.Number,
		row.Batch)
}

// formationError returns the error of a row whose company another row forms.
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
