package filing

import (
	"slices"
	"strings"
)

// Product is the kind of a row of a sheet and of an item of an order. Its values are the values of
// the --product flag.
type Product string

// The products. AgentChange is a RegisteredAgent item with isChangeOfAgent. Source: spec section 1.
const (
	AnnualReport         Product = "annual-report"
	AgentChange          Product = "agent-change"
	RegisteredAgent      Product = "registered-agent"
	Formation            Product = "formation"
	EIN                  Product = "ein"
	ForeignQualification Product = "foreign-qualification"
)

// CompanyRecord is the creation of a company. It is not a product, but must not happen twice.
const CompanyRecord Product = "company"

// Products lists all products in the order help texts show them.
var Products = []Product{AnnualReport, AgentChange, RegisteredAgent, Formation, EIN, ForeignQualification}

// JoinProducts joins the values of products, with a separator.
func JoinProducts(products []Product, separator string) string {
	values := make([]string, len(products))
	for i, p := range products {
		values[i] = string(p)
	}
	return strings.Join(values, separator)
}

// Valid reports whether p is one of Products.
func (p Product) Valid() bool { return slices.Contains(Products, p) }

// Title returns the product's name for users.
func (p Product) Title() string { return productTitles[p] }

var productTitles = map[Product]string{
	AnnualReport:         "annual report",
	AgentChange:          "change of registered agent",
	RegisteredAgent:      "registered agent",
	Formation:            "formation",
	EIN:                  "EIN",
	ForeignQualification: "foreign qualification",
	CompanyRecord:        "company record",
}

// Repeatable reports whether ordering the item twice is harmless because the filing service
// answers 409.
//
// Source: spec section 7 (EIN, foreign qualification). Annual reports and formations have no such
// guard. Section 4, rule 8 promises no second charge for an agent whose service is active, which
// may not be true of a service that was ordered a moment ago. Assumption: agents are repeatable
// only if repeatAgents is set. Assumption: the guard also holds after the first order was canceled.
func (p Product) Repeatable(repeatAgents bool) bool {
	return p == EIN || p == ForeignQualification || repeatAgents && (p == RegisteredAgent || p == AgentChange)
}
