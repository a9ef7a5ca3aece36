package jobs

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/bulkfiling/bulkfiling/internal/network"
)

// ErrQueueDown means that Redis cannot be reached or accepts no writes, and may work later. Test
// with errors.Is.
var ErrQueueDown = errors.New("the queue's Redis is down")

// errRedisURL does not quote the address, which may contain a password.
var errRedisURL = errors.New("it is not an address of Redis: write redis://user:password@host:6379/0, rediss:// with " +
	"TLS, or unix:///path; in a name or password, write @ as %40, / as %2F, ? as %3F, # as %23, : as %3A and % as %25")

// parseRedis reads an address of REDIS_URL.
func parseRedis(address string) (*redis.Options, error) {
	o, err := redis.ParseURL(address)
	if err != nil || o.DB < 0 || o.Addr == "" || strings.Contains(address, "#") {
		return nil, errRedisURL
	}
	if o.TLSConfig != nil { // an address could turn the checks off
		network.HardenTLS(o.TLSConfig).InsecureSkipVerify = false
	}
	setDefaults(o)
	return o, nil
}

// setDefaults sets the options that every client has.
func setDefaults(o *redis.Options) {
	o.DialTimeout, o.ReadTimeout, o.WriteTimeout = 3*time.Second, 3*time.Second, 3*time.Second
	o.DialerRetries = 1 // commands are retried, too
	o.ContextTimeoutEnabled = true
	o.PoolSize = 64
	o.DisableIdentity = true
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
}

// Ping checks that the server answers. The error is ErrQueueDown if the same queue may work later,
// and never contains a password.
func (q *Queue) Ping() error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	err := q.redis.Ping(ctx).Err()
	switch {
	case err == nil:
		return nil
	case isMisconfigured(err):
		return fmt.Errorf("reach Redis at %s: %w", q.host, err)
	}
	return fmt.Errorf("%w: reach it at %s: %w", ErrQueueDown, q.host, err)
}

// isMisconfigured reports whether an error lasts until a person corrects REDIS_URL.
func isMisconfigured(err error) bool {
	var certificate *tls.CertificateVerificationError
	var header tls.RecordHeaderError
	if errors.As(err, &certificate) || errors.As(err, &header) {
		return true
	}
	text := err.Error()
	for _, refusal := range []string{"NOAUTH", "WRONGPASS", "NOPERM", "ERR AUTH", "ERR invalid password",
		"ERR DB index", "ERR SELECT", "remote error: tls"} {
		if strings.Contains(text, refusal) {
			return true
		}
	}
	return false
}
