package web

import (
	"slices"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/report"
	"github.com/bulkfiling/bulkfiling/internal/schedule"
)

// chargeHandler handles the charges by client.
type chargeHandler struct{ *Config }

func (h *chargeHandler) routes() []route {
	return []route{
		{pattern: "GET /charges", may: viewer, serve: h.charges},
		{pattern: "GET /charges.csv", may: exporter, serve: h.chargesFile},
	}
}

// allMonths selects all months in the filter.
const allMonths = "all"

const (
	chargesOnPage = 50
	groupsOnPage  = 100
)

// chargesPage lists the charges of a month and client.
type chargesPage struct {
	Month, Client string
	// Months and Clients are the choices of the filter.
	Months, Clients []string
	Groups          []report.ChargeGroup
	GroupCount      int
	Total           report.ChargeGroup
	Lines           []chargeLine
	Pager           pager

	// all are the charges that match the filter.
	all  []ledger.Charge
	zone *time.Location
}

// chargeLine is a charge as the page shows it.
type chargeLine struct {
	ledger.Charge
	Title                string
	ServiceFee, StateFee money.Cents
	// Split reports whether both fees are known separately.
	Split bool
}

// Query returns the filter as the query part of an address.
func (p *chargesPage) Query() string {
	return address("", "month", p.Month, "client", p.Client)
}

// loadCharges loads the charges that the address selects. The default is the newest month.
func (h *chargeHandler) loadCharges(v *request) (*chargesPage, error) {
	zone, err := schedule.FirmZone(v.ctx(), h.Ledger)
	if err != nil {
		return nil, err
	}
	p := &chargesPage{Month: v.query("month"), Client: shortened(v.query("client"), maxSearch), zone: zone}
	if p.Months, err = h.Ledger.Entries().ChargeMonths(v.ctx(), p.zone); err != nil {
		return nil, err
	}
	p.Months = append(p.Months, allMonths)
	if p.Month == "" {
		p.Month = p.Months[0]
	}
	month := p.Month
	switch {
	case month == allMonths:
		month = ""
	case !slices.Contains(p.Months, month):
		return nil, errNoPage
	}
	if p.all, err = h.Ledger.Entries().Charges(v.ctx(), month, p.zone); err != nil {
		return nil, err
	}
	for i := range p.all {
		if client := p.all[i].Client; client != "" && !slices.Contains(p.Clients, client) {
			p.Clients = append(p.Clients, client)
		}
	}
	p.all = report.ChargesOf(p.Client, p.all)
	return p, nil
}

func (h *chargeHandler) charges(v *request) error {
	p, err := h.loadCharges(v)
	if err != nil {
		return err
	}
	p.Groups, p.Total = report.GroupCharges(p.all)
	p.GroupCount = len(p.Groups)
	p.Groups = p.Groups[:min(len(p.Groups), groupsOnPage)]
	var lines []ledger.Charge
	p.Pager, lines = paged(v, p.all, chargesOnPage)
	for i := range lines {
		l := chargeLine{Charge: lines[i], Title: report.ChargeTitle(&lines[i])}
		l.ServiceFee, l.StateFee, l.Split = l.Fees()
		p.Lines = append(p.Lines, l)
	}
	return v.show(nil, "charges.html", "Charges", p)
}

// chargesFile sends the charges as CSV.
func (h *chargeHandler) chargesFile(v *request) error {
	p, err := h.loadCharges(v)
	if err != nil {
		return err
	}
	return v.export(p.Month, "charges.csv", "charges-"+p.Month+".csv", func(path string) error {
		return report.WriteCharges(path, p.all, p.zone)
	})
}
