package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

// resultColumns are the headers of the result columns, in the order in which they follow the
// input's own columns on Results and in the CSV.
var resultColumns = []string{
	"Result", "Message", "Order IDs", "Filing Status", "Filing Date", "Cost", "Attempts", "Updated At", "Subscription",
}

// The index of each result in resultColumns.
const (
	colResult = iota
	colMessage
	colOrderIDs
	colFilingStatus
	colFilingDate
	colCost
	colAttempts
	colUpdatedAt
	colSubscription
	// resultColumnCount is the number of result columns.
	resultColumnCount
)

// verdict is the explanation of a result for its reader.
type verdict struct {
	// meaning stands beside the count on Summary.
	meaning string
	// advice is the message of a row without its own message.
	advice string
	// inCSV replaces advice in a CSV, which has no sheet Needs Attention. Empty means advice.
	inCSV string
}

var verdicts = map[filing.Result]verdict{
	filing.Placed: {
		meaning: "The order was placed; its order IDs are beside the row",
		advice:  "Placed.",
	},
	filing.Exists: {
		meaning: "Bought before; nothing was bought again",
		advice:  "Bought before; nothing was bought again.",
	},
	filing.Invalid: {
		meaning: "Not sent; correct the row first",
		advice:  "Not sent. Correct the row on the Needs Attention sheet, then run that sheet.",
		inCSV:   "Not sent. Correct the row and run the file again; placed rows are not sent twice.",
	},
	filing.Rejected: {
		meaning: "Rejected by the filing service for the reason given",
		advice:  "Rejected by the filing service. Correct the row on the Needs Attention sheet, then run that sheet.",
		inCSV: "Rejected by the filing service. Correct the row and run the file again; placed rows are not " +
			"sent twice.",
	},
	filing.Uncertain: {
		meaning: "Sent, but the filing service did not confirm it. Check the dashboard, then resolve it",
		advice: "Sent, but the filing service did not confirm it. Do not order it again. Check the dashboard, then " +
			"resolve it on the page under Uncertain.",
	},
	filing.Ready: {
		meaning: "Valid, not sent yet; run or upload the same file again to continue",
		advice: "Valid, not sent yet. Run or upload the same file again to continue; a worker or the page " +
			"continues automatically.",
	},
	filing.Placing: {
		meaning: "Being sent when this file was written",
		advice:  "Being sent when this file was written. Download the results again to see the result.",
	},
	filing.Skipped: {
		meaning: "Not sent: a repeat, or already covered",
		advice:  "Not sent: a repeat of another row, or already covered.",
	},
	filing.Canceled: {
		meaning: "Canceled before it was sent",
		advice:  "Canceled before it was sent.",
	},
}

// Message returns the message of a row in the results workbook. It is never empty.
func Message(row *ledger.Row) string { return message(row, inWorkbook) }

func message(row *ledger.Row, to medium) string {
	text := row.Message
	if text == "" {
		text = faultText(row.Faults)
	} else if why := faultText(row.Faults); strings.HasPrefix(text, ledger.Dismissed) && why != "" {
		text += ": " + why
	}
	if news := ExceptionText(row.Items); news != "" {
		text = news + " " + text
	}
	if news := coverageText(row); uncovered(row) && row.Result == filing.Skipped {
		text = news
	} else if news != "" {
		text = news + " " + text
	}
	if text == "" {
		v := verdicts[row.Result]
		text = v.advice
		if to == inCSV {
			text = cmp.Or(v.inCSV, v.advice)
		}
	}
	if c := row.Correction; c != nil {
		text = fmt.Sprintf("Corrected in row %d of batch %s: %s", c.Number, c.Batch, text)
	}
	return filing.HideSSNs(text)
}

// faultText lists the errors of a row without duplicates.
func faultText(faults []ledger.Fault) string {
	var texts []string
	for _, f := range faults {
		if !f.Warning && f.Message != "" && !slices.Contains(texts, f.Message) {
			texts = append(texts, f.Message)
		}
	}
	return strings.Join(texts, " ")
}

