package importer

import (
	"slices"
	"strings"

	"github.com/google/shlex"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

// OptionsOf returns the options of a batch that also apply when its rows are read again. These are
// all options except the sheet, the edits, the schedule's run and the reason to order again.
func OptionsOf(b ledger.Batch) Options {
	var o Options
	// shellQuote quoted the words.
	words, _ := shlex.Split(b.Options)
	for i := 0; i+1 < len(words); i++ {
		value := words[i+1]
		switch words[i] {
		case "--product":
			o.Product = filing.Product(value)
		case "--state":
			o.State = filing.State(value)
		case "--filing-year":
			o.FilingYear = value
		case "--user":
			o.User = value
		case "--header-row":
			// Rows that are read again are below the headers of their batch.
		case "--exclude":
			o.Exclude = append(o.Exclude, value)
		case "--include":
			o.Include = append(o.Include, value)
		case "--map":
			// Their headers may contain an equals sign. Ours do not.
			if at := strings.LastIndex(value, "="); at > 0 {
				if o.Map == nil {
					o.Map = make(map[string]string)
				}
				o.Map[value[:at]] = value[at+1:]
			}
		default:
			continue
		}
		i++
	}
	return o
}

// ReadableHeaders returns headers under which the columns of a batch are read in the same way without
// the mapping of its options.
func ReadableHeaders(b ledger.Batch) []string {
	headers := slices.Clone(b.Columns)
	for theirs, ours := range OptionsOf(b).Map {
		at, isAddress := columnAddress(theirs)
		if !isAddress {
			at = slices.IndexFunc(b.Columns, func(h string) bool { return foldHeader(h) == foldHeader(theirs) })
		}
		if at < 0 || at >= len(headers) {
			continue
		}
		if ours != "" && ours != "-" {
			headers[at] = ours
		} else if _, known := wordingOf(headers[at]); known {
			headers[at] += " (not used)"
		}
	}
	return headers
}
