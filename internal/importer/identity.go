package importer

import (
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
