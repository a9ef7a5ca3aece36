package webhook

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strconv"
	"time"

	"golang.org/x/time/rate"

	"github.com/bulkfiling/bulkfiling/internal/filing"
)

// The limits of a delivery. Assumption: the spec shows none.
const (
	// maxBody is in bytes.
	maxBody   = 1 << 20
	bodyTime  = 10 * time.Second
	storeTime = 10 * time.Second
	// retryAfter is the Retry-After of an event that cannot be stored now.
	retryAfter = 5 * time.Second
)

// Receiver receives deliveries of events. It answers with these statuses:
//
//	200  the event is stored, now or earlier
//	400  the body was cut short, or is signed but no event (a signed body is stored)
//	401  the body is not signed with a known secret, and nothing is stored
//	405  the method is not POST
//	408  the body took too long
//	413  the body is larger than 1 MiB, and the rest is not read
//	503  the event cannot be verified or stored now, and the sender tries again
//
// It ignores the content type, because the signature authenticates the body.
type Receiver struct {
	store    eventStore
	verifier *HMAC
	// stored is called for every new event.
	stored func()
	log    *slog.Logger

	refused, unchecked, unstored *rate.Sometimes
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
	// The event is stored even if the filing service hangs up.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), storeTime)
	defer cancel()
	switch err := rc.verifier.Verify(ctx, r.Header, body); {
	case errors.Is(err, ErrSignature):
		rc.warn(rc.refused, "webhook delivery refused", err, r)
		http.Error(w, "the signature is missing or wrong", http.StatusUnauthorized)
		return
	case errors.Is(err, ErrNoSecret):
		rc.warn(rc.unchecked, "webhook delivery refused: no signing secret", err, r)
		again(w, "no signing secret is known yet")
		return
	case err != nil:
		rc.warn(rc.unchecked, "webhook delivery not checked", err, r)
		again(w, "the signature cannot be checked now")
		return
	}
	e, err := filing.ParseEvent(body)
	if err != nil {
		if _, failed := rc.store.KeepUnreadable(ctx, body, err.Error()); failed != nil {
			rc.warn(rc.unstored, "unreadable event not stored", failed, r)
			again(w, "the event cannot be stored now")
			return
		}
		rc.log.Warn("unreadable event stored", "err", err, "bytes", len(body))
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	fresh, err := rc.store.Keep(ctx, e, body)
	if err != nil {
		rc.warn(rc.unstored, "event not stored", err, r)
		again(w, "the event cannot be stored now")
		return
	}
	if fresh {
		rc.stored()
	}
	rc.log.Debug("event received", "event", e.ID, "type", e.Type, "order", e.OrderID, "fresh", fresh)
	w.WriteHeader(http.StatusOK)
}

// readBody reads the body, or answers the request if the body cannot be read.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, bool) {
	// A connection without deadlines uses the server's deadlines.
	connection := http.NewResponseController(w)
	refuse := func(status int, why string) ([]byte, bool) {
		// Otherwise the server would read the rest of the body to reuse the connection.
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

// again asks the filing service to deliver again. Assumption: the spec does not show which answers
// make it deliver again. Senders usually do after a 503.
func again(w http.ResponseWriter, why string) {
	w.Header().Set("Retry-After", strconv.Itoa(int(retryAfter.Seconds())))
	http.Error(w, why, http.StatusServiceUnavailable)
}

// warnInterval is the minimum time between two warnings of a kind. Otherwise strangers could fill the
// log with them.
const warnInterval = 10 * time.Second

// warn logs the reason why a delivery is not stored, limited in frequency.
func (rc *Receiver) warn(often *rate.Sometimes, message string, err error, r *http.Request) {
	often.Do(func() {
		//nolint:sloglint // The callers pass constants.
		rc.log.Warn(message, "err", err, "address", r.RemoteAddr)
	})
}
