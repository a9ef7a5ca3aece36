// Package webhook receives the events of the filing service. It verifies a delivery, stores it
// once, and only then answers it. Any process applies the stored events later. A crash at any point
// loses nothing, because an event that was not stored got no 2xx and is sent again.
//
//	secrets := webhook.Secrets(webhook.NewEndpoints(l.DB), env.WebhookSecrets)
//	handler, applier := webhook.Handler(l.Events(), webhook.NewHMAC(secrets), log)
//	mux.Handle("POST "+webhook.Path, handler)
//	go applier.Run(ctx)
package webhook
