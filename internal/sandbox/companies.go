package sandbox

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Address is a postal address.
// Source: spec section 2.
type Address struct {
	Line1      string `json:"line1"`
	Line2      string `json:"line2,omitempty"`
	City       string `json:"city"`
	State      string `json:"state,omitempty"`
	PostalCode string `json:"postalCode,omitempty"`
	Country    string `json:"country"`
}

// Agent is the registered agent on record for a company in a state.
type Agent string

// The agents on record.
const (
	// ActiveService is the service's own agent, subscribed and active.
	ActiveService Agent = "service"
	// OtherAgent is another agent, supplied with an earlier order.
	OtherAgent Agent = "supplied"
)

// Company is a company on record. The fields from Slug on are internal to the service.
// Source: spec section 2.
type Company struct {
	ID        string `json:"id"`
	LegalName string `json:"legalName"`
	TradeName string `json:"tradeName,omitempty"`
	EIN       string `json:"ein,omitempty"`
	// EntityType is LLC, CORP or empty.
	EntityType       string   `json:"entityType,omitempty"`
	StructureType    string   `json:"structureType,omitempty"`
	TaxElection      string   `json:"taxElection,omitempty"`
	FiscalEndMonth   string   `json:"fiscalEndMonth,omitempty"`
	FormationDate    string   `json:"formationDate,omitempty"`
	FormationState   string   `json:"formationState,omitempty"`
	PrincipalAddress *Address `json:"principalAddress,omitempty"`
	MailingAddress   *Address `json:"mailingAddress,omitempty"`
	CreatedAt        stamp    `json:"createdAt"`
	UpdatedAt        stamp    `json:"updatedAt"`

	Slug   string `json:"-"`
	UserID string `json:"-"`
	// Agents are the agents by state.
	Agents       map[string]Agent `json:"-"`
	EINRequested bool             `json:"-"`
	// Qualified are the states with a paid foreign qualification.
	Qualified []string `json:"-"`
	// Elsewhere marks a company of another organization, which is never shown.
	Elsewhere bool `json:"-"`
}

// company is the record of a company: the seeded or ordered company with the changes by orders.
type company struct {
	Company
	auto bool
	// service is the active registered agent service by state.
	service   map[string]*Item
	qualified map[string]bool
}

// texts returns the texts of a company by their names in requests and answers.
func (c *Company) texts() map[string]*string {
	return map[string]*string{
		"legalName": &c.LegalName, "tradeName": &c.TradeName, "ein": &c.EIN, "entityType": &c.EntityType,
		"structureType": &c.StructureType, "taxElection": &c.TaxElection, "fiscalEndMonth": &c.FiscalEndMonth,
		"formationDate": &c.FormationDate, "formationState": &c.FormationState,
	}
}

// records are the users and companies, and the items that were ordered for them.
type records struct {
	*core
	// users are the users by ID.
	users map[string]*User
	// usersByEmail has lower-case keys.
	usersByEmail map[string]*User
	usersByPhone map[string]*User
	companies    map[string]*company
	companySlugs map[string]*company
	items        map[string]*Item
}

// AddCompany puts a company on record and returns it. It fills in an empty ID, slug and times.
// Other empty fields stay empty, because clients complete companies without a type or a state.
func (r *records) AddCompany(c Company) Company {
	r.mu.Lock()
	defer r.mu.Unlock()
	added := r.addCompany(c).Company
	added.Agents = maps.Clone(added.Agents)
	return added
}

