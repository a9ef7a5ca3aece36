package tracing

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"strconv"

	"go.opentelemetry.io/otel/trace"
)

// ids are the ids of a root span.
type ids struct {
	trace trace.TraceID
	span  trace.SpanID
}

// idsOf derives the ids of a root span from its name. The trace id is a part of a hash
// and thus as even as a random one, which samplers count on.
func idsOf(name string) ids {
	sum := sha256.Sum256([]byte("bulkfiling " + name))
	var of ids
	copy(of.trace[:], sum[:16])
	copy(of.span[:], sum[16:24])
	return of
}

func batchIDs(batch string) ids { return idsOf("batch " + batch) }

func rowIDs(batch string, number int) ids {
	return idsOf("row " + strconv.Itoa(number) + " of " + batch)
}

// context is the span's context, as other spans link to it.
func (i ids) context() trace.SpanContext {
	return trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: i.trace, SpanID: i.span, TraceFlags: trace.FlagsSampled, Remote: true,
	})
}

// rootIDsKey is the key of the ids of a root span.
type rootIDsKey struct{}

// generator gives a root span the ids that its context wants, and other spans random
// ones.
type generator struct{}

func (generator) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	if of, ok := ctx.Value(rootIDsKey{}).(ids); ok {
		return of.trace, of.span
	}
	var of ids
	_, _ = rand.Read(of.trace[:]) // crypto/rand does not fail
	_, _ = rand.Read(of.span[:])
	return of.trace, of.span
}

func (generator) NewSpanID(context.Context, trace.TraceID) trace.SpanID {
	var id trace.SpanID
	_, _ = rand.Read(id[:])
	return id
}
