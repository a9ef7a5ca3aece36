package season

import (
	"fmt"
	"strconv"
	"strings"
)

// FilingYear parses the filing year of a schedule. It is four digits, or this, next or last year
// relative to a day. For a report filed ahead of its due date, that day is the due date. A report
// due on January 2 belongs to the new year even if it is filed in December.
//
// Assumption: the spec does not show which year names a state's report. Use last if the state names
// it after the year before the due date.
func FilingYear(text string, on Date) (int, error) {
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "this":
		return on.Year, nil
	case "next":
		return on.Year + 1, nil
	case "last":
		return on.Year - 1, nil
	}
	year, err := strconv.ParseUint(strings.TrimSpace(text), 10, 16)
	if err != nil || year < 1000 || len(strings.TrimSpace(text)) != 4 {
		return 0, fmt.Errorf("read the filing year: %q is not this, next, last or four digits such as %d", text,
			on.Year)
	}
	return int(year), nil
}
