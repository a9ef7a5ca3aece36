package jobs

import (
	"fmt"
	"strings"
	"testing"
)

// An address that cannot be read is refused without the password in it. TLS checks
// certificates, whatever an address asks.
func TestParseRedis(t *testing.T) {
	for address, want := range map[string]string{
		"redis://localhost":                            "localhost:6379 / 0",
		"redis://filer:s%40c%2Fr@redis:7000/3":         "redis:7000 filer/s@c/r 3",
		"unix:///run/redis.sock?db=4":                  "/run/redis.sock / 4",
		"rediss://:secret@redis:6380?skip_verify=true": "redis:6380 /secret 0",
	} {
		o, err := parseRedis(address)
		if err != nil {
			t.Errorf("%s: %v", address, err)
			continue
		}
		if got := fmt.Sprintf("%s %s/%s %d", o.Addr, o.Username, o.Password, o.DB); got != want {
			t.Errorf("%s: %s, want %s", address, got, want)
		}
		if tls := o.TLSConfig; strings.HasPrefix(address, "rediss") != (tls != nil) ||
			tls != nil && (tls.InsecureSkipVerify || tls.ServerName != "redis") {
			t.Errorf("%s: %+v", address, tls)
		}
	}
	for _, address := range []string{"secret", "http://:secret@redis", "redis://:se/secret@redis",
		"redis://:se#secret@redis", "redis://:%secret@redis", "redis://:secret@redis:secret",
		"redis://:secret@redis/secret",
		"redis://:secret@redis?secret=1"} {
		if _, err := parseRedis(address); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", address, err)
		}
	}
}
