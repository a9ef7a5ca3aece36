package season

import (
	"fmt"
	"math/bits"
	"strings"
	"time"
)

// InWords says in words when an expression of ParseAt runs: "every year on January
// 15 at 06:00". It returns any other text as it is.
func InWords(expression string) string {
	spec, _, err := parseSpec(expression, "")
	if err != nil {
		return expression
	}
	at := fmt.Sprintf(" at %02d:%02d", bits.TrailingZeros64(spec.Hour), bits.TrailingZeros64(spec.Minute))
	days, months, weekdays := members(spec.Dom, 31), members(spec.Month, 12), members(spec.Dow, 6)
	monthly := listed(months, func(n int) string { return time.Month(n).String() })
	weekly := "every " + listed(weekdays, func(n int) string { return time.Weekday(n).String() })
	switch {
	case days == nil && weekdays == nil && months == nil:
		return "every day" + at
	case days == nil && weekdays == nil:
		return "every day of " + monthly + at
	case days == nil && months == nil:
		return weekly + at
	case days == nil:
		return weekly + " of " + monthly + at
	}
	which := "on the " + listed(days, ordinal)
	switch {
	case len(days) == 1 && len(months) == 1:
		which = fmt.Sprintf("every year on %s %d", monthly, days[0])
	case months == nil:
		which += " of every month"
	default:
		which += " of " + monthly
	}
	if weekdays == nil {
		return which + at
	}
	// Either of them is a day of a run, as with cron; the months go for both.
	which += ", and " + weekly
	if months != nil {
		which += " of " + monthly
	}
	return which + at
}

// members are the values of a field of a cron expression; nil for a star.
func members(field uint64, most int) []int {
	if field>>63 == 1 {
		return nil
	}
	var all []int
	for n := range most + 1 {
		if field&(1<<n) != 0 {
			all = append(all, n)
		}
	}
	return all
}

// listed names values: "January, April and July", and "1st to 5th" of those that
// follow one another.
func listed(all []int, name func(int) string) string {
	var parts []string
	for i := 0; i < len(all); {
		last := i
		for last+1 < len(all) && all[last+1] == all[last]+1 {
			last++
		}
		if last-i >= 2 {
			parts = append(parts, name(all[i])+" to "+name(all[last]))
			i = last + 1
			continue
		}
		parts = append(parts, name(all[i]))
		i++
	}
	if n := len(parts); n > 1 {
		return strings.Join(parts[:n-1], ", ") + " and " + parts[n-1]
	}
	return strings.Join(parts, "")
}

func ordinal(n int) string {
	suffix := "th"
	if n/10 != 1 {
		switch n % 10 {
		case 1:
			suffix = "st"
		case 2:
			suffix = "nd"
		case 3:
			suffix = "rd"
		}
	}
	return fmt.Sprintf("%d%s", n, suffix)
}
