// Package sandbox is an in-memory version of the whole filing service. It is a second reading of
// the spec, written independently of the client so that the two can disagree. It is stricter than
// the real service is likely to be: it refuses every request that the spec does not allow, and
// records it as a [Violation] that a test can look for.
//
//	s := sandbox.New(sandbox.Config{OpeningBalance: 1_000_00})
//	user := s.AddUser(sandbox.User{})
//	s.AddCompany(sandbox.Company{ID: "comp_1", EntityType: "LLC", FormationState: "DE", UserID: user.ID,
//		Agents: map[string]sandbox.Agent{"DE": sandbox.ActiveService}})
//	server := httptest.NewServer(s.Handler()) // the API is under server.URL + "/v1"
//
// # Books and controls
//
// The books are at /books.json. The controls are [Actions]: POST /admin/NAME with a JSON object,
// amounts in dollars.
//
// Only kind, mode, amount and the ids are required. Document links lead to /files/, magic links to
// /dashboard/.
//
// # Where the document is silent
//
// The following is one reading of the document. Faults change answers.
//
//   - A created thing answers 201, everything else 200 ([Config].Success). The errors are
//     400 for a broken rule ([Config].Invalid), 404 for an unknown id, 401 for a bad key,
//     415 for another content type, and 413 for a body over 1 MiB.
//   - An error body is {"message": "…"} ([Config].NestedErrors), with minimumAmount
//     if the price floor is broken.
//   - Query parameters, bodies of GETs, null, unknown keys, keys in another
//     case, keys given twice and blank required strings are refused. null is
//     accepted only for firstWagesDate.
//   - Addresses need line1, city and country. Those in the US need a known state
//     if state is given. A formation's company needs everything but
//     fiscalEndMonth. Creating a company needs legalName and userId. Updating
//     one takes the fields of the Company table that the service does not set.
//   - companyId in a body is an id, never a slug. The user of an order need not
//     own the company.
//   - "An agent on record" of an annual report is active service, as its rule
//     lists it. An agent supplied with an earlier order counts for a foreign
//     qualification ("on file"), not for a report.
//   - A formation takes one agent, ordered or supplied. It may be combined with
//     an annual report.
//   - Agent service is active from the moment it is ordered.
//   - Everything is charged when it is ordered, and a canceled filing is not
//     refunded.
//   - Ordering an agent that is already active answers the order id of the
//     active service, at no cost.
//   - A conflict over one product refuses the whole order. An order is placed
//     completely or not at all.
//   - Products of the price list are formation_tier_1 to _3, ein,
//     registered_agent, annual_report and foreign_qualification, in the style
//     of [Config].OrderTypes. A price is set by PUT
//     /organization/prices/{type}. The wholesale amount shown is the floor.
//   - Filings go through submitted, pending (annual reports) and filed. The
//     status canceled is ours. They keep their status until they are advanced, or
//     move on a clock ([Config].Advance). An exception shows as the status
//     "exception" with an exceptionCode in the event. Advancing the filing
//     cures it.
//   - An order sends no event.
//   - An event is delivered to every endpoint that subscribes to it, under the
//     endpoint's own secret, eight at once and in no guaranteed order. A
//     delivery that is not answered 2xx is retried with growing waits
//     ([Config].Retries), with the same bytes under the same id. Redirects are
//     not followed. The signature is the hex HMAC-SHA256 of the body. data has a
//     documentId if a document exists.
//   - A document is a PDF of one page. An expired link to
//     one answers 403, to a dashboard 410.
package sandbox
