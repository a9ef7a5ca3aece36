package jobs

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/approval"
	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/text"
)

// HoldReason is the reason why rows are not sent.
type HoldReason string

// The first five reasons belong to a fleet halt, see filing.Halt. The breaker and Redis concern
// one process. The others concern the rows of one batch: an approval of the batch or of
// a higher cost, the recorded balance, another row that orders the same filing, and no process
// that places orders.
const (
	HeldForFunds    HoldReason = HoldReason(filing.HaltFunds)
	HeldForKey      HoldReason = HoldReason(filing.HaltKey)
	HeldForRate     HoldReason = HoldReason(filing.HaltRate)
	HeldForRestore  HoldReason = HoldReason(filing.HaltRestored)
	HeldForVersion  HoldReason = HoldReason(filing.HaltVersion)
	HeldByBreaker   HoldReason = "breaker"
	HeldByRedis     HoldReason = "redis"
	HeldByPause     HoldReason = "paused"
	HeldForApproval HoldReason = "approval"
	HeldForCost     HoldReason = "cost"
	HeldForBalance  HoldReason = "balance"
	HeldForRow      HoldReason = "row"
	HeldForWorker   HoldReason = "no-worker"
)

// Hold is why rows are not sent. Commands, the page and the log show its text. It is zero if
// rows are sent.
type Hold struct {
	Reason HoldReason `json:"reason"`
	// Text is a sentence.
	Text string `json:"text"`
	// Since is zero if unknown.
	Since time.Time `json:"since"`
	// Until is when a row may be tried again, zero if unknown.
	Until time.Time `json:"until"`
}

// reasons describe the holds. words are two or three words, and text is a sentence in which {note}
// stands for a message of the filing service, of the ledger or of Redis. person reports whether the
// hold lasts until a person acts. A batch composes the texts of some reasons itself.
var reasons = map[HoldReason]struct {
	words  string
	person bool
	text   string
}{
	HeldForFunds: {"waiting for funds", false, "The filing service says that the prepaid balance is too low{note}."},
	HeldForKey:   {"key refused", true, "The filing service refuses the API key{note}."},
	HeldForRate:  {"waiting for the filing service", false, "The filing service asked for a pause."},
	HeldForRestore: {"ledger restored", true,
		"The ledger went back in time{note}: rows sent since then may look unsent, so nothing is sent."},
	HeldForVersion: {"newer ledger", true, ""},
	HeldByBreaker: {"waiting for the filing service", false,
		"The filing service keeps failing, so orders are tried one at a time."},
	HeldByRedis:     {"queue down", true, "The queue's Redis is down{note}."},
	HeldByPause:     {"paused", true, "This batch is paused."},
	HeldForApproval: {"waiting for approval", true, "This batch is waiting for approval."},
	HeldForCost:     {"waiting for approval", true, ""},
	HeldForBalance:  {"waiting for funds", true, ""},
	HeldForRow:      {"waiting for another row", false, ""},
	HeldForWorker:   {"no worker", true, "No worker is running, so no orders are placed."},
}

// Words returns the hold in two or three words.
func (h Hold) Words() string { return reasons[h.Reason].words }

func newHold(reason HoldReason, note string) Hold {
	if reason == HeldForVersion { // the note is a sentence
		return Hold{Reason: reason, Text: strings.ToUpper(note[:1]) + strings.TrimSuffix(note[1:], ".") + "."}
	}
	if note != "" {
		note = " (" + note + ")"
	}
	return Hold{Reason: reason, Text: strings.Replace(reasons[reason].text, "{note}", note, 1)}
}

// FleetHold returns the hold of a fleet halt. It is zero if the fleet is not halted.
func FleetHold(halted ledger.Halted) Hold {
	if halted.Reason == filing.NoHalt {
		return Hold{}
	}
	h := newHold(HoldReason(halted.Reason), halted.Note)
	h.Since, h.Until = halted.Since, halted.Until
	return h
}

// BatchFacts decide whether the rows of a batch are sent.
type BatchFacts struct {
	Batch     ledger.Batch
	Figures   ledger.Figures
	Halted    ledger.Halted
	Balance   ledger.Balance
	Increase  approval.CostIncrease
	Processes []ledger.Process
}

// LoadBatchFacts loads the facts of a batch beside its figures.
func LoadBatchFacts(ctx context.Context, l *ledger.Ledger, b ledger.Batch, figures ledger.Figures) (f BatchFacts,
	err error) {
	f.Batch, f.Figures = b, figures
	if f.Halted, err = l.Fleet().Halt(ctx); err != nil {
		return f, err
	}
	if f.Balance, err = l.Balance(ctx); err != nil {
		return f, err
	}
	if f.Increase, err = approval.New(l).CostIncrease(ctx, b.ID); err != nil {
		return f, err
	}
	f.Processes, err = l.Fleet().Processes(ctx)
	return f, err
}

// Holds lists why rows of the batch are not sent, beginning with what concerns most of them. It
// is nil if they are sent or if no row is left.
func (f *BatchFacts) Holds() []Hold {
	b, left := f.Batch, f.Figures.Left()
	halt := FleetHold(f.Halted)
	switch {
	case left == 0, b.Canceled:
		return nil
	case !b.Open && halt.Reason != "": // for those who are about to submit it
		return []Hold{halt}
	case !b.Open:
		return nil
	case b.Paused:
		return []Hold{newHold(HeldByPause, "")}
	case b.Approval.State == ledger.ApprovalNeeded:
		return []Hold{newHold(HeldForApproval, "")}
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
	// As long as other rows are sent, they may include the one that is waited for.
	if behind := f.Figures.Behind; behind > 0 && f.Figures.Waiting() == left {
		holds = append(holds, Hold{Reason: HeldForRow, Text: behindText(behind)})
	}
	if worker.Reason == HeldForWorker {
		holds = append(holds, worker)
	}
	return holds
}

// workersHold returns why no process sends rows. It is zero if one does.
func workersHold(processes []ledger.Process) Hold {
	hold := newHold(HeldForWorker, "")
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

func costText(c approval.CostIncrease) string {
	rows := text.Count(c.Rows, "row")
	switch {
	case c.Approved == 0 && c.Cost.Amount > 0:
		return fmt.Sprintf("The cost of %s is %s. It is not approved yet.", rows, c.Cost)
	case c.Cost.Amount > c.Approved:
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
