package notify

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/outbox"
)

const (
	// checkInterval is the time between two checks.
	checkInterval = 5 * time.Second
	// sufficientFor is the time for which funds must be sufficient before that is reported. Rows that a
	// deposit releases wait again if the deposit was too small.
	sufficientFor = 10 * time.Second
	// gatherFor is the time for which rows are collected into one message.
	gatherFor = 30 * time.Second
	// minSpacing is the minimum time between two messages of one kind about a batch.
	minSpacing = 5 * time.Minute
	// lease is the lifetime of a claim on a notification. It exceeds the time that sending takes.
	lease = time.Minute
	// sendTimeout is the timeout of a target.
	sendTimeout = 20 * time.Second
	// retryFor is the time for which delivery is retried. The end of an older batch is not reported.
	retryFor = 24 * time.Hour
	// drainTimeout is the time for the last deliveries when the process ends.
	drainTimeout = 10 * time.Second
)

// backoff returns the wait after n failed attempts.
func backoff(n int) time.Duration {
	return min(15*time.Second<<min(n-1, 10), 15*time.Minute)
}

// Config configures a Notifier.
type Config struct {
	Ledger  *ledger.Ledger
	Targets []*Target
	// On are the kinds to send. Nil means all kinds.
	On []outbox.Kind
	// Log receives the failures. Nil means no log.
	Log *slog.Logger
}

// Notifier sends notifications about events in a ledger. Any number of notifiers, in any number of
// processes, send each notification once. A target gets a notification twice only if a process dies
// between sending and recording it.
type Notifier struct {
	c Config
	// seen is the start of each current condition, by its name.
	seen map[string]time.Time
}

// New returns a notifier. Without targets it does nothing.
func New(c Config) *Notifier {
	if c.On == nil {
		c.On = outbox.Kinds
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return &Notifier{c: c, seen: make(map[string]time.Time)}
}

// ErrKind is returned for a word that is not a kind of notification.
var ErrKind = errors.New("not a kind of notification")

// ParseKinds parses kinds separated by commas. An empty text and "all" mean all kinds.
func ParseKinds(text string) ([]outbox.Kind, error) {
	var kinds []outbox.Kind
	for word := range strings.FieldsFuncSeq(strings.ToLower(text), func(r rune) bool { return r == ',' || r == ' ' }) {
		kind := outbox.Kind(word)
		switch {
		case word == "all":
			return outbox.Kinds, nil
		case !slices.Contains(outbox.Kinds, kind):
			return nil, fmt.Errorf("%w: %q. The kinds are: all, %s", ErrKind, word,
				strings.Trim(fmt.Sprint(outbox.Kinds), "[]"))
		default:
			kinds = append(kinds, kind)
		}
	}
	if kinds == nil {
		return outbox.Kinds, nil
	}
	return kinds, nil
}

// Run sends notifications until the context ends, and then once more without gathering, so that a
// run reports its own end. Failed deliveries are logged and retried.
func (n *Notifier) Run(ctx context.Context) {
	if len(n.c.Targets) == 0 {
		return
	}
	// A check that runs when the context ends has time to record its deliveries.
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(drainTimeout, cancel) })()
	tick := time.NewTicker(checkInterval)
	defer tick.Stop()
	for {
		n.logFailure(work, n.check(work, false))
		select {
		case <-tick.C:
		case <-ctx.Done():
			n.logFailure(work, n.check(work, true))
			return
		}
	}
}

func (n *Notifier) logFailure(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil {
		n.c.Log.Warn("notifying failed, retrying", "err", err)
	}
}

// check writes the notifications of new events and sends the due ones. The last check waits for
// nothing.
func (n *Notifier) check(ctx context.Context, last bool) error {
	err := n.write(ctx, last)
	gone, e := n.c.Ledger.Notifications().GiveUp(ctx, retryFor)
	if gone > 0 {
		n.c.Log.Error("notifications dropped", "notifications", gone, "after", retryFor.String())
	}
	return errors.Join(err, e, n.deliver(ctx))
}

// write adds a notification to the ledger for each new event.
func (n *Notifier) write(ctx context.Context, last bool) error {
	reportable, err := n.c.Ledger.Attention().FindReportable(ctx)
	if err != nil {
		return err
	}
	return errors.Join(n.notifyFunds(ctx, reportable, last), n.notifyKey(ctx, reportable),
		n.notifyBatches(ctx, reportable), n.notifyRows(ctx, reportable, last))
}

func (n *Notifier) sends(kind outbox.Kind) bool { return slices.Contains(n.c.On, kind) }

func (n *Notifier) add(ctx context.Context, notification outbox.Notification, err error) error {
	if err == nil {
		_, err = n.c.Ledger.Notifications().Add(ctx, notification)
	}
	return err
}

// notifyFunds reports insufficient funds, and their end. Funds are insufficient if the filing
// service refuses orders for them, or if rows wait for the recorded balance. The filing service
// does not report this while it refuses the key.
func (n *Notifier) notifyFunds(ctx context.Context, reportable ledger.Reportable, last bool) error {
	out := reportable.Halt == filing.HaltFunds || reportable.Short
	enough := !out && reportable.Halt != filing.HaltKey
	lasted := n.lasted("funds", enough && reportable.FundsReported, sufficientFor)
	switch {
	case !n.sends(outbox.KindFunds):
		return nil
	case out && !reportable.FundsReported:
		notification, err := n.fundsOut(ctx, reportable)
		return n.add(ctx, notification, err)
	case enough && reportable.FundsReported && (lasted || last):
		notification, err := n.fundsBack(ctx)
		return n.add(ctx, notification, err)
	}
	return nil
}