// ExceptionText names the exceptions that stop a row's filings, or returns "". The service has no
// call to correct an order, so the text refers to its dashboard.
func ExceptionText(items []ledger.Item) string {
	var texts []string
	for _, i := range items {
		if i.Exception == 0 {
			continue
		}
		text := filing.ExceptionText(i.Exception, filing.HideSSNs(i.ExceptionNote))
		if !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	if len(texts) == 0 {
		return ""
	}
	return strings.Join(texts, ". ") + "."
}

// uncovered reports whether the row's report was not ordered because of a
// subscription that no longer covers it.
func uncovered(row *ledger.Row) bool { return row.CoveredBy != nil && row.CoveredBy.Lapsed != "" }

// coverageText warns about a filing that will not happen, because it was canceled or its
// subscription has lapsed.
func coverageText(row *ledger.Row) string {
	var texts []string
	for _, i := range row.Items {
		if filing.IsCanceled(i.FilingStatus) {
			texts = append(
				texts, fmt.Sprintf("The %s %s is canceled. It is not ordered again.",
					itemName(i), i.OrderID))
		}
	}
	if by := row.CoveredBy; uncovered(row) {
		texts = append(
			texts, fmt.Sprintf(
				"No longer covered: the subscription of order %s: %s. To order the report, run this row in a "+
					"separate file, such as the Needs Attention sheet.", cmp.Or(by.Order, "without an id"),
				by.Lapsed))
	}
	return strings.Join(texts, " ")
}

// hasException reports whether an exception stops a filing of the row.
func hasException(row *ledger.Row) bool {
	return slices.ContainsFunc(row.Items,
		func(i ledger.Item) bool { return i.Exception != 0 })
}

// correctable reports whether the row belongs on Needs Attention. Such a row was not sent and needs
// a correction, has a filing with an exception, or was covered by a subscription that has lapsed.
// If it is uploaded again, a filing with an exception is recognized as bought and left alone.
// Uncertain rows do not belong there. They have no value to correct, and an upload would request a
// filing that may have been bought. Canceled rows do not belong there either, because their owner
// wants them canceled.
func correctable(row *ledger.Row) bool {
	return row.Result == filing.Invalid || row.Result == filing.Rejected || hasException(row) || uncovered(row)
}

func orderIDs(items []ledger.Item) string {
	var ids []string
	for _, item := range items {
		if item.OrderID != "" && !slices.Contains(ids, item.OrderID) {
			ids = append(ids, item.OrderID)
		}
	}
	return strings.Join(ids, ",")
}

func filingStatus(items []ledger.Item) string {
	return ofItems(items, func(i ledger.Item) string { return i.FilingStatus })
}

// subscription returns the service's status of the subscriptions of a row's orders, or of the one
// that covers its report.
func subscription(row *ledger.Row) string {
	word := agreed(row.Items, func(i ledger.Item) string { return i.SubscriptionStatus })
	if word == "" && row.CoveredBy != nil {
		return row.CoveredBy.Status
	}
	return word
}

func filingDate(items []ledger.Item) string {
	return ofItems(items, func(i ledger.Item) string { return i.FilingDate })
}

// ofItems returns one word for all items of a row if the filings agree ("filed"), so that a filter
// finds it. Otherwise it returns each word with its item ("filed (annual report), pending (foreign
// qualification)").
//
// The appointment of an agent is not a filing, and no event reports it, so it counts only if it is
// the only item. Source: spec section 6.
func ofItems(items []ledger.Item, word func(ledger.Item) string) string {
	filings := slices.DeleteFunc(slices.Clone(items), func(i ledger.Item) bool {
		return i.Product == filing.RegisteredAgent
	})
	if len(filings) == 0 {
		filings = items
	}
	return agreed(filings, word)
}

// agreed returns the word of the items if all items with a word have the same. Otherwise it returns
// each word with its item.
func agreed(items []ledger.Item, word func(ledger.Item) string) string {
	var words, named []string
	for _, item := range items {
		w := word(item)
		if w == "" {
			continue
		}
		if !slices.Contains(words, w) {
			words = append(words, w)
		}
		named = append(named, w+" ("+itemName(item)+")")
	}
	if len(words) == 1 {
		return words[0]
	}
	return strings.Join(named, ", ")
}

func itemName(item ledger.Item) string {
	if title := item.Product.Title(); title != "" {
		return title
	}
	return item.OrderType
}
