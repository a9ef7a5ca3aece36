package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/filingapi"
	"github.com/bulkfiling/bulkfiling/internal/jobs"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/sandbox"
)

// Password, user, database and TLS with an authority of one's own: rows are
// placed; and what is wrong is told at once, without the password.
func TestRedisAccess(t *testing.T) {
	t.Parallel()
	needServers(t)
	c := newCertificates(t)
	open := startRedis(t, &redis.Options{Username: "filer", Password: "pass:word"}, "requirepass s3cret",
		"user filer on >pass:word ~* &* +@all")
	closed := startRedis(t, &redis.Options{Password: "s3cret", TLSConfig: c.config},
		append(c.serverLines, "requirepass s3cret", "tls-auth-clients yes")...)
	for name, address := range map[string]string{
		"password": fmt.Sprintf("redis://:s3cret@%s", open.addr()),
		"user":     fmt.Sprintf("redis://filer:pass%%3Aword@%s/3", open.addr()),
		"TLS both way": fmt.Sprintf("rediss://:s3cret@%s/2?ca=%s&cert=%s&key=%s", closed.addr(), c.ca, c.clientCert,
			c.clientKey),
	} {
		f := newFirm(t, servers{redis: address}, sandbox.Config{OpeningBalance: rich, AutoSeed: true})
		l := f.openLedger()
		f.add(l, "a", requests(40, report, agentChange)...)
		if end := f.run(l, "a", patient); end.Reason != jobs.Finished {
			t.Errorf("%s: %+v", name, end)
		}
		f.want(l, "a", ledger.Counts{filing.Placed: 40})
		f.agree(l, "a")
	}
	gone := startRedis(t, nil)
	gone.kill()
	for name, wrong := range map[string]struct {
		address string
		away    bool
	}{
		"no password":      {"redis://" + open.addr(), false},
		"wrong password":   {"redis://:do_not_show@" + open.addr(), false},
		"no such database": {"redis://:s3cret@" + open.addr() + "/99", false},
		"another authority": {fmt.Sprintf("rediss://:do_not_show@%s?ca=%s&cert=%s&key=%s", closed.addr(),
			c.otherAuthority, c.clientCert, c.clientKey), false},
		"no certificate": {fmt.Sprintf("rediss://:do_not_show@%s?ca=%s", closed.addr(), c.ca), false},
		"no cluster":     {"redis-cluster://:s3cret@" + open.addr(), false},
		"nobody there":   {"redis://:do_not_show@" + gone.addr(), true},
	} {
		_, err := jobs.OpenQueue(wrong.address)
		if err == nil || errors.Is(err, jobs.ErrQueueDown) != wrong.away ||
			strings.Contains(err.Error(), "do_not_show") ||
			strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// logged keeps what a worker says, at the level that a log shows.
type logged struct {
	mu    sync.Mutex
	lines []string
}

func (l *logged) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, string(line))
	return len(line), nil
}

func (l *logged) count(part string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for _, line := range l.lines {
		if strings.Contains(line, part) {
			n++
		}
	}
	return n
}

func (l *logged) to() func(*jobs.Config) {
	return func(c *jobs.Config) { c.Log = slog.New(slog.NewTextHandler(l, nil)) }
}

// fleet places a batch with two processes at once, does something when so many
// orders are placed, and holds ledger and books against each other at the end.
func (f *firm) fleet(rows, after int, do func()) (said *logged) {
	f.Helper()
	said = &logged{}
	var sent atomic.Int32
	// Patient with a service that shares two cores with all these servers: here a
	// second try of a row is a fault.
	client, err := filingapi.New(filingapi.Config{
		BaseURL:     f.url,
		Key:         "sk_test_firm",
		Concurrency: 4 * flying,
		Timeout:     30 * time.Second,
	})
	f.must(err)
	f.Cleanup(client.Close)
	once := func(c *jobs.Config) {
		c.Service = &counted{Service: client, sent: &sent, n: int32(after), do: do}
	}
	one, two := f.openLedger(), f.openLedger()
	f.add(one, "a", requests(rows, report, agentChange)...)
	w := f.start(one, f.openQueue(), said.to(), once)
	f.start(two, f.openQueue(), said.to(), once)
	if end := f.await(w, "a", jobs.WaitLimits{Silence: 50 * time.Second}); end.Reason != jobs.Finished {
		f.Fatalf("%+v", end)
	}
	f.want(one, "a", ledger.Counts{filing.Placed: rows})
	f.agree(one, "a")
	for _, r := range f.rows(one, "a") {
		if r.Tries != 1 {
			f.Errorf("row %d took %d tries", r.Number, r.Tries)
		}
	}
	return said
}

