package filing

// Assumption is something that the service's document does not show and that
// this program has to settle all the same.
type Assumption struct {
	NotShown string // what the document leaves open
	Taken    string // what is taken in its place
	Override string // how to change it; empty where nothing can be changed
}

// Assumptions lists every one of them. The README's table is generated from
// it, and a test holds the two together.
var Assumptions = []Assumption{
	{"success status codes", "any 2xx is success", ""},
	{"fields of answers beyond those listed", "ignored; `--json` shows them", ""},
	{"the full set of orderType values", "matched without regard to style (`annual_report`, `annualReport`); an unmatched item is recorded with its order id", ""},
	{"the full set of filingStatus values", "an open set, shown in the service's own words", ""},
	{"price types other than `ein`", "matched without regard to style to annual report, registered agent, foreign qualification, tier 1 and tier 2", "`FILING_PRICE_TYPES=annual-report=their_name,…`"},
	{"the unit of price amounts", "dollars", ""},
	{"state filing fees", "`FILING_FEES`, whose figures count as known; then the built-in table of every state, whose figures are estimates with a source; what is in neither is unknown, and named", "`FILING_FEES=fees.csv`"},
	{"the expedited service charge", "unknown unless `FILING_FEES` has a line for `expedited-service`", "`FILING_FEES=fees.csv`"},
	{"error bodies beyond a message", "the text of `message`, `error`, `error.message` or `errors[].message`; otherwise the status line", ""},
	{"status codes of authentication failures", "401 and 403: everything stops", ""},
	{"status codes of validation failures", "any 4xx that has no meaning of its own is a refusal, with the service's message", ""},
	{"rate limits", "429 and 503 are obeyed with `Retry-After`; without it, a second and then twice as long", "`FILING_RATE`"},
	{"redirects", "never followed, for an order must not be sent twice; the outcome is in doubt", ""},
	{"which states are accepted", "the fifty states and DC", ""},
	{"whether address state and postal code are required", "sent where the sheet has them", ""},
	{"whether a formation needs a mailing address", "the principal address is sent where the sheet has none", ""},
	{"which fields a new company needs", "legal name, entity type, formation state and date, and a principal address", ""},
	{"the full set of business categories", "any, with a warning where it is not one of those shown", ""},
	{"which countries are accepted", "any two-letter code; US where the state is one of the US and no country is given", ""},
	{"whether a company has an agent on record", "cannot be read: a row that neither orders nor supplies one is sent, and the service answers", ""},
	{"a filing year's range", "four digits, next year at the latest and at most ten years ago; a warning where it is more than five years ago", ""},
	{"the path of set price", "`PUT /organization/prices/{type}`", "`FILING_SET_PRICE_PATH=/their/path/{type}`"},
	{"whether set price needs both of its fields", "both are sent, the one that is not changed as it stands in the list", ""},
	{"the answer to set price", "any 2xx is success; the list is read again to show it", ""},
	{"the fields of a company's update", "any of those listed for a company, an address always whole; none can be emptied", ""},
	{"the field of a magic link, and of a document's download link", "`url`, `link` and the like; otherwise the first web address in the answer", ""},
	{"the field of an endpoint's signing secret", "`signingSecret`, `secret` and the like", "`importer webhooks add --url U --secret-file F`"},
	{"the retry policy of events", "whatever was not answered 2xx is sent again; an event has at most 1 MiB", ""},
	{"where an event tells an exception's code, a document's id or the company", "looked for under their likely names (`exceptionCode`, `documentId`, `companyId` and their like)", ""},
	{"which time tells two events of a filing apart", "`createdAt`, and of one moment the status further on; filed is the end", ""},
	{"webhook signature", "hex HMAC-SHA256 of the raw body under the signing secret, failing closed", ""},
}
