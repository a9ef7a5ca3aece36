package jobs

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/text"
)

// HoldReason names what keeps rows from being sent.
type HoldReason string

// The first five reasons are the fleet halt, which the ledger keeps for all
// processes, by the names of filing.Halt. The next two are those of one process,
// which shares them through the ledger. The others keep the rows of one batch.
const (
	HeldForFunds    HoldReason = HoldReason(filing.HaltFunds)
	HeldForKey      HoldReason = HoldReason(filing.HaltKey)
	HeldForRate     HoldReason = HoldReason(filing.HaltRate)
	HeldForRestore  HoldReason = HoldReason(filing.HaltRestored)
	HeldForVersion  HoldReason = HoldReason(filing.HaltVersion)
	HeldByBreaker   HoldReason = "breaker" // the filing service fails
	HeldByRedis     HoldReason = "redis"   // the queue is down
	HeldByPause     HoldReason = "paused"
	HeldForApproval HoldReason = "approval"
	HeldForCost     HoldReason = "cost"      // more than was approved
	HeldForBalance  HoldReason = "balance"   // the recorded balance does not cover the rows
	HeldForRow      HoldReason = "row"       // which orders the same filing
	HeldForWorker   HoldReason = "no-worker" // no process places orders
)

// Hold is the one answer to "why is this row not sent?": importer status and the page
// show its text, and the log that of a process or of the fleet. The zero value is for rows that are sent.
type Hold struct {
	Reason HoldReason `json:"reason"`
	Text   string     `json:"text"`  // a sentence
	Since  time.Time  `json:"since"` // zero where that is not known
	Until  time.Time  `json:"until"` // when a row may try again; zero where that is not known
}

// Words is the hold in two or three words.
func (h Hold) Words() string { return holdWords[h.Reason] }

var holdWords = map[HoldReason]string{
	HeldForFunds:    "waiting for funds",
	HeldForKey:      "key refused",
	HeldForRate:     "waiting for the filing service",
	HeldForRestore:  "ledger restored",
	HeldForVersion:  "newer ledger",
	HeldByBreaker:   "waiting for the filing service",
	HeldByRedis:     "queue down",
	HeldByPause:     "paused",
	HeldForApproval: "waiting for approval",
	HeldForCost:     "waiting for approval",
	HeldForBalance:  "waiting for funds",
	HeldForRow:      "waiting for another row",
	HeldForWorker:   "no worker",
}

// needsPerson reports whether nothing is sent before a person acts.
func (h Hold) needsPerson() bool {
	switch h.Reason {
	case "", HeldForRate, HeldForFunds, HeldByBreaker, HeldForRow:
		return false
	}
	return true
}

// newHold returns a hold of a process or of the fleet. note is the words of the
// filing service, of the ledger, or of Redis.
func newHold(reason HoldReason, note string) Hold {
	h := Hold{Reason: reason}
	switch reason {
	case HeldForFunds:
		h.Text = "The filing service says that the prepaid balance is too low"
	case HeldForKey:
		h.Text = "The filing service refuses the API key"
	case HeldForRate:
		h.Text, note = "The filing service asked for a pause", ""
	case HeldForRestore:
		return Hold{Reason: reason, Text: fmt.Sprintf(
			"The ledger went back in time (%s): rows sent since then may look unsent, so nothing is sent.", note)}
	case HeldForVersion:
		h.Text, note = strings.TrimSuffix(strings.ToUpper(note[:1])+note[1:], "."), ""
	case HeldByBreaker:
		h.Text, note = "The filing service keeps failing, so orders are tried one at a time", ""
	case HeldByRedis:
		h.Text = "The queue's Redis is down"
	}
	if note != "" {
		h.Text += " (" + note + ")"
	}
	h.Text += "."
	return h
}

// FleetHold is the hold of a fleet halt; the zero value for none.
func FleetHold(halted ledger.Halted) Hold {
	if halted.Reason == filing.NoHalt {
		return Hold{}
	}
	h := newHold(HoldReason(halted.Reason), halted.Note)
	h.Since, h.Until = halted.Since, halted.Until
	return h
}

