package filing

// Assumption is something that the service's document does not show and that
// this program has to settle all the same.
type Assumption struct {
	NotShown string // what the document leaves open
	Taken    string // what is taken in its place
	Override string // how to change it; empty where nothing can be changed
	Where    string // the one place in the code, which says so
	Sandbox  string // what makes the sandbox contradict it; empty where nothing does
}

// Assumptions lists every one of them. docs/assumptions.md is generated from it,
// and a test holds the two and the code together.
var Assumptions = []Assumption{
	{
		NotShown: "success status codes",
		Taken:    "any 2xx is success",
		Where:    "internal/filingapi/answer.go",
	},
	{
		NotShown: "fields of answers beyond those listed",
		Taken:    "ignored; `--json` shows them",
		Where:    "internal/filingapi/client.go",
	},
	{
		NotShown: "the full set of orderType values",
		Taken: "matched without regard to style (`annual_report`, `annualReport`); an unmatched item is recorded " +
			"with its order id",
		Where:   "internal/filing/order.go",
		Sandbox: "--order-types camel",
	},
	{
		NotShown: "which items of an order were made",
		Taken: "those that the answer lists with an order id; the rest is uncertain. An answer for another " +
			"company than the one asked for is in doubt as a whole",
		Override: "`importer resolve`",
		Where:    "internal/filingapi/orders.go",
		Sandbox:  "--fault lists-first, makes-first, no-last-order-id, repeated-order-id, other-company",
	},
	{
		NotShown: "the full set of filingStatus values",
		Taken: "an open set, shown in the service's own words; `canceled` (or `cancelled`) means that the filing " +
			"does not exist",
		Override: "`--again` orders a canceled filing again",
		Where:    "internal/filing/event.go",
		Sandbox:  "importer sandbox advance --status canceled",
	},
	{
		NotShown: "price types other than `ein`",
		Taken: "matched without regard to style to annual report, registered agent, foreign qualification, tier " +
			"1 and tier 2",
		Override: "`FILING_PRICE_TYPES=annual-report=their_name,…`",
		Where:    "internal/pricing/prices.go",
		Sandbox:  "--order-types camel",
	},
	{
		NotShown: "the unit of `defaultAmount` and `wholesaleAmount`",
		Taken:    "dollars, as `retailAmount` is",
		Where:    "internal/pricing/prices.go",
	},
	{
		NotShown: "standard state filing fees",
		Taken: "`FILING_FEES`, whose figures count as known; then the built-in table of every state, whose " +
			"figures are estimates with a source; what is in neither is unknown, and named. Those of expedited " +
			"formations are shown",
		Override: "`FILING_FEES=fees.csv`",
		Where:    "internal/pricing/fees.go",
		Sandbox:  "--behavior surcharge, price-rise",
	},
	{
		NotShown: "the expedited service charge",
		Taken:    "unknown unless `FILING_FEES` has a line for `expedited-service`",
		Override: "`FILING_FEES=fees.csv`",
		Where:    "internal/pricing/fees.go",
	},
	{
		NotShown: "whether the balance can be read",
		Taken:    "it cannot: the recorded balance is what was declared",
		Override: "`importer deposit`, `importer deposit --adjust`",
		Where:    "internal/ledger/balance.go",
	},
	{
		NotShown: "when an order is debited, and whether a canceled one is paid back (shown for the agent alone)",
		Taken:    "everything when it is ordered; nothing is paid back",
		Override: "`importer deposit --adjust`",
		Where:    "internal/ledger/balance.go",
		Sandbox:  "--behavior charge-when-filed, refund-canceled",
	},
	{
		NotShown: "error bodies beyond a message",
		Taken: "the text of `message`, `error`, `error.message` or `errors[].message`; otherwise the status " +
			"line. Whatever bytes it holds are cleaned",
		Where:   "internal/filingapi/answer.go",
		Sandbox: "--fault odd-text",
	},
	{
		NotShown: "status codes of authentication failures",
		Taken:    "401 and 403: nothing was done, and everything stops",
		Where:    "internal/filingapi/answer.go",
		Sandbox:  "--fault 401:after",
	},
	{
		NotShown: "status codes of validation failures",
		Taken:    "any 4xx that has no meaning of its own is a refusal, with the service's message",
		Where:    "internal/filingapi/answer.go",
		Sandbox:  "--fault 422:after",
	},
	{
		NotShown: "the status code of what is not found",
		Taken:    "404: a user is created, a row rejected, a document given up",
		Where:    "internal/filingapi/error.go",
		Sandbox:  "--behavior not-found-400",
	},
	{
		NotShown: "429 and 503",
		Taken: "with 429, and 503 with `Retry-After`, nothing was done: the order goes again when the time has " +
			"passed. 503 without it may come from a gateway after the order was made: in doubt, as other 5xx",
		Override: "`FILING_RATE`",
		Where:    "internal/filingapi/answer.go",
		Sandbox:  "--fault 429:after, --fault 503:after --fault-retry-after 0",
	},
	{
		NotShown: "whether a refusal (4xx, 402, 409) of an order of several items leaves some of them made",
		Taken:    "none: after a 409 the rest is sent without the item that is there",
		Where:    "internal/jobs/placer.go",
		Sandbox:  "--behavior partial-conflicts",
	},
	{
		NotShown: "whose the EIN is after a lost answer and 409 `EIN already exists`",
		Taken: "the company's from before: nothing was bought. `EIN already requested` and `Foreign " +
			"qualification already purchased` are ours",
		Override: "`importer resolve`",
		Where:    "internal/filing/row_answer.go",
		Sandbox:  "--behavior eins-exist",
	},
	{
		NotShown: "whether agent service ordered a moment ago is active, so that a repeated order is not charged",
		Taken:    "it is not: an agent order whose answer was lost is uncertain",
		Override: "`FILING_REPEAT_AGENT=1`",
		Where:    "internal/filing/product.go",
		Sandbox:  "--behavior slow-agents",
	},
	{
		NotShown: "whether a subscription covers every later year",
		Taken:    "while it is active, its filing not canceled, and it was heard of in the last 400 days",
		Override: "`importer subscriptions ORDER --status S`, `--again`",
		Where:    "internal/ledger/subscription.go",
		Sandbox:  "importer sandbox subscription",
	},
	{
		NotShown: "how renewals are told and charged",
		Taken: "by events of a new order that name company, state and year; charged by the service, outside the " +
			"recorded balance",
		Override: "`importer subscriptions ORDER --renews BATCH:ROW`, `importer deposit --adjust`",
		Where:    "internal/ledger/subscription.go",
		Sandbox:  "importer sandbox renew, --behavior event-details",
	},
	{
		NotShown: "redirects",
		Taken:    "never followed, for an order must not be sent twice; the outcome is in doubt",
		Where:    "internal/filingapi/client.go",
		Sandbox:  "--fault 307:after",
	},
	{
		NotShown: "the alphabet of ids, and whether e-mails differ by case",
		Taken: "letters, digits, `_` and `-` for users and companies, anything for orders; e-mails compare " +
			"without case",
		Where:   "internal/filing/rule.go",
		Sandbox: "--behavior dotted-ids, exact-emails",
	},
	{
		NotShown: "keys of another prefix than `sk_test_` and `sk_live_`",
		Taken:    "refused",
		Where:    "internal/filingapi/client.go",
	},
	{
		NotShown: "which states are accepted",
		Taken:    "the fifty states and DC",
		Where:    "internal/filing/us_state.go",
	},
	{
		NotShown: "whether address state and postal code are required",
		Taken:    "sent where the sheet has them",
		Where:    "internal/filing/rule_company.go",
	},
	{
		NotShown: "whether a formation needs a mailing address",
		Taken: "it does, for only fiscalEndMonth is marked optional: the principal address is sent where the " +
			"sheet has none",
		Where: "internal/importer/order.go",
	},
	{
		NotShown: "which fields a new company needs",
		Taken: "legal name, entity type, formation state and date, and a principal address; what its creation " +
			"has no field for follows by PATCH",
		Where: "internal/filing/rule_company.go",
	},
	{
		NotShown: "what a blank employee count is",
		Taken: "0; where employees are expected the two must come to at least 1. A blank yes/no question " +
			"is an error",
		Where: "internal/importer/order.go",
	},
	{
		NotShown: "whether a formation may be combined with an annual report",
		Taken:    "it may: the service answers",
		Where:    "internal/filing/rule.go",
		Sandbox:  "--behavior no-report-with-formation",
	},
	{
		NotShown: "the full set of business categories",
		Taken:    "any, with a warning where it is not one of those shown",
		Where:    "internal/filing/rule_ein.go",
	},
	{
		NotShown: "other values of billedUsers than `admin`",
		Taken:    "any text is sent: the service answers",
		Where:    "cmd/importer/organization.go",
	},
	{
		NotShown: "which countries are accepted",
		Taken:    "any two-letter code; US where the state is one of the US and no country is given",
		Where:    "internal/filing/rule_company.go",
	},
	{
		NotShown: "whether a company has an agent on record",
		Taken:    "cannot be read: a row that neither orders nor supplies one is sent, and the service answers",
		Where:    "internal/filing/rule_report.go",
	},
	{
		NotShown: "a filing year's range",
		Taken: "four digits, next year at the latest and at most ten years ago; a warning where it is more than " +
			"five years ago",
		Where: "internal/filing/rule_report.go",
	},
	{
		NotShown: "the path of set price",
		Taken:    "`PUT /organization/prices/{type}`",
		Override: "`FILING_SET_PRICE_PATH=/their/path/{type}`",
		Where:    "internal/filingapi/prices.go",
	},
	{
		NotShown: "whether set price needs both of its fields",
		Taken:    "both are sent, the one that is not changed as it stands in the list",
		Where:    "cmd/importer/prices.go",
	},
	{
		NotShown: "the answer to set price",
		Taken:    "any 2xx is success; the list is read again to show it",
		Where:    "internal/filingapi/prices.go",
	},
	{
		NotShown: "the fields of a company's update",
		Taken:    "any of those listed for a company, an address always whole; none can be emptied",
		Where:    "internal/filingapi/companies.go",
	},
	{
		NotShown: "the field of a magic link, and of a document's download link",
		Taken:    "`url`, `link` and the like; otherwise the first web address in the answer",
		Where:    "internal/filingapi/magiclink.go",
	},
	{
		NotShown: "the field of an endpoint's signing secret",
		Taken:    "`signingSecret`, `secret` and the like",
		Override: "`importer webhooks add --url U --secret-file F`",
		Where:    "internal/filingapi/webhooks.go",
	},
	{
		NotShown: "which endpoints the service has",
		Taken:    "those that were registered or added here, or whose events came; without one, ordering is warned of",
		Override: "`importer webhooks add`, `FILING_WEBHOOK_SECRET`",
		Where:    "internal/jobs/endpoint.go",
	},
	{
		NotShown: "the retry policy of events",
		Taken:    "whatever was not answered 2xx is sent again; an event has at most 1 MiB",
		Where:    "internal/webhook/receiver.go",
		Sandbox:  "--webhook-fault duplicate, reorder, delay",
	},
	{
		NotShown: "where an event tells an exception's code, a document's id, the company or the subscription",
		Taken: "looked for under their likely names (`exceptionCode`, `documentId`, `companyId`, " +
			"`subscriptionStatus` and their like)",
		Where:   "internal/filing/event.go",
		Sandbox: "--behavior event-details, --webhook-fault odd-text",
	},
	{
		NotShown: "what 463 to 465 mean each, and how an exception shows",
		Taken:    "one meaning; a code, or a status with `exception` in it",
		Where:    "internal/filing/exception.go",
		Sandbox:  "importer sandbox exception",
	},
	{
		NotShown: "which time tells two events of a filing apart, and what follows filed",
		Taken: "`createdAt`, and of one moment the status further on; filed is the end. An event that says it " +
			"was made more than a minute from now was made when it came",
		Where:   "internal/ledger/event.go",
		Sandbox: "importer sandbox redeliver --reverse",
	},
	{
		NotShown: "webhook signature",
		Taken: "hex HMAC-SHA256 of the raw body under the signing secret, failing closed. No time is in it: a " +
			"delivery is good at any age, counts once by its event's id, and moves nothing that a newer one has moved",
		Where:   "internal/webhook/verifier.go",
		Sandbox: "--webhook-fault bad-signature",
	},
}
