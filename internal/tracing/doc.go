// Package tracing writes OpenTelemetry traces of what is ordered: batch, row, attempt,
// request.
//
// # What belongs to what
//
// A row is a trace of its own. Its root is the span "row"; below it are its look-ups
// and its attempts, and below an attempt is its request. A batch is a trace with the
// span "batch", and every row links to it. One trace for a whole batch would be more
// obvious and would not work: a batch has up to 100,000 rows, each with three spans
// or more, and lasts for days if funds run out. Jaeger and Tempo refuse or cannot show
// such a trace, and a sampler would keep the whole batch or nothing of it.
//
// The ids are derived: that of a batch's trace from the batch, that of a row's trace
// from batch and row number, and those of the spans "batch" and "row" from their trace.
// The process that submits a batch, the one that sends a row, and the one that sends it
// again a day later so agree on the ids, and on what the sampler decides about them,
// without a column of the ledger and without asking each other. Anyone can compute the
// trace of a row: the log has it as trace_id (Logger).
//
// A span is written when it ends. "row" ends with a result other than ready: a row that
// waits for funds has its attempts in the trace, and its root follows. "batch" ends when
// no row of it is ready or placing. If several processes see that, or a person sends a
// row again after its end, the same span is written twice with one id, and the later one
// says more.
//
// # What it costs
//
// Without one of the variables that turn traces on, there is no Tracer: a nil *Tracer
// and a context without one are valid, do nothing, and allocate nothing. The SDK is not
// started. With traces, spans go to a queue of a fixed size (OTEL_BSP_MAX_QUEUE_SIZE),
// and what does not fit is dropped and counted: a collector that is away or hangs
// delays no order. Shutdown has a limit of its own.
//
// The SDK is the official one, with its samplers, limits and queue. The exporter is
// ours: the official one brings gRPC into the program, also over HTTP, which is 11 MB
// and a millisecond at every start, used or not.
//
// # What is not in it
//
// Attributes are ids, numbers, states and names of products; never the name of a
// company or a person, an address, an EIN, an SSN, a key, or a message of the filing
// service. A request has the template of its route: the path may hold an email.
// No traceparent is sent to the filing service, which did not ask for one.
package tracing
