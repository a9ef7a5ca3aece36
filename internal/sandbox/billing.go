package sandbox

// billItems returns the items of an order with their costs.
// Source: spec section 4, billing rules and order rules 6, 8.
func (b *orderBook) billItems(req *orderRequest, rec *company) []Item {
	var items []Item
	entityType := ""
	if rec != nil {
		entityType = rec.EntityType
	}
	if f := req.formation; f != nil {
		entityType = f.company.EntityType
		item := Item{Product: formation, LegalName: f.company.LegalName, BilledAs: formationTier + "1"}
		if req.ein != nil {
			item.BilledAs = formationTier + "2"
		}
		item.Fee = b.prices.fee(formation, req.state, entityType)
		if f.expedited {
			item.Fee, item.Service = expeditedFees[req.state], b.cfg.ExpeditedService
		}
		items = append(items, item)
	}
	if req.ein != nil {
		item := Item{Product: ein, BilledAs: ein}
		if req.formation != nil {
			// The fee is part of tier 2.
			item.BilledAs = ""
		}
		items = append(items, item)
	}
	if req.agent != nil {
		if held := rec.activeAgent(req.state); held != nil {
			existing := *held
			existing.BilledAs, existing.Price, existing.Existing = "", 0, true
			items = append(items, existing)
		} else {
			items = append(items, Item{Product: registeredAgent, Change: req.agent.change, BilledAs: registeredAgent})
		}
	}
	if req.report != nil {
		items = append(items, Item{
			Product: annualReport, Year: req.report.year, BilledAs: annualReport,
			Fee: b.prices.fee(annualReport, req.state, entityType),
		})
	}
	if req.foreign != nil {
		items = append(items, Item{
			Product: foreignQualification, BilledAs: foreignQualification,
			Fee: b.prices.fee(foreignQualification, req.state, entityType),
		})
	}
	for i := range items {
		if items[i].BilledAs != "" {
			items[i].Price = b.prices.wholesale(items[i].BilledAs)
		}
	}
	return items
}

// activeAgent returns the order of the active agent service in a state, or nil.
func (c *company) activeAgent(state string) *Item {
	if c == nil || c.Agents[state] != ActiveService {
		return nil
	}
	return c.service[state]
}

func sum(items []Item) (total int64) {
	for _, item := range items {
		total += item.Amount()
	}
	return total
}