// counted does something once, when the fleet has placed n orders.
type counted struct {
	jobs.Service
	sent *atomic.Int32
	n    int32
	do   func()
}

func (s *counted) PlaceOrder(ctx context.Context, o *filing.Order) filing.Answer {
	a := s.Service.PlaceOrder(ctx, o)
	if s.sent.Add(1) == s.n {
		s.do()
	}
	return a
}

// A server that ends without saving, and comes back empty, costs time only; the
// log says once that it went and once that it is there again.
func TestRedisRestarted(t *testing.T) {
	t.Parallel()
	s := startRedis(t, nil)
	f := newFirm(t, servers{redis: "redis://" + s.addr()},
		sandbox.Config{OpeningBalance: rich, AutoSeed: true, Latency: 20 * time.Millisecond})
	back := make(chan struct{})
	said := f.fleet(600, 150, func() {
		_ = s.admin.ShutdownNoSave(context.Background()).Err() // it ends without an answer
		_ = s.cmd.Wait()
		time.AfterFunc(2*time.Second, func() { s.start(); close(back) })
	})
	<-back
	for part, want := range map[string]int{`"orders held" reason=redis`: 2, `"orders resumed" reason=redis`: 2,
		"level=ERROR": 2} { // once a process
		if n := said.count(part); n != want {
			t.Errorf("%q was said %d times: %s", part, n, strings.Join(said.lines, ""))
		}
	}
}

// A master that dies is followed by its replica: passwords for the servers and
// for the sentinels, all of it encrypted.
func TestSentinelFailover(t *testing.T) {
	t.Parallel()
	needServers(t)
	c := newCertificates(t)
	server := &redis.Options{Password: "s3rver", TLSConfig: c.config}
	secured := append([]string{"tls-replication yes"}, c.serverLines...)
	lines := append([]string{"requirepass s3rver", "masterauth s3rver", "repl-diskless-sync-delay 0"}, secured...)
	master := startRedis(t, server, lines...)
	startRedis(t, server, append(lines, fmt.Sprintf("replicaof 127.0.0.1 %d", master.port))...)
	var sentinels []string
	for range 3 {
		sentinel := startRedisAs(t, []string{"--sentinel"}, &redis.Options{Password: "w4tch", TLSConfig: c.config},
			append(secured,
				"requirepass w4tch", "sentinel sentinel-pass w4tch",
				fmt.Sprintf("sentinel monitor filings 127.0.0.1 %d 2", master.port),
				"sentinel auth-pass filings s3rver",
				"sentinel down-after-milliseconds filings 1000",
				"sentinel failover-timeout filings 4000")...)
		sentinels = append(sentinels, sentinel.addr())
	}
	f := newFirm(t, servers{
		redis: fmt.Sprintf("rediss-sentinel://:w4tch@%s/1?master=filings&password=s3rver&ca=%s&cert=%s&key=%s",
			strings.Join(sentinels, ","), c.ca, c.clientCert, c.clientKey),
	},
		sandbox.Config{OpeningBalance: rich, AutoSeed: true, Latency: 20 * time.Millisecond})
	f.eventually("the replica is in step and each sentinel knows it and the others", func() bool {
		if !strings.Contains(fmt.Sprint(master.do("INFO", "replication")), "state=online") {
			return false
		}
		for _, addr := range sentinels {
			s := redis.NewSentinelClient(&redis.Options{Addr: addr, Password: "w4tch", TLSConfig: c.config})
			known, err := s.Master(t.Context(), "filings").Result()
			s.Close()
			if err != nil || known["num-slaves"] != "1" || known["num-other-sentinels"] != "2" {
				return false
			}
		}
		return true
	})
	f.fleet(600, 150, master.kill)
}

// clusterPort is the port at which the other nodes of a cluster reach a node.
func clusterPort(node *redisServer) (port int) {
	for line := range strings.Lines(fmt.Sprint(node.do("CLUSTER", "NODES"))) {
		if _, after, found := strings.Cut(line, "@"); found && strings.Contains(line, "myself") {
			fmt.Sscan(after, &port)
		}
	}
	return port
}