func (r *records) addCompany(c Company) *company {
	if c.ID == "" {
		c.ID = r.id("comp")
	}
	if c.Slug == "" {
		name := cmp.Or(c.LegalName, c.ID)
		c.Slug = slugify(name)
		for r.companySlugs[c.Slug] != nil {
			c.Slug = fmt.Sprintf("%s-%s", slugify(name), strings.TrimPrefix(r.id("x"), "x_"))
		}
	}
	c.CreatedAt = stamp(r.cfg.Now())
	c.UpdatedAt = c.CreatedAt
	rec := &company{Company: c, service: map[string]*Item{}, qualified: map[string]bool{}}
	rec.Agents = maps.Clone(c.Agents)
	if rec.Agents == nil {
		rec.Agents = map[string]Agent{}
	}
	for _, state := range slices.Sorted(maps.Keys(rec.Agents)) { // the IDs are random, but not their order
		if rec.Agents[state] == ActiveService {
			rec.service[state] = r.earlierAgentService(rec, state)
		}
	}
	for _, state := range c.Qualified {
		rec.qualified[state] = true
	}
	r.companies[c.ID] = rec
	r.companySlugs[c.Slug] = rec
	return rec
}

// earlierAgentService returns the registered agent order of a company that had the service before
// the first recorded order.
func (r *records) earlierAgentService(c *company, state string) *Item {
	item := &Item{
		ID:           r.id("order"),
		Product:      registeredAgent,
		CompanyID:    c.ID,
		UserID:       c.UserID,
		State:        state,
		Status:       filed,
		FilingDate:   time.Time(c.CreatedAt),
		Subscription: "active",
		At:           time.Time(c.CreatedAt),
	}
	r.items[item.ID] = item
	return item
}

// SeedCompany puts a company on record like one of Config.Companies.
func (r *records) SeedCompany(c Company) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.addCompany(c).auto = true
}

// CompanyNamed returns the company on record with a legal name. It returns false if there is none.
func (r *records) CompanyNamed(legalName string) (Company, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.companies {
		if c.LegalName == legalName {
			return c.Company, true
		}
	}
	return Company{}, false
}

// findCompany returns the company with an ID or slug, or nil.
func (r *records) findCompany(key string) *company {
	c := cmp.Or(r.companies[key], r.companySlugs[key])
	switch {
	case c != nil && c.Elsewhere:
		return nil
	case c != nil || !r.cfg.AutoSeed:
		return c
	}
	seed := Company{EntityType: r.cfg.AutoEntityType, FormationState: r.cfg.AutoFormationState}
	switch {
	case companyID.MatchString(key):
		seed.ID = key
	case slugShape.MatchString(key):
		seed.Slug = key
		seed.ID = fmt.Sprintf("comp_%016x", hash(key))
	default:
		return nil
	}
	if seed.EntityType == "LLC" {
		seed.StructureType = "MEMBER"
	} else {
		seed.TaxElection = "C Corporation"
	}
	seed.FormationDate = fmt.Sprintf("20%02d-%02d-%02d", 5+hash(key)%18, 1+hash(key+"m")%12, 1+hash(key+"d")%28)
	rec := r.addCompany(seed)
	rec.auto = true
	return rec
}

// setAutoAgent sets the agent of a company of AutoSeed in a state at its first order. The agent is
// the active service, unless the order buys the agent.
func (r *records) setAutoAgent(c *company, state string, ordersAgent bool) {
	if _, settled := c.Agents[state]; !c.auto || settled {
		return
	}
	if ordersAgent {
		c.Agents[state] = OtherAgent
		return
	}
	c.Agents[state] = ActiveService
	c.service[state] = r.earlierAgentService(c, state)
}

func (r *records) getCompany(c *call) (any, error) {
	rec, err := r.companyInPath(c.id)
	if err != nil {
		return nil, err
	}
	return rec.Company, nil
}

// companyInPath returns the company that a path names.
func (r *records) companyInPath(key string) (*company, error) {
	if !companyID.MatchString(key) && !slugShape.MatchString(key) {
		return nil, forbidden(http.StatusNotFound, "2 identifiers", "%q is neither a company id nor a slug", key)
	}
	rec := r.findCompany(key)
	if rec == nil {
		return nil, refuse(http.StatusNotFound, "Company not found")
	}
	return rec, nil
}

