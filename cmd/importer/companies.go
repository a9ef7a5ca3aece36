package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/filingapi"
)

func (a *app) companiesCommand() *cobra.Command {
	return groupCommand("companies", "Show, create, or change a company",
		"Companies belong to users. Name a company by its ID (comp_…) or by the slug in its\nweb "+
			"address.",
		"  importer companies get comp_17\n  importer companies update comp_17 --entity-type LLC --formation-state DE",
		a.companiesGetCommand(), a.companiesCreateCommand(), a.companiesUpdateCommand())
}

func (a *app) companiesGetCommand() *cobra.Command {
	return a.showCommand(&cobra.Command{
		Use:     "get COMPANY",
		Short:   "Show a company by ID or slug",
		Example: "  importer companies get comp_17\n  importer companies get harbor-light-bakery-llc --json",
		Args:    one("company: an ID (comp_…) or a slug"),
	}, checkCompanyName, func(ctx context.Context, client *filingapi.Client, name string) error {
		_, err := client.Company(ctx, name)
		return err
	})
}

// companyFlags are the flags that describe a company.
type companyFlags struct {
	company            filing.Company
	entityType, state  string
	tradeName          string
	principal, mailing filing.Address
}

// forCreation lists the flags of a new company.
func (f *companyFlags) forCreation() []textFlag {
	return slices.Concat([]textFlag{
		{"legal-name", &f.company.LegalName, "its legal name"},
		{"entity-type", &f.entityType, "LLC or CORP"},
		{"formation-state", &f.state, "the state it was formed in"},
		{"formation-date", &f.company.FormationDate, "the day it was formed, YYYY-MM-DD"},
	}, addressFlags("principal", &f.principal), addressFlags("mailing", &f.mailing))
}

// forUpdate adds the flags of fields that a new company does not have.
func (f *companyFlags) forUpdate() []textFlag {
	return append(f.forCreation(), []textFlag{
		{"trade-name", &f.tradeName, "its trade name"},
		{"ein", &f.company.EIN, "its EIN, such as 12-3456789"},
		{"structure-type", &f.company.StructureType, "of an LLC: " + strings.Join(filing.StructureTypes, " or ")},
		{"tax-election", &f.company.TaxElection, "of a corporation: " + strings.Join(filing.TaxElections, " or ")},
		{"fiscal-end-month", &f.company.FiscalEndMonth, "the name of a month"},
	}...)
}

type textFlag struct {
	name    string
	to      *string
	meaning string
}

func addressFlags(which string, a *filing.Address) []textFlag {
	return []textFlag{
		{which + "-line-1", &a.Line1, which + " address: street"},
		{which + "-line-2", &a.Line2, which + " address: suite, floor"},
		{which + "-city", &a.City, which + " address: city"},
		{which + "-state", &a.State, which + " address: state"},
		{which + "-postal-code", &a.PostalCode, which + " address: ZIP or postal code"},
		{which + "-country", &a.Country, which + " address: country, two letters; US where the state is one of the US"},
	}
}

func registerTexts(c *cobra.Command, flags []textFlag) {
	for _, f := range flags {
		c.Flags().StringVar(f.to, f.name, "", f.meaning)
	}
}

// read fills the company from the flags. It refuses empty values: no field can be
// emptied, and an empty variable in a script is a mistake.
func (f *companyFlags) read(c *cobra.Command, flags []textFlag) error {
	for _, t := range flags {
		*t.to = strings.TrimSpace(*t.to)
		if c.Flags().Changed(t.name) && *t.to == "" {
			return usage("--%s is empty: leave it out to leave the field as it is", t.name)
		}
	}
	if f.entityType != "" {
		kind, ok := filing.ParseEntityType(f.entityType)
		if !ok {
			return fmt.Errorf("--entity-type: %q is not an entity type: use LLC or CORP", f.entityType)
		}
		f.company.EntityType = kind
	}
	if f.state != "" {
		state, ok := filing.ParseState(f.state)
		if !ok {
			return fmt.Errorf("--formation-state: %q is not a US state: use a two-letter code such as DE", f.state)
		}
		f.company.FormationState = state
	}
	return nil
}

// completeAddress fills the missing parts of an address from the one on file, and
// the country of a US state. It returns nil for an empty address.
func completeAddress(a filing.Address, onFile *filing.Address) *filing.Address {
	if a == (filing.Address{}) {
		return nil
	}
	if onFile != nil {
		a.Line1 = cmp.Or(a.Line1, onFile.Line1)
		a.Line2 = cmp.Or(a.Line2, onFile.Line2)
		a.City = cmp.Or(a.City, onFile.City)
		a.State = cmp.Or(a.State, onFile.State)
		a.PostalCode = cmp.Or(a.PostalCode, onFile.PostalCode)
		a.Country = cmp.Or(a.Country, onFile.Country)
	}
	if code, inUS := filing.ParseUSPlace(a.State); inUS && (a.Country == "" || a.Country == "US") {
		a.State, a.Country = code, "US"
	}
	return &a
}

