package schedule

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/importer"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/season"
	"github.com/bulkfiling/bulkfiling/internal/sheet"
	"github.com/bulkfiling/bulkfiling/internal/store"
)

// Options describe how a company list is read, and when it is filed. The ledger stores them with
// the schedule, as JSON.
type Options struct {
	Product filing.Product `json:"product,omitempty"`
	State   filing.State   `json:"state,omitempty"`
	// FilingYear is described at season.FilingYear. If set, the list's years are ignored.
	FilingYear string            `json:"filingYear,omitempty"`
	User       string            `json:"user,omitempty"`
	Sheet      string            `json:"sheet,omitempty"`
	Map        map[string]string `json:"map,omitempty"`

	HeaderRow importer.HeaderRow `json:"headerRow,omitempty"`

	// At is a day of the year or of every month. See season.ParseAt. Exactly one of At and Due is
	// set.
	At string `json:"at,omitempty"`
	// Due is a time before the due dates, such as 30 days before.
	Due string `json:"due,omitempty"`
	// Zone is the time zone of At and Due.
	Zone string `json:"zone,omitempty"`
}

// text returns the options as they are stored.
func (o *Options) text() string {
	// Options have no values that JSON does not have.
	body, _ := json.Marshal(o)
	return string(body)
}

// Check returns an error if no schedule can run with the options.
func (o *Options) Check() error {
	if (o.At == "") == (o.Due == "") {
		return errors.New("a schedule runs either on a day or ahead of the due dates: give one of them")
	}
	if o.FilingYear != "" {
		if _, err := season.FilingYear(o.FilingYear, season.DateOf(time.Now())); err != nil {
			return err
		}
	}
	_, err := o.Schedule(season.CompanyList{Rules: season.Builtin()})
	return err
}

// Schedule returns the times at which the schedule runs. They depend on the company list only for a
// schedule ahead of the due dates.
func (o *Options) Schedule(r season.CompanyList) (*season.Schedule, error) {
	if o.At != "" {
		return season.ParseAt(o.At, o.Zone)
	}
	lead, err := season.ParseLead(o.Due)
	if err != nil {
		return nil, err
	}
	zone, err := season.LoadZone(o.Zone)
	if err != nil {
		return nil, err
	}
	return lead.Schedule(r, zone), nil
}

// Words returns the times in words.
func (o *Options) Words() string {
	when := season.InWords(o.At)
	if o.At == "" {
		when = strings.TrimSuffix(o.Due, " before") + " before each company's due date"
	}
	return when + ", " + cmp.Or(o.Zone, "local time")
}

// importerOptions returns the options with which the importer reads the company list for the run of
// a day.
func (o *Options) importerOptions(on season.Date, s *importer.ScheduleRun) (importer.Options, error) {
	options := importer.Options{
		Product:   o.Product,
		State:     o.State,
		User:      o.User,
		Sheet:     o.Sheet,
		Map:       o.Map,
		HeaderRow: o.HeaderRow,
		Run:       s,
		Now:       time.Date(on.Year, on.Month, on.Day, 12, 0, 0, 0, time.UTC),
	}
	if o.FilingYear == "" {
		return options, nil
	}
	year, err := season.FilingYear(o.FilingYear, on)
	options.FilingYear = strconv.Itoa(year)
	return options, err
}

// readingDay returns the day as of which a company list is read for people. This is the day of the
// next run if it does not depend on the list, because its year decides which rows can be filed.
func (o *Options) readingDay(now time.Time) season.Date {
	if o.At != "" {
		if times, err := o.Schedule(season.CompanyList{}); err == nil {
			if next, ok := times.Next(now); ok {
				return next.Date
			}
		}
	}
	return season.DateOf(now)
}

// open opens a company list for the importer. It drops the column of filing years if the schedule
// has a year. The caller closes the list.
func (o *Options) open(file string, content []byte, options importer.Options) (*importer.Import, error) {
	im, err := importer.OpenReader(file, bytes.NewReader(content), int64(len(content)), options)
	if err != nil || o.FilingYear == "" {
		return im, err
	}
	column := im.YearColumn()
	if column == "" {
		return im, nil
	}
	im.Close()
	if options.Map = maps.Clone(options.Map); options.Map == nil {
		options.Map = make(map[string]string, 1)
	}
	options.Map[column] = ""
	return importer.OpenReader(file, bytes.NewReader(content), int64(len(content)), options)
}

// CompanyList is a parsed company list, with its companies and their due dates.
type CompanyList struct {
	season.CompanyList
	Product filing.Product
	Tally   importer.Tally
	// Problems are the errors.
	Problems []importer.Problem
	Notes    []string
	// Understood describes the column mapping.
	Understood string

	// years are the filing years by row number, for the rows with a year.
	years map[int]int
}

// ErrCompanyList is returned for a company list that cannot be filed, or for options that do not
// fit it. A retry would fail in the same way.
var ErrCompanyList = errors.New("the company list cannot be filed")

