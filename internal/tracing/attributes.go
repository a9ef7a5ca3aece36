package tracing

import "go.opentelemetry.io/otel/attribute"

// Attribute is an attribute of spans, as the documentation shows it.
type Attribute struct{ Name, Spans, Meaning string }

// Attributes lists all attributes of spans. No span has another.
var Attributes = []Attribute{
	{string(keyBatch), "batch, row, attempt", "the ID of the batch"},
	{string(keyRows), "batch", "the number of rows"},
	{string(keyResults) + "…", "batch", "the number of rows with each result, such as …placed"},
	{string(keyRow), "row, attempt", "the row's number in the spreadsheet"},
	{string(keyRowID), "row, attempt", "the row's ID in the ledger"},
	{string(keyProduct), "batch, row", "what is ordered, such as annual-report"},
	{string(keyResult), "row", "the row's result, such as placed or uncertain"},
	{string(keyAttempts), "row", "the attempts of the row, also those of other processes"},
	{string(keyAttempt), "attempt", "the number of the attempt"},
	{string(keyAnswer), "attempt", "the answer, such as accepted, no-answer or no-funds"},
	{string(keyMethod), "request", "the method"},
	{string(keyTemplate), "request", "the route, without ids: /companies/{id}"},
	{string(keyStatus), "request", "the status, if an answer came"},
	{string(keyResend), "request", "how many attempts of the row came before; not set for the first"},
	{string(keyWritten), "request", "without an answer: whether a byte of the request may have been sent"},
	{string(keyErrorType), "attempt, request", "the class of the error: the status, timeout, network, or the answer"},
}

// The keys of attributes. Those of requests are OpenTelemetry's own.
const (
	keyBatch     attribute.Key = "bulkfiling.batch.id"
	keyRows      attribute.Key = "bulkfiling.batch.rows"
	keyResults   attribute.Key = "bulkfiling.batch.result."
	keyRow       attribute.Key = "bulkfiling.row.number"
	keyRowID     attribute.Key = "bulkfiling.row.id"
	keyProduct   attribute.Key = "bulkfiling.product"
	keyResult    attribute.Key = "bulkfiling.row.result"
	keyAttempts  attribute.Key = "bulkfiling.row.attempts"
	keyAttempt   attribute.Key = "bulkfiling.attempt"
	keyAnswer    attribute.Key = "bulkfiling.attempt.answer"
	keyMethod    attribute.Key = "http.request.method"
	keyTemplate  attribute.Key = "url.template"
	keyStatus    attribute.Key = "http.response.status_code"
	keyResend    attribute.Key = "http.request.resend_count"
	keyWritten   attribute.Key = "bulkfiling.request.written"
	keyErrorType attribute.Key = "error.type"
)
