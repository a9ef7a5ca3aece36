package intake

import (
	"context"

	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

// EndpointWarning warns that the filing service will not report on orders placed
// now. It is empty where a webhook endpoint is known: one that was registered or
// added here, one whose signing secret the environment has, or one from which
// events came. Assumption: there is no way to ask the service. Source: spec section 6
// (register endpoints before ordering); section 1 (nothing can be polled).
func EndpointWarning(ctx context.Context, l *ledger.Ledger, secretSet bool) (string, error) {
	if secretSet {
		return "", nil
	}
	endpoints, err := l.Endpoints().List(ctx)
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
