package metrics

import (
	"cmp"
	"log/slog"
	"net/http"
	"runtime"
	"runtime/debug"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// NewRegistry returns a registry with metrics of the process, the Go runtime and the build.
func NewRegistry() *prometheus.Registry {
	r := prometheus.NewRegistry()
	b := ReadBuild()
	promauto.With(r).NewGauge(prometheus.GaugeOpts{
		Name: "bulkfiling_build_info", Help: "Always 1; the labels say what was built.",
		ConstLabels: prometheus.Labels{"version": b.Version, "revision": b.Revision, "go_version": b.Go},
	}).Set(1)
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return r
}

// Handler serves a registry to Prometheus. A failed source omits its series and keeps the others.
func Handler(r *prometheus.Registry, log *slog.Logger) http.Handler {
	return promhttp.HandlerFor(r, promhttp.HandlerOpts{
		ErrorHandling: promhttp.ContinueOnError, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn),
		MaxRequestsInFlight: 4, Registry: r,
	})
}

// Build describes the source of this binary.
type Build struct {
	// Version comes from the build flag, or from the module. It is (devel) in a checkout without a
	// tag.
	Version string
	// Revision is the revision of the source, empty if unknown.
	Revision string
	// Modified reports whether the source has uncommitted changes.
	Modified bool
	Go       string
}

// version is set by builds without a tag: -ldflags "-X …metrics.version=1.2.3".
var version string

// ReadBuild reads the build information that the linker recorded.
func ReadBuild() Build {
	b := Build{Version: version}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	b.Go = info.GoVersion
	if version == "" {
		b.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Revision = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b
}

// String returns the version, the commit and the platform on one line.
func (b Build) String() string {
	text := cmp.Or(b.Version, "unknown")
	if b.Revision != "" {
		text += ", commit " + b.Revision
	}
	if b.Modified {
		text += " with changes"
	}
	return text + ", " + cmp.Or(b.Go, runtime.Version()) + " " + runtime.GOOS + "/" + runtime.GOARCH
}
