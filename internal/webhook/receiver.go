package webhook

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"

	"bulkfiling/internal/filing"
)

// The bounds of a delivery. Assumption: none is shown in the spec.
const (
	maxBody    = 1 << 20 // bytes
	bodyTime   = 10 * time.Second
	storeTime  = 10 * time.Second
	retryAfter = 5 * time.Second // asked for where an event cannot be stored now
)

// Receiver receives deliveries of events. It answers with:
//
//	200  the event is stored, now or earlier
//	400  it was cut short, or is signed and no event, which is stored as such
//	401  it is not signed with a known secret; nothing is stored
//	405  it is no POST
//	408  its body took too long
//	413  its body is larger than 1 MiB; it is not read on
//	503  it cannot be checked or stored now: to be sent again
//
// The content type is not looked at: the signature vouches for the body.
type Receiver struct {
	store    store
	verifier verifier
	stored   func() // called for every new event
	log      *slog.Logger

	refused, unchecked, unstored repeated
}

func (rc *Receiver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "send events by POST", http.StatusMethodNotAllowed)
		return
	}
	body, ok := readBody(w, r)
	if !ok {
		return
	}
	// The service may hang up; what it has sent is stored all the same.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), storeTime)
	defer cancel()
	switch err := rc.verifier.Verify(ctx, r.Header, body); {
	case errors.Is(err, ErrSignature):
		rc.refused.say(rc.log, "webhook delivery refused", err, r)
		http.Error(w, "the signature is missing or wrong", http.StatusUnauthorized)
		return
	case errors.Is(err, ErrNoSecret):
		rc.unchecked.say(
			rc.log, "webhook delivery refused: no signing secret", err, r)
		again(w, "no signing secret is known yet")
		return
	case err != nil:
		rc.unchecked.say(rc.log, "webhook delivery not checked", err, r)
		again(w, "the signature cannot be checked now")
		return
	}
	e, err := filing.ParseEvent(body)
	if err != nil {
		if _, failed := rc.store.KeepUnreadable(ctx, body, err.Error()); failed != nil {
			rc.unstored.say(rc.log, "unreadable event not stored", failed, r)
			again(w, "the event cannot be stored now")
			return
		}
		rc.log.Warn("unreadable event stored", "err", err, "bytes", len(body))
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	fresh, err := rc.store.Keep(ctx, e, body)
	if err != nil {
		rc.unstored.say(rc.log, "event not stored", err, r)
		again(w, "the event cannot be stored now")
		return
	}
	if fresh {
		rc.stored()
	}
	rc.log.Debug("event received", "event", e.ID, "type", e.Type, "order", e.OrderID, "fresh", fresh)
	w.WriteHeader(http.StatusOK)
}

// readBody reads what there is to verify, and answers where there is none.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, bool) {
	// Where a connection has no deadlines, the server's own have to do.
	connection := http.NewResponseController(w)
	refuse := func(status int, why string) ([]byte, bool) {
		// Or the server would read on, to use the connection again.
		w.Header().Set("Connection", "close")
		_ = connection.SetReadDeadline(time.Now())
		http.Error(w, why, status)
		return nil, false
	}
	const tooLarge = "an event has at most 1 MiB"
	if r.ContentLength > maxBody {
		return refuse(http.StatusRequestEntityTooLarge, tooLarge)
	}
	_ = connection.SetReadDeadline(time.Now().Add(bodyTime))
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var large *http.MaxBytesError
	switch {
	case err == nil:
		return body, true
	case errors.As(err, &large):
		return refuse(http.StatusRequestEntityTooLarge, tooLarge)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return refuse(http.StatusRequestTimeout, "the body took too long")
	default:
		return refuse(http.StatusBadRequest, "the body was cut short")
	}
}

// again asks the service to deliver once more. Assumption: what it does on which
// answer is not shown in the spec; a 503 is what any sender repeats.
func again(w http.ResponseWriter, why string) {
	w.Header().Set("Retry-After", strconv.Itoa(int(retryAfter.Seconds())))
	http.Error(w, why, http.StatusServiceUnavailable)
}

// repeated is a warning that strangers could fill the log with: it is logged at
// most once in ten seconds, with the number of times that it was due.
type repeated struct {
	mu    sync.Mutex
	said  time.Time
	times int
}

const silence = 10 * time.Second

func (c *repeated) say(log *slog.Logger, what string, err error, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.times++
	if !c.said.IsZero() && time.Since(c.said) < silence {
		return
	}
	log.Warn(what, "err", err, "from", r.RemoteAddr, "times", c.times)
	c.said, c.times = time.Now(), 0
}