// createCompany reads the fields that the spec lists.
// Assumption: legalName and userId are required. The spec does not show the required fields, and an
// order can complete only entityType and formationState.
func (r *records) createCompany(c *call) (any, error) {
	rec := Company{LegalName: c.body.text("legalName"), UserID: c.body.text("userId")}
	c.body.matches("userId", rec.UserID, userID, "a user id (user_…)")
	readCompany(c.body, &rec, "entityType", "formationDate", "formationState", "principalAddress", "mailingAddress")
	if officers, given := c.body.objects("officers"); given {
		checkOfficers("2 officer", rec.EntityType, readOfficers(officers), &c.found)
	}
	if err := r.finish(c); err != nil {
		return nil, err
	}
	if r.findUser(rec.UserID) == nil {
		return nil, refuse(http.StatusNotFound, "User not found")
	}
	return r.addCompany(rec).Company, nil
}

// patchCompany changes the given fields.
// Assumption: they are the company's fields that the service does not set itself. The spec does not
// show the update body.
func (r *records) patchCompany(c *call) (any, error) {
	rec, err := r.companyInPath(c.id)
	if err != nil {
		return nil, err
	}
	next := rec.Company
	readCompany(c.body, &next, "legalName", "tradeName", "ein", "entityType", "structureType", "taxElection",
		"fiscalEndMonth", "formationDate", "formationState", "principalAddress", "mailingAddress")
	c.body.done()
	if next.EntityType == "CORP" && c.body.has("structureType") {
		c.body.fail("structureType", "is for an LLC")
	}
	if next.EntityType == "LLC" && c.body.has("taxElection") {
		c.body.fail("taxElection", "is for a CORP")
	}
	if err := r.invalid(c.found); err != nil {
		return nil, err
	}
	next.UpdatedAt = stamp(r.cfg.Now())
	rec.Company = next
	return rec.Company, nil
}

// companyChoices are the allowed values of a company's texts.
var companyChoices = map[string][]string{
	"entityType":    {"LLC", "CORP"},
	"structureType": {"MEMBER", "MANAGER"},
	"taxElection":   {"C Corporation", "S Corporation"},
	"fiscalEndMonth": {"January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
		"November", "December"},
}

// readCompany reads the given fields among the named ones into c.
func readCompany(o *object, c *Company, names ...string) {
	texts := c.texts()
	for _, name := range names {
		switch name {
		case "principalAddress":
			readAddressInto(o, name, &c.PrincipalAddress)
			continue
		case "mailingAddress":
			readAddressInto(o, name, &c.MailingAddress)
			continue
		}
		v, given := o.maybeText(name)
		if !given {
			continue
		}
		if strings.TrimSpace(v) == "" {
			o.fail(name, "must not be empty")
			continue
		}
		*texts[name] = v
		switch name {
		case "ein":
			o.matches(name, v, einShape, "an EIN of nine digits")
		case "formationDate":
			o.isDate(name, v)
		case "formationState":
			o.isState(name, v)
		default:
			if allowed := companyChoices[name]; allowed != nil {
				o.oneOf(name, v, allowed)
			}
		}
	}
}

func readAddressInto(o *object, name string, to **Address) {
	if child := o.child(name, false); child != nil {
		*to = readAddress(child)
	}
}

// readAddress reads an address.
// Assumption: line1, city and country are required, because every sample has them.
func readAddress(o *object) *Address {
	a := &Address{Line1: o.text("line1"), City: o.text("city"), Country: o.text("country")}
	a.Line2, _ = o.maybeText("line2")
	a.State, _ = o.maybeText("state")
	a.PostalCode, _ = o.maybeText("postalCode")
	o.matches("country", a.Country, country, "a two-letter country code")
	if a.Country == "US" {
		o.isState("state", a.State)
	}
	o.done()
	return a
}

// officer is an element of officers.
// Source: spec section 2.
type officer struct {
	title   string
	primary bool
}

