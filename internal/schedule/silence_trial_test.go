package schedule_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/outbox"
	"github.com/bulkfiling/bulkfiling/internal/schedule"
)

// tell delivers the event that an order is filed.
func (f *forecasting) tell(order string) {
	f.Helper()
	_, err := f.Events().Keep(f.Context(), filing.Event{
		ID:           "evt_" + order,
		Type:         filing.StatusChanged,
		CreatedAt:    f.now,
		OrderID:      order,
		OrderType:    "annual_report",
		FilingStatus: filing.FiledStatus,
	}, []byte("{}"))
	f.must(err)
	_, err = f.Events().Apply(f.Context())
	f.must(err)
}

// trialOrder is an order of the trial. The event of a lost one never comes.
type trialOrder struct {
	id     string
	placed time.Time
	lost   bool
	// named are the times at which a notification named it.
	named []time.Time
}

// step delivers the events of an hour, sends the reminders, and records whom they name.
func (f *forecasting) step(orders []*trialOrder) {
	f.Helper()
	for _, o := range orders {
		if !o.lost && f.now.Sub(o.placed) == 4*24*time.Hour {
			f.tell(o.id)
		}
	}
	f.must(f.Remind(f.Context()))
	for _, n := range f.silences() {
		_, fresh, found := strings.Cut(n.Body, "do not order them again before:")
		for _, o := range orders {
			if found && n.At.Equal(f.now) && strings.Contains(fresh, o.id+",") {
				o.named = append(o.named, f.now)
			}
		}
	}
}

// silences lists the notifications about silence.
func (f *forecasting) silences() []outbox.Notification {
	f.Helper()
	list, err := f.Notifications().List(f.Context(), 1000)
	f.must(err)
	return slices.DeleteFunc(list, func(n outbox.Notification) bool { return n.Kind != outbox.KindSilent })
}

// Of 40 days of orders whose events come after 4 days, some are lost. Each of these is named within 24 hours after 12
// days, and once. Events stop at the end, which is reported once.
func TestSilenceTrial(t *testing.T) {
	start := time.Date(2027, 3, 20, 4, 0, 0, 0, time.UTC)
	f := newForecasting(t, start)
	var orders []*trialOrder
	for hour := range 60 * 24 {
		f.now = start.Add(time.Duration(hour) * time.Hour)
		if day := hour / 24; hour%24 == day*7%24 && day < 40 {
			id := f.placeReport(fmt.Sprintf("comp_%d", day))
			orders = append(orders, &trialOrder{id: id, placed: f.now, lost: day > 5 && (day%3 == 0 || day > 35)})
		}
		f.step(orders)
	}
	for _, o := range orders {
		if (len(o.named) == 1) != o.lost || o.lost && o.named[0].Sub(o.placed) > 13*24*time.Hour {
			t.Errorf("%+v", o)
		}
	}
	webhook := slices.DeleteFunc(f.silences(),
		func(n outbox.Notification) bool { return !strings.Contains(n.Subject, "No event since") })
	if len(webhook) != 1 {
		t.Errorf("%+v", webhook)
	}
	found, err := schedule.FindSilence(t.Context(), f.Ledger, "comp_6")
	if f.must(err); len(found.Groups) != 1 || len(found.Groups[0].Orders) != 1 {
		t.Errorf("%+v", found)
	}
}
