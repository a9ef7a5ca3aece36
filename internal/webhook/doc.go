// Package webhook takes the service's events in: a delivery is verified, stored
// once, and only then answered; what is stored is applied apart from that, by
// whichever process comes first. A crash at any point loses nothing, for what
// was not stored was not answered with 2xx and is sent again.
//
//	handler, applier := webhook.Handler(l, webhook.NewHMAC(webhook.Secrets(l.Endpoints(), env.WebhookSecrets)), log)
//	mux.Handle("POST "+webhook.Path, handler)
//	go applier.Run(ctx)
package webhook