// BatchFacts is what decides whether the rows of a batch are sent.
type BatchFacts struct {
	Batch     ledger.Batch
	Figures   ledger.Figures
	Halted    ledger.Halted
	Balance   ledger.Balance
	Increase  ledger.CostIncrease // of rows that cost more than was approved
	Processes []ledger.Process
}

// LoadBatchFacts loads all but the batch and its figures.
func LoadBatchFacts(ctx context.Context, l *ledger.Ledger, b ledger.Batch, figures ledger.Figures) (f BatchFacts,
	err error) {
	f.Batch, f.Figures = b, figures
	if f.Halted, err = l.Fleet().Halt(ctx); err != nil {
		return f, err
	}
	if f.Balance, err = l.Balance(ctx); err != nil {
		return f, err
	}
	if f.Increase, err = l.Approvals().CostIncrease(ctx, b.ID); err != nil {
		return f, err
	}
	f.Processes, err = l.Fleet().Processes(ctx)
	return f, err
}

// Holds lists why rows of the batch are not sent, what concerns most of them
// first; nil where they are sent, or none is left.
func (f *BatchFacts) Holds() []Hold {
	b, left := f.Batch, f.Figures.Left()
	halt := FleetHold(f.Halted)
	switch {
	case left == 0, b.Canceled:
		return nil
	case !b.Open && halt.Reason != "": // it would be held if it were submitted
		return []Hold{halt}
	case !b.Open:
		return nil
	case b.Paused:
		return []Hold{{Reason: HeldByPause, Text: "This batch is paused."}}
	case b.Approval.State == ledger.ApprovalNeeded:
		return []Hold{{Reason: HeldForApproval, Text: "This batch is waiting for approval."}}
	}
	var holds []Hold
	if halt.Reason != "" {
		holds = append(holds, halt)
	}
	worker := workersHold(f.Processes)
	if worker.Reason != "" && worker.Reason != HeldForWorker && halt.Reason == "" {
		holds = append(holds, worker)
	}
	if f.Increase.Rows > 0 {
		holds = append(holds, Hold{Reason: HeldForCost, Text: costText(f.Increase)})
	}
	if short := f.Figures.Short; short > 0 && halt.Reason != HeldForFunds {
		holds = append(holds, Hold{Reason: HeldForBalance, Text: shortText(short, f.Balance)})
	}
	// As long as others are sent, the row that is waited for may be among them.
	if behind := f.Figures.Behind; behind > 0 && f.Figures.Waiting() == left {
		holds = append(holds, Hold{Reason: HeldForRow, Text: behindText(behind)})
	}
	if worker.Reason == HeldForWorker {
		holds = append(holds, worker)
	}
	return holds
}

// workersHold is why no process sends, where none does.
func workersHold(processes []ledger.Process) Hold {
	hold := Hold{Reason: HeldForWorker, Text: "No worker is running, so no orders are placed."}
	for _, p := range processes {
		if !p.Alive || !p.Places {
			continue
		}
		if p.Hold == "" {
			return Hold{}
		}
		if err := json.Unmarshal([]byte(p.Hold), &hold); err != nil {
			return Hold{} // of another version
		}
	}
	return hold
}

func costText(c ledger.CostIncrease) string {
	rows := text.Count(c.Rows, "row")
	if c.Cost.Amount > c.Approved {
		return fmt.Sprintf("The cost of %s is now %s. Approved: %s.", rows, c.Cost, c.Approved.Dollars())
	}
	return fmt.Sprintf("Someone asked to send %s again. The cost is %s.", rows, c.Cost)
}

func shortText(rows int, b ledger.Balance) string {
	if !b.HasDeposit {
		return "Insufficient funds for " + text.Count(rows, "row") + "."
	}
	return fmt.Sprintf("Insufficient funds for %s: %s is available.", text.Count(rows, "row"),
		b.Available().Dollars())
}

func behindText(rows int) string {
	return text.CountOf(rows, "row waits", "rows wait") + " for the result of another row that orders the same filing."
}