// checkCompany applies the rules for an order that creates the company. Missing
// fields are reported elsewhere.
func checkCompany(c filing.Company, now time.Time) []filing.Violation {
	c.LegalName = cmp.Or(c.LegalName, c.ID) // a record without a name is not a problem of the change
	r := filing.Request{
		Product: filing.RegisteredAgent, User: filing.UserRef{ID: "user_1"}, Company: filing.CompanyRef{Sheet: c},
		Order: filing.Order{FilingState: "DE", RegisteredAgent: &filing.RegisteredAgentItem{}},
	}
	return slices.DeleteFunc(r.Violations(now.Year()), func(v filing.Violation) bool {
		return v.Warning || !strings.HasPrefix(v.Field, "company.")
	})
}

// violationError joins violations, with the filing service's names of the fields.
func violationError(found []filing.Violation) error {
	var errs []error
	for _, v := range found {
		errs = append(errs, fmt.Errorf("%s: %s", strings.TrimPrefix(v.Field, "company."), v.Message))
	}
	return errors.Join(errs...)
}

func (a *app) companiesCreateCommand() *cobra.Command {
	var o outputFlags
	var f companyFlags
	var user, officers string
	c := &cobra.Command{
		Use:   "create --user USER --legal-name NAME ...",
		Short: "Create a company (a spreadsheet is safer)",
		Long: `create adds an existing company to the filing service. Running the same command
again creates a second company.

A spreadsheet is safer: importer run creates the company of a row without a Company
ID exactly once, however often you run it.`,
		Example: `  importer companies create --user ana@harborlight.example --legal-name "Harbor Light Bakery LLC" \
    --entity-type LLC --formation-state DE --formation-date 2021-05-04 \
    --principal-line-1 "12 Market Street" --principal-city Dover --principal-state DE --principal-postal-code 19901`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := f.read(c, f.forCreation()); err != nil {
				return err
			}
			var missing []string
			for _, need := range []string{"user", "legal-name", "entity-type", "formation-state", "formation-date",
				"principal-line-1", "principal-city"} {
				if !c.Flags().Changed(need) {
					missing = append(missing, "--"+need)
				}
			}
			if len(missing) > 0 {
				return usage("give %s", strings.Join(missing, ", "))
			}
			f.company.PrincipalAddress = completeAddress(f.principal, nil)
			f.company.MailingAddress = completeAddress(f.mailing, nil)
			if officers != "" {
				if err := readOfficers(officers, &f.company.Officers); err != nil {
					return err
				}
			}
			if found := checkCompany(f.company, time.Now()); len(found) > 0 {
				return violationError(found)
			}
			client, err := a.service()
			if err != nil {
				return err
			}
			owner, err := findUserID(c.Context(), client, user)
			if err != nil {
				return err
			}
			return a.createCompany(c.Context(), client, f.company.ForUser(owner), o)
		},
	}
	c.Flags().StringVar(&user, "user", "", "the user who owns it: an ID (user_…) or an email address")
	registerTexts(c, f.forCreation())
	c.Flags().StringVar(&officers, "officers", "",
		"a JSON file with a list of officers, in the filing service's format")
	o.registerChange(c)
	return c
}

func readOfficers(file string, to *[]filing.Officer) error {
	content, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read the officers: %w", err)
	}
	dec := json.NewDecoder(bytes.NewReader(content))
	dec.DisallowUnknownFields()
	if err := dec.Decode(to); err != nil || dec.More() {
		return fmt.Errorf(
			"read the officers: %s is not a JSON list of officers (type, firstName, lastName, title, address, "+
				"isPrimary, …): %w", file, err)
	}
	return nil
}

// createCompany creates a company. The request is sent once. Source: spec section 4, POST /companies.
func (a *app) createCompany(ctx context.Context, client *filingapi.Client, company filing.NewCompany,
	o outputFlags) error {
	rows, err := newFields(company)
	if err != nil {
		return err
	}
	a.say("%s", a.paint.yellow(
		"Warning: the filing service accepts a second company of this name. A spreadsheet creates it only once."))
	if err := a.confirmChange(ctx, o, "A new company:", rows, "Create this company?"); err != nil {
		return err
	}
	var body json.RawMessage
	made := client.CreateCompany(filingapi.KeepBody(context.WithoutCancel(ctx), &body), company)
	switch made.Kind {
	case filing.Accepted:
		a.say("The company was created.")
		return a.showRecord(o, body)
	case filing.NoAnswer, filing.ServerError, filing.Unreadable:
		return &status{
			code: exitFailed,
			err: fmt.Errorf(
				"create the company %s: %s. It may exist. Check the dashboard before you run the command again: it "+
					"would create a second one", company.LegalName, made.Message),
		}
	case filing.NotSent:
		return &status{
			code: exitFailed,
			err:  fmt.Errorf("the company %s was not created: %s", company.LegalName, made.Message),
		}
	case filing.KeyRefused:
		return fmt.Errorf(
			"the company %s was not created: the filing service rejected the API key: %s. Correct FILING_API_KEY",
			company.LegalName, made.Message)
	}
	return fmt.Errorf("the company %s was not created: the filing service rejected it: %s", company.LegalName,
		made.Message)
}