// A cluster of three masters places rows, with the queue in one slot of it, also
// when all of it is flushed in the middle.
func TestCluster(t *testing.T) {
	t.Parallel()
	needServers(t)
	var nodes []*redisServer
	var addrs []string
	for range 3 {
		s := startRedis(t, &redis.Options{Password: "s3cret"}, "requirepass s3cret", "masterauth s3cret",
			"cluster-enabled yes", fmt.Sprintf("cluster-port %d", freePort(t)))
		nodes, addrs = append(nodes, s), append(addrs, s.addr())
	}
	for i, s := range nodes {
		s.do("CLUSTER", "ADDSLOTSRANGE", i*5462, min((i+1)*5462, 16384)-1)
		if i > 0 {
			s.do("CLUSTER", "MEET", "127.0.0.1", nodes[0].port, clusterPort(nodes[0]))
		}
	}
	f := newFirm(t, servers{redis: "redis://:s3cret@" + strings.Join(addrs, ",")},
		sandbox.Config{OpeningBalance: rich, AutoSeed: true, Latency: 20 * time.Millisecond})
	f.eventually("every node finds the cluster complete", func() bool {
		return !slices.ContainsFunc(nodes, func(s *redisServer) bool {
			info := fmt.Sprint(s.do("CLUSTER", "INFO"))
			return !strings.Contains(info, "cluster_state:ok") || !strings.Contains(info, "cluster_known_nodes:3")
		})
	})
	with := 0
	f.fleet(600, 150, func() {
		for _, s := range nodes {
			keys, err := s.admin.Keys(context.Background(), "asynq:{*").Result()
			if err != nil {
				t.Error(err)
			}
			if len(keys) > 0 {
				with++
			}
			s.do("FLUSHALL")
		}
	})
	if with != 1 {
		t.Errorf("the queue lies on %d nodes", with)
	}
}

// A Redis that stays away ends a run after its patience, by its own name: the
// service was not asked and is not to blame. The same run again goes on.
func TestRedisAway(t *testing.T) {
	t.Parallel()
	s := startRedis(t, nil)
	f := newFirm(t, servers{redis: "redis://" + s.addr()},
		sandbox.Config{OpeningBalance: rich, AutoSeed: true, Latency: 20 * time.Millisecond})
	l := f.openLedger()
	f.add(l, "a", requests(400, report)...)
	f.patch = func(c *jobs.Config) {
		c.Service = &afterOrders{Service: c.Service, n: 50, do: s.kill}
	}
	end := f.run(l, "a", jobs.WaitLimits{Silence: 2 * time.Second})
	if end.Reason != jobs.QueueDown || !errors.Is(end.Redis, jobs.ErrQueueDown) ||
		!strings.Contains(end.Redis.Error(), s.addr()) {
		t.Errorf("%+v", end)
	}
	counts, err := l.Counts(t.Context(), "a")
	f.must(err)
	if counts[filing.Placed] < 50 || counts[filing.Placed]+counts[filing.Ready] != 400 {
		t.Errorf("%v", counts)
	}
	s.start()
	f.patch = nil
	f.run(l, "a", patient)
	f.want(l, "a", ledger.Counts{filing.Placed: 400})
	f.agree(l, "a")
}

// Tasks whose lease has run out while the server was away are nobody's any more;
// a worker that stops waits for the answers to their orders all the same.
func TestStoppedWhileRedisIsAway(t *testing.T) {
	t.Parallel()
	s := startRedis(t, nil)
	f := newFirm(t, servers{redis: "redis://" + s.addr()}, sandbox.Config{OpeningBalance: rich, AutoSeed: true})
	l := f.openLedger()
	f.add(l, "a", requests(40, report)...)
	reached, answer := make(chan struct{}, 40), make(chan struct{})
	w := f.start(l, f.openQueue(), func(c *jobs.Config) {
		c.DrainTimeout = 30 * time.Second
		c.Service = &held{Service: c.Service, reached: reached, answer: answer}
	})
	for range flying {
		<-reached
	}
	s.kill()
	const lease = 30 * time.Second // of asynq, which renews it while it can
	<-time.After(lease + 4*time.Second)
	time.AfterFunc(4*time.Second, func() { close(answer) })
	w.Stop()
	f.must(l.Close())
	f.want(f.openLedger(), "a", ledger.Counts{filing.Placed: flying, filing.Ready: 40 - flying})
}

