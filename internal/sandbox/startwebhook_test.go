package sandbox

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// An endpoint of the start gets events from the first on, signed with its secret,
// and is there once.
func TestAnEndpointOfTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := &inbox{made: time.Now(), hook: Webhook{Secret: "whsec_start"}}
		in.service = seeded(t, Config{
			Client:   &http.Client{Transport: in},
			Webhooks: []Webhook{{URL: "http://start.example/in", Secret: in.hook.Secret}},
		})
		in.service.TestDelivery(t.Context())
		posts := in.take()
		if len(posts) == 0 {
			t.Fatal("no event")
		}
		for _, p := range posts {
			if !p.good {
				t.Errorf("not signed with the secret of the start: %+v", p)
			}
		}
	})
}
