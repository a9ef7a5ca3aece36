package config_test

import (
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/config"
	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/filingapi"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/schedule"
)

// priced is an environment whose service answers the question for its prices
// with a status, and counts how often it was asked.
func priced(t *testing.T, status *int) (e config.Environment, l *ledger.Ledger, client *filingapi.Client, asked *int) {
	t.Helper()
	asked = new(int)
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		*asked++
		w.WriteHeader(*status)
		w.Write([]byte(
			`{"createdAt":"2024-01-01T00:00:00Z","prices":[{"type":"annual_report","wholesaleAmount":25}],` +
				`"message":"no such key"}`))
	}))
	t.Cleanup(service.Close)
	e, err := read(t, map[string]string{"FILING_BASE_URL": service.URL + "/v1", "FILING_API_KEY": "sk_test_1",
		"FILING_DATA_DIR": t.TempDir()})
	must(t, err)
	if _, err = e.UseUnassigned(t.Context()); err != nil {
		t.Fatal(err)
	}
	if l, err = e.OpenLedger(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	if client, err = e.Client(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return e, l, client, asked
}

func halted(t *testing.T, l *ledger.Ledger) filing.Halt {
	t.Helper()
	h, err := l.Fleet().Halt(t.Context())
	must(t, err)
	return h.Reason
}

// A run of a schedule and its preview halt the fleet for a rejected key, and end
// the halt once the key is accepted.
func TestARejectedKeyShowsWhereAScheduleRuns(t *testing.T) {
	status := http.StatusUnauthorized
	e, l, client, _ := priced(t, &status)
	done, err := schedule.Add(t.Context(), l, schedule.NewSchedule{
		Name:    "florida",
		File:    "roster.csv",
		By:      "Ana",
		Content: []byte("Company ID,Entity Type,Formation State,Filing State,User ID\ncomp_1,LLC,DE,FL,user_1\n"),
		Options: schedule.Options{At: "01-15", FilingYear: "this", Zone: "UTC"},
	})
	must(t, err)
	scheduler := e.Scheduler(l, client, slog.New(slog.DiscardHandler))
	plan, err := scheduler.NextPlan(t.Context(), done.Schedule)
	if err != nil || plan.Priced || halted(t, l) != filing.HaltKey {
		t.Errorf("%+v, %v, halted %q", plan, err, halted(t, l))
	}
	must(t, l.Fleet().RecordKeyAccepted(t.Context()))
	turn, err := scheduler.ManualRun(done.Schedule)
	must(t, err)
	if _, err := scheduler.RunNow(t.Context(), done.Schedule, turn); !errors.Is(err, filingapi.ErrKeyRefused) ||
		halted(t, l) != filing.HaltKey {
		t.Errorf("%v, halted %q", err, halted(t, l))
	}
	status = http.StatusOK
	if run, err := scheduler.RunNow(t.Context(), done.Schedule, turn); err != nil || run.Batch == "" ||
		halted(t, l) != filing.NoHalt {
		t.Errorf("%+v, %v, halted %q", run, err, halted(t, l))
	}
}

// What is said to the key of another environment is nothing to this ledger.
func TestAKeyOfTheOtherEnvironmentHaltsNobody(t *testing.T) {
	status := http.StatusUnauthorized
	e, l, client, asked := priced(t, &status)
	must(t, l.Organizations().Bind(t.Context(), "live"))
	if _, err := e.PriceSource(l, client)(t.Context()); !errors.Is(err, ledger.ErrMode) || *asked != 0 ||
		halted(t, l) != filing.NoHalt {
		t.Errorf("%v, asked %d times, halted %q", err, *asked, halted(t, l))
	}
}