// readCompanyList reads the companies of a spreadsheet as of a day. Facts that the spreadsheet
// lacks come from the lookups in the ledger. It returns ErrCompanyList. A list to be stored must
// have no Social Security number in any cell, because it would stay as long as the ledger and no
// schedule needs it.
func readCompanyList(ctx context.Context, l *ledger.Ledger, file string, content []byte, o Options,
	on season.Date, toStore bool) (*CompanyList, error) {
	leave, err := sheet.AcquireReader(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	options, err := o.importerOptions(on, nil)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCompanyList, err)
	}
	im, err := o.open(file, content, options)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCompanyList, err)
	}
	defer im.Close()
	if err := refuseSSNs(ctx, im, toStore); err != nil {
		return nil, err
	}
	r := &CompanyList{
		CompanyList: season.CompanyList{Rules: season.Builtin()},
		Product:     im.Product(),
		years:       make(map[int]int),
	}
	// companies are the companies of the spreadsheet by the index of the row.
	var companies []filing.Company
	err = im.Each(ctx, func(row *importer.Row) error {
		switch row.Result {
		case filing.Ready:
			r.Tally.Ready++
		case filing.Invalid:
			r.Tally.Invalid++
		case filing.Skipped:
			r.Tally.Skipped++
		}
		r.Tally.Rows++
		for _, p := range row.Problems {
			if p.Severity == importer.Error {
				r.Problems = append(r.Problems, p)
			}
		}
		if row.Read == nil {
			return nil
		}
		known := row.Read.Company.Sheet
		if f := row.Read.Order.Formation; f != nil {
			known = f.Company
		}
		known.PrincipalAddress, known.MailingAddress, known.Officers = nil, nil, nil
		r.Rows = append(r.Rows, season.Row{
			CompanyID: row.Read.Company.Ref,
			LegalName: known.LegalName,
			Number:    row.Number,
			Facts:     season.Facts{State: row.Read.Order.FilingState},
		})
		companies = append(companies, known)
		if report := row.Read.Order.AnnualReport; report != nil {
			if year, err := strconv.Atoi(report.FilingYear); err == nil {
				r.years[row.Number] = year
			}
		}
		return nil
	})
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrCompanyList, err)
	}
	r.Notes, r.Understood = im.Notes(), im.ColumnSummary()
	return r, r.complete(ctx, l, companies)
}

// refuseSSNs refuses a company list with a column of Social Security numbers. If the list is to be
// stored, it refuses them in every cell.
func refuseSSNs(ctx context.Context, im *importer.Import, everywhere bool) error {
	if im.HoldsSecrets() {
		return fmt.Errorf(
			"%w: it has a column of Social Security numbers, which are never stored: leave the column out, or "+
				"upload the spreadsheet without a schedule", ErrCompanyList)
	}
	if !everywhere {
		return nil
	}
	if where, err := im.FindSSN(ctx); err == nil && where != "" {
		return fmt.Errorf("%w: %s looks like a Social Security number, and a company list is stored: remove the "+
			"number, or upload the spreadsheet without a schedule", ErrCompanyList, where)
	}
	return nil
}

// complete adds the known records of the filing service. They take precedence over the spreadsheet,
// because the state's fee follows them too.
func (r *CompanyList) complete(ctx context.Context, l *ledger.Ledger, companies []filing.Company) error {
	for start := 0; start < len(r.Rows); start += 1000 {
		page := r.Rows[start:min(start+1000, len(r.Rows))]
		var refs []string
		for i := range page {
			if page[i].CompanyID != "" {
				refs = append(refs, page[i].CompanyID)
			}
		}
		known, err := l.Companies().Find(ctx, refs)
		if err != nil {
			return err
		}
		for i := range page {
			sheet, row := companies[start+i], &page[i]
			service := known[row.CompanyID]
			facts := season.FactsOf(row.Facts.State, filing.Company{
				EntityType:     cmp.Or(service.EntityType, sheet.EntityType),
				FormationState: cmp.Or(service.FormationState, sheet.FormationState),
				FormationDate:  cmp.Or(service.FormationDate, sheet.FormationDate),
				FiscalEndMonth: cmp.Or(service.FiscalEndMonth, sheet.FiscalEndMonth),
			})
			row.Facts, row.CompanyID = facts, cmp.Or(service.ID, row.CompanyID)
			row.LegalName = cmp.Or(row.LegalName, service.LegalName)
		}
	}
	return nil
}

// due returns the due date of a row in the year of its report, or else the next one.
func (r *CompanyList) due(row season.Row, o Options, on season.Date) season.Due {
	if year, ok := r.years[row.Number]; ok {
		if strings.EqualFold(strings.TrimSpace(o.FilingYear), "last") {
			// The report falls due in the following year.
			year++
		}
		d, _ := r.Rules.Due(row.Facts, year)
		return d
	}
	d, _ := r.Rules.Next(row.Facts, on)
	return d
}

// loadVersion loads a stored version of a company list. It returns ErrCompanyList with
// store.ErrSealed if this machine has no key for it. A retry does not help.
func loadVersion(ctx context.Context, l *ledger.Ledger, hash string) (ListFile, error) {
	version, err := NewRecords(l).FindCompanyList(ctx, hash)
	if errors.Is(err, store.ErrSealed) {
		err = fmt.Errorf(
			"%w: the machine that runs the schedule has no key for the company list: set FILING_SEAL_KEY there to "+
				"the value of the machine that took the list (%w)", ErrCompanyList, err)
	}
	return version, err
}

// loadCompanyList reads a stored version of a company list. It returns ErrCompanyList.
func loadCompanyList(ctx context.Context, l *ledger.Ledger, hash string, o Options,
	on season.Date) (*CompanyList, error) {
	version, err := loadVersion(ctx, l, hash)
	if err != nil {
		return nil, err
	}
	return readCompanyList(ctx, l, version.File, version.Content, o, on, false)
}

// company describes a row in a few words.
func company(r season.Row) string {
	parts := []string{cmp.Or(r.LegalName, r.CompanyID, "no name")}
	if r.LegalName != "" && r.CompanyID != "" {
		parts = append(parts, r.CompanyID)
	}
	if r.Facts.State != "" {
		parts = append(parts, string(r.Facts.State))
	}
	return strings.Join(parts, ", ")
}
