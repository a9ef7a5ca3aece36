package config_test

import (
	"errors"
	"log/slog"
	"net/http"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/config"
	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/filingapi"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/schedule"
)

// open opens a ledger that belongs to nobody yet, and the client of a test key.
func (o *office) open() (e config.Environment, l *ledger.Ledger, client *filingapi.Client) {
	o.Helper()
	e = o.environment("sk_test_1")
	_, err := e.UseUnassigned(o.Context())
	must(o, err)
	l, err = e.OpenLedger(o.Context())
	must(o, err)
	o.Cleanup(func() { l.Close() })
	client, err = e.Client()
	must(o, err)
	o.Cleanup(client.Close)
	return e, l, client
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
	o := newOffice(t)
	o.status = http.StatusUnauthorized
	e, l, client := o.open()
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
	o.status = 0
	if run, err := scheduler.RunNow(t.Context(), done.Schedule, turn); err != nil || run.Batch == "" ||
		halted(t, l) != filing.NoHalt {
		t.Errorf("%+v, %v, halted %q", run, err, halted(t, l))
	}
}

// What is said to the key of another environment is nothing to this ledger.
func TestAKeyOfTheOtherEnvironmentHaltsNobody(t *testing.T) {
	o := newOffice(t)
	o.status = http.StatusUnauthorized
	e, l, client := o.open()
	must(t, l.Organizations().Bind(t.Context(), "live"))
	if _, err := e.PriceSource(l, client)(t.Context()); !errors.Is(err, ledger.ErrMode) || o.asked != 0 ||
		halted(t, l) != filing.NoHalt {
		t.Errorf("%v, asked %d times, halted %q", err, o.asked, halted(t, l))
	}
}
