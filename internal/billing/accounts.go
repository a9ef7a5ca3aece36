package billing

import (
	"fmt"
	"strings"
)

// Accounts are the accounts and names that files for accounting programs use.
type Accounts struct {
	Receivable  string `json:"receivable"`  // what clients owe
	ServiceFees string `json:"serviceFees"` // income of service fees
	StateFees   string `json:"stateFees"`   // state fees that clients pay back
	Costs       string `json:"costs"`       // what the filing service charges
	Prepaid     string `json:"prepaid"`     // the balance at the filing service
	Tax         string `json:"tax"`         // the tax rate of bills
	Vendor      string `json:"vendor"`      // the filing service
	Firm        string `json:"firm"`        // the firm's own ID, for LEDES
}

// DefaultAccounts are those of a firm that has not chosen its own.
var DefaultAccounts = Accounts{
	Receivable:  "1200",
	ServiceFees: "4000",
	StateFees:   "4100",
	Costs:       "5000",
	Prepaid:     "1300",
	Tax:         "Tax Exempt",
	Vendor:      "Filing service",
	Firm:        "FIRM",
}

// fields are the accounts by their names.
func (a *Accounts) fields() []struct {
	name string
	at   *string
} {
	return []struct {
		name string
		at   *string
	}{
		{"receivable", &a.Receivable}, {"serviceFees", &a.ServiceFees}, {"stateFees", &a.StateFees},
		{"costs", &a.Costs},
		{"prepaid", &a.Prepaid}, {"tax", &a.Tax}, {"vendor", &a.Vendor}, {"firm", &a.Firm},
	}
}

// Set sets an account by its name.
func (a *Accounts) Set(name, value string) error {
	var names []string
	for _, f := range a.fields() {
		if strings.EqualFold(f.name, strings.TrimSpace(name)) {
			if value = strings.TrimSpace(value); value == "" || len(value) > 100 {
				return fmt.Errorf("%s needs 1 to 100 characters", f.name)
			}
			*f.at = value
			return nil
		}
		names = append(names, f.name)
	}
	return fmt.Errorf("there is no account %q: choose one of %s", name, strings.Join(names, ", "))
}

// List lists the accounts, each with its name.
func (a *Accounts) List() (all [][2]string) {
	for _, f := range a.fields() {
		all = append(all, [2]string{f.name, *f.at})
	}
	return all
}
