package filing

// Assumption is a fact that this program needs and that the filing service's document does not show.
type Assumption struct {
	// NotShown is the open question.
	NotShown string
	// Taken is the assumption.
	Taken string
	// Override is the setting or command that changes it, if any.
	Override string
	// Where is the file that implements it.
	Where string
}

// Assumptions lists all assumptions. docs/assumptions.md is generated from it. A test keeps the
// list, the document and the code in agreement.
var Assumptions = []Assumption{
	{
		NotShown: "success status codes",
		Taken:    "any 2xx is success",
		Where:    "internal/filingapi/answer.go",
	},
	{
		NotShown: "fields of answers beyond those listed",
		Taken:    "ignored; `importer api` prints them",
		Where:    "internal/filingapi/client.go",
	},
	{
		NotShown: "the full set of orderType values",
		Taken: "matched without regard to style (`annual_report`, `annualReport`); an unmatched item is recorded " +
			"with its order id",
		Where: "internal/filing/order.go",
	},
	{
		NotShown: "which items of an order were made",
		Taken: "those that the answer lists with an order id; the rest are uncertain. An answer for another " +
			"company than the one in the order makes every item uncertain",
		Override: "`importer resolve`",
		Where:    "internal/filingapi/orders.go",
	},
	{
		NotShown: "the full set of filingStatus values",
		Taken: "an open set, shown as the filing service writes it; `canceled` (or `cancelled`) means that the " +
			"filing does not exist",
		Override: "`--again` orders a canceled filing again",
		Where:    "internal/filing/event.go",
	},
	{
		NotShown: "price types other than `ein`",
		Taken: "matched without regard to style to annual report, registered agent, foreign qualification, tier " +
			"1 and tier 2",
		Override: "`FILING_PRICE_TYPES=annual-report=their_name,…`",
		Where:    "internal/pricing/prices.go",
	},
	{
		NotShown: "the unit of `defaultAmount` and `wholesaleAmount`",
		Taken:    "dollars, as `retailAmount` is",
		Where:    "internal/pricing/prices.go",
	},
	{
		NotShown: "standard state filing fees",
		Taken: "`FILING_FEES`, whose figures are known; then the built-in table of every state, whose figures are " +
			"estimates with a source; a fee that is in neither is unknown, and is named. The document shows the " +
			"fees of expedited formations",
		Override: "`FILING_FEES=fees.csv`",
		Where:    "internal/pricing/fees.go",
	},
	{
		NotShown: "the expedited service charge",
		Taken:    "unknown unless `FILING_FEES` has a line for `expedited-service`",
		Override: "`FILING_FEES=fees.csv`",
		Where:    "internal/pricing/fees.go",
	},
	{
		NotShown: "whether the balance can be read",
		Taken:    "it cannot: the recorded balance is the sum of the recorded deposits less the orders",
		Override: "`importer deposit`, `importer deposit --adjust`",
		Where:    "internal/ledger/balance.go",
	},
	{
		NotShown: "when an order is debited, and whether a canceled one is refunded (shown for the agent only)",
		Taken:    "each item when it is ordered; nothing is refunded",
		Override: "`importer deposit --adjust`",
		Where:    "internal/ledger/balance.go",
	},
	{
		NotShown: "error bodies beyond a message",
		Taken: "the text of `message`, `error`, `error.message` or `errors[].message`; otherwise the status " +
			"line. Control characters and invalid UTF-8 are removed",
		Where: "internal/filingapi/answer.go",
	},
	{
		NotShown: "status codes of authentication failures",
		Taken:    "401 and 403: no order was placed, and all sending stops",
		Where:    "internal/filingapi/answer.go",
	},
	{
		NotShown: "status codes of validation failures",
		Taken:    "any other 4xx rejects the order, with the filing service's message",
		Where:    "internal/filingapi/answer.go",
	},
	{
		NotShown: "the status code of an unknown id",
		Taken:    "404: a missing user is created, a row is rejected, a document is no longer requested",
		Where:    "internal/filingapi/error.go",
	},
	{
		NotShown: "429 and 503",
		Taken: "with 429, and 503 with `Retry-After`, no order was placed: it is sent again when the time has " +
			"passed, and so is a look-up before the approval. 503 without it may come from a gateway after the " +
			"order was placed: uncertain, like other 5xx",
		Override: "`FILING_RATE`",
		Where:    "internal/filingapi/answer.go",
	},
	{
		NotShown: "whether a refused order of several items (4xx, 402, 409) still places some of them",
		Taken: "it places none. It matters little, for the items of an existing company are ordered one by one, " +
			"and only an agent goes with the report or qualification that needs it",
		Where: "internal/filing/order.go",
	},
	{
		NotShown: "who ordered the EIN after a lost answer and 409 `EIN already exists`",
		Taken: "the company had it before: nothing was bought. `EIN already requested` and `Foreign " +
			"qualification already purchased` mean that our order was placed",
		Override: "`importer resolve`",
		Where:    "internal/filing/row_answer.go",
	},
	{
		NotShown: "whether the filing service still refuses a second EIN or qualification after the first was canceled",
		Taken: "it does. If it does not, and the answer to the first was lost, the second is bought, and the first " +
			"is an event for an order without a row",
		Override: "`importer deposit --adjust`",
		Where:    "internal/filing/product.go",
	},
	{
		NotShown: "whether agent service ordered a moment ago is active, so that a repeated order is not charged",
		Taken:    "it is not: an agent order whose answer was lost is uncertain",
		Override: "`FILING_REPEAT_AGENT=1`",
		Where:    "internal/filing/product.go",
	},
	{
		NotShown: "whether a subscription covers every later year",
		Taken:    "it does while it is active, its filing is not canceled, and an event named it in the last 400 days",
		Override: "the status on the page of the company, `--again`",
		Where:    "internal/ledger/subscription.go",
	},
	{
		NotShown: "how renewals are announced and charged",
		Taken: "by events of a new order that name company, state and year; charged by the filing service, outside " +
			"the recorded balance",
		Override: "the renewal on the page of the company, `importer deposit --adjust`",
		Where:    "internal/ledger/subscription.go",
	},
	{
		NotShown: "when a subscription renews and what it costs then",
		Taken:    "a year after its newest order, for what that order cost; only the forecast uses it, as an estimate",
		Override: "a canceled status on the page of the company",
		Where:    "internal/schedule/forecast.go",
	},
	{
		NotShown: "redirects",
		Taken:    "never followed, because an order must not be sent twice; the order is uncertain",
		Where:    "internal/filingapi/client.go",
	},
	{
		NotShown: "the alphabet of ids, and whether email addresses differ by case",
		Taken: "letters, digits, `_` and `-` for users and companies, anything for orders; email addresses " +
			"compare without case",
		Where: "internal/filing/rule.go",
	},
	{
		NotShown: "keys with another prefix than `sk_test_` and `sk_live_`",
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
		Taken:    "not required; sent if the sheet has them",
		Where:    "internal/filing/rule_company.go",
	},
	{
		NotShown: "whether a formation needs a mailing address",
		Taken: "it does, because only fiscalEndMonth is marked optional: the principal address is sent if the " +
			"sheet has none",
		Where: "internal/importer/order.go",
	},
	{
		NotShown: "which fields a new company needs",
		Taken: "legal name, entity type, formation state and date, and a principal address; fields that the " +
			"creation does not take follow by PATCH",
		Where: "internal/filing/rule_company.go",
	},
	{
		NotShown: "what a blank employee count is",
		Taken: "0; if employees are expected, the two counts must be at least 1 together. A blank yes/no " +
			"question is an error",
		Where: "internal/importer/order.go",
	},
	{
		NotShown: "whether a formation may be combined with an annual report",
		Taken:    "it may: the filing service decides",
		Where:    "internal/filing/rule.go",
	},
	{
		NotShown: "the full set of business categories",
		Taken:    "any, with a warning if it is not one of those shown",
		Where:    "internal/filing/rule_ein.go",
	},
	{
		NotShown: "which countries are accepted",
		Taken:    "any two-letter code; US if the state is a US state and no country is given",
		Where:    "internal/filing/rule_company.go",
	},
	{
		NotShown: "whether a company has an agent on record",
		Taken: "it cannot be read: a row that neither orders nor supplies one is sent, and the filing service " +
			"decides. An agent that is ordered for an existing company may not be charged: its cost is an estimate",
		Where: "internal/filing/rule_report.go",
	},
	{
		NotShown: "a filing year's range",
		Taken: "four digits, next year at the latest and at most ten years ago; a warning if it is more than " +
			"five years ago",
		Where: "internal/filing/rule_report.go",
	},
	{
		NotShown: "the path of set price",
		Taken:    "`importer api PUT /organization/prices/TYPE`; the sandbox has it there",
		Override: "`importer api PUT` with any other path",
		Where:    "cmd/importer/api.go",
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
		NotShown: "which webhook endpoints are registered",
		Taken: "those that were registered or added here, or that delivered events; without one, orders show a " +
			"warning",
		Override: "`importer webhooks add`, `FILING_WEBHOOK_SECRET`",
		Where:    "internal/intake/endpoint.go",
	},
	{
		NotShown: "the retry policy of events",
		Taken:    "an event that is not answered 2xx is sent again; an event has at most 1 MiB",
		Where:    "internal/webhook/receiver.go",
	},
	{
		NotShown: "where an event tells an exception's code, a document's id, the company or the subscription",
		Taken: "searched under their likely names (`exceptionCode`, `documentId`, `companyId`, " +
			"`subscriptionStatus` and similar)",
		Where: "internal/filing/event.go",
	},
	{
		NotShown: "what 463 to 465 mean each, and how an exception shows",
		Taken:    "one meaning; a code, or a status with `exception` in it",
		Where:    "internal/filing/exception.go",
	},
	{
		NotShown: "which time orders two events of a filing, and which status follows filed",
		Taken: "`createdAt`, then the later status of the sequence; filed is the last. An event dated more than a " +
			"minute in the future counts from its arrival",
		Where: "internal/ledger/event.go",
	},
	{
		NotShown: "webhook signature",
		Taken: "hex HMAC-SHA256 of the raw body under the signing secret; without a secret every delivery is " +
			"refused. It contains no time: a delivery is valid at any age, counts once by its event's id, and never " +
			"overwrites a newer one",
		Where: "internal/webhook/verifier.go",
	},
}
