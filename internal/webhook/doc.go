// Package webhook receives the events of the filing service. A delivery is
// verified, stored once, and only then answered; stored events are applied
// separately, by whichever process comes first. A crash at any point loses
// nothing: what was not stored was not answered with 2xx and is sent again.
//
//	handler, applier := webhook.Handler(l, webhook.NewHMAC(webhook.Secrets(l.Endpoints(), env.WebhookSecrets)), log)
//	mux.Handle("POST "+webhook.Path, handler)
//	go applier.Run(ctx)
package webhook
