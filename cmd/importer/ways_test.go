package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/cobra"

	"github.com/bulkfiling/bulkfiling/internal/account"
	"github.com/bulkfiling/bulkfiling/internal/approval"
	"github.com/bulkfiling/bulkfiling/internal/audit"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/pricing"
)

// ordering are the commands on a way to an order; the script policy.txtar has one
// person alone try each of them.
var ordering = []string{
	"run", "submit", "approve", "resume", "retry", "cancel", "resolve mark",
	"schedule add", "schedule run-now", "schedule resume", "accounts link",
}

// notOrdering are the other commands: what they do brings no order nearer, or only
// by one of those above.
var notOrdering = map[string]string{
	"setup":            "writes the settings file",
	"demo":             "runs the other commands on a sandbox of its own",
	"check":            "reads a spreadsheet",
	"template":         "writes an empty spreadsheet",
	"serve":            "serves the page, whose ways are walked there",
	"sandbox":          "is a filing service of its own",
	"backup":           "reads the ledger",
	"restore":          "replaces the ledger: a person who can do it has the database",
	"resolve":          "lists rows",
	"resolve restored": "sends less: orders that may have been sent are not sent again",
	"deposit":          "money: a batch that waits for approval is not sent",
	"balance":          "money: a batch that waits for approval is not sent",
	"pause":            "sends less",
	"schedule pause":   "sends less",
	"schedule remove":  "sends less",
	"accounts add":     "an account has to come by a link",
	"accounts roles":   "no one is a second person for what they submitted",
	"accounts disable": "keeps an account out",
	"accounts enable":  "lets an account in by its own ways",
	"api":              "is refused for orders and new companies; a higher cost waits for an approval",
	"webhooks create":  "registers an endpoint for events",
	"webhooks add":     "stores a signing secret",
	"webhooks remove":  "deletes a signing secret",
}

// leaves are the commands that do something, without those of cobra.
func leaves(c *cobra.Command) []string {
	var all []string
	for _, sub := range c.Commands() {
		if slices.Contains([]string{"help", "completion"}, sub.Name()) {
			continue
		}
		all = append(all, leaves(sub)...)
	}
	if c.Runnable() && c.HasParent() {
		_, path, _ := strings.Cut(c.CommandPath(), " ")
		all = append(all, path)
	}
	return all
}

// looking are the names of commands that only show something.
var looking = []string{"list", "show", "status", "results", "batches", "charges", "documents", "audit", "verify",
	"version", "accounts", "schedule", "webhooks"}

// Every command is on a way to an order that the script walks, or is known to be on
// none.
func TestEveryCommandIsOnAKnownWay(t *testing.T) {
	a := newGlobal(strings.NewReader(""), io.Discard, io.Discard, func(string) string { return "" })
	for _, path := range leaves(newRootCommand(a)) {
		words := strings.Fields(path)
		_, harmless := notOrdering[path]
		harmless = harmless || words[0] == "sandbox"
		if !harmless && !slices.Contains(ordering, path) && !slices.Contains(looking, words[len(words)-1]) {
			t.Errorf("importer %s is on no known way to an order: try it in policy.txtar, or say why it leads to none",
				path)
		}
	}
	for _, path := range ordering {
		if err := known(strings.Fields(path)); err != nil {
			t.Errorf("importer %s: %v", path, err)
		}
	}
	content, err := os.ReadFile(filepath.Join("testdata", "script", "policy.txtar"))
	must(t, err)
	script := string(content)
	for _, path := range ordering {
		if !strings.Contains(script, "importer "+path+" ") {
			t.Errorf("policy.txtar does not try importer %s", path)
		}
	}
}

// second has a second person, whose account is vera's, approve all that waits.
func second(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: second")
	}
	ctx := audit.With(context.Background(), audit.Event{By: "vera", What: "approve"})
	l, err := ledger.Open(ctx, ledger.Config{Dir: ts.Getenv("LEDGER"), Gate: approval.Gate{}})
	ts.Check(err)
	defer l.Close()
	if _, err := l.Accounts().Find(ctx, "vera"); err != nil {
		_, err := l.Accounts().Add(ctx, "vera", []account.Role{account.Approver})
		ts.Check(err)
	}
	batches, err := l.Batches(ctx)
	ts.Check(err)
	for _, b := range batches {
		if b.Approval.State == ledger.ApprovalNeeded {
			p, err := pricing.Propose(ctx, l, func(context.Context) (pricing.Quoter, error) { return nil, nil }, b.ID)
			ts.Check(err)
			ts.Check(p.Approve(ctx, l, "vera"))
		}
		c, err := approval.New(l).CostIncrease(ctx, b.ID)
		ts.Check(err)
		if c.Rows > 0 {
			ts.Check(approval.New(l).ApproveCosts(ctx, b.ID, c))
		}
	}
}

// policy changes the approval policy, as the page of the settings does:
//
//	policy [second] [terminal]
func policy(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("usage: policy [second] [terminal]")
	}
	l, err := ledger.Open(context.Background(), ledger.Config{Dir: ts.Getenv("LEDGER"), Gate: approval.Gate{}})
	ts.Check(err)
	defer l.Close()
	ts.Check(approval.New(l).ChangePolicy(context.Background(),
		approval.Policy{Second: slices.Contains(args, "second"), Terminal: slices.Contains(args, "terminal")}))
}