func (n *Notifier) notifyKey(ctx context.Context, reportable ledger.Reportable) error {
	switch refused := reportable.Halt == filing.HaltKey; {
	case !n.sends(outbox.KindKey):
		return nil
	case refused && !reportable.KeyReported:
		return n.add(ctx, n.keyRefused(reportable), nil)
	case !refused && reportable.KeyReported:
		return n.c.Ledger.Notifications().End(ctx, outbox.KindKey, "")
	}
	return nil
}

func (n *Notifier) notifyBatches(ctx context.Context, reportable ledger.Reportable) error {
	if !n.sends(outbox.KindBatch) {
		return nil
	}
	var all error
	for _, id := range reportable.Resumed {
		all = errors.Join(all, n.c.Ledger.Notifications().End(ctx, outbox.KindBatch, id))
	}
	for _, id := range reportable.Ended {
		notification, err := n.batchEnded(ctx, id, time.Now().Add(-retryFor))
		all = errors.Join(all, n.add(ctx, notification, err))
	}
	return all
}

// notifyRows collects the uncertain rows of a batch into one message, and likewise the rows with
// exceptions and the rows bought twice.
func (n *Notifier) notifyRows(ctx context.Context, reportable ledger.Reportable, last bool) error {
	var all error
	if reportable.Cured {
		all = n.c.Ledger.Notifications().ForgetCured(ctx)
	}
	type heap struct {
		kind  outbox.Kind
		batch string
	}
	heaps := make(map[heap][]outbox.Pending)
	for _, u := range reportable.Pending {
		if n.sends(u.Kind) {
			heaps[heap{u.Kind, u.Batch}] = append(heaps[heap{u.Kind, u.Batch}], u)
		}
	}
	for what := range n.seen {
		if kind, batch, ok := strings.Cut(what, "|"); ok && heaps[heap{outbox.Kind(kind), batch}] == nil {
			delete(n.seen, what)
		}
	}
	for h, of := range heaps {
		what := string(h.kind) + "|" + h.batch
		if !n.lasted(what, true, gatherFor) && !last {
			continue
		}
		before, err := n.c.Ledger.Notifications().FindLast(ctx, h.kind, h.batch)
		if err != nil || !last && time.Since(before) < minSpacing {
			all = errors.Join(all, err)
			continue
		}
		notification, err := n.rows(ctx, h.kind, h.batch, of)
		if err = n.add(ctx, notification, err); err == nil {
			delete(n.seen, what)
		}
		all = errors.Join(all, err)
	}
	return all
}

// lasted reports whether a condition was true at every check for at least d.
func (n *Notifier) lasted(what string, so bool, d time.Duration) bool {
	if !so {
		delete(n.seen, what)
		return false
	}
	since, known := n.seen[what]
	if !known {
		since = time.Now()
		n.seen[what] = since
	}
	return time.Since(since) >= d
}

// deliver sends the due notifications, the oldest first. A target that fails is not tried again in
// the same check.
func (n *Notifier) deliver(ctx context.Context) error {
	down := make(map[*Target]error)
	for ctx.Err() == nil {
		notification, ok, err := n.c.Ledger.Notifications().Claim(ctx, n.c.On, lease)
		if err != nil || !ok {
			return err
		}
		targets := n.targetsOf(notification)
		address, err := n.c.Ledger.Notifications().PageAddress(ctx)
		if err != nil {
			return err
		}
		if address != "" && notification.Path != "" {
			notification.Body = strings.TrimSuffix(notification.Body, "\n") + "\nOpen: " + address +
				notification.Path + "\n"
		}
		send(ctx, &notification, targets, down)
		var again time.Time
		var failure []string
		for _, t := range targets {
			if slices.Contains(notification.Reported, t.id) {
				continue
			}
			again = time.Now().Add(backoff(notification.Attempts))
			failure = append(failure, fmt.Sprintf("%s: %v", t, down[t]))
			n.c.Log.Warn("notification not delivered", "target", t.String(), "kind", notification.Kind, "times",
				notification.Attempts, "err", down[t])
		}
		// Record a delivery even while the process ends.
		if err := n.c.Ledger.Notifications().RecordDelivery(context.WithoutCancel(ctx), notification, again,
			strings.Join(failure, "; ")); err != nil {
			return err
		}
	}
	return nil
}

// targetsOf returns the firm's targets, and a mailbox for each recipient of the notification. The
// mailboxes use the first mail server among the targets. Without a mail server, only the firm's
// targets get the notification.
func (n *Notifier) targetsOf(notification outbox.Notification) []*Target {
	all := slices.Clone(n.c.Targets)
	server := mailServer(n.c.Targets)
	if server == nil {
		return all
	}
	for _, recipient := range notification.Recipients {
		box := server.mailTo(recipient)
		if !slices.ContainsFunc(all, func(t *Target) bool { return t.id == box.id }) {
			all = append(all, box)
		}
	}
	return all
}

// send sends a notification in parallel to all targets that do not have it yet.
func send(ctx context.Context, notification *outbox.Notification, targets []*Target, down map[*Target]error) {
	waiting := slices.DeleteFunc(slices.Clone(targets), func(t *Target) bool {
		return slices.Contains(notification.Reported, t.id) || down[t] != nil
	})
	for i, err := range sendAll(ctx, waiting, *notification) {
		if err != nil {
			down[waiting[i]] = err
		} else {
			notification.Reported = append(notification.Reported, waiting[i].id)
		}
	}
}

func sendAll(ctx context.Context, targets []*Target, m outbox.Notification) []error {
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	failed := make([]error, len(targets))
	var sending sync.WaitGroup
	for i, t := range targets {
		sending.Go(func() { failed[i] = t.Send(ctx, m) })
	}
	sending.Wait()
	return failed
}
