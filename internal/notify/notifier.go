package notify

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"bulkfiling/internal/filing"
	"bulkfiling/internal/ledger"
)

const (
	every = 5 * time.Second // between two looks
	// how long funds suffice before that is told: rows that are woken by a
	// deposit wait again if it was too small
	steady   = 10 * time.Second
	gather   = 30 * time.Second // how long what belongs into one message is gathered
	apart    = 5 * time.Minute  // between two messages about the same of a batch
	lease    = time.Minute      // how long a claimed notice is nobody else's: longer than telling takes
	patience = 20 * time.Second // with a target
	giveUp   = 24 * time.Hour   // how long a notice is tried, and how old an end may be to be news
	parting  = 10 * time.Second // for what is left when the process ends
)

// backoff is when to try again what failed n times.
func backoff(n int) time.Duration {
	return min(15*time.Second<<min(n-1, 10), 15*time.Minute)
}

// Config is what a notifier is made of.
type Config struct {
	Ledger  *ledger.Ledger
	Targets []*Target
	On      []ledger.NotificationKind // what to tell; nil for everything
	Log     *slog.Logger              // nil for none
}

// Notifier tells what happens in a ledger. Any number of them, in as many
// processes, tell it once. A process that dies between the sending and the
// record of it is the one case in which a target hears the same twice.
type Notifier struct {
	ledger  *ledger.Ledger
	targets []*Target
	on      []ledger.NotificationKind
	log     *slog.Logger
	seen    map[string]time.Time // since when what is waited with has been so
}

// New makes a notifier. One without targets does nothing.
func New(c Config) *Notifier {
	n := &Notifier{
		ledger:  c.Ledger,
		targets: c.Targets,
		on:      c.On,
		log:     c.Log,
		seen:    make(map[string]time.Time),
	}
	if n.on == nil {
		n.on = ledger.NotificationKinds
	}
	if n.log == nil {
		n.log = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	return n
}

// ErrKind is returned for a word that is no kind of notice.
var ErrKind = errors.New("not a kind of notification")

// ParseKinds reads kinds separated by commas; "" and "all" are all of them.
func ParseKinds(text string) ([]ledger.NotificationKind, error) {
	var kinds []ledger.NotificationKind
	for word := range strings.FieldsFuncSeq(strings.ToLower(text), func(r rune) bool { return r == ',' || r == ' ' }) {
		switch kind := ledger.NotificationKind(word); {
		case word == "all":
			return ledger.NotificationKinds, nil
		case !slices.Contains(ledger.NotificationKinds, kind):
			return nil, fmt.Errorf("%w: %q; there are all, %s", ErrKind, word, list(ledger.NotificationKinds))
		default:
			kinds = append(kinds, kind)
		}
	}
	if kinds == nil {
		return ledger.NotificationKinds, nil
	}
	return kinds, nil
}

func list(kinds []ledger.NotificationKind) string {
	words := make([]string, len(kinds))
	for i, k := range kinds {
		words[i] = string(k)
	}
	return strings.Join(words, ", ")
}

// Run looks for news and tells it until the context ends; then once more,
// without waiting for more to gather, so that the end of a run is told by the
// run. What cannot be told is logged and tried again.
func (n *Notifier) Run(ctx context.Context) {
	if len(n.targets) == 0 {
		return
	}
	// A look under way when the context ends has its time too: what it has
	// sent must be recorded.
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(parting, cancel) })()
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		n.report(work, n.look(work, false))
		select {
		case <-tick.C:
		case <-ctx.Done():
			n.report(work, n.look(work, true))
			return
		}
	}
}

func (n *Notifier) report(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil {
		n.log.Warn("notifications are put off", "error", err)
	}
}

// look takes the news down and tells what is due. At the last look nothing is
// waited with.
func (n *Notifier) look(ctx context.Context, last bool) error {
	err := n.takeDown(ctx, last)
	gone, e := n.ledger.Notifications().GiveUp(ctx, giveUp)
	if gone > 0 {
		n.log.Error("notifications were given up", "notices", gone, "after", giveUp.String())
	}
	return errors.Join(err, e, n.tell(ctx))
}

// takeDown makes notices of the news.
func (n *Notifier) takeDown(ctx context.Context, last bool) error {
	news, err := n.ledger.Notifications().FindReportable(ctx)
	if err != nil {
		return err
	}
	w := writer{ledger: n.ledger, mode: news.Mode}
	return errors.Join(
		n.funds(ctx, w, news, last),
		n.key(ctx, w, news),
		n.batches(ctx, w, news),
		n.rows(ctx, w, news, last),
	)
}

func (n *Notifier) tells(kind ledger.NotificationKind) bool { return slices.Contains(n.on, kind) }

func (n *Notifier) keep(ctx context.Context, notice ledger.Notification, err error) error {
	if err == nil {
		_, err = n.ledger.Notifications().Add(ctx, notice)
	}
	return err
}

// funds are out when the service says so, or rows wait for the book. A refused
// key hides what the service would say of them.
func (n *Notifier) funds(ctx context.Context, w writer, news ledger.Reportable, last bool) error {
	out := news.Halt == filing.HaltFunds || news.Short
	enough := !out && news.Halt != filing.HaltKey
	lasted := n.lasted("funds", enough && news.FundsReported, steady)
	switch {
	case !n.tells(ledger.NotifyFunds):
		return nil
	case out && !news.FundsReported:
		notice, err := w.fundsOut(ctx, news)
		return n.keep(ctx, notice, err)
	case enough && news.FundsReported && (lasted || last):
		notice, err := w.fundsBack(ctx)
		return n.keep(ctx, notice, err)
	}
	return nil
}

