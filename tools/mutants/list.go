package main

// The packages whose tests find the mutants.
const (
	filingTests    = "internal/filing"
	filingapiTests = "internal/filingapi"
	ledgerTests    = "internal/ledger"
	jobsTests      = "internal/jobs"
)

// mutants are the bugs, from the meaning of an answer outward to the workers.
var mutants = []mutant{
	// What an answer means for a row.
	{
		name:  "504 taken as a refusal",
		file:  "internal/filing/row_answer.go",
		pkg:   filingTests,
		tests: "TestFoldFollowsTheTableOfAnswers",
		edits: []edit{
			{"ServerError: {shows: nothingKnown, counts: true}", "ServerError: {shows: nothingMade, counts: true}"},
		},
		harm: "A gateway that answers 504 after the order was made frees the row: the next sheet buys it again.",
	},
	{
		name:  "silence taken as a refusal",
		file:  "internal/filing/row_answer.go",
		pkg:   filingTests,
		tests: "TestFoldFollowsTheTableOfAnswers",
		edits: []edit{
			{"NoAnswer:    {shows: nothingKnown, counts: true}", "NoAnswer:    {shows: nothingMade, counts: true}"},
		},
		harm: "An order whose answer was lost is sent again: it is paid twice.",
	},
	{
		name:  "post instead of void on a 409",
		file:  "internal/filing/row_attempt.go",
		pkg:   filingTests,
		tests: "TestFoldFollowsTheTableOfAnswers",
		edits: []edit{{"if a.Ordered && slices.ContainsFunc(before, ",
			"if slices.ContainsFunc(attempts{a}, anything) || a.Ordered && slices.ContainsFunc(before, "},
			{"// buy counts a purchase once",
				"type attempts []Attempt\n\nfunc anything(Attempt) bool { return true }\n\n// buy counts a " +
					"purchase once"}},
		harm: "The price of a filing that someone else bought is taken from the recorded balance.",
	},
	{
		name:  "void instead of post on a 409 after a lost answer",
		file:  "internal/filing/row_attempt.go",
		pkg:   filingTests,
		tests: "TestFoldFollowsTheTableOfAnswers",
		edits: []edit{{"if a.Ordered && slices.ContainsFunc(before, ", "if a.Try < 0 && slices.ContainsFunc(before, "}},
		harm:  "A purchase of the row's own earlier attempt is never taken from the recorded balance.",
	},
	{
		name:  "an EIN from elsewhere counted as bought",
		file:  "internal/filing/row_answer.go",
		pkg:   filingTests,
		tests: "TestConflictOf",
		edits: []edit{{`{"ein already exists", EIN, false}`, `{"ein already exists", EIN, true}`}},
		harm: "A row whose answer was lost is reported as placed, with its price posted, although the company got " +
			"its EIN elsewhere.",
	},
	{
		name:  "late answer ignored",
		file:  "internal/filing/row_attempt.go",
		pkg:   filingTests,
		tests: "TestMergeInAnyOrder",
		edits: []edit{{`if a.Kind != "" && (!a.Kind.Lost() || ended.Kind.Lost()) {`, `if a.Kind != "" {`}},
		harm: "A purchase whose answer comes after its process was given up for dead is never known, and is " +
			"bought again.",
	},
	{
		name:  "a guess replaces an answer",
		file:  "internal/filing/row_attempt.go",
		pkg:   filingTests,
		tests: "TestMergeInAnyOrder",
		edits: []edit{
			{`if a.Kind != "" && (!a.Kind.Lost() || ended.Kind.Lost()) {`,
				`if a.Kind != "" && !ended.Kind.Lost() && !a.Kind.Lost() {`},
		},
		harm: "A placed row becomes uncertain, and a person who does not find it sends it again.",
	},
	{
		name:  "one order id counted twice",
		file:  "internal/filing/row_attempt.go",
		pkg:   filingTests,
		tests: "TestFold",
		edits: []edit{{`case q.OrderID == p.OrderID || p.OrderID == "":`, `case q.OrderID == p.OrderID:`}},
		harm:  "A purchase that a 409 confirms is posted twice.",
	},
	{
		name:  "part of an order taken for the whole",
		file:  "internal/filing/row_attempt.go",
		pkg:   filingTests,
		tests: "TestFold",
		edits: []edit{{"left = f.unanswered(a)", "left = nil"}},
		harm:  "An item that the answer does not name is ordered once more, though it may have been made.",
	},
	{
		name:  "a refused repetition closes the question",
		file:  "internal/filing/row_attempt.go",
		pkg:   filingTests,
		tests: "TestFoldFollowsTheTableOfAnswers",
		edits: []edit{{"!limits.Canceled && newest.Kind != Refused:", "!limits.Canceled:"}},
		harm:  "An order that the filing service refuses is sent again and again.",
	},
	{
		name:  "a canceled row is sent again",
		file:  "internal/filing/row_attempt.go",
		pkg:   filingTests,
		tests: "TestFoldFollowsTheTableOfAnswers",
		edits: []edit{{"&& !limits.Exhausted && !limits.Canceled &&", "&& !limits.Exhausted &&"}},
		harm:  "What was canceled is bought by the repetition of an attempt that had never arrived.",
	},
	{
		name:  "a refusal of what a person marked as placed is dropped",
		file:  "internal/filing/row_attempt.go",
		pkg:   filingTests,
		tests: "TestFold|TestAnAnswerOutweighsADecision",
		edits: []edit{
			{"case shows == nothingMade && a.DecidedOver != a.Kind:",
				"case shows == nothingMade && a.DecidedOver == \"never\":"},
		},
		harm: "A filing that does not exist stays placed, and its deadline passes.",
	},
	// Keys and names.
	{
		name:  "formations compared letter by letter",
		file:  "internal/filing/key.go",
		pkg:   filingTests,
		tests: "TestKeys",
		edits: []edit{{"FoldLegalName(o.Formation.Company.LegalName)", "o.Formation.Company.LegalName"}},
		harm:  "One company is formed once for each spelling of its name.",
	},
	{
		name:  "all names taken for one",
		file:  "internal/filing/name.go",
		pkg:   filingTests,
		tests: "TestCompareNames",
		edits: []edit{{"best := DifferentName\n", "best := SameName\n"}},
		harm:  "A report is filed, and paid, for the company of another row.",
	},
	{
		name:  "an agent change has a key of its own",
		file:  "internal/filing/key.go",
		pkg:   filingTests,
		tests: "TestKeys|TestKeysTellPurchasesApart",
		edits: []edit{{"case RegisteredAgent, AgentChange:", "case RegisteredAgent:"}},
		harm:  "A registered agent is bought a second time as a change of agent.",
	},
	// What an answer is.
	{
		name:  "a gateway's 503 taken as the filing service's",
		file:  "internal/filingapi/answer.go",
		pkg:   filingapiTests,
		tests: "TestEveryOutcomeOfAnOrder",
		edits: []edit{
			{`o.status == http.StatusServiceUnavailable && o.header.Get("Retry-After") == ""`, `o.status == 0`},
		},
		harm: "An order that was made behind a gateway is sent again.",
	},
	{
		name:  "an order cut off taken as never sent",
		file:  "internal/filingapi/answer.go",
		pkg:   filingapiTests,
		tests: "TestEveryOutcomeOfAnOrder",
		edits: []edit{
			{"		if o.written {\n			return filing.NoAnswer",
				"		if o.written && o.status > 0 {\n			return filing.NoAnswer"},
		},
		harm: "An order that was written before the connection broke is sent again.",
	},
	{
		name:  "an answer without order ids accepted",
		file:  "internal/filingapi/orders.go",
		pkg:   filingapiTests,
		tests: "TestEveryOutcomeOfAnOrder",
		edits: []edit{{`if err != nil || item.OrderID == "" {`, `if err != nil || item.OrderID == "never" {`}},
		harm:  "A row is placed on the word of an answer that names no order.",
	},
	{
		name:  "an answer for another company accepted",
		file:  "internal/filingapi/orders.go",
		pkg:   filingapiTests,
		tests: "TestEveryOutcomeOfAnOrder",
		edits: []edit{{`want != "" && made.CompanyID != "" && made.CompanyID != want`, `want == "never"`}},
		harm:  "A filing of another company is taken for that of the row.",
	},
	{
		name:  "a 409 about an item that was not ordered",
		file:  "internal/filingapi/orders.go",
		pkg:   filingapiTests,
		tests: "TestEveryOutcomeOfAnOrder",
		edits: []edit{
			{"return has, ordered, ok && slices.Contains(order.Products(), has)",
				"return has, ordered, ok || slices.Contains(order.Products(), has)"},
		},
		harm: "A refused order counts as one that exists already.",
	},
	// What a group of transitions decides.
	{
		name:  "no lease check",
		file:  "internal/ledger/decide.go",
		pkg:   ledgerTests,
		tests: "TestLateAnswer",
		edits: []edit{{"case !g.leased:", "case !g.leased && s.id < 0:"}},
		harm:  "A process that was given up for dead sends rows beside the one that took them over.",
	},
	{
		name:  "an old reading of a row is sent",
		file:  "internal/ledger/decide.go",
		pkg:   ledgerTests,
		tests: "TestStaleReadingIsLost",
		edits: []edit{
			{
				"s.result != filing.Ready || s.tries != in.Tries || s.blockedOn",
				"s.result != filing.Ready || s.blockedOn",
			},
		},
		harm: "A task that was delivered twice sends its order twice.",
	},
	{
		name:  "no owner condition",
		file:  "internal/ledger/decide.go",
		pkg:   ledgerTests,
		tests: "TestAnswerOfAnotherProcess",
		edits: []edit{{"s.tries == o.Try && s.owner == owner", "s.tries == o.Try && owner != \"\""}},
		harm: "The answer to an order of a ledger that went back in time decides the order that another " +
			"process has in flight.",
	},
	{
		name:  "a pause is ignored",
		file:  "internal/ledger/decide.go",
		pkg:   ledgerTests,
		tests: "TestPauseAndResume|TestApproval",
		edits: []edit{{"s.due > g.now, s.paused || s.canceled:", "s.due > g.now, s.canceled:"}},
		harm:  "A batch that was paused, or that no one approved, is ordered.",
	},
	{
		name:  "a halt is ignored",
		file:  "internal/ledger/decide.go",
		pkg:   ledgerTests,
		tests: "TestFundsGate|TestHoldForRate|TestKeyRefusedStopsEverything|TestProbeForFunds",
		edits: []edit{
			{"if h, halted := g.c.halted(in.Row, g.now); halted {",
				"if h, halted := g.c.halted(in.Row, g.now); halted && s.id < 0 {"},
		},
		harm: "Orders go out while the filing service refuses them all, or after the ledger went back in time.",
	},
	{
		name:  "keys of other rows not looked at",
		file:  "internal/ledger/decide.go",
		pkg:   ledgerTests,
		tests: "TestOneKeyOneRow",
		edits: []edit{{"ok && p.row != s.id {\n			taken", "ok && p.row < 0 {\n			taken"}},
		harm:  "Two rows buy the same filing.",
	},
	{
		name:  "a purchase that is not made yet covers later years",
		file:  "internal/ledger/decide.go",
		pkg:   ledgerTests,
		tests: "TestCovers|TestWhatASubscriptionCovers",
		edits: []edit{
			{"if p.bought && p.batch != s.batch && p.year < claim.Year {",
				"if p.batch != s.batch && p.year < claim.Year {"},
		},
		harm: "A report is skipped for a subscription that may never begin: it is not filed.",
	},
	{
		name:  "a cost above the approved one is sent",
		file:  "internal/ledger/decide.go",
		pkg:   ledgerTests,
		tests: "TestTheApprovedCostIsALimit",
		edits: []edit{
			{"if !in.Creating && s.dearer(in.Cost, g.db.tolerance) {",
				"if in.Creating && s.dearer(in.Cost, g.db.tolerance) {"},
		},
		harm: "An order costs more than anybody approved.",
	},
	{
		name:  "the recorded balance is not asked",
		file:  "internal/ledger/decide.go",
		pkg:   ledgerTests,
		tests: "TestFundsGate",
		edits: []edit{
			{"if g.c.declared && need > 0 && need > g.c.available() {",
				"if g.c.declared && need > 0 && need < g.c.available()-need*1000 {"},
		},
		harm: "More is ordered than the balance pays for, and the filing service halts in the middle of a batch.",
	},
	{
		name:  "a late purchase leaves its key free",
		file:  "internal/ledger/decide.go",
		pkg:   ledgerTests,
		tests: "TestAnswerAfterNotPlaced",
		edits: []edit{
			{"		case slices.Contains(done, c.Product):\n			g.giveKey(s, c, s.tries)",
				"		case slices.Contains(done, c.Product):"},
		},
		harm: "Another sheet buys again what a late answer had shown as bought.",
	},
	{
		name:  "a rival keeps the key of what was bought",
		file:  "internal/ledger/decide.go",
		pkg:   ledgerTests,
		tests: "TestLateAnswerBesideARival",
		edits: []edit{
			{"		p.row, p.batch, p.number, p.bought = s.id, s.batch, s.number, true\n		s.claims = " +
				"append(s.claims, p)\n		g.moved = append(g.moved, claimRecord(s, c, g.now))",
				"		s.claims = append(s.claims, p)"},
		},
		harm: "The rival frees the key when it is refused, and a third row buys the filing again.",
	},
	{
		name:  "two purchases of one key, and no one is told",
		file:  "internal/ledger/decide.go",
		pkg:   ledgerTests,
		tests: "TestLateAnswerBesideARival",
		edits: []edit{
			{"		g.notes = append(g.notes, record{\n" +
				"			number(\"id\", p.row),\n" +
				"			text(\"note\", fmt.Sprintf(twice, s.ref().seenFrom(p.batch), c.Product.Title())),\n" +
				"		})\n", ""},
		},
		harm: "No one asks the filing service to refund the second one.",
	},
	{
		name:  "an uncertain row releases its key",
		file:  "internal/ledger/decide.go",
		pkg:   ledgerTests,
		tests: "TestSettle|TestUncertainIsKept",
		edits: []edit{
			{"!p.freed && !p.bought && !slices.Contains(state.Open, p.product) {",
				"!p.freed && !p.bought {"},
		},
		harm: "Another row buys what the uncertain one may have bought.",
	},
	{
		name:  "an uncertain row releases its money",
		file:  "internal/ledger/decide.go",
		pkg:   ledgerTests,
		tests: "TestSettle|TestUncertainIsKept",
		edits: []edit{
			{"	case wasOpen || bought < 0:\n		hold = max(s.reserved-bought, 0)",
				"	case wasOpen || bought < 0:\n		hold = 0"},
		},
		harm: "The money of an order that may have been made is spent once more.",
	},
	{
		name:  "a reopened row reserves nothing",
		file:  "internal/ledger/decide.go",
		pkg:   ledgerTests,
		tests: "TestRefusalAfterPlaced|TestLateAnswerInPart",
		edits: []edit{{"hold = max(cost.Amount-max(bought, 0), 0)", "hold = 0"}},
		harm:  "The money of an item whose outcome became uncertain late is spent once more.",
	},
	{
		name:  "what comes back to a canceled batch is ready",
		file:  "internal/ledger/decide.go",
		pkg:   ledgerTests,
		tests: "TestCancelTakesBackWhatWasNotSent",
		edits: []edit{
			{"if next == filing.Ready && !state.Unconfirmed && s.canceled {",
				"if next == filing.Ready && state.Unconfirmed && s.canceled {"},
		},
		harm: "A row of a canceled batch never ends, and goes out when the batch is retried for another row.",
	},
	{
		name:  "an uncertain row is skipped",
		file:  "internal/ledger/decide.go",
		pkg:   ledgerTests,
		tests: "TestDeferOfAnUncertainAttempt",
		edits: []edit{
			{"case a.Next != filing.Ready && s.uncertain:", "case a.Next != filing.Ready && s.uncertain && s.id < 0:"},
		},
		harm: "A row that may have been bought is reported as rejected, its money stays reserved forever, and " +
			"no one checks it.",
	},
	{
		name:  "a row waits for a key that is decided",
		file:  "internal/ledger/decide.go",
		pkg:   ledgerTests,
		tests: "TestWaitingForAKey",
		edits: []edit{{"if !held || p.bought || p.row == s.id {", "if held && p.row == s.id {"}},
		harm:  "The row is never filed: nothing wakes it.",
	},
	{
		name:  "a decision outlives the answer it did not know",
		file:  "internal/ledger/decide.go",
		pkg:   ledgerTests,
		tests: "TestRefusalAfterPlaced",
		edits: []edit{{"a.Decision, a.DecidedOver = d, a.Kind", "a.Decision, a.DecidedOver = d, filing.Refused"}},
		harm: "A refusal that comes after a person marked the row as placed changes nothing: the filing does " +
			"not exist.",
	},
	{
		name:  "order ids of another row accepted",
		file:  "internal/ledger/decide.go",
		pkg:   ledgerTests,
		tests: "TestOneOrderIsOfOneRow",
		edits: []edit{{"case known && other.id != s.id, repeated:", "case known && other.id < 0, repeated:"}},
		harm:  "Two rows are placed by one order: one of the filings does not exist.",
	},
	// What a group reads and writes.
	{
		name:  "intents before outcomes",
		file:  "internal/ledger/group.go",
		pkg:   ledgerTests,
		tests: "TestLateAnswerAndRivalInOneGroup",
		edits: []edit{
			{"	for _, t := range group {\n		if t.outcome != nil {\n			if s := ",
				"	defer func() {\n		if err == nil {\n			err = " +
					"g.writeAll()\n		}\n	}()\n	defer g.recordAll(group)\n	for _, t := range group " +
					"{\n		if t.outcome != nil && t.outcome.Row < 0 {\n			if s := "},
			{"func (g *groupWriter) write(group []*transition) error {",
				"func (g *groupWriter) recordAll(group []*transition) {\n	for _, t := range group {\n		if " +
					"t.outcome != nil {\n			t.err = g.recordOutcome(t.outcome, " +
					"t.unsent)\n		}\n	}\n}\n\nfunc (g *groupWriter) write(group []*transition) (err error) {"},
			{"			t.fresh = g.keep(t.event)\n		}\n	}\n	return g.writeAll()",
				"			t.fresh = g.keep(t.event)\n		}\n	}\n	return nil"},
		},
		harm: "A rival in the same commit as the answer is let through, and buys the filing again.",
	},
	{
		name:  "a failed group fails all its members",
		file:  "internal/ledger/transition.go",
		pkg:   ledgerTests,
		tests: "TestOneBadTransitionOfAGroup",
		edits: []edit{
			{"		if err := db.commitTogether([]*transition{t}); err != nil {\n			t.err = err\n		}",
				"		t.err = err"},
		},
		harm: "One row that the database refuses keeps every other answer from being recorded.",
	},
	{
		name:  "no unique index",
		file:  "internal/ledger/migrations/sqlite/00001_ledger.sql",
		pkg:   ledgerTests,
		tests: "TestTheKeyIsTheLastGuard",
		edits: []edit{
			{"    key     TEXT PRIMARY KEY,\n    row     BIGINT  NOT NULL REFERENCES rows (id),\n    product",
				"    key     TEXT NOT NULL,\n    row     BIGINT  NOT NULL REFERENCES rows (id),\n    product"},
		},
		harm: "A writer that no one thought of makes two rows buy the same filing.",
	},
	{
		name:  "a key that is there is passed over",
		file:  "internal/ledger/group.go",
		pkg:   ledgerTests,
		tests: "TestTheKeyIsTheLastGuard",
		edits: []edit{
			{"v.cover, v.year, v.why, v.at, v.bought {{v}}`",
				"v.cover, v.year, v.why, v.at, v.bought {{v}} WHERE TRUE ON CONFLICT (key) DO NOTHING`"},
		},
		harm: "The same: the order goes out although its key is another row's.",
	},
	{
		name:  "earlier attempts not read",
		file:  "internal/ledger/group.go",
		pkg:   ledgerTests,
		tests: "TestUncertainIsKept|TestStaleReadingIsLost",
		edits: []edit{
			{"if s.tries > 1 || s.counted > 1 || s.result != filing.Placing {", "if s.result != filing.Placing {"},
		},
		harm: "A row whose first answer was lost and whose repetition was not sent forgets that it may have " +
			"been bought.",
	},
	{
		name:  "wake-up for funds dropped",
		file:  "internal/ledger/group.go",
		pkg:   ledgerTests,
		tests: "TestOnlySpareMoneyWakes",
		edits: []edit{
			{"	if g.short {\n		if err := g.db.unblockFunded(",
				"	if g.short && g.now < 0 {\n		if err := g.db.unblockFunded("},
		},
		harm: "Money is free and no one uses it: filings miss their deadlines.",
	},
	{
		name:  "wake-up for a key dropped",
		file:  "internal/ledger/group.go",
		pkg:   ledgerTests,
		tests: "TestWaitingForAKey|TestWaitingForAnUncertainRow",
		edits: []edit{{"	if !g.behind { // to look", "	if g.behind || !g.behind { // to look"}},
		harm:  "A row that waited for another row's answer is never filed.",
	},
	// Money, halts and processes.
	{
		name:  "a row needs its money twice",
		file:  "internal/ledger/budget.go",
		pkg:   ledgerTests,
		tests: "TestAnUncertainAttemptNeedsNoMoreMoney",
		edits: []edit{
			{"const need = `CASE WHEN r.cost > r.held THEN r.cost - r.held ELSE 0 END`", "const need = `r.cost`"},
		},
		harm: "What is reserved already is asked for once more: other rows wait for money that is there.",
	},
	{
		name:  "a paused batch keeps its money",
		file:  "internal/ledger/budget.go",
		pkg:   ledgerTests,
		tests: "TestAPausedBatchKeepsNoMoney",
		edits: []edit{{"b.open = 1 AND b.paused = 0 AND b.canceled = 0", "b.open = 1 AND b.canceled = 0"}},
		harm:  "Rows that are due wait for money that is kept for rows which no one sends.",
	},
	{
		name:  "approval does not ration",
		file:  "internal/ledger/approval.go",
		pkg:   ledgerTests,
		tests: "TestApprovalKeepsTheOrderOfDueDates",
		edits: []edit{
			{"		return l.ration(ctx, tx, c)\n	})\n	if err != nil {\n		return false, " +
				"fmt.Errorf(\"approve batch",
				"		return nil\n	})\n	if err != nil {\n		return false, fmt.Errorf(\"approve batch"},
		},
		harm: "Money that is short goes to filings that are due later.",
	},
	{
		name:  "resolving does not ration",
		file:  "internal/ledger/resolve.go",
		pkg:   ledgerTests,
		tests: "TestResolveKeepsTheOrderOfDueDates",
		edits: []edit{
			{"		return db.ration(ctx, tx, c)\n	})\n	if err != nil {\n		return " +
				"fmt.Errorf(\"resolve the row",
				"		return nil\n	})\n	if err != nil {\n		return fmt.Errorf(\"resolve the row"},
		},
		harm: "Money that is short goes to a row that is due later.",
	},
	{
		name:  "canceling does not ration",
		file:  "internal/ledger/batch.go",
		pkg:   ledgerTests,
		tests: "TestCancelSetsItsMoneyFree",
		edits: []edit{{"		return l.ration(ctx, tx, c) // its share is there for others", "		return nil"}},
		harm:  "The money of a canceled batch lies idle while other rows wait for it.",
	},
	{
		name:  "canceling takes uncertain rows back",
		file:  "internal/ledger/batch.go",
		pkg:   ledgerTests,
		tests: "TestCancelTakesBackWhatWasNotSent",
		edits: []edit{
			{"WHERE batch = $1 AND result = 'ready' AND doubt = 0 AND `+which, batch,",
				"WHERE batch = $1 AND result = 'ready' AND `+which, batch,"},
		},
		harm: "A row that may have been bought is reported as canceled before it was sent.",
	},
	{
		name:  "reviving takes rows that were sent",
		file:  "internal/ledger/batch.go",
		pkg:   ledgerTests,
		tests: "TestReviveMakesUnsentRowsReady",
		edits: []edit{
			{"WHERE batch = $1 AND `+unsent, batch", "WHERE batch = $1 AND `+\"result = 'canceled'\", batch"},
		},
		harm: "A canceled row whose answer may still come is sent again.",
	},
	{
		name:  "Retry-After ignored",
		file:  "internal/ledger/control.go",
		pkg:   ledgerTests,
		tests: "TestHoldForRate|TestLongestHold",
		edits: []edit{
			{"wait := min(a.RetryAfter, longestHold).Milliseconds()", "wait := min(a.RetryAfter, 0).Milliseconds()"},
		},
		harm: "The filing service that asked for a pause bars the account in the middle of a season.",
	},
	{
		name:  "a company's creation ends the wait for funds",
		file:  "internal/ledger/control.go",
		pkg:   ledgerTests,
		tests: "TestCreationIsNoProofOfFunds",
		edits: []edit{
			{"if probing && c.halt == filing.HaltFunds && ordered {", "if probing && c.halt == filing.HaltFunds {"},
		},
		harm: "All workers order at once against an empty balance.",
	},
	{
		name:  "every process of another machine is dead",
		file:  "internal/ledger/process.go",
		pkg:   ledgerTests,
		tests: "TestLeaseOfAnotherMachine|TestClocksOfProcessesPlayNoRole",
		edits: []edit{{"return now < toMillis(o.ExpiresAt)", "return now < 0"}},
		harm:  "Orders that are under way elsewhere are called uncertain, or sent a second time beside the first.",
	},
	{
		name:  "own orders swept",
		file:  "internal/ledger/process.go",
		pkg:   ledgerTests,
		tests: "TestIntentWithoutConfirmation",
		edits: []edit{
			{"case r.Owner == l.owner.ID && !l.out.has(attempt{r.ID, r.Tries}):", "case r.Owner == l.owner.ID:"},
		},
		harm: "An order that is out is called unsent, and is sent again.",
	},
	{
		name:  "an intent of which no one heard is not given back",
		file:  "internal/ledger/process.go",
		pkg:   ledgerTests,
		tests: "TestIntentWithoutConfirmation",
		edits: []edit{
			{"			if err := l.giveBack(ctx, r); err != nil {\n				return nil, " +
				"err\n			}\n", ""},
		},
		harm: "A row is under way for as long as the process lives: it is never filed, and its money is never free.",
	},
	{
		name:  "a dead process's order repeated at once",
		file:  "internal/ledger/process.go",
		pkg:   ledgerTests,
		tests: "TestRepeatableOrderWaitsForTheTimeOut",
		edits: []edit{{"return sent.Add(o.Timeout)", "return sent"}},
		harm:  "Two orders of one row are at the filing service at the same time, and both are made.",
	},
	{
		name:  "a process that stood still sends",
		file:  "internal/ledger/process.go",
		pkg:   ledgerTests,
		tests: "TestProcessThatStoodStillMayNotSend",
		edits: []edit{
			{"return l.clock.uptime()+l.lease/3 < time.Duration(l.leasedUntil.Load())",
				"return l.clock.uptime()+l.lease/3 < time.Duration(1<<62)"},
		},
		harm: "A paused machine sends, hours later, what another process has ordered since.",
	},
	{
		name:  "a ledger that went back in time is not found",
		file:  "internal/ledger/restorecheck.go",
		pkg:   ledgerTests,
		tests: "TestLedgerThatWentBackInTime",
		edits: []edit{
			{"if n := known[c.lineage]; n > c.commits {", "if n := known[c.lineage]; n > c.commits && n < 0 {"},
		},
		harm: "Everything that was ordered since the backup is ordered again.",
	},
	{
		name:  "what a restored ledger lost is not written back",
		file:  "internal/ledger/restorecheck.go",
		pkg:   ledgerTests,
		tests: "TestLedgerThatWentBackInTime",
		edits: []edit{{"	return db.writeBack(ctx, tx, c)\n", "	return nil\n"}},
		harm:  "The same, once a person lets orders go out again.",
	},
	{
		name:  "a sweep's guess replaces a remembered answer",
		file:  "internal/ledger/restorecheck.go",
		pkg:   ledgerTests,
		tests: "TestSweepBesideAnAnswerThatTheLedgerLoses",
		edits: []edit{
			{"t.err == nil && !t.unsent:", "t.err == nil:"},
			{"if r != nil && (r.outcome == nil || r.outcome.Answer.Kind.Lost()) {", "if r != nil {"},
		},
		harm: "A filing that was placed before the ledger went back in time is written back as unsent, and is " +
			"bought again.",
	},
	{
		name:  "a restored row whose answer is forgotten is given back",
		file:  "internal/ledger/restorecheck.go",
		pkg:   ledgerTests,
		tests: "TestRestoredRowThatItsProcessHasForgotten",
		edits: []edit{{"	return h.restored\n", "	return false\n"}},
		harm:  "A row that was in flight when the backup was made is called unsent, and is sent again.",
	},
	{
		name:  "a process of an earlier generation sends",
		file:  "internal/ledger/generation.go",
		pkg:   ledgerTests,
		tests: "TestProcessOfAnEarlierGeneration",
		edits: []edit{{"			t.begun = Begun{Halted: g.c.past()}\n",
			"			admitted = append(admitted, t)\n"}},
		harm: "A worker that was cut off while the ledger was restored sends orders from what it read before.",
	},
	{
		name:  "an answer counts for another row of the same id",
		file:  "internal/ledger/generation.go",
		pkg:   ledgerTests,
		tests: "TestProcessOfAnEarlierGeneration",
		edits: []edit{{" || row > c.restoredRows {", " {"}},
		harm:  "A row that was added after a restore is placed by the answer to an order of another company.",
	},
	{
		name:  "a restored ledger sends at once",
		file:  "internal/ledger/backup_restore.go",
		pkg:   ledgerTests,
		tests: "TestSnapshotIsRestoredIntoEitherDatabase",
		edits: []edit{{"		c.haltRestored(note)\n", "		_ = note\n"}},
		harm:  "Everything that was placed after the backup is bought again.",
	},
	{
		name:  "a row of a restored ledger is sent unchecked",
		file:  "internal/ledger/decide.go",
		pkg:   ledgerTests,
		tests: "TestRestoredRowsAreHeld|TestRowsSubmittedAfterTheRestoreAreHeld|TestRestoredTwice",
		edits: []edit{{"	if g.c.checkGeneration != \"\" && s.checked != g.c.checkMark() {", "	if false {"}},
		harm:  "A spreadsheet that was submitted after the backup is bought again by the next person who submits it.",
	},
	{
		name:  "a check counts after the next restore",
		file:  "internal/ledger/decide.go",
		pkg:   ledgerTests,
		tests: "TestRestoredTwice",
		edits: []edit{{" && s.checked != g.c.checkMark() {", " && s.checked == \"\" {"}},
		harm:  "A row that was placed between two restores is bought again.",
	},
	{
		name:  "an intent in a file that was replaced is sent",
		file:  "internal/ledger/restorecheck.go",
		pkg:   ledgerTests,
		tests: "TestFileIsReplacedWhileAnIntentIsWritten",
		edits: []edit{{"if err == nil && !os.SameFile(committedTo, file) {", "if err == nil && file == nil {"}},
		harm:  "An order goes out, and no file has its intent: if its process ends, it is bought again.",
	},
	{
		name:  "a subscription in arrears covers later years",
		file:  "internal/ledger/subscription.go",
		pkg:   ledgerTests,
		tests: "TestWhatASubscriptionCovers",
		edits: []edit{{"\n\t\t\tOR lower(i.subscription_status) NOT IN ('', 'active')))", "))"}},
		harm:  "A report is skipped that the filing service will not make: it is not filed.",
	},
	// Workers.
	{
		name:  "intent committed after sending",
		file:  "internal/jobs/placer.go",
		pkg:   jobsTests,
		tests: "TestIntentIsRecordedBeforeTheOrder",
		edits: []edit{
			{"	begun, err = p.ledger.Begin(context.WithoutCancel(ctx), intent)\n",
				"	early := send(context.WithoutCancel(ctx))\n	begun, err = " +
					"p.ledger.Begin(context.WithoutCancel(ctx), intent)\n"},
			{"	answer = send(context.WithoutCancel(ctx))\n", "	answer = early\n"},
		},
		harm: "An order of a process that dies in between is unknown, and is bought again.",
	},
	{
		name:  "more orders out than slots",
		file:  "internal/jobs/worker.go",
		pkg:   jobsTests,
		tests: "TestStopRecordsWhatIsOut",
		edits: []edit{
			{"make(chan struct{}, c.Concurrency),\n		throttle", "make(chan struct{}, 1000),\n		throttle"},
		},
		harm: "A crash leaves more rows uncertain than anybody allowed.",
	},
	{
		name:  "the lease is not asked before sending",
		file:  "internal/jobs/placer.go",
		pkg:   jobsTests,
		tests: "TestNothingIsSentAfterStandingStill",
		edits: []edit{{"if !p.ledger.Fleet().MaySend() {", "if !p.ledger.Fleet().MaySend() && begun.Try < 0 {"}},
		harm:  "A paused machine sends what another process has ordered since.",
	},
	{
		name:  "an answer is given up after the first failure to record it",
		file:  "internal/jobs/placer.go",
		pkg:   jobsTests,
		tests: "TestAnswerIsRecordedOnceTheLedgerIsBack",
		edits: []edit{{"return errors.Is(err, ledger.ErrClosed), err\n", "return true, err\n"}},
		harm:  "An order that was made is reported as uncertain, or is sent again.",
	},
	{
		name:  "an answer without the keys of its order",
		file:  "internal/jobs/placer.go",
		pkg:   jobsTests,
		tests: "TestLateAnswerOwnsItsKey",
		edits: []edit{
			{"		Claims:     claims,\n", ""},
		},
		harm: "What was bought after a person had marked it as not placed is bought again by the next sheet.",
	},
	{
		name:  "name comparison skipped",
		file:  "internal/jobs/review.go",
		pkg:   jobsTests,
		tests: "TestAnotherCompanysIDIsNotSent",
		edits: []edit{
			{"func(d filing.Difference) bool { return !d.Warning }); at >= 0 {",
				"func(d filing.Difference) bool { return !d.Warning }); at > len(differences) {"},
		},
		harm: "A sheet with one column sorted alone files, and pays, for other companies than it names.",
	},
	{
		name:  "attempts never run out",
		file:  "internal/jobs/placer.go",
		pkg:   jobsTests,
		tests: "TestAttemptsRunOut",
		edits: []edit{{"Exhausted:  row.Attempts+1 >= maxAttempts,", "Exhausted:  row.Attempts < 0,"}},
		harm:  "An order that never gets an answer is sent forever, and no one is asked to check it.",
	},
	{
		name:  "attempts of dead processes never run out",
		file:  "internal/jobs/worker.go",
		pkg:   jobsTests,
		tests: "TestAttemptsRunOut",
		edits: []edit{{"Exhausted:  row.Attempts >= maxAttempts,", "Exhausted:  row.Attempts < 0,"}},
		harm:  "An order that kills every process that sends it is sent forever.",
	},
	{
		name:  "the sweep forgets what was dropped",
		file:  "internal/jobs/worker.go",
		pkg:   jobsTests,
		tests: "TestSweepKnowsWhatWasDropped",
		edits: []edit{
			{"			order = order.Drop(p)\n		}\n		a := filing.Answer",
				"			_ = p\n		}\n		a := filing.Answer"},
		},
		harm: "An order that may be repeated waits for a person, for the sake of an item that it did not hold.",
	},
	{
		name:  "a stop does not wait for what is in hand",
		file:  "internal/jobs/worker.go",
		pkg:   jobsTests,
		tests: "TestStopWaitsWithoutTheQueue",
		edits: []edit{{"		w.handling.Wait()\n		close(recorded)", "		close(recorded)"}},
		harm:  "Answers that are on their way are lost, and their rows are uncertain.",
	},
	{
		name:  "a creation is repeated",
		file:  "internal/jobs/worker.go",
		pkg:   jobsTests,
		tests: "TestSweepOfACreation",
		edits: []edit{{"Repeatable: l.Repeatable(&order) && !row.Creating,", "Repeatable: l.Repeatable(&order),"}},
		harm:  "A company is created twice.",
	},
	{
		name:  "a formation's company is not known under its id",
		file:  "internal/jobs/placer.go",
		pkg:   jobsTests,
		tests: "TestAgentOfAFormedCompanyIsBought",
		edits: []edit{
			{"out.Company, out.Known = a.CompanyID, ledger.FormedClaims(order, a.CompanyID)",
				"out.Company = a.CompanyID"},
		},
		harm: "The registered agent that came with a formation is bought again for its company.",
	},
}
