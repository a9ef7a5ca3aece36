package tracing

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/network"
)

// settings are what the variables of OpenTelemetry say about the exporter. The SDK
// reads those about samplers, limits, the queue and the resource.
type settings struct {
	endpoint string
	headers  http.Header
	gzip     bool
	timeout  time.Duration
	tls      *tls.Config
}

// Enabled reports whether the variables ask for traces: an endpoint is set, or the exporter
// by its name. OpenTelemetry's own default, to send traces to this machine, is not
// followed.
func Enabled(getenv func(string) string) bool {
	env := trimmed(getenv)
	if off, _ := strconv.ParseBool(env("OTEL_SDK_DISABLED")); off {
		return false
	}
	if exporter := env("OTEL_TRACES_EXPORTER"); exporter != "" {
		return exporter != "none"
	}
	return env("OTEL_EXPORTER_OTLP_ENDPOINT") != "" || env("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") != ""
}

func trimmed(getenv func(string) string) func(string) string {
	return func(name string) string { return strings.TrimSpace(getenv(name)) }
}

// readSettings reads the variables. Those of traces win over those of all signals.
func readSettings(getenv func(string) string) (settings, error) {
	env := trimmed(getenv)
	value := func(name string) (string, string) {
		if special := "OTEL_EXPORTER_OTLP_TRACES_" + name; env(special) != "" {
			return special, env(special)
		}
		return "OTEL_EXPORTER_OTLP_" + name, env("OTEL_EXPORTER_OTLP_" + name)
	}
	s := settings{timeout: 10 * time.Second}
	if exporter := env("OTEL_TRACES_EXPORTER"); exporter != "" && exporter != "otlp" {
		return s, errors.New("OTEL_TRACES_EXPORTER must be otlp or none")
	}
	if name, v := value("PROTOCOL"); v != "" && v != "http/protobuf" {
		return s, fmt.Errorf("%s must be http/protobuf, which receivers accept at port 4318", name)
	}
	var err error
	if s.endpoint, err = readEndpoint(env); err != nil {
		return s, err
	}
	switch name, v := value("COMPRESSION"); v {
	case "", "none":
	case "gzip":
		s.gzip = true
	default:
		return s, fmt.Errorf("%s must be gzip or none", name)
	}
	if name, v := value("TIMEOUT"); v != "" {
		ms, err := strconv.Atoi(v)
		if err != nil || ms <= 0 {
			return s, fmt.Errorf("%s must be a number of milliseconds", name)
		}
		s.timeout = time.Duration(ms) * time.Millisecond
	}
	name, headers := value("HEADERS")
	if file := env("OTEL_EXPORTER_OTLP_HEADERS_FILE"); headers == "" && file != "" {
		content, err := os.ReadFile(file)
		if err != nil {
			return s, fmt.Errorf("read the file that OTEL_EXPORTER_OTLP_HEADERS_FILE names: %w", err)
		}
		name, headers = "OTEL_EXPORTER_OTLP_HEADERS_FILE", strings.TrimSpace(string(content))
	}
	s.headers, err = parseHeaders(name, headers)
	if err != nil {
		return s, err
	}
	s.tls, err = readTLS(value)
	return s, err
}

// parseHeaders reads name=value,name=value. Its errors have no value.
func parseHeaders(name, headers string) (http.Header, error) {
	all := make(http.Header)
	for pair := range strings.SplitSeq(headers, ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		key, v, found := strings.Cut(pair, "=")
		key = strings.TrimSpace(key)
		text, err := url.PathUnescape(strings.TrimSpace(v))
		if !found || key == "" || err != nil {
			return nil, fmt.Errorf("%s must be headers such as name=value,name=value", name)
		}
		all.Set(key, text)
	}
	return all, nil
}

func readEndpoint(env func(string) string) (string, error) {
	name, endpoint := "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", env("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
	if endpoint == "" {
		name, endpoint = "OTEL_EXPORTER_OTLP_ENDPOINT", env("OTEL_EXPORTER_OTLP_ENDPOINT")
		if endpoint == "" {
			endpoint = "http://localhost:4318"
		}
		endpoint = strings.TrimRight(endpoint, "/") + "/v1/traces"
	}
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return "", fmt.Errorf("%s must be an address such as http://collector:4318", name)
	}
	return endpoint, nil
}

func readTLS(value func(string) (string, string)) (*tls.Config, error) {
	config := network.NewTLS()
	if name, file := value("CERTIFICATE"); file != "" {
		pem, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read the certificate of %s: %w", name, err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("the file that %s names has no certificate", name)
		}
	}
	name, file := value("CLIENT_CERTIFICATE")
	_, key := value("CLIENT_KEY")
	if file == "" && key == "" {
		return config, nil
	}
	pair, err := tls.LoadX509KeyPair(file, key)
	if err != nil {
		return nil, fmt.Errorf("read the client certificate of %s: %w", name, err)
	}
	config.Certificates = []tls.Certificate{pair}
	return config, nil
}