// A server that is full takes nothing and still answers: that is away, too.
func TestRedisFull(t *testing.T) {
	t.Parallel()
	s := startRedis(t, nil)
	f := newFirm(t, servers{redis: "redis://" + s.addr()}, sandbox.Config{OpeningBalance: rich, AutoSeed: true})
	l := f.openLedger()
	f.add(l, "a", requests(100, report)...)
	said := &logged{}
	queue := f.openQueue()
	s.do("CONFIG", "SET", "maxmemory", "1")
	w := f.start(l, queue, said.to())
	if end := f.await(w, "a", jobs.WaitLimits{Silence: time.Second}); end.Reason != jobs.QueueDown ||
		!strings.Contains(end.Redis.Error(), "OOM") {
		t.Errorf("%+v", end)
	}
	s.do("CONFIG", "SET", "maxmemory", "0")
	if end := f.await(w, "a", patient); end.Reason != jobs.Finished {
		t.Errorf("%+v", end)
	}
	if said.count(`"orders held" reason=redis`) != 1 || said.count(`"orders resumed" reason=redis`) != 1 ||
		said.count("until=") != 0 { // no one knows when Redis is back
		t.Errorf("%q", said.lines)
	}
	f.agree(l, "a")
}

// Whatever the size of a batch and however often the crew changes, Redis holds
// a bounded window of it; and a batch of five rows that comes while a large one
// runs is placed while it runs.
func TestBoundedWindowAndSmallBatch(t *testing.T) {
	t.Parallel()
	const rows = 20_000
	s := startRedis(t, nil)
	f := newFirm(t, servers{redis: "redis://" + s.addr()},
		sandbox.Config{OpeningBalance: 1e12, AutoSeed: true, Latency: 100 * time.Millisecond})
	l := f.openLedger()
	addBatch(t, l, "large", rows)
	f.start(l, f.openQueue(), func(c *jobs.Config) { c.Concurrency = 32 })
	most := 0
	look := func() {
		keys, err := s.admin.Keys(t.Context(), "asynq:{filings}:t:*").Result()
		f.must(err)
		most = max(most, len(keys))
	}
	for range 3 { // processes come and go
		look()
		other := f.openLedger()
		w := f.start(other, f.openQueue())
		f.eventually("the next process is at work",
			func() bool { look(); return len(f.seen("POST", "/v1/orders")) > 0 })
		w.Stop()
		f.must(other.Close())
		f.must(jobs.Sweep(t.Context(), l, slog.New(slog.DiscardHandler)))
	}
	var small []*filing.Request
	for i := range 5 {
		small = append(small, report(rows+i))
	}
	f.add(l, "small", small...)
	began := time.Now()
	f.eventually("the small batch is placed", func() bool {
		look()
		counts, err := l.Counts(t.Context(), "small")
		f.must(err)
		return counts[filing.Placed] == 5
	})
	took := time.Since(began)
	counts, err := l.Counts(t.Context(), "large")
	f.must(err)
	t.Logf("at most %d tasks in Redis; the small batch took %s, the large one had %d of %d rows placed", most,
		took.Round(time.Millisecond), counts[filing.Placed], rows)
	if most*16 > 3*2048 {
		t.Errorf("%d tasks were in Redis at once", most)
	}
	if counts[filing.Ready] < rows/2 {
		t.Errorf("%v: the large batch was nearly done", counts)
	}
}

// Where nothing is asked, silence says nothing of the service: a rate of one
// request in ten seconds is no outage.
func TestSlowPaceIsNoOutage(t *testing.T) {
	f := newFirm(t, servers{}, sandbox.Config{OpeningBalance: rich, AutoSeed: true})
	l := f.openLedger()
	f.add(l, "a", requests(2, agentChange)...)
	queue := f.openQueue()
	w := f.start(l, queue, func(c *jobs.Config) { c.Throttle = queue.Throttle(1, t.TempDir()) })
	if end := f.await(w, "a", jobs.WaitLimits{Silence: 100 * time.Millisecond}); end.Reason != jobs.Finished {
		t.Errorf("%+v", end)
	}
}
