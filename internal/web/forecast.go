package web

import (
	"strconv"

	"github.com/bulkfiling/bulkfiling/internal/schedule"
)

var forecastRoutes = []route{
	{pattern: "GET /balance/forecast", may: viewer, serve: (*Site).forecast},
}

// forecastSpans are the numbers of days to choose from.
var forecastSpans = []int{30, schedule.ForecastDays, 180, 365}

// forecastPage is what the schedules will need from the balance.
type forecastPage struct {
	*schedule.Forecast
	Days    int
	Spans   []int
	LeftOut int
}

// RunPath is the page of a run's schedule.
func (forecastPage) RunPath(r schedule.RunCost) string { return schedulePath(r.Schedule) }

func (s *Site) forecast(v *request) error {
	days := schedule.ForecastDays
	if text := v.r.URL.Query().Get("days"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > schedule.MaxForecastDays {
			return badRequest("Choose a number of days from 1 to %d.", schedule.MaxForecastDays)
		}
		days = n
	}
	f, err := s.Seasons.Forecast(v.ctx(), days)
	if err != nil {
		return err
	}
	p := forecastPage{Forecast: f, Days: days, Spans: forecastSpans}
	for _, r := range f.Runs {
		p.LeftOut += r.LeftOut
	}
	return v.show("forecast.html", "Forecast", p)
}
