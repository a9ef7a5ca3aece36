package tracing

import (
	"context"
	"crypto/rand"
	"log/slog"
	"os"
	"strings"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
)

// Config sets a tracer up.
type Config struct {
	Getenv  func(string) string
	Service string // its name where OTEL_SERVICE_NAME has none
	Version string
	Log     *slog.Logger
}

// shutdownTimeout is how long Shutdown waits for the receiver.
const shutdownTimeout = 3 * time.Second

// Start starts a tracer where the variables ask for traces; otherwise it returns nil at
// once. What is wrong in the variables is an error, after which everything but traces
// works.
func Start(ctx context.Context, c Config) (*Tracer, error) {
	if !Enabled(c.Getenv) {
		return nil, nil
	}
	s, err := readSettings(c.Getenv)
	if err != nil {
		return nil, err
	}
	unsetEmpty()
	// Errors of the SDK, such as an unknown sampler: it goes on with its default.
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { c.Log.Warn("traces incomplete", "err", err) }))
	about, err := resource.New(ctx,
		resource.WithTelemetrySDK(),
		resource.WithAttributes(
			attribute.String("service.name", c.Service),
			attribute.String("service.version", c.Version),
			attribute.String("service.instance.id", rand.Text())),
		resource.WithFromEnv())
	if err != nil {
		c.Log.Warn("traces incomplete", "err", err) // OTEL_RESOURCE_ATTRIBUTES has what is no pair
	}
	count := new(counter)
	provider := sdk.NewTracerProvider(
		sdk.WithIDGenerator(generator{}),
		sdk.WithResource(about),
		sdk.WithSpanProcessor(count),
		sdk.WithSpanProcessor(sdk.NewBatchSpanProcessor(newExporter(s, c.Log, count))))
	return &Tracer{
		provider: provider,
		tracer:   provider.Tracer("github.com/bulkfiling/bulkfiling"),
		counter:  count,
		log:      c.Log,
		rows:     make(map[int64]*RowSpan),
		batches:  make(map[string]int),
		began:    make(map[int64]time.Time),
	}, nil
}

// Shutdown delivers the spans that are left, for a few seconds at most, and logs how
// many were lost.
func (t *Tracer) Shutdown() {
	if t == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), shutdownTimeout)
	defer cancel()
	_ = t.provider.Shutdown(ctx) // what is not delivered is counted
	if lost := t.counter.ended.Load() - t.counter.delivered.Load(); lost > 0 {
		t.log.Warn("spans lost", "spans", lost)
	}
}

// unsetEmpty removes empty variables of OpenTelemetry from the environment. Container
// files set them, and the SDK takes an empty sampler for one that it does not know.
func unsetEmpty() {
	for _, pair := range os.Environ() {
		name, value, _ := strings.Cut(pair, "=")
		if strings.HasPrefix(name, "OTEL_") && strings.TrimSpace(value) == "" {
			_ = os.Unsetenv(name)
		}
	}
}
