package jobs

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/bulkfiling/bulkfiling/internal/network"
)

// ErrQueueDown is a Redis that cannot be reached or takes no writes now, and may
// later. Test with errors.Is.
var ErrQueueDown = errors.New("the queue's Redis is down")

// redisScheme is how the servers that an address names belong together.
type redisScheme struct {
	tls, sentinel, cluster, socket bool
	options                        []string // that the address may have beside those of TLS
}

// redisSchemes are the schemes of REDIS_URL. Those that asynq has too mean the
// same here, so that its tools take the same addresses.
//
//	redis://[user:password@]host[:port][/database]
//	redis://[user:password@]host[:port],host[:port],…      a cluster; so is redis-cluster://
//	redis-sentinel://[sentinel user:password@]host[:port],…[/database]?master=NAME[&username=U][&password=P]
//	redis-socket://[user:password@]/path[?db=database]
//
// With rediss, rediss-cluster and rediss-sentinel the connections are encrypted;
// ?ca=FILE names the certificates to trust in place of the system's, ?cert=FILE
// and key=FILE are the client's own, ?server_name=NAME is the name to expect
// where it is not the host's.
var redisSchemes = map[string]redisScheme{
	"redis":           {},
	"rediss":          {tls: true},
	"redis-cluster":   {cluster: true},
	"rediss-cluster":  {cluster: true, tls: true},
	"redis-sentinel":  {sentinel: true, options: []string{"master", "username", "password"}},
	"rediss-sentinel": {sentinel: true, tls: true, options: []string{"master", "username", "password"}},
	"redis-socket":    {socket: true, options: []string{"db"}},
}

var tlsOptions = []string{"ca", "cert", "key", "server_name"}

// The errors of an address. They never quote it: it may have a password in it.
var (
	errRedisScheme = errors.New("it begins with redis://, rediss://, redis-sentinel://, rediss-sentinel://, " +
		"redis-cluster://, rediss-cluster:// or redis-socket://")
	errRedisURL = errors.New("it is not an address: in a name or password, write @ as %40, / as %2F, ? as %3F, " +
		"# as %23, : as %3A and % as %25")
	errRedisSocket   = errors.New("a socket is written redis-socket:///path/of/it")
	errRedisDatabase = errors.New("the database is a number: redis://host:6379/0")
	errRedisHosts    = errors.New("its hosts are written host:port, several of them with commas in between")
	errRedisMaster   = errors.New("?master=NAME is missing: the name by which the sentinels know the servers")
	errRedisCluster  = errors.New("a cluster has no database but 0")
)

// parseRedis reads an address of REDIS_URL. go-redis parses what one URL can say;
// a list of hosts, which asynq's addresses have, is split off before.
func parseRedis(address string) (*redis.UniversalOptions, error) {
	scheme, rest, _ := strings.Cut(address, "://")
	kind, known := redisSchemes[scheme]
	if !known {
		return nil, errRedisScheme
	}
	authority, path := rest, ""
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		authority, path = rest[:end], rest[end:]
	}
	at := strings.LastIndex(authority, "@") + 1
	u, err := url.Parse("redis://" + authority[:at] + "host" + path)
	if err != nil || u.Fragment != "" || strings.Contains(path, "@") {
		return nil, errRedisURL
	}
	query := u.Query()
	for name := range query {
		if slices.Contains(kind.options, name) || kind.tls && slices.Contains(tlsOptions, name) {
			continue
		}
		return nil, fmt.Errorf(
			"it has an option after the ? that its kind does not know: there are %s, and with TLS %s",
			strings.Join(append([]string{"none"}, kind.options...), ", "), strings.Join(tlsOptions, ", "))
	}
	u.RawQuery = ""
	if kind.socket {
		if authority[at:] != "" {
			return nil, errRedisSocket
		}
		u.Scheme, u.RawQuery = "unix", url.Values{"db": query["db"]}.Encode()
	}
	one, err := redis.ParseURL(u.String())
	switch {
	case err != nil && kind.socket:
		return nil, errRedisSocket
	case err != nil || one.DB < 0:
		return nil, errRedisDatabase
	}
	o := newOptions()
	o.Username, o.Password, o.DB = one.Username, one.Password, one.DB
	if kind.socket {
		o.Addrs = []string{one.Addr}
		return o, nil
	}
	if kind.sentinel {
		o.SentinelUsername, o.SentinelPassword = one.Username, one.Password
		o.Username, o.Password = query.Get("username"), query.Get("password")
		if o.MasterName = query.Get("master"); o.MasterName == "" {
			return nil, errRedisMaster
		}
	}
	if o.Addrs, err = splitHosts(authority[at:], kind.sentinel); err != nil {
		return nil, err
	}
	o.IsClusterMode = kind.cluster || len(o.Addrs) > 1 && !kind.sentinel
	if o.IsClusterMode && o.DB != 0 {
		return nil, errRedisCluster
	}
	if kind.tls {
		o.TLSConfig, err = readTLS(query)
	}
	return o, err
}

// newOptions are the options that every client has.
func newOptions() *redis.UniversalOptions {
	return &redis.UniversalOptions{
		DialTimeout:              3 * time.Second,
		ReadTimeout:              3 * time.Second,
		DialerRetries:            1, // a command is tried four times as it is
		ContextTimeoutEnabled:    true,
		PoolSize:                 64,
		DisableIdentity:          true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
}

// splitHosts splits host[:port],host[:port],….
func splitHosts(list string, sentinel bool) ([]string, error) {
	port := "6379"
	if sentinel {
		port = "26379"
	}
	var all []string
	for host := range strings.SplitSeq(list, ",") {
		if _, _, err := net.SplitHostPort(host); err != nil {
			host = net.JoinHostPort(strings.Trim(host, "[]"), port)
		}
		name, number, err := net.SplitHostPort(host)
		if n, wrong := strconv.ParseUint(number, 10, 16); err != nil || name == "" || wrong != nil || n == 0 {
			return nil, errRedisHosts
		}
		all = append(all, host)
	}
	return all, nil
}

// readTLS reads the files and names that the options of TLS name.
func readTLS(query url.Values) (*tls.Config, error) {
	// Without a name of its own each connection expects its host's.
	c := network.NewTLS()
	c.ServerName = query.Get("server_name")
	if file := query.Get("ca"); file != "" {
		pem, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read the certificates that ca= names: %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s, which ca= names, has no certificate in it", file)
		}
	}
	cert, key := query.Get("cert"), query.Get("key")
	if (cert == "") != (key == "") {
		return nil, errors.New("cert= and key= go together")
	}
	if cert != "" {
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			return nil, fmt.Errorf("read the client's certificate: %w", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}

// Ping checks that the server answers. Its error is ErrQueueDown where the same
// queue may work later, and never shows a password.
func (q *Queue) Ping() error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	err := q.redis.Ping(ctx).Err()
	switch {
	case err == nil:
		return nil
	case isMisconfigured(err):
		return fmt.Errorf("reach Redis at %s: %w", q.hosts, err)
	}
	return fmt.Errorf("%w: reach it at %s: %w", ErrQueueDown, q.hosts, err)
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
		"ERR DB index", "ERR SELECT", "cluster support disabled", "remote error: tls"} {
		if strings.Contains(text, refusal) {
			return true
		}
	}
	return false
}
