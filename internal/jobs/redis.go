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

	"bulkfiling/internal/network"
)

// ErrAway is a Redis that cannot be reached or does not take what it is given
// now, and may later. Test with errors.Is.
var ErrQueueDown = errors.New("the queue's Redis is away")

// arrangement is how the servers that an address names belong together.
type arrangement struct {
	tls, sentinel, cluster, socket bool
	options                        []string // that its address may carry beside those of TLS
}

// arrangements are the schemes of REDIS_URL. Those that asynq has too mean the
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
var arrangements = map[string]arrangement{
	"redis":           {},
	"rediss":          {tls: true},
	"redis-cluster":   {cluster: true},
	"rediss-cluster":  {cluster: true, tls: true},
	"redis-sentinel":  {sentinel: true, options: []string{"master", "username", "password"}},
	"rediss-sentinel": {sentinel: true, tls: true, options: []string{"master", "username", "password"}},
	"redis-socket":    {socket: true, options: []string{"db"}},
}

var optionsOfTLS = []string{"ca", "cert", "key", "server_name"}

// Ports where an address names none.
const (
	portRedis    = "6379"
	portSentinel = "26379"
)

// parseRedis reads an address of REDIS_URL. What it complains of never quotes
// the address, in which there may be a password.
func parseRedis(address string) (*redis.UniversalOptions, error) {
	scheme, rest, _ := strings.Cut(address, "://")
	a, known := arrangements[scheme]
	if !known {
		return nil, errors.New(
			"it begins with redis://, rediss://, redis-sentinel://, rediss-sentinel://, redis-cluster://, " +
				"rediss-cluster:// or redis-socket://")
	}
	// Several hosts are no URL; the rest is.
	authority, path := rest, ""
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		authority, path = rest[:end], rest[end:]
	}
	user, hosts := "", authority
	if at := strings.LastIndex(authority, "@"); at >= 0 {
		user, hosts = authority[:at+1], authority[at+1:]
	}
	u, err := url.Parse(scheme + "://" + user + "host" + path)
	if err != nil || u.Fragment != "" || strings.Contains(path, "@") {
		return nil, errors.New(
			"it is not an address: in a name or password, write @ as %40, / as %2F, ? as %3F, # as %23, : as %3A " +
				"and % as %25")
	}
	o := newOptions()
	password, _ := u.User.Password()
	query := u.Query()
	for name := range query {
		if !slices.Contains(a.options, name) && !(a.tls && slices.Contains(optionsOfTLS, name)) {
			return nil, fmt.Errorf(
				"it has an option after the ? that its kind does not know: there are %s, and with TLS %s",
				strings.Join(append([]string{"none"}, a.options...), ", "), strings.Join(optionsOfTLS, ", "))
		}
	}
	database := strings.Trim(u.Path, "/")
	switch {
	case a.socket:
		o.Addrs, o.Username, o.Password = []string{u.Path}, u.User.Username(), password
		if database = query.Get("db"); hosts != "" || u.Path == "" {
			return nil, errors.New("a socket is written redis-socket:///path/of/it")
		}
	case a.sentinel:
		o.MasterName = query.Get("master")
		if o.MasterName == "" {
			return nil, errors.New("?master=NAME is missing: the name by which the sentinels know the servers")
		}
		o.SentinelUsername, o.SentinelPassword = u.User.Username(), password
		o.Username, o.Password = query.Get("username"), query.Get("password")
		o.Addrs, err = hostsOf(hosts, portSentinel)
	default:
		o.Username, o.Password = u.User.Username(), password
		o.Addrs, err = hostsOf(hosts, portRedis)
	}
	if err != nil {
		return nil, err
	}
	if database != "" {
		if o.DB, err = strconv.Atoi(database); err != nil || o.DB < 0 {
			return nil, errors.New("the database is a number: redis://host:6379/0")
		}
	}
	o.IsClusterMode = a.cluster || len(o.Addrs) > 1 && !a.sentinel
	if o.IsClusterMode && o.DB != 0 {
		return nil, errors.New("a cluster has no database but 0")
	}
	if a.tls {
		if o.TLSConfig, err = configTLS(query); err != nil {
			return nil, err
		}
	}
	return o, nil
}

// newOptions are those of every client, whatever it connects to.
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

// hostsOf splits host[:port],host[:port],….
func hostsOf(list, port string) ([]string, error) {
	var all []string
	for host := range strings.SplitSeq(list, ",") {
		if _, _, err := net.SplitHostPort(host); err != nil {
			host = net.JoinHostPort(strings.Trim(host, "[]"), port)
		}
		name, number, err := net.SplitHostPort(host)
		if n, wrong := strconv.ParseUint(number, 10, 16); err != nil || name == "" || wrong != nil || n == 0 {
			return nil, errors.New("its hosts are written host:port, several of them with commas in between")
		}
		all = append(all, host)
	}
	return all, nil
}

// configTLS is what the options of an address say of its encryption.
func configTLS(query url.Values) (*tls.Config, error) {
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

// Reach asks the server for a sign of life. Its error is ErrAway where the same
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

// misconfigured tells an error that lasts until a person does something about
// REDIS_URL from one that may pass.
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