func (n *Notifier) key(ctx context.Context, w writer, news ledger.Reportable) error {
	switch refused := news.Halt == filing.HaltKey; {
	case !n.tells(ledger.NotifyKey):
		return nil
	case refused && !news.KeyReported:
		return n.keep(ctx, w.keyRefused(news), nil)
	case !refused && news.KeyReported:
		return n.ledger.Notifications().End(ctx, ledger.NotifyKey, "")
	}
	return nil
}

func (n *Notifier) batches(ctx context.Context, w writer, news ledger.Reportable) error {
	if !n.tells(ledger.NotifyBatch) {
		return nil
	}
	var all error
	for _, id := range news.Resumed {
		all = errors.Join(all, n.ledger.Notifications().End(ctx, ledger.NotifyBatch, id))
	}
	for _, id := range news.Ended {
		notice, err := w.batchEnded(ctx, id, time.Now().Add(-giveUp))
		all = errors.Join(all, n.keep(ctx, notice, err))
	}
	return all
}

// rows gathers what is uncertain, and what has an exception, into a message a
// batch.
func (n *Notifier) rows(ctx context.Context, w writer, news ledger.Reportable, last bool) error {
	var all error
	if news.Cured {
		all = n.ledger.Notifications().ForgetCured(ctx)
	}
	type heap struct {
		kind  ledger.NotificationKind
		batch string
	}
	heaps := make(map[heap][]ledger.Pending)
	for _, u := range news.Pending {
		if n.tells(u.Kind) {
			heaps[heap{u.Kind, u.Batch}] = append(heaps[heap{u.Kind, u.Batch}], u)
		}
	}
	for what := range n.seen {
		if kind, batch, ok := strings.Cut(what, "|"); ok && heaps[heap{ledger.NotificationKind(kind), batch}] == nil {
			delete(n.seen, what)
		}
	}
	for h, of := range heaps {
		what := string(h.kind) + "|" + h.batch
		if !n.lasted(what, true, gather) && !last {
			continue
		}
		before, err := n.ledger.Notifications().FindLast(ctx, h.kind, h.batch)
		if err != nil || !last && time.Since(before) < apart {
			all = errors.Join(all, err)
			continue
		}
		write := map[ledger.NotificationKind]func(context.Context, string, []ledger.Pending) (ledger.Notification, error){
			ledger.NotifyUncertain: w.uncertain, ledger.NotifyExceptions: w.exceptions, ledger.NotifyTwice: w.twice,
		}[h.kind]
		notice, err := write(ctx, h.batch, of)
		if err = n.keep(ctx, notice, err); err == nil {
			delete(n.seen, what)
		}
		all = errors.Join(all, err)
	}
	return all
}

// lasted reports whether something has been so, at every look, for a while.
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

// tell sends what is due, the oldest first. A target that fails is not asked
// again at the same look.
func (n *Notifier) tell(ctx context.Context) error {
	down := make(map[*Target]error)
	for ctx.Err() == nil {
		notice, ok, err := n.ledger.Notifications().Claim(ctx, n.on, lease)
		if err != nil || !ok {
			return err
		}
		n.send(ctx, &notice, down)
		var again time.Time
		var failure []string
		for _, t := range n.targets {
			if slices.Contains(notice.Reported, t.id) {
				continue
			}
			again = time.Now().Add(backoff(notice.Tries))
			failure = append(failure, fmt.Sprintf("%s: %v", t, down[t]))
			n.log.Warn("a notification was not delivered", "target", t.String(), "about", notice.Subject, "try",
				notice.Tries, "error", down[t])
		}
		// What a target has is recorded whatever becomes of this process.
		if err := n.ledger.Notifications().RecordDelivery(context.WithoutCancel(ctx), notice, again,
			strings.Join(failure, "; ")); err != nil {
			return err
		}
	}
	return nil
}

// send gives a notice to the targets that have it not, side by side.
func (n *Notifier) send(ctx context.Context, notice *ledger.Notification, down map[*Target]error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	m := Message{Kind: notice.Kind, Batch: notice.Batch, Subject: notice.Subject, Body: notice.Body}
	waiting := slices.DeleteFunc(slices.Clone(n.targets), func(t *Target) bool {
		return slices.Contains(notice.Reported, t.id) || down[t] != nil
	})
	for i, err := range sendAll(ctx, waiting, m) {
		if err != nil {
			down[waiting[i]] = err
		} else {
			notice.Reported = append(notice.Reported, waiting[i].id)
		}
	}
}

// Test sends a message to every target and returns what became of it, in the
// order of the targets: nil for those that work.
func Test(ctx context.Context, targets []*Target) []error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return sendAll(ctx, targets, testMessage)
}

func sendAll(ctx context.Context, targets []*Target, m Message) []error {
	failed := make([]error, len(targets))
	var sending sync.WaitGroup
	for i, t := range targets {
		sending.Go(func() { failed[i] = t.Send(ctx, m) })
	}
	sending.Wait()
	return failed
}
