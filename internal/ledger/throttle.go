package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"
)

// Try is one attempt to sign in.
type Try struct {
	Kind    string // what is proved: "code", "passkey"; "" for a password. Each kind has its own counters
	Name    string // the account's name, as it was typed
	From    string // the address it comes from
	Browser string // the cookie of a known browser: see RememberBrowser; "" for none
	Session string // the secret of the session in which its owner tries; "" for none
}

// TooMany is returned for a try that has to wait because of failures before it.
type TooMany struct {
	Until time.Time // when to try again
	Scope string    // which failures: see the scopes
}

func (e *TooMany) Error() string {
	return "too many failed attempts: try again later"
}

// scope is a set of failures that count together, and what they cost.
type scope struct {
	name  string
	free  int           // failures that may happen without a wait
	leak  time.Duration // after which one failure is forgiven; 0 for never
	waits []time.Duration
}

var tryWaits = []time.Duration{time.Minute, 2 * time.Minute, 4 * time.Minute, 8 * time.Minute, 15 * time.Minute}

// The scopes. A stranger's failures count by name and address, by address, and
// by name. The bound by name is loose, and it does not hold for addresses from
// which the account signed in before: a stranger cannot reach it for the owner.
// A browser that signed in before and a session have counters of their own,
// which no one else can use up.
var (
	byNameAndAddress = scope{name: "name and address", free: 4, waits: tryWaits}
	byAddress        = scope{name: "address", free: 30, leak: 2 * time.Minute, waits: tryWaits}
	byName           = scope{name: "name", free: 50, leak: 15 * time.Minute, waits: tryWaits}
	byBrowser        = scope{name: "browser", free: 4, waits: tryWaits}
	bySession        = scope{name: "session", free: 4, waits: tryWaits}
)

// forgetAfter is how long failures count when no other follows.
const forgetAfter = 24 * time.Hour

// after is how many failures still count of those that were counted last at a
// moment.
func (s scope) after(count int, passed time.Duration) int {
	if s.leak > 0 && passed > 0 {
		count -= int(passed / s.leak)
	}
	return max(count, 0)
}

// wait is how long one has to wait after a failure that follows count others.
func (s scope) wait(count int) time.Duration {
	if count < s.free {
		return 0
	}
	return s.waits[min(count-s.free, len(s.waits)-1)]
}

// Network is the part of an address that one person controls: all of an IPv4
// address, and the /64 of an IPv6 address.
func Network(address string) string {
	ip, err := netip.ParseAddr(address)
	if err != nil {
		return address
	}
	ip = ip.Unmap().WithZone("")
	if ip.Is4() {
		return ip.String()
	}
	network, err := ip.Prefix(64)
	if err != nil {
		return address
	}
	return network.String()
}

// CountedTry is a try that counts as a failure until it is known to be none.
type CountedTry struct {
	Known bool      // it comes from a known browser, or from a session of the account
	Until time.Time // how long the next one waits if this one fails; zero for no wait
	Scope string    // which failures make it wait

	ledger   Accounts
	counters []counter
}

// counter is one row of failures.
type counter struct {
	scope scope
	hash  string
	count int // with this try
}

// CountTry counts a try as a failure before it is made, so that many at once are
// counted one by one, by all processes over the ledger together. Succeed and
// TakeBack take the count back. It returns *TooMany for a try that has to wait.
func (l Accounts) CountTry(ctx context.Context, t Try) (*CountedTry, error) {
	ctx = withoutAudit(ctx)
	c := &CountedTry{ledger: l}
	if err := l.chooseCounters(ctx, t, c); err != nil {
		return nil, fmt.Errorf("count failed attempts: %w", err)
	}
	// A try that has to wait counts nowhere: it would prolong its other waits.
	for _, one := range c.counters {
		if _, _, until, err := l.loadFailures(ctx, one); err != nil {
			return nil, fmt.Errorf("count failed attempts: %w", err)
		} else if !until.IsZero() {
			return nil, &TooMany{Until: until, Scope: one.scope.name}
		}
	}
	for i := range c.counters {
		until, err := l.addFailure(ctx, &c.counters[i], t.From)
		if err != nil {
			return nil, err
		}
		if until.After(c.Until) {
			c.Until, c.Scope = until, c.counters[i].scope.name
		}
	}
	return c, nil
}

