package sandbox

// billItems returns the items of an order with their costs.
// Source: spec section 4, billing rules and order rules 6, 8.
func (b *orderBook) billItems(req *orderRequest, rec *company) []Item {
	var items []Item
	add := func(product, billedAs string, fee int64) *Item {
		items = append(items, Item{
			Product:  product,
			BilledAs: billedAs,
			Price:    b.prices.wholesale(billedAs),
			Fee:      fee,
		})
		return &items[len(items)-1]
	}
	entityType := ""
	if rec != nil {
		entityType = rec.EntityType
	}
	if f := req.formation; f != nil {
		entityType = f.company.EntityType
		tier := formationTier + "1"
		if req.ein != nil {
			tier = formationTier + "2"
		}
		item := add(formation, tier, b.prices.fee(formation, req.state, entityType))
		item.LegalName = f.company.LegalName
		if f.expedited {
			item.Fee, item.Service = expeditedFees[req.state], b.cfg.ExpeditedService
		}
	}
	switch {
	case req.ein != nil && req.formation != nil:
		add(ein, "", 0) // part of tier 2
	case req.ein != nil:
		add(ein, ein, 0)
	}
	if req.agent != nil {
		if held := rec.activeAgent(req.state); held != nil {
			existing := *held
			existing.BilledAs, existing.Price, existing.Existing = "", 0, true
			items = append(items, existing)
		} else {
			add(registeredAgent, registeredAgent, 0).Change = req.agent.change
		}
	}
	if req.report != nil {
		item := add(annualReport, annualReport, b.prices.fee(annualReport, req.state, entityType))
		item.Year = req.report.year
	}
	if req.foreign != nil {
		add(foreignQualification, foreignQualification, b.prices.fee(foreignQualification, req.state, entityType))
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
