package tracing

import (
	"math"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/protobuf/encoding/protowire"
)

// encode returns spans as an ExportTraceServiceRequest of OTLP 1, in protobuf. All
// spans of a process have one resource. The numbers are those of the fields in
// opentelemetry/proto/trace/v1/trace.proto.
func encode(spans []sdk.ReadOnlySpan) []byte {
	if len(spans) == 0 {
		return nil
	}
	var scopes []instrumentation.Scope
	of := make(map[instrumentation.Scope]message)
	for _, s := range spans {
		scope := s.InstrumentationScope()
		if _, known := of[scope]; !known {
			scopes = append(scopes, scope)
		}
		of[scope] = of[scope].message(2, encodeSpan(s))
	}
	var resource message
	for i := spans[0].Resource().Iter(); i.Next(); {
		resource = resource.attribute(1, i.Attribute())
	}
	var all message
	all = all.message(1, resource)
	for _, scope := range scopes {
		var name, one message
		name = name.text(1, scope.Name).text(2, scope.Version)
		one = append(one.message(1, name), of[scope]...)
		all = all.message(2, one.text(3, scope.SchemaURL))
	}
	all = all.text(3, spans[0].Resource().SchemaURL())
	return message(nil).message(1, all)
}

func encodeSpan(s sdk.ReadOnlySpan) message {
	id, parent := s.SpanContext(), s.Parent()
	traceID, spanID := id.TraceID(), id.SpanID()
	var m message
	m = m.bytes(1, traceID[:]).bytes(2, spanID[:]).text(3, id.TraceState().String())
	if parent.HasSpanID() {
		above := parent.SpanID()
		m = m.bytes(4, above[:])
	}
	m = m.text(5, s.Name()).number(6, uint64(s.SpanKind())).at(7, s.StartTime()).at(8, s.EndTime())
	for _, a := range s.Attributes() {
		m = m.attribute(9, a)
	}
	m = m.number(10, uint64(s.DroppedAttributes()))
	for _, e := range s.Events() {
		var event message
		event = event.at(1, e.Time).text(2, e.Name)
		for _, a := range e.Attributes {
			event = event.attribute(3, a)
		}
		m = m.message(11, event.number(4, uint64(e.DroppedAttributeCount)))
	}
	m = m.number(12, uint64(s.DroppedEvents()))
	for _, l := range s.Links() {
		traceID, spanID := l.SpanContext.TraceID(), l.SpanContext.SpanID()
		var link message
		link = link.bytes(1, traceID[:]).bytes(2, spanID[:]).text(3, l.SpanContext.TraceState().String())
		for _, a := range l.Attributes {
			link = link.attribute(4, a)
		}
		link = link.number(5, uint64(l.DroppedAttributeCount))
		m = m.message(13, link.flags(6, l.SpanContext))
	}
	m = m.number(14, uint64(s.DroppedLinks()))
	if status := s.Status(); status.Code != codes.Unset {
		code := uint64(1) // OK; the SDK has them in another order
		if status.Code == codes.Error {
			code = 2
		}
		var said message
		m = m.message(15, said.text(2, status.Description).number(3, code))
	}
	return m.fixed32(16, spanFlags(id.TraceFlags(), parent))
}

// spanFlags are the flags of a span: those of its trace, and whether its parent is in
// another process.
func spanFlags(of trace.TraceFlags, parent trace.SpanContext) uint32 {
	flags := uint32(of) | 1<<8
	if parent.IsRemote() {
		flags |= 1 << 9
	}
	return flags
}

// message is a message of protobuf that is being written. A field with the zero value
// is left out.
type message []byte

func (m message) bytes(field protowire.Number, v []byte) message {
	if len(v) == 0 {
		return m
	}
	return protowire.AppendBytes(protowire.AppendTag(m, field, protowire.BytesType), v)
}

func (m message) text(field protowire.Number, v string) message { return m.bytes(field, []byte(v)) }

// message adds a message, also an empty one.
func (m message) message(field protowire.Number, v message) message {
	return protowire.AppendBytes(protowire.AppendTag(m, field, protowire.BytesType), v)
}

func (m message) number(field protowire.Number, v uint64) message {
	if v == 0 {
		return m
	}
	return protowire.AppendVarint(protowire.AppendTag(m, field, protowire.VarintType), v)
}

func (m message) fixed32(field protowire.Number, v uint32) message {
	return protowire.AppendFixed32(protowire.AppendTag(m, field, protowire.Fixed32Type), v)
}

func (m message) at(field protowire.Number, v time.Time) message {
	if v.IsZero() {
		return m
	}
	return protowire.AppendFixed64(protowire.AppendTag(m, field, protowire.Fixed64Type), uint64(v.UnixNano()))
}

// flags adds the flags of a link.
func (m message) flags(field protowire.Number, to trace.SpanContext) message {
	return m.fixed32(field, spanFlags(to.TraceFlags(), to))
}

func (m message) attribute(field protowire.Number, a attribute.KeyValue) message {
	var pair message
	return m.message(field, pair.text(1, string(a.Key)).message(2, encodeValue(a.Value)))
}

// encodeValue returns an AnyValue. It has its field also where that is zero: without
// one, the value would be null. The SDK's other kinds are not used here, and are
// written as text.
func encodeValue(v attribute.Value) message {
	var m message
	switch v.Type() {
	case attribute.BOOL:
		return protowire.AppendVarint(protowire.AppendTag(m, 2, protowire.VarintType), protowire.EncodeBool(v.AsBool()))
	case attribute.INT64:
		return protowire.AppendVarint(protowire.AppendTag(m, 3, protowire.VarintType), uint64(v.AsInt64()))
	case attribute.FLOAT64:
		m = protowire.AppendTag(m, 4, protowire.Fixed64Type)
		return protowire.AppendFixed64(m, math.Float64bits(v.AsFloat64()))
	case attribute.STRING:
		return m.message(1, message(v.AsString()))
	case attribute.STRINGSLICE:
		var all message
		for _, s := range v.AsStringSlice() {
			all = all.message(1, message(nil).message(1, message(s)))
		}
		return m.message(5, all)
	}
	return m.message(1, message(v.String()))
}
