package web

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/approval"
	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/intake"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/schedule"
	"github.com/bulkfiling/bulkfiling/internal/season"
)

// scheduleForm is the form of a new schedule, with its input and errors.
type scheduleForm struct {
	url.Values
	// Errors maps names of fields to their errors.
	Errors map[string]string
	// List has the errors of the company list.
	List     *companyListErrors
	Products []filing.Product
	States   []filing.State
	Years    []choice
	Months   []choice
	Zones    []string
	// Second reports whether a second person approves every batch, regardless of its cost.
	Second bool
	// Policy describes the approval policy if it covers only some batches. Empty otherwise.
	Policy string
}

type choice struct{ Value, Name string }

// zones are the time zones of the states, and UTC.
var zones = []string{
	"America/New_York", "America/Chicago", "America/Denver", "America/Phoenix", "America/Los_Angeles",
	"America/Anchorage", "Pacific/Honolulu", "America/Puerto_Rico", "UTC",
}

// zonesWith returns the time zones to choose from, including the current one.
func zonesWith(zone string) []string {
	if slices.Contains(zones, zone) {
		return zones
	}
	return append([]string{zone}, zones...)
}

func (h *scheduleHandler) newScheduleForm(v *request, form url.Values) (*scheduleForm, error) {
	e := &scheduleForm{
		Values:   form,
		Errors:   make(map[string]string),
		Products: filing.Products,
		States:   filing.States(),
	}
	policy, err := approval.New(h.Ledger).Policy(v.ctx())
	if err != nil {
		return nil, err
	}
	if e.Second = policy.Covers(money.Cost{}); !e.Second && policy.Second {
		e.Policy = policy.Words()
	}
	e.Years = []choice{{"", "from the company list"}, {"this", "the year of the due date"},
		{"next", "the year after the due date"}, {"last", "the year before the due date"}}
	for year := time.Now().Year() - 1; year <= time.Now().Year()+1; year++ {
		e.Years = append(e.Years, choice{strconv.Itoa(year), strconv.Itoa(year) + " only"})
	}
	e.Months = []choice{{"*", "Every month"}}
	for month := time.January; month <= time.December; month++ {
		e.Months = append(e.Months, choice{strconv.Itoa(int(month)), month.String()})
	}
	own := schedule.LocalZone(os.Getenv)
	if own == "Etc/UTC" {
		own = "UTC"
	}
	e.Zones = zonesWith(own)
	for name, value := range map[string]string{"number": "30", "month": "1", "day": "15",
		"zone": own, "year": "this", "approval": "yes"} {
		if !form.Has(name) {
			form.Set(name, value)
		}
	}
	return e, nil
}

// Is reports whether a field has a value.
func (e *scheduleForm) Is(name, value string) bool { return e.Get(name) == value }

// Field returns the data of the template "field" for a field of the form.
func (e *scheduleForm) Field(name, label, hint string) any {
	return struct{ Name, Label, Value, Hint, Error string }{name, label, e.Get(name), hint, e.Errors[name]}
}

func (h *scheduleHandler) showScheduleForm(v *request) error {
	e, err := h.newScheduleForm(v, make(url.Values))
	return v.show(err, "schedule-form.html", "New schedule", e)
}

// nameOfList derives a schedule's name from the file name of its company list: florida-llcs for
// "Florida LLCs.xlsx".
func nameOfList(file string) string {
	name := strings.ToLower(strings.TrimSuffix(file, filepath.Ext(file)))
	return strings.Join(strings.FieldsFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9')
	}), "-")
}

