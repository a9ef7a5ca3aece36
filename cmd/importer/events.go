package main

import (
	"cmp"
	"encoding/json"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

func (a *app) eventsCommand() *cobra.Command {
	var unknown, asJSON bool
	var limit int
	c := &cobra.Command{
		Use:   "events",
		Short: "List the events received, newest first",
		Long: `events lists the events received from the filing service and their state: applied,
stale (the filing was already further), unknown (the order is in no row; kept as
evidence), ignored, or garbled (signed but not readable).`,
		Example: "  importer events\n  importer events --unknown\n  importer events --limit 1000 --json",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.withLedgerToList(c.Context(), "No events yet", func(l *ledger.Ledger) error {
				var state ledger.EventState
				if unknown {
					state = ledger.EventUnknown
				}
				events, err := l.Events().List(c.Context(), state, limit)
				if err != nil {
					return err
				}
				return a.listEvents(events, asJSON)
			})
		},
	}
	c.Flags().BoolVar(&unknown, "unknown", false, "only events of orders that are in no row")
	c.Flags().IntVarP(&limit, "limit", "n", 50, "how many events to list at most")
	c.Flags().BoolVar(&asJSON, "json", false,
		"print one JSON line for each event, with its body (Social Security numbers hidden)")
	return c
}

func (a *app) listEvents(events []ledger.Event, asJSON bool) error {
	return list[ledger.Event]{
		empty:   "No events yet. importer serve receives them; importer webhooks create registers its address.",
		columns: "RECEIVED\tEVENT\tORDER\tWHAT\tSTATE",
		cells: func(e ledger.Event) []any {
			what := cmp.Or(e.FilingStatus, e.Type)
			switch {
			case e.Exception != 0:
				what = filing.ExceptionText(e.Exception, "")
			case e.Type == filing.DocumentUploaded:
				what = "document " + cmp.Or(e.DocumentType, e.DocumentID)
			}
			return []any{localTimeSeconds(e.ReceivedAt), legible(e.ID), legible(cmp.Or(e.OrderID, "-")),
				legible(filing.HideSSNs(what)), e.State}
		},
		line: eventLine,
	}.print(a, events, asJSON)
}

// eventLine is the JSON of an event. Its body was stored as it arrived.
func eventLine(e ledger.Event) any {
	body := filing.HideSSNsInBody(e.Body)
	line := struct {
		ID       string            `json:"id"`
		State    ledger.EventState `json:"state"`
		Received time.Time         `json:"receivedAt"`
		Row      int64             `json:"row,omitempty"`
		Note     string            `json:"note,omitempty"`
		Body     any               `json:"body"`
	}{e.ID, e.State, e.ReceivedAt, e.Row, filing.HideSSNs(e.Note), strings.ToValidUTF8(string(body), "\uFFFD")}
	if json.Valid(body) && utf8.Valid(body) {
		line.Body = json.RawMessage(body)
	}
	return line
}