func readOfficers(list []*object) []officer {
	officers := make([]officer, 0, len(list))
	for _, o := range list {
		of := officer{title: o.text("title")}
		of.primary, _ = o.maybeFlag("isPrimary")
		readParty(o)
		if address := o.child("address", true); address != nil {
			readAddress(address)
		}
		o.done()
		officers = append(officers, of)
	}
	return officers
}

// readParty reads the name of an officer or agent, which depends on its type.
func readParty(o *object) {
	kind := o.text("type")
	o.oneOf("type", kind, []string{"PERSON", "COMPANY"})
	used, unused := []string{"firstName", "lastName"}, []string{"companyName"}
	if kind == "COMPANY" {
		used, unused = unused, used
	}
	for _, name := range used {
		o.text(name)
	}
	for _, name := range unused {
		if v, _ := o.maybeText(name); v != "" {
			o.fail(name, "is not used when type is %s", kind)
		}
	}
}

var titles = map[string][]string{
	"LLC":  {"Managing Member", "Member", "Manager"},
	"CORP": {"President", "Vice President", "Secretary", "Treasurer", "CEO", "CFO", "COO"},
}

// checkOfficers checks the title and primary rules of officers.
// Source: spec section 4, order rule 3.
func checkOfficers(rule, entityType string, officers []officer, found *problems) {
	if len(officers) == 0 {
		found.add(rule, "officers must have at least one officer")
		return
	}
	primary, member := 0, false
	for i, of := range officers {
		if of.primary {
			primary++
		}
		member = member || of.title == "Member" || of.title == "Managing Member"
		if allowed := titles[entityType]; allowed != nil && of.title != "" && !slices.Contains(allowed, of.title) {
			found.add(rule, "officers[%d].title of a %s must be one of %s, not %q", i, entityType,
				strings.Join(allowed, ", "), of.title)
		}
	}
	if primary != 1 {
		found.add(rule, "officers must have exactly one with isPrimary true, not %d", primary)
	}
	if entityType == "LLC" && !member {
		found.add(rule, "officers of an LLC must have a Member or Managing Member")
	}
}

func hash(s string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(s))
	z := h.Sum64()
	// The low bits of short strings hardly differ.
	return z ^ z>>29
}

var notInSlug = regexp.MustCompile(`[^a-z0-9]+`)

func slugify(name string) string {
	return cmp.Or(strings.Trim(notInSlug.ReplaceAllString(strings.ToLower(name), "-"), "-"), "company")
}

// ReadCompanies reads a list of companies. The list is a CSV whose first line names the columns id,
// slug, userId and the texts of a company, such as legalName. Only the id or the slug is required.
func ReadCompanies(r io.Reader) ([]Company, error) {
	lines, err := csv.NewReader(r).ReadAll()
	if err == nil && len(lines) == 0 {
		err = io.EOF
	}
	if err != nil {
		return nil, fmt.Errorf("read the list of companies: %w", err)
	}
	all := make([]Company, len(lines)-1)
	for n, cells := range lines[1:] {
		c := &all[n]
		texts := c.texts()
		texts["id"], texts["slug"], texts["userId"] = &c.ID, &c.Slug, &c.UserID
		for i, cell := range cells {
			name := strings.TrimSpace(strings.TrimPrefix(lines[0][i], "\ufeff"))
			text := texts[name]
			if text == nil {
				return nil, fmt.Errorf("the list of companies has a column %q, which is none of %s", name,
					strings.Join(slices.Sorted(maps.Keys(texts)), ", "))
			}
			*text = strings.TrimSpace(cell)
		}
		switch {
		case c.ID == "" && c.Slug == "":
			return nil, fmt.Errorf("line %d of the list of companies has neither an id nor a slug", n+2)
		case c.ID != "" && !companyID.MatchString(c.ID):
			return nil, fmt.Errorf("line %d of the list of companies: %q is not a company id (comp_…)", n+2, c.ID)
		}
	}
	return all, nil
}
