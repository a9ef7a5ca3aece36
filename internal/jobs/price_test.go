package jobs_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"bulkfiling/internal/filing"
	"bulkfiling/internal/filingapi"
	"bulkfiling/internal/jobs"
)

func TestAskingForPricesTellsTheFleetOfTheKey(t *testing.T) {
	f := &firm{T: t, dir: t.TempDir()}
	l := f.openLedger()
	var status int
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		w.Write([]byte(`{"prices":[],"message":"so it is"}`))
	}))
	t.Cleanup(service.Close)
	client, err := filingapi.New(filingapi.Config{BaseURL: service.URL + "/v1", Key: "sk_test_1", Timeout: time.Second})
	f.must(err)
	for _, c := range []struct {
		status int
		err    error
		halt   filing.Halt // of the fleet, after it
	}{
		{400, filingapi.ErrRefused, filing.Nothing},
		{401, filingapi.ErrKeyRefused, filing.ForKey},
		{503, filingapi.ErrBusy, filing.ForKey}, // it says nothing of the key
		{404, filingapi.ErrNotFound, filing.ForKey},
		{200, nil, filing.Nothing},
	} {
		status = c.status
		_, err := jobs.AskPrices(t.Context(), client, l)
		halted, failed := l.Standstill(t.Context())
		f.must(failed)
		if !errors.Is(err, c.err) || halted.Reason != c.halt {
			t.Errorf("%d: %v, halted %q; want %v, %q", c.status, err, halted.Reason, c.err, c.halt)
		}
	}
}
