package main

import (
	"context"
	"net/http"
	"sync/atomic"

	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/webhook"
)

// events receives the filing service's events once the ledger is open; until then
// it asks for them to be sent again.
type events struct {
	receiver atomic.Pointer[webhook.Receiver]
}

func (e *events) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if receiver := e.receiver.Load(); receiver != nil {
		receiver.ServeHTTP(w, r)
		return
	}
	w.Header().Set("Retry-After", "5")
	http.Error(w, "not ready to store events, send again", http.StatusServiceUnavailable)
}

// receiveEvents receives events and applies them, until it is stopped.
func (w *worker) receiveEvents(ctx context.Context, l *ledger.Ledger) (stop func()) {
	if !w.options.webhooks {
		return func() {}
	}
	receiver, applier := webhook.Handler(l.Events(),
		webhook.NewHMAC(webhook.Secrets(l.Endpoints(), w.env.WebhookSecrets)), w.log)
	w.events.receiver.Store(receiver)
	return start(context.WithoutCancel(ctx), applier.Run)
}
