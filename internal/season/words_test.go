package season_test

import (
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/season"
)

func TestAnExpressionInWords(t *testing.T) {
	for expression, want := range map[string]string{
		"0 6 15 1 *":                "every year on January 15 at 06:00",
		"30 18 1,15 * *":            "on the 1st and 15th of every month at 18:30",
		"0 6 2 1,4,7,10 *":          "on the 2nd of January, April, July and October at 06:00",
		"0 6 1-5 3 *":               "on the 1st to 5th of March at 06:00",
		"5 0 11,12,13,21,22,23 * *": "on the 11th to 13th and 21st to 23rd of every month at 00:05",
		"0 6 * * 1":                 "every Monday at 06:00",
		"0 6 * * mon-fri":           "every Monday to Friday at 06:00",
		"0 6 * 1 1,4":               "every Monday and Thursday of January at 06:00",
		"0 6 1 * 1":                 "on the 1st of every month, and every Monday at 06:00",
		"0 6 1 1 1":                 "every year on January 1, and every Monday of January at 06:00",
		"0 6 * * *":                 "every day at 06:00",
		"0 6 * 2-4 *":               "every day of February to April at 06:00",
		"@monthly":                  "on the 1st of every month at 00:00",
		"@yearly":                   "every year on January 1 at 00:00",
		"CRON_TZ=UTC 0 6 15 1 *":    "every year on January 15 at 06:00",
		"soon":                      "soon",
		"* * * * *":                 "* * * * *",
		"0 6 30 2 *":                "0 6 30 2 *",
	} {
		if got := season.InWords(expression); got != want {
			t.Errorf("%s: %q, want %q", expression, got, want)
		}
	}
}
