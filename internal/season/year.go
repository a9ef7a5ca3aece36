package season

import (
	"fmt"
	"strconv"
	"strings"
)

// FilingYear reads a filing year as a season has it: four digits, or this, next
// or last year as seen on a day. For what is filed ahead of its due date that
// day is the due date: a report due on the 2nd of January is the new year's,
// though it is filed in December.
//
// Assumption: which year a state's report is named after is not shown in the
// spec; last is for those that name it after the year before the due date.
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