// einShape is an EIN as people write it.
var einShape = regexp.MustCompile(`^\d{2}-?\d{7}$`)

func (a *app) companiesUpdateCommand() *cobra.Command {
	var o outputFlags
	var f companyFlags
	c := &cobra.Command{
		Use:   "update COMPANY --FIELD VALUE ...",
		Short: "Change fields of a company",
		Long: `update changes only the fields you give. The other parts of an address stay. The
change is not filed with any state.`,
		Example: "  importer companies update comp_17 --entity-type LLC --formation-state DE\n  importer companies " +
			"update harbor-light-bakery-llc --mailing-line-1 \"PO Box 12\" --yes --json",
		Args: one("company: an ID (comp_…) or a slug"),
		RunE: func(c *cobra.Command, args []string) error {
			if err := checkCompanyName(args[0]); err != nil {
				return err
			}
			flags := f.forUpdate()
			if !slices.ContainsFunc(flags, func(t textFlag) bool { return c.Flags().Changed(t.name) }) {
				return usage("give a field to change, such as --entity-type LLC")
			}
			if err := f.read(c, flags); err != nil {
				return err
			}
			if ein := f.company.EIN; ein != "" && !einShape.MatchString(ein) {
				return fmt.Errorf("--ein: %q is not an EIN: it has nine digits, such as 12-3456789", ein)
			}
			client, err := a.service()
			if err != nil {
				return err
			}
			return a.updateCompany(c.Context(), client, args[0], &f, o)
		},
	}
	registerTexts(c, f.forUpdate())
	o.registerChange(c)
	return c
}

// updateCompany sends the changed fields, and an address always as a whole.
// Assumption: whether parts of an address are accepted is not shown.
func (a *app) updateCompany(ctx context.Context, client *filingapi.Client, name string, f *companyFlags,
	o outputFlags) error {
	var answer json.RawMessage
	old, err := client.Company(filingapi.KeepBody(ctx, &answer), name)
	if err != nil {
		return withAdvice(err)
	}
	change := filingapi.CompanyChange{Company: f.company, TradeName: f.tradeName}
	change.PrincipalAddress = completeAddress(f.principal, old.PrincipalAddress)
	change.MailingAddress = completeAddress(f.mailing, old.MailingAddress)
	rows, err := differences(answer, change)
	if err != nil {
		return err
	}
	found := slices.DeleteFunc(checkCompany(changed(old, change.Company), time.Now()), func(v filing.Violation) bool {
		return !slices.ContainsFunc(rows, func(row []string) bool {
			top, _, _ := strings.Cut(row[0], ".")
			return strings.HasPrefix(v.Field+".", "company."+top+".")
		})
	})
	if len(found) > 0 {
		return violationError(found)
	}
	sent, err := a.applyChange(ctx, o, recordChange{
		name:  fmt.Sprintf("%s (%s)", plain(old.LegalName), old.ID),
		old:   answer,
		rows:  rows,
		check: "importer companies get " + name,
		send: func(ctx context.Context) error {
			_, err := client.ChangeCompany(filingapi.KeepBody(ctx, &answer), name, change)
			return err
		},
	})
	if err != nil || !sent {
		return err
	}
	return a.showRecord(o, answer)
}

// changed is the company after the change.
func changed(old, change filing.Company) filing.Company {
	old.PrincipalAddress = cmp.Or(change.PrincipalAddress, old.PrincipalAddress)
	old.MailingAddress = cmp.Or(change.MailingAddress, old.MailingAddress)
	old.LegalName = cmp.Or(change.LegalName, old.LegalName)
	old.EntityType = cmp.Or(change.EntityType, old.EntityType)
	old.FormationState = cmp.Or(change.FormationState, old.FormationState)
	old.FormationDate = cmp.Or(change.FormationDate, old.FormationDate)
	old.StructureType = cmp.Or(change.StructureType, old.StructureType)
	old.TaxElection = cmp.Or(change.TaxElection, old.TaxElection)
	old.FiscalEndMonth = cmp.Or(change.FiscalEndMonth, old.FiscalEndMonth)
	return old
}