// options parses the form and sets the errors of the typed fields. The fields with a list of
// choices are checked when the schedule is added.
func (e *scheduleForm) options() schedule.Options {
	text := func(name string) string { return strings.TrimSpace(e.Get(name)) }
	o := schedule.Options{
		Product:    filing.Product(text("product")),
		State:      filing.State(text("state")),
		FilingYear: text("year"),
		User:       text("user"),
		Sheet:      text("sheet"),
		Zone:       text("zone"),
	}
	if text("when") != "date" {
		o.Due = text("number") + " days before"
		if _, err := season.ParseLead(o.Due); err != nil {
			e.Errors["number"] = "Enter a number of days, 0 to 364."
		}
		return o
	}
	month, _ := strconv.Atoi(text("month")) // zero means every month
	day, _ := strconv.Atoi(text("day"))
	if o.At = strconv.Itoa(day); month != 0 {
		o.At = fmt.Sprintf("%02d-%02d", month, day)
	}
	if _, err := season.ParseAt(o.At, ""); err != nil {
		e.Errors["day"] = "The month does not have that day. Enter a day of the month, 1 to 31."
	}
	return o
}

// addSchedule adds a schedule. If a field has an error, it saves nothing and shows the form again.
func (h *scheduleHandler) addSchedule(v *request) error {
	file, err := v.file()
	var unchosen *httpError
	switch {
	case errors.As(err, &unchosen) && unchosen.Status == http.StatusUnprocessableEntity && v.r.PostForm != nil:
		// All other fields are present.
	case err != nil:
		return err
	default:
		defer file.Close()
	}
	e, err := h.newScheduleForm(v, v.r.PostForm)
	if err != nil {
		return err
	}
	ask := schedule.NewSchedule{
		Name:     strings.TrimSpace(e.Get("name")),
		Options:  e.options(),
		Approval: e.Second || e.Get("approval") != "no",
		By:       v.who(),
	}
	if ask.Name == "" && unchosen == nil {
		ask.Name = nameOfList(file.name)
	}
	if err := schedule.CheckName(ask.Name); err != nil && (ask.Name != "" || unchosen == nil) {
		e.Errors["name"] = "Enter a name of letters, digits, dots, and dashes, such as florida."
	}
	if unchosen != nil {
		e.Errors["file"] = "Choose the company list."
		// Do not read the file if other fields have errors.
	} else if len(e.Errors) == 0 {
		ask.File = file.name
		if ask.Content, err = io.ReadAll(file); err != nil {
			return file.readError(err)
		}
	}
	if len(e.Errors) > 0 {
		return v.showScheduleErrors(e)
	}
	done, err := schedule.Add(v.withAudit("schedule-add", ask.Name, ask.File+", "+ask.Options.Words()), h.Ledger, ask)
	switch {
	case errors.Is(err, schedule.ErrNameTaken):
		e.Errors["name"] = "A schedule with this name and another company list or date exists. Enter another name, " +
			"or upload a new company list on the page of that schedule."
		return v.showScheduleErrors(e)
	case errors.Is(err, schedule.ErrCompanyList), errors.Is(err, schedule.ErrSchedule):
		e.List = errorsOf(ask.File, done.CompanyList, err)
		e.Errors["file"] = e.List.Text
		return v.showScheduleErrors(e)
	case err != nil:
		return err
	}
	said := fmt.Sprintf("Added the schedule %s with %s from %s.", ask.Name, count(done.CompanyList.Tally.Ready, "row"),
		ask.File)
	if done.Next != nil {
		said += fmt.Sprintf(" Its next run is on %s and would file %s.", done.Next.Date.American(),
			count(done.Next.Filings, "row"))
	}
	if n := done.CompanyList.Tally.Invalid; n > 0 {
		said += fmt.Sprintf(" %s with errors are never sent; the others are filed.", count(n, "row"))
	}
	warning, err := intake.EndpointWarning(v.ctx(), h.Ledger, h.Settings.HookKey)
	if err != nil {
		return err
	}
	if warning != "" {
		return v.leadTo(schedulePath(ask.Name), "warn", "%s %s", said, warning)
	}
	return v.done(nil, schedulePath(ask.Name), "%s", said)
}

// showScheduleErrors shows the form again with its errors.
func (v *request) showScheduleErrors(e *scheduleForm) error {
	return v.showStatus(http.StatusUnprocessableEntity, "schedule-form.html", "New schedule", e)
}
