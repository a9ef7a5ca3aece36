package sandbox

import (
	"net/http"
	"slices"
	"strings"
)

// The products of the price list. A formation is billed as one of the tiers.
const (
	formation = "formation"
	// The tier follows: 1, 2 or 3.
	formationTier        = "formation_tier_"
	ein                  = "ein"
	registeredAgent      = "registered_agent"
	annualReport         = "annual_report"
	foreignQualification = "foreign_qualification"
)

// Price is a line of the price list. Amounts are in cents.
// Source: spec section 2.
type Price struct {
	Type        string `json:"type"`
	Name        string `json:"name"`
	Description string `json:"description"`
	// Default is the default retail price.
	Default dollars `json:"defaultAmount"`
	// Retail is the custom retail price. Zero if none is set.
	Retail dollars `json:"retailAmount,omitempty"`
	// Wholesale is the minimum retail price.
	Wholesale dollars `json:"wholesaleAmount"`
	Enabled   bool    `json:"enabled"`
}

// DefaultPrices returns a plausible price list. The spec shows no amounts.
func DefaultPrices() []Price {
	return []Price{
		{formationTier + "1", "Formation", "Formation of an LLC or CORP", 149_00, 0, 75_00, true},
		{formationTier + "2", "Formation with EIN", "Bundles the EIN; registered agent subscription added",
			249_00, 0, 105_00, true},
		{formationTier + "3", "Formation with EIN and DBA",
			"Bundles the EIN and a DBA; registered agent subscription added", 349_00, 0, 155_00, true},
		{ein, "EIN", "Federal employer identification number", 79_00, 0, 40_00, true},
		{registeredAgent, "Registered agent", "Yearly subscription, per state", 119_00, 0, 50_00, true},
		{annualReport, "Annual report", "Per state and filing year", 99_00, 0, 25_00, true},
		{foreignQualification, "Foreign qualification", "Per state", 179_00, 0, 60_00, true},
	}
}

// Fee is a state's fee for a product in cents. An empty State or EntityType matches all.
type Fee struct {
	// The values are like annual_report, DE and CORP.
	Product, State, EntityType string
	Cents                      int64
}

// DefaultFees returns a small table for tests, not for quotes. It agrees with the built-in state
// fees of quotes for a filing year from 2026 on.
func DefaultFees() []Fee {
	return []Fee{
		{annualReport, "AZ", "CORP", 45_00}, {annualReport, "CA", "LLC", 20_00}, {annualReport, "CA", "CORP", 25_00},
		{annualReport, "CO", "", 25_00}, {annualReport, "DE", "LLC", 400_00}, {annualReport, "DE", "CORP", 225_00},
		{annualReport, "FL", "LLC", 138_75}, {annualReport, "FL", "CORP", 150_00}, {annualReport, "GA", "", 60_00},
		{annualReport, "IL", "", 75_00}, {annualReport, "NC", "LLC", 203_00}, {annualReport, "NC", "CORP", 21_00},
		{annualReport, "NV", "LLC", 350_00}, {annualReport, "NV", "CORP", 650_00}, {annualReport, "NY", "", 9_00},
		{annualReport, "WY", "", 60_00},
		{formation, "AZ", "LLC", 50_00}, {formation, "CA", "LLC", 70_00}, {formation, "DE", "LLC", 110_00},
		{formation, "DE", "CORP", 109_00}, {formation, "FL", "LLC", 125_00}, {formation, "FL", "CORP", 70_00},
		{formation, "NV", "LLC", 425_00}, {formation, "NV", "CORP", 725_00}, {formation, "NY", "LLC", 200_00},
		{formation, "NY", "CORP", 125_00}, {formation, "TX", "", 300_00}, {formation, "WY", "", 100_00},
		{foreignQualification, "CA", "LLC", 70_00}, {foreignQualification, "CA", "CORP", 100_00},
		{foreignQualification, "DE", "LLC", 200_00}, {foreignQualification, "DE", "CORP", 245_00},
		{foreignQualification, "FL", "LLC", 125_00}, {foreignQualification, "FL", "CORP", 70_00},
		{foreignQualification, "NY", "LLC", 250_00}, {foreignQualification, "NY", "CORP", 225_00},
		{foreignQualification, "TX", "", 750_00},
	}
}

// priceList has the prices and state fees.
type priceList struct {
	*core
	prices []Price
}

// fee returns the closest line of the table.
func (l *priceList) fee(product, state, entityType string) int64 {
	for _, k := range []Fee{{product, state, entityType, 0}, {product, state, "", 0}, {product, "", entityType, 0},
		{product, "", "", 0}} {
		for _, f := range l.cfg.Fees {
			if f.Product == k.Product && f.State == k.State && f.EntityType == k.EntityType {
				return f.Cents
			}
		}
	}
	return 0
}

func (l *priceList) wholesale(product string) int64 {
	for _, p := range l.prices {
		if p.Type == product {
			return int64(p.Wholesale)
		}
	}
	return 0
}

// written returns a price as the service answers it.
func (l *priceList) written(p Price) Price {
	p.Type = l.cfg.OrderTypes.write(p.Type)
	return p
}

func (l *priceList) getPrices(*call) (any, error) {
	list := make([]Price, len(l.prices))
	for i, p := range l.prices {
		list[i] = l.written(p)
	}
	return map[string]any{"prices": list}, nil
}

// putPrice sets the retail price of a product.
// Source: spec section 4, set price rules 1 to 3.
func (l *priceList) putPrice(c *call) (any, error) {
	retail, hasRetail := c.body.maybeDollars("retailAmount")
	enabled, hasEnabled := c.body.maybeFlag("enabled")
	if !c.body.has("retailAmount") && !c.body.has("enabled") {
		c.found.add("4 set price", "retailAmount or enabled is required")
	}
	if err := l.finish(c); err != nil {
		return nil, err
	}
	i := slices.IndexFunc(l.prices,
		func(p Price) bool { return c.id == p.Type || c.id == l.cfg.OrderTypes.write(p.Type) })
	if i < 0 {
		return nil, refuse(http.StatusNotFound, "There is no price of type %q", c.id)
	}
	p := l.prices[i]
	if hasRetail {
		if floor := int64(p.Wholesale); retail < floor {
			r := forbidden(l.cfg.Invalid, "4 set price 1", "retailAmount is below the wholesale price of %s", p.Name)
			r.minimum = &floor
			return nil, r
		}
		p.Retail = dollars(retail)
	}
	if hasEnabled {
		if !enabled && !isTier(p) {
			return nil, forbidden(l.cfg.Invalid, "4 set price 3", "Only formation tiers can be disabled")
		}
		if others := slices.ContainsFunc(l.prices, func(o Price) bool {
			return isTier(o) && o.Type != p.Type && o.Enabled
		}); !enabled && !others {
			return nil, forbidden(l.cfg.Invalid, "4 set price 3", "At least one formation tier must remain enabled")
		}
		p.Enabled = enabled
	}
	l.prices[i] = p
	return l.written(p), nil
}

func isTier(p Price) bool { return strings.HasPrefix(p.Type, formationTier) }
