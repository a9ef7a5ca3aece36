package jobs_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/bulkfiling/bulkfiling/internal/nettest"
)

// redisServer is a server of a test's own, which it may stop, stall and break.
type redisServer struct {
	tb    testing.TB
	port  int
	conf  string // path of its configuration
	mode  []string
	cmd   *exec.Cmd
	admin *redis.Client
}

// needServers skips a test of real servers where nobody asked for such tests;
// they start their own.
func needServers(tb testing.TB) {
	tb.Helper()
	if testing.Short() {
		tb.Skip("skipping a test on servers in short mode")
	}
	if os.Getenv("TEST_REDIS_URL") == "" && os.Getenv("CI") == "" {
		tb.Skip("TEST_REDIS_URL is not set: tests on real Redis servers are not wanted")
	}
	if _, err := exec.LookPath("redis-server"); err != nil {
		if os.Getenv("CI") != "" {
			tb.Fatal("redis-server is not installed: on CI the tests on real servers must run")
		}
		tb.Skip("redis-server is not installed")
	}
}

// freePort returns the port of an address that no server listens on.
func freePort(tb testing.TB) int {
	tb.Helper()
	address, err := net.ResolveTCPAddr("tcp", nettest.Free())
	if err != nil {
		tb.Fatal(err)
	}
	return address.Port
}

// startRedis starts a server with these lines of configuration. admin is how the
// test itself gets in, nil for without password or TLS.
func startRedis(tb testing.TB, admin *redis.Options, lines ...string) *redisServer {
	tb.Helper()
	return startRedisAs(tb, nil, admin, lines...)
}

func startRedisAs(tb testing.TB, mode []string, admin *redis.Options, lines ...string) *redisServer {
	tb.Helper()
	needServers(tb)
	dir := tb.TempDir()
	s := &redisServer{tb: tb, port: freePort(tb), conf: filepath.Join(dir, "redis.conf"), mode: mode}
	if admin == nil {
		admin = &redis.Options{}
	}
	listen := fmt.Sprintf("port %d", s.port)
	if admin.TLSConfig != nil {
		listen = fmt.Sprintf("port 0\ntls-port %d", s.port)
	}
	conf := fmt.Sprintf("%s\nbind 127.0.0.1\ndir %s\nsave \"\"\nappendonly no\nenable-debug-command yes\n%s\n", listen,
		dir, strings.Join(lines, "\n"))
	if mode != nil {
		conf = fmt.Sprintf("%s\nbind 127.0.0.1\ndir %s\n%s\n", listen, dir, strings.Join(lines, "\n"))
	}
	if err := os.WriteFile(s.conf, []byte(conf), 0o600); err != nil {
		tb.Fatal(err)
	}
	o := *admin
	o.Addr = s.addr()
	s.admin = redis.NewClient(&o)
	tb.Cleanup(func() { s.admin.Close() })
	s.start()
	tb.Cleanup(s.kill)
	return s
}

func (s *redisServer) addr() string { return "127.0.0.1:" + strconv.Itoa(s.port) }

// start starts the process and waits until it answers.
func (s *redisServer) start() {
	s.tb.Helper()
	said := &strings.Builder{}
	s.cmd = exec.Command("redis-server", append([]string{s.conf}, s.mode...)...)
	s.cmd.Stdout, s.cmd.Stderr = said, said
	if err := s.cmd.Start(); err != nil {
		s.tb.Error(err)
		return
	}
	for deadline := time.Now().Add(20 * time.Second); s.admin.Ping(context.Background()).Err() != nil; {
		if time.Now().After(deadline) {
			s.tb.Errorf("redis-server does not answer: %s", said)
			return
		}
		time.Sleep(10 * time.Millisecond) // between two looks
	}
}

// kill ends the process, as SIGKILL does.
func (s *redisServer) kill() {
	if s.cmd.Process != nil {
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
	}
}

// do runs a command on the server, as an operator might.
func (s *redisServer) do(args ...any) any {
	s.tb.Helper()
	v, err := s.admin.Do(context.Background(), args...).Result()
	if err != nil {
		s.tb.Errorf("%v: %v", args, err)
	}
	return v
}

// certificates are those of a private authority.
type certificates struct {
	ca, cert, key         string // files: the authority, and the server's pair
	clientCert, clientKey string
	config                *tls.Config // of the test itself
	otherAuthority        string
	serverLines           []string // for redis.conf
}

func newCertificates(tb testing.TB) certificates {
	tb.Helper()
	dir := tb.TempDir()
	must := func(err error) {
		if err != nil {
			tb.Helper()
			tb.Fatal(err)
		}
	}
	write := func(name, kind string, der []byte) string {
		path := filepath.Join(dir, name)
		must(os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
		return path
	}
	serial := int64(0)
	issue := func(name string, template, parent *x509.Certificate,
		signer *ecdsa.PrivateKey) (cert, key string, made *x509.Certificate, private *ecdsa.PrivateKey) {
		private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		must(err)
		if signer == nil {
			parent, signer = template, private
		}
		serial++
		template.SerialNumber, template.Subject = big.NewInt(serial), pkix.Name{CommonName: name}
		template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
		der, err := x509.CreateCertificate(rand.Reader, template, parent, &private.PublicKey, signer)
		must(err)
		made, err = x509.ParseCertificate(der)
		must(err)
		keyDER, err := x509.MarshalPKCS8PrivateKey(private)
		must(err)
		return write(name+".crt", "CERTIFICATE", der), write(name+".key", "PRIVATE KEY", keyDER), made, private
	}
	authority := func() *x509.Certificate {
		return &x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	}
	leaf := func() *x509.Certificate {
		return &x509.Certificate{
			IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, KeyUsage: x509.KeyUsageDigitalSignature,
			ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		}
	}
	var c certificates
	ca, root, rootKey := "", (*x509.Certificate)(nil), (*ecdsa.PrivateKey)(nil)
	ca, _, root, rootKey = issue("authority", authority(), nil, nil)
	c.ca = ca
	c.otherAuthority, _, _, _ = issue("other", authority(), nil, nil)
	c.cert, c.key, _, _ = issue("server", leaf(), root, rootKey)
	c.clientCert, c.clientKey, _, _ = issue("client", leaf(), root, rootKey)
	pair, err := tls.LoadX509KeyPair(c.clientCert, c.clientKey)
	must(err)
	roots := x509.NewCertPool()
	roots.AddCert(root)
	c.config = &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{pair}}
	c.serverLines = []string{"tls-cert-file " + c.cert, "tls-key-file " + c.key, "tls-ca-cert-file " + c.ca}
	return c
}
