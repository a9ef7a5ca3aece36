package ledger_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/audit"
	"github.com/bulkfiling/bulkfiling/internal/filing"
)

// A connection that breaks between a commit and the database's word of it: an
// intent is committed and nobody was told that it may be sent. It is not sent,
// and does not stay out for as long as the process lives; an answer is recorded
// once.
func TestConnectionBreaksAtCommit(t *testing.T) {
	onBothDatabases(t, func(s *suite) {
		if s.config.DatabaseURL == "" {
			return // there is no connection
		}
		l := s.open()
		rows := s.add(l, "a", reports("a", 2)...)
		wire := newProxy(s)
		behind := s.open() // through the proxy

		s.send(behind, rows[0])
		wire.breakAtCommit()
		if begun, err := behind.Begin(s.Context(), intent(rows[1])); err == nil || begun.Attempt != 0 {
			s.Fatalf("%+v, %v: it does not know whether that is durable", begun, err)
		}
		s.want(l, rows[1], filing.Placing, cost)
		if n := s.sweep(l); n != 0 {
			s.Error("its process lives")
		}
		if n := s.sweep(behind); n != 0 {
			s.Error("it was not sent")
		}
		s.want(l, rows[1], filing.Ready, 0)
		s.want(l, rows[0], filing.Placing, cost) // that one is out
		s.send(behind, rows[1])

		wire.breakAtCommit()
		out := outcome(rows[1], 2, filing.Accepted)
		if err := behind.RecordOutcome(s.Context(), out); err == nil {
			s.Error("it does not know whether that is durable")
		}
		s.must(behind.RecordOutcome(s.Context(), out))
		if r := s.want(l, rows[1], filing.Placed, 0); len(r.Items) != 1 || r.Attempts != 1 || r.LastAttempt != 2 {
			s.Errorf("%+v", r)
		}
		s.answer(behind, rows[0], filing.Accepted)
		if b := s.book(l); b.Posted != 2*cost || b.Reserved != 0 {
			s.Errorf("%+v", b)
		}
	})
}

// proxy stands between a ledger and its server.
type proxy struct {
	*suite
	server string
	armed  atomic.Bool
}

// newProxy starts a proxy that every later connection of the store goes through.
func newProxy(s *suite) *proxy {
	u, err := url.Parse(s.config.DatabaseURL)
	s.must(err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	s.must(err)
	s.Cleanup(func() { listener.Close() })
	p := &proxy{suite: s, server: u.Host}
	u.Host = listener.Addr().String()
	s.config.DatabaseURL = u.String()
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go p.carry(client)
		}
	}()
	return p
}

// breakAtCommit cuts the connection of the next commit after the server has
// carried it out.
func (p *proxy) breakAtCommit() { p.armed.Store(true) }

func (p *proxy) carry(client net.Conn) {
	defer client.Close()
	server, err := net.DialTimeout("tcp", p.server, 5*time.Second)
	if err != nil {
		return
	}
	defer server.Close()
	var cut atomic.Bool
	go func() {
		defer server.Close()
		buffer := make([]byte, 64<<10)
		for {
			n, err := client.Read(buffer)
			if n > 0 {
				if bytes.Contains(buffer[:n], []byte("commit\x00")) && p.armed.CompareAndSwap(true, false) {
					cut.Store(true)
				}
				if _, err := server.Write(buffer[:n]); err != nil {
					return
				}
			}
			if err != nil {
				return
			}
		}
	}()
	buffer := make([]byte, 64<<10)
	for {
		n, err := server.Read(buffer)
		if cut.Load() || err != nil {
			return // what the server said is lost
		}
		if _, err := io.Copy(client, bytes.NewReader(buffer[:n])); err != nil {
			return
		}
	}
}

// Money that a person declares is entered once, also where the connection breaks
// before the database's word on it.
func TestConnectionBreaksAtADeposit(t *testing.T) {
	onBothDatabases(t, func(s *suite) {
		if s.config.DatabaseURL == "" {
			return // there is no connection
		}
		l := s.open()
		wire := newProxy(s)
		behind := s.open()
		act := func() context.Context {
			return audit.With(s.Context(), audit.Event{By: "ann", What: "deposit"})
		}
		wire.breakAtCommit()
		s.must(behind.Entries().RecordDeposit(act(), 5000, ""))
		wire.breakAtCommit()
		s.must(behind.Entries().Adjust(act(), -100, "a fee"))
		s.must(behind.Entries().RecordDeposit(act(), 5000, "")) // another one
		if b := s.book(l); b.Deposits != 10_000 || b.Adjustments != -100 {
			s.Errorf("%+v", b)
		}
		if acts, err := l.AuditLog().List(s.Context(), audit.Query{}); err != nil || len(acts) != 3 {
			s.Errorf("%+v, %v", acts, err)
		}
	})
}

// A commit of this product waits for the disk, whatever the server's default is.
func TestCommitsAreDurable(t *testing.T) {
	onBothDatabases(t, func(s *suite) {
		if s.config.DatabaseURL == "" {
			return // its file says so itself
		}
		for setting, want := range map[string]string{"off": "on", "local": "on", "on": "on",
			"remote_apply": "remote_apply"} {
			u, err := url.Parse(s.config.DatabaseURL)
			s.must(err)
			q := u.Query()
			q.Set("synchronous_commit", setting)
			u.RawQuery = q.Encode()
			s.config.DatabaseURL = u.String()
			if got, err := s.open().SynchronousCommit(s.Context()); err != nil || got != want {
				s.Errorf("%s: %q, %v", setting, got, err)
			}
		}
	})
}
