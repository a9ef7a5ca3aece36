package intake

import (
	"context"

	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/webhook"
)

// EndpointWarning returns a warning if the filing service cannot report on orders that are placed
// now. It returns an empty text if a webhook endpoint is known. An endpoint is known if it was
// registered or added here, if the environment has its signing secret, or if events have arrived
// from it.
//
// Assumption: the service cannot be asked for its endpoints. Source: spec sections 6 (register
// endpoints before ordering) and 1 (nothing can be polled).
func EndpointWarning(ctx context.Context, l *ledger.Ledger, secretSet bool) (string, error) {
	if secretSet {
		return "", nil
	}
	endpoints, err := webhook.NewEndpoints(l.DB).List(ctx)
	if err != nil || len(endpoints) > 0 {
		return "", err
	}
	events, err := l.Events().List(ctx, "", 1)
	if err != nil || len(events) > 0 {
		return "", err
	}
	return "No webhook endpoint is registered: the status of these orders (filed, exceptions, documents) will not " +
		"be reported and cannot be requested later. Ask an operator to register one before ordering.", nil
}
