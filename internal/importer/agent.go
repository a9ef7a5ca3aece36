package importer

import (
	"fmt"
	"strings"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/text"
)

// readAgent reads the supplied agent, if any. Without a type, the names decide the type.
func (c *orderReader) readAgent(d *draft) bool {
	if c.filled(ofAgent) == nil {
		return false
	}
	c.readPart(ofAgent)
	v := c.values
	for _, id := range []columnID{agentCompanyName, agentLastName} {
		if agentStatus.MatchString(v[id]) && !endsAsCompany(v[id]) {
			c.addErrorUnder(c.bindingAt(id), v[id], "agent.status", fmt.Sprintf(
				"%q says that there is no agent: enter the agent's name, or order one under Order Registered Agent",
				v[id]))
			return false
		}
	}
	if what := notAStreet(v[agentStreet]); what != "" {
		c.addErrorUnder(c.bindingAt(agentStreet), v[agentStreet], "agent.addressStreet", fmt.Sprintf(
			"%q is %s: enter the street and number at which the agent can be found", v[agentStreet], what))
	}
	d.agent = filing.Agent{
		Type:        filing.AgentType(v[agentType]),
		CompanyName: v[agentCompanyName],
		FirstName:   v[agentFirstName],
		LastName:    v[agentLastName],
		Street:      v[agentStreet],
		City:        v[agentCity],
		State:       filing.State(v[agentState]),
		ZIP:         v[agentZIP],
	}
	if suite := v[agentLine2]; suite != "" && d.agent.Street != "" {
		// The filing service has one field for both.
		d.agent.Street += ", " + suite
	}
	given := d.agent.Type
	d.agent.Type = c.partyType(given, d.agent.FirstName+d.agent.LastName, d.agent.CompanyName, agentType,
		agentCompanyName, agentFirstName, agentLastName)
	if given == "" && d.agent.Type == filing.CompanyParty {
		c.checkCompanyName(c.bindingAt(agentCompanyName), d.agent.CompanyName)
	}
	return true
}

// checkCompanyName checks the name of an agent without a type. A person must not be sent as a
// company. The header of a column for companies is proof of a company.
func (c *orderReader) checkCompanyName(b *binding, name string) {
	if !looksLikePerson(name) {
		return
	}
	const remedy = ": enter the name under Agent First Name and Agent Last Name, or enter COMPANY under Agent Type"
	if strings.Contains(strings.ToLower(b.header), "company") {
		c.addWarning(b, name, "agent.person",
			fmt.Sprintf("%q looks like a person and will be sent as a company%s", name, remedy))
		return
	}
	c.addErrorUnder(b, name, "agent.person", fmt.Sprintf("%q looks like a person%s", name, remedy))
}

// agentStatus matches the words that registers write in place of an agent's name.
var agentStatus = newPattern(`(?i)\b(resign\w+|revoked|vacan\w+|vacated|withdr\w+|removed|terminated|expired|` +
	`deceased|undeliverable|not|cannot|never|unknown|required|needed|missing|invalid|inactive|none|` +
	`(no|without)( \w+)? (agent|ra|record|file)s?|secretary of state|department of state)\b`)

var (
	postOfficeBox = newPattern(`(?i)^\W*(p\W*o\W*(b(ox|x)?\b|drawer\b|#?\s*\d)|pobox|post\W+office\W+(box|` +
		`drawer)|(lock|caller) (box|bag)|(box|drawer|pmb)\W*\d|general delivery\b)`)
	addressee = newPattern(`(?i)^\W*(attn|attention|c\s*[/\\]\s*o|(in )?care of)\b|` +
		`\b(dept|department|mail ?room)\b`)
	onlySuite = newPattern(`(?i)^\W*((suite|ste|unit|apt|apartment|room|rm|floor|fl)\b\W*\w+|` +
		`\d+(st|nd|rd|th) (floor|fl))\W*$`)
)

// notAStreet returns the reason why an address has no street, at which an agent can be served. It
// is empty if the address may be a street.
func notAStreet(s string) string {
	switch {
	case postOfficeBox.MatchString(s):
		return "a post office box, which no state accepts as an agent's address"
	case addressee.MatchString(s) && !strings.ContainsAny(s, "0123456789"):
		return "an addressee, not a street address"
	case onlySuite.MatchString(s):
		return "a part of a building, not a street address"
	}
	return ""
}

// companyWords are words that do not occur in people's names.
var companyWords = text.WordTable(map[bool]string{true: `inc incorporated llc lc corp corporation co company companies
	ltd limited lp llp lllp pllc pc pa plc trust group holding holdings partner partners partnership agent agents
	registered register service services associates law firm legal bank filing filings solutions system systems global
	international national american america usa us united corporate compliance consulting advisors advisory accounting
	tax management enterprise enterprises industries agency office offices center centre foundation association society
	church university college county city state department secretary business capital ventures technologies network
	incorporating incorporators incorp entity entities cooperative and of the for at`})

// nameSuffixes follow a person's name.
var nameSuffixes = text.WordTable(map[bool]string{true: `jr sr ii iii iv esq esquire cpa md phd attorney`})

// looksLikePerson reports whether a name has two to four words of letters and no word of a
// company's name, such as "GRACE L. OKAFOR" and "Okafor, Grace".
func looksLikePerson(name string) bool {
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return strings.ContainsRune(" .,", r) })
	for len(words) > 0 && nameSuffixes[words[len(words)-1]] {
		words = words[:len(words)-1]
	}
	for _, word := range words {
		if companyWords[word] || strings.ContainsAny(word, "0123456789&/+@#") {
			return false
		}
	}
	return len(words) >= 2 && len(words) <= 4
}