// chooseCounters finds the failures among which a try counts.
func (l Accounts) chooseCounters(ctx context.Context, t Try, c *CountedTry) error {
	name, network := folded(t.Name), Network(t.From)
	add := func(s scope, key ...string) {
		c.counters = append(c.counters, counter{scope: s, hash: hashed(s.name + "\x00" + strings.Join(key, "\x00"))})
	}
	if t.Session != "" {
		var n int
		err := l.read.QueryRowContext(ctx, `SELECT COUNT(*) FROM sessions s JOIN accounts a ON a.id = s.account
			WHERE s.hash = $1 AND a.name = $2 AND a.disabled = 0`, hashed(t.Session), name).Scan(&n)
		if err != nil {
			return err
		}
		if n > 0 {
			c.Known = true
			add(bySession, t.Kind, hashed(t.Session))
			return nil
		}
	}
	browsers, err := l.loadBrowsers(ctx, name)
	if err != nil {
		return err
	}
	presented := presentedBrowsers(t.Browser)
	knownNetwork := false
	for _, b := range browsers {
		if _, ok := presented[b.hash]; ok {
			c.Known = true
			add(byBrowser, t.Kind, b.hash)
			return nil
		}
		knownNetwork = knownNetwork || b.network == network
	}
	add(byNameAndAddress, t.Kind, name, network)
	add(byAddress, network)
	if !knownNetwork {
		add(byName, t.Kind, name)
	}
	return nil
}

// loadFailures reads a counter: what it holds, and until when it is locked.
func (l Accounts) loadFailures(ctx context.Context, c counter) (count int, at int64, until time.Time, err error) {
	now := l.now()
	var locked int64
	err = l.read.QueryRowContext(ctx, `SELECT count, at, until FROM failures WHERE hash = $1 AND at >= $2`,
		c.hash, toMillis(now.Add(-forgetAfter))).Scan(&count, &at, &locked)
	if err == nil && locked > toMillis(now) {
		until = fromMillis(locked)
	}
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return count, at, until, err
}

// addFailure counts one more failure, and returns how long it locks.
func (l Accounts) addFailure(ctx context.Context, c *counter, from string) (time.Time, error) {
	for {
		now := l.now()
		was, at, until, err := l.loadFailures(ctx, *c)
		switch {
		case err != nil:
			return time.Time{}, fmt.Errorf("count failed attempts: %w", err)
		case !until.IsZero():
			return time.Time{}, &TooMany{Until: until, Scope: c.scope.name}
		case at == 0: // there is none, or one that no longer counts
			if _, err := l.exclusively(ctx, `DELETE FROM failures WHERE at < $1`,
				toMillis(now.Add(-forgetAfter))); err != nil {
				return time.Time{}, fmt.Errorf("delete old failures: %w", err)
			}
		}
		count := c.scope.after(was, now.Sub(fromMillis(at)))
		if wait := c.scope.wait(count); wait > 0 {
			until = fromMillis(toMillis(now.Add(wait)))
		}
		n, err := affected(l.exclusively(ctx,
			`INSERT INTO failures (hash, count, until, at, origin)
				VALUES ($1,$2,$3,$4,$5)
				ON CONFLICT (hash) DO UPDATE SET count = excluded.count, until = excluded.until, at = excluded.at,
					origin = excluded.origin
				WHERE failures.count = $6 AND failures.at = $7`,
			c.hash, count+1, toMillis(until), toMillis(now), from, was, at))
		if err != nil {
			return time.Time{}, fmt.Errorf("count failed attempts: %w", err)
		}
		if n == 1 {
			c.count = count + 1
			return until, nil
		}
		// Somebody else tried at the same moment: look again.
	}
}

// Succeed records that the try succeeded. It forgets the failures before it,
// but for those of its address: they may be of other names.
func (c *CountedTry) Succeed(ctx context.Context) error {
	for _, one := range c.counters {
		if one.scope.name != byAddress.name {
			continue
		}
		if err := c.ledger.revertFailure(ctx, one); err != nil {
			return err
		}
	}
	return c.forget(ctx)
}

// forget forgets the failures that count with a try, but for those of its address.
func (c *CountedTry) forget(ctx context.Context) error {
	for _, one := range c.counters {
		if one.scope.name == byAddress.name {
			continue
		}
		if _, err := c.ledger.exclusively(withoutAudit(ctx), `DELETE FROM failures WHERE hash = $1`,
			one.hash); err != nil {
			return fmt.Errorf("delete failed attempts: %w", err)
		}
	}
	return nil
}

// ForgetFailures forgets the failures among which a try would count, but for
// those of its address: they may be of other names. A person who has reset a
// password with a link does not wait for the failures before.
func (l Accounts) ForgetFailures(ctx context.Context, t Try) error {
	c := &CountedTry{ledger: l}
	if err := l.chooseCounters(withoutAudit(ctx), t, c); err != nil {
		return fmt.Errorf("delete failed attempts: %w", err)
	}
	return c.forget(ctx)
}

// TakeBack says that the try was not made.
func (c *CountedTry) TakeBack(ctx context.Context) error {
	for _, one := range c.counters {
		if err := c.ledger.revertFailure(ctx, one); err != nil {
			return err
		}
	}
	return nil
}

// revertFailure counts one failure less, and unlocks what that one has locked.
func (l Accounts) revertFailure(ctx context.Context, c counter) error {
	_, err := l.exclusively(withoutAudit(ctx),
		`UPDATE failures SET count = count - 1, until = CASE WHEN count = $2 THEN 0 ELSE until END
		WHERE hash = $1 AND count > 0`, c.hash, c.count)
	return wrap("take a failed attempt back", err)
}
