package web

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"golang.org/x/time/rate"

	"github.com/bulkfiling/bulkfiling/internal/cache"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/schedule"
	"github.com/bulkfiling/bulkfiling/internal/season"
	"github.com/bulkfiling/bulkfiling/internal/text"
)

// feedRoutes are the calendar feeds of due dates. The secret in the address stands in
// for a session: calendar programs have none.
var feedRoutes = []route{
	{pattern: "GET /calendar/feed/{secret}", may: anyone, serve: (*Site).feed},
	{pattern: "POST /calendar/feeds", may: working, serve: (*Site).addFeed},
	{pattern: "POST /calendar/feeds/{feed}/revoke", may: working, serve: (*Site).revokeFeed},
	{pattern: "POST /calendar/zone", may: operator, serve: (*Site).setZone},
}

// Programs ask for a feed every few minutes at most.
const (
	feedEvery = 10 * time.Second
	feedBurst = 20
	feedTTL   = time.Minute
	feedsKept = 64
)

// feedAccess bounds how often feeds are asked for, and keeps the last ones.
type feedAccess struct {
	limits *cache.Cache[string, *rate.Limiter] // by address
	made   *cache.Cache[string, string]        // by day and page
}

func newFeedAccess() *feedAccess {
	return &feedAccess{
		limits: cache.New[string](cache.Options[*rate.Limiter]{TTL: cache.For(time.Hour), Max: 10_000}),
		made:   cache.New[string](cache.Options[string]{TTL: cache.For(feedTTL), Max: feedsKept}),
	}
}

// feed sends due dates to a calendar program. Its errors are plain text and do not
// repeat the address, which is a secret.
func (s *Site) feed(v *request) error {
	limit, err := s.feeds.limits.Get(v.ctx(), v.from(), newFeedLimit)
	if err != nil {
		return err
	}
	if !limit.Allow() {
		v.w.Header().Set("Retry-After", "60")
		return s.refuseFeed(v, http.StatusTooManyRequests, "Too many requests. Try again in a minute.")
	}
	secret, _ := strings.CutSuffix(v.r.PathValue("secret"), ".ics")
	account, err := s.Ledger.Calendars().FindFeed(v.ctx(), secret)
	if errors.Is(err, ledger.ErrFeed) {
		return s.refuseFeed(v, http.StatusNotFound, text.Capital(ledger.ErrFeed.Error())+".")
	}
	var body string
	if err == nil {
		body, err = s.makeFeed(v)
	}
	if err != nil {
		s.Log.Error("calendar feed failed", "account", account.ID, "err", err)
		return s.refuseFeed(v, http.StatusServiceUnavailable, "The calendar cannot be read now. Try again later.")
	}
	h := v.w.Header()
	h.Set("Content-Type", "text/calendar; charset=utf-8")
	h.Set("Content-Disposition", `inline; filename="bulkfiling.ics"`)
	h.Set("Cache-Control", "private, no-cache")
	h.Set("Referrer-Policy", "no-referrer")
	http.ServeContent(v.w, v.r, "bulkfiling.ics", time.Time{}, strings.NewReader(body))
	return nil
}

func (s *Site) refuseFeed(v *request, status int, message string) error {
	v.w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	v.w.Header().Set("Cache-Control", "no-store")
	v.w.WriteHeader(status)
	_, _ = io.WriteString(v.w, message+"\n")
	return nil
}

// makeFeed makes the feed of all schedules, or returns that of a moment ago.
func (s *Site) makeFeed(v *request) (string, error) {
	zone, err := schedule.FirmZone(v.ctx(), s.Ledger)
	if err != nil {
		return "", err
	}
	today := season.DateOf(time.Now().In(zone))
	page := s.address(v.r) + "/calendar"
	return s.feeds.made.Get(v.ctx(), today.String()+" "+page, s.loadFeed(today, page))
}

func newFeedLimit(context.Context) (*rate.Limiter, error) {
	return rate.NewLimiter(rate.Every(feedEvery), feedBurst), nil
}

func (s *Site) loadFeed(today season.Date, page string) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		schedules, err := s.Ledger.Schedules().List(ctx)
		if err != nil {
			return "", err
		}
		from, to := schedule.FeedSpan(today)
		c, err := s.Seasons.Calendar(ctx, schedules, from, to)
		if err != nil {
			return "", err
		}
		bought, err := schedule.FindBought(ctx, s.Ledger, c.Due)
		if err != nil {
			return "", err
		}
		return schedule.Feed("Due dates, Bulkfiling", c.Due, bought, today, page), nil
	}
}

// addFeed makes an address for the reader, and shows it once.
func (s *Site) addFeed(v *request) error {
	secret, err := s.Ledger.Calendars().AddFeed(v.withAudit("calendar-link", v.session.Account.ID, ""),
		v.session.Account.ID)
	if errors.Is(err, ledger.ErrFeeds) {
		return badRequest("%s", sentence(ledger.ErrFeeds.Error()))
	}
	if err != nil {
		return err
	}
	link := s.address(v.r) + "/calendar/feed/" + secret + ".ics"
	return v.show("calendar-link.html", "Calendar link", struct{ Link string }{link})
}

func (s *Site) revokeFeed(v *request) error {
	err := s.Ledger.Calendars().RemoveFeed(v.withAudit("calendar-link-revoke", v.session.Account.ID, ""),
		v.session.Account.ID, v.r.PathValue("feed"))
	if err != nil {
		return err
	}
	v.flash("ok", "The calendar link is revoked. Calendars that use it get no more updates.")
	return v.redirect("/calendar#subscribe")
}

func (s *Site) setZone(v *request) error {
	zone := v.r.PostForm.Get("zone")
	if _, err := season.LoadZone(zone); err != nil || zone == "" {
		return badRequest("Choose a time zone from the list.")
	}
	if err := s.Ledger.Calendars().SetZone(v.withAudit("firm-zone", zone, ""), zone); err != nil {
		return err
	}
	v.flash("ok", "Reminders and statements use the time zone %s.", zone)
	return v.redirect("/calendar#subscribe")
}
