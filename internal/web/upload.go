package web

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime/multipart"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/bulkfiling/bulkfiling/internal/account"
	"github.com/bulkfiling/bulkfiling/internal/approval"
	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/importer"
	"github.com/bulkfiling/bulkfiling/internal/intake"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/pricing"
	"github.com/bulkfiling/bulkfiling/internal/report"
	"github.com/bulkfiling/bulkfiling/internal/sheet"
)

// uploadHandler handles uploads until they are submitted, and corrections, which are uploads of rows
// that need attention.
type uploadHandler struct {
	*Config
	uploads *intake.Uploads
	queue   *prepareQueue
}

func (h *uploadHandler) routes() []route {
	return []route{
		{pattern: "POST /sheets", may: preparer, serve: h.addUpload, upload: true},
		{pattern: "GET /sheets/{sheet}", may: viewer, serve: of(h.queue.findUpload, h.sheetPage)},
		{pattern: "GET /sheets/{sheet}/highlighted", may: exporter, serve: of(h.queue.findUpload, h.highlightedSheet)},
		{pattern: "GET /sheets/{sheet}/columns", may: viewer, serve: of(h.queue.findUpload, h.columnsPage)},
		{pattern: "POST /sheets/{sheet}/columns", may: preparer, serve: of(h.queue.findUnchanged, h.changeMapping)},
		{pattern: "POST /sheets/{sheet}/quote", may: preparer, serve: of(h.queue.findUnchanged, h.quoteAgain)},
		{pattern: "POST /sheets/{sheet}/submit", may: preparer, serve: of(h.queue.findUnchanged, h.submit)},
		{pattern: "POST /sheets/{sheet}/drop", may: preparer, serve: of(h.queue.findUpload, h.deleteUpload)},
		{pattern: "POST /batches/{batch}/correct", may: preparer, serve: ofBatch(h.correctBatch)},
		{pattern: "GET /templates/{product}", may: viewer, serve: h.downloadTemplate},
	}
}

// addUpload saves a file while it arrives, so that no part of it is stored unsealed. It rejects and
// deletes a file that is not a readable spreadsheet. It records the form's identifier only after
// the file is accepted, so that a form with a rejected file can be sent again.
func (h *uploadHandler) addUpload(v *request) error {
	file, err := v.file()
	if err != nil {
		return err
	}
	defer file.Close()
	if err := mayKeep(v, h.uploads); err != nil {
		return err
	}
	u, err := h.uploads.Add(v.ctx(), intake.Upload{File: file.name, CreatedBy: v.who()}, file)
	if err != nil {
		return file.readError(err)
	}
	if err := h.acceptUpload(v, u); err != nil {
		return errors.Join(err, h.uploads.Delete(context.WithoutCancel(v.ctx()), u.ID))
	}
	if !v.byScript() {
		return v.redirect("/sheets/" + u.ID)
	}
	h.startPreparing(v.ctx(), u.ID)
	v.w.Header().Set("Location", "/sheets/"+u.ID)
	return v.sendJSON(http.StatusCreated, map[string]string{"file": u.File, "path": "/sheets/" + u.ID})
}

// acceptUpload rejects a file that is not a spreadsheet. It accepts unknown columns, because a
// person maps them.
func (h *uploadHandler) acceptUpload(v *request, u intake.Upload) error {
	if u.Size == 0 {
		return badRequest("%s is empty. Choose the spreadsheet and upload it again.", u.File)
	}
	survey, err := h.queue.survey(v.ctx(), u)
	var format *sheet.FormatError
	switch {
	case errors.As(err, &format):
		return badRequest("%s Nothing was saved.", err)
	case err != nil:
		return err
	// An empty sheet has no columns to map.
	case len(survey.Head) == 0 && survey.Err != nil:
		return badRequest("%s has no rows. Choose the spreadsheet and upload it again. Nothing was saved.", u.File)
	}
	return v.record(v.once, "upload", u.File, "")
}

// startPreparing prepares an upload before its page is opened, so that several consecutive uploads
// are ready sooner. It ignores errors, because the page tries again.
func (h *uploadHandler) startPreparing(ctx context.Context, id string) {
	u, err := h.uploads.Find(ctx, id)
	if err != nil {
		return
	}
	if survey, err := h.queue.survey(ctx, u); err == nil && survey.Err == nil {
		h.queue.prepare(u)
	}
}

// byScript reports whether the page's script uploads a file and expects JSON.
func (v *request) byScript() bool { return v.r.Header.Get("X-Upload") == "script" }

// These limit the uploads that a person may keep without submitting them.
const (
	keptEach  = 100
	keptBytes = 1 << 30
)

// mayKeep rejects another upload if the person keeps too many.
func mayKeep(v *request, kept *intake.Uploads) error {
	n, size, err := kept.Count(v.ctx(), v.who())
	switch {
	case err != nil:
		return err
	case n >= keptEach:
		return badRequest("You have %d uploads that are not submitted. Nothing was saved. Delete those that you no "+
			"longer need, then upload this file again.", n)
	case size >= max(keptBytes, 2*v.server.MaxUpload):
		return badRequest("Your uploads that are not submitted use %d MiB. Nothing was saved. Delete those that you "+
			"no longer need, then upload this file again.", size>>20)
	}
	return nil
}

// upload is a file that is being uploaded.
type upload struct {
	*multipart.Part
	name string
	v    *request
}

// Read reads the file. At the end of the file it authorizes the request again.
func (f *upload) Read(p []byte) (int, error) {
	n, err := f.Part.Read(p)
	if errors.Is(err, io.EOF) {
		err = cmp.Or(f.v.authorize(), err)
	}
	return n, err
}

// file returns the file of a form. It reads the fields that precede the file, and authorizes the
// request before it reads the file.
func (v *request) file() (*upload, error) {
	// A slow connection may take long. The size limit bounds the cost.
	deadline := time.Now().Add(15 * time.Minute)
	out := http.NewResponseController(v.w)
	if err := errors.Join(out.SetReadDeadline(deadline), out.SetWriteDeadline(deadline.Add(time.Minute))); err != nil {
		return nil, fmt.Errorf("wait for the file: %w", err)
	}
	v.r.Body = http.MaxBytesReader(v.w, v.r.Body, v.server.MaxUpload+maxFields)
	parts, err := v.r.MultipartReader()
	if err != nil {
		return nil, errForm
	}
	v.r.PostForm = make(url.Values)
	for range 50 {
		part, err := parts.NextPart()
		if err != nil {
			return nil, errForm
		}
		if part.FormName() != "file" {
			value, err := io.ReadAll(io.LimitReader(part, maxFields))
			if err != nil {
				return nil, errForm
			}
			v.r.PostForm.Add(part.FormName(), string(value))
			continue
		}
		if !cleanValues(v.r.PostForm) {
			return nil, errForm
		}
		if err := cmp.Or(v.authorize(), v.readOnce()); err != nil {
			return nil, err
		}
		name := fileName(part.FileName())
		if name == "" || name == "." || name == "/" {
			return nil, badRequest("No file was chosen. Choose a spreadsheet (Excel or CSV), then upload it.")
		}
		return &upload{part, shortened(name, 200), v}, nil
	}
	return nil, errForm
}

// fileName returns the base name of a file in one line without invisible characters.
func fileName(name string) string {
	name = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(name, "\uFFFD"))
	return strings.TrimSpace(legible(filepath.Base(strings.ReplaceAll(name, `\`, "/"))))
}

// maxFields is the maximum size, in bytes, of the other fields of a form with a file.
const maxFields = 64 << 10

// readError returns the answer if the file could not be read from the request.
func (f *upload) readError(err error) error {
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		return &httpError{http.StatusRequestEntityTooLarge, "The file is too large",
			fmt.Sprintf("%s has more than %d MiB. Nothing was saved. Split the file.", f.name, large.Limit>>20)}
	}
	return err
}

// sheetPage is the page of an upload.
type sheetPage struct {
	Upload  intake.Upload
	Reading readOptions
	Survey  *importer.Survey
	// Problem is the reason why it cannot be read as a sheet of filings. Empty if it can.
	Problem  string
	Products []filing.Product
	States   []filing.State
	Columns  []surveyedColumn
	// More counts the columns that are not shown.
	More int
	// Fields are the fields that a column can be mapped to.
	Fields []string
	Steps  []step
	// State is the state of its preparation.
	State gridState
	// Batch is the batch that it was submitted as, or nil.
	Batch *ledger.Batch
	// Refusal is the event if an approver sent the batch back with a comment, or nil.
	Refusal *approval.Event
	Grid    bool
	// TooLarge reports whether the spreadsheet is too large for the grid.
	TooLarge bool
}

// Waits reports whether the upload was submitted and waits for approval.
func (p *sheetPage) Waits() bool {
	return p.Batch != nil && !p.Batch.Canceled && p.Batch.Approval.State == ledger.ApprovalNeeded
}

// step is one of the steps from the upload to the results.
type step struct {
	Name, Path    string
	Done, Current bool
	// Partial reports whether the step has ended but a person still has something to do.
	Partial bool
}

// steps returns the steps of a page. at is the index of the current step.
func steps(at int) []step {
	all := make([]step, 0, 4)
	for i, name := range []string{"Upload", "Fix", "Approve", "Results"} {
		all = append(all, step{Name: name, Done: i < at, Current: i == at})
	}
	return all
}

func (h *uploadHandler) sheetPage(v *request, u intake.Upload) error {
	ctx := v.ctx()
	p, err := h.surveyUpload(v, u)
	var format *sheet.FormatError
	switch {
	case errors.As(err, &format):
		p.Problem = err.Error()
		return v.show(nil, "upload.html", u.File, p)
	case err != nil:
		return err
	}
	history, err := approval.New(h.Ledger).DraftHistory(ctx, u.ID)
	p.Refusal = refusalOf(history)
	if p.Problem != "" || err != nil {
		return v.show(err, "upload.html", u.File, p)
	}
	if p.UnconfirmedColumns() > 0 && !p.Reading.Checked && v.may(account.Preparer) {
		return v.redirect("/sheets/" + u.ID + "/columns")
	}
	// The grid requests this page if the spreadsheet is too large for it.
	p.TooLarge = v.r.URL.Query().Has("large")
	p.Grid = !p.TooLarge
	// The wait is long enough to read a small sheet.
	if u, err = h.queue.wait(ctx, u, 300*time.Millisecond); err != nil {
		return err
	}
	p.Upload, p.State = u, h.queue.state(u)
	if len(u.Quote) > 0 {
		b, err := h.Ledger.Batch(ctx, u.Batch)
		if err != nil {
			return err
		}
		if b.Open {
			p.Batch, p.Steps, p.Grid = &b, steps(3), false
		}
	}
	return v.show(nil, "upload.html", u.File, p)
}

// findUpload finds the upload of a page. It returns errNoSheet if the upload was submitted or
// deleted, which happens if a person goes back in the browser.
func (p *prepareQueue) findUpload(v *request) (intake.Upload, error) {
	u, err := p.uploads.Find(v.ctx(), v.r.PathValue("sheet"))
	if errors.Is(err, ledger.ErrNotFound) {
		return u, errNoSheet
	}
	return u, err
}

var errNoSheet = &httpError{http.StatusNotFound, "This upload no longer exists",
	"Nothing was changed. The upload was submitted or deleted, perhaps in another window. Submitted spreadsheets " +
		"are in the list of batches."}

// findUnchanged finds the upload that a form changes. It returns ErrStale if the upload has changed
// since the form was shown.
func (p *prepareQueue) findUnchanged(v *request) (intake.Upload, error) {
	u, err := p.findUpload(v)
	if err != nil {
		return u, err
	}
	if v.form("version") != strconv.Itoa(u.Version) {
		return u, ledger.ErrStale
	}
	return u, nil
}

// quoteAgain prepares and quotes an upload again.
func (h *uploadHandler) quoteAgain(v *request, u intake.Upload) error {
	submitted, err := h.isOpen(v.ctx(), u.Batch)
	if err != nil {
		return err
	}
	// The rows and the cost must not change during the approval.
	if submitted {
		return v.alreadySubmitted(u.Batch)
	}
	h.queue.forget(u.ID)
	if u.Batch != "" {
		err := h.uploads.SetPrepared(v.ctx(), u.ID, u.Version, u.Batch, nil)
		if err != nil && !errors.Is(err, intake.ErrNotPrepared) {
			return err
		}
	}
	return v.redirect("/sheets/" + u.ID)
}

// submit submits a prepared batch. Its orders are placed, or wait for a second person's approval.
func (h *uploadHandler) submit(v *request, u intake.Upload) error {
	if u.Batch == "" {
		return ledger.ErrStale
	}
	b, err := h.Ledger.Batch(v.ctx(), u.Batch)
	switch {
	case err != nil:
		return err
	case b.Canceled:
		return v.leadTo("/batches/"+b.ID, "warn", "%s. Nothing was sent. An operator can make its canceled rows ready "+
			"again.", report.CanceledText(b))
	case b.Open:
		return v.alreadySubmitted(b.ID)
	}
	was, err := quoteOf(u)
	if err != nil {
		return err
	}
	q := quote(v.ctx(), u.Batch, h.queue.quoting)
	if was != nil {
		q.Notes = was.Notes
	}
	if q.Problem != "" {
		if _, err := h.queue.findUnchanged(v); err != nil {
			// The cost is unknown because the batch was dropped.
			return err
		}
		return badRequest("The cost is unknown: %s. Nothing was submitted.", q.Problem)
	}
	if err := checkWarnings(v, h.Ledger, b); err != nil {
		return err
	}
	if q.Plan != v.form("plan") {
		body, err := encodeStored(q)
		if err != nil {
			return err
		}
		err = h.uploads.SetPrepared(v.ctx(), u.ID, u.Version, u.Batch, body)
		switch {
		case errors.Is(err, intake.ErrNotPrepared):
			return ledger.ErrStale
		case err != nil:
			return err
		}
		return v.leadTo("/sheets/"+u.ID+"/approve", "warn",
			"The cost changed to %s. Nothing was sent. Review the cost summary, then submit again.", q.TotalText())
	}
	if err := pricing.ChooseOrder(v.ctx(), h.Ledger, b, v.form("first") == "due-date"); err != nil {
		return err
	}
	waits, err := approval.New(h.Ledger).Submit(v.withAudit("submit", u.Batch,
		fmt.Sprintf("%s, %s, %s, plan %s", u.File, count(q.Rows, "order"), q.Total, q.Plan)), u.Draft(), q.Plan,
		v.who())
	if errors.Is(err, approval.ErrSubmitted) {
		return v.alreadySubmitted(u.Batch)
	}
	said := "Submitted. The orders are being placed."
	if waits {
		said = "Submitted for approval. Nothing is sent before it is approved. Approvers see it under actions " +
			"needed, and get a message with a link where notifications are set up."
	}
	return v.done(err, "/batches/"+u.Batch, "%s", said)
}

// alreadySubmitted leads to the batch of a submitted spreadsheet. The draft is kept, because an
// approver may send it back. Old drafts are pruned.
func (v *request) alreadySubmitted(batch string) error {
	return v.leadTo("/batches/"+batch, "note",
		"This spreadsheet was already submitted. This is its batch. Nothing was ordered twice.")
}

var errDeleteSubmitted = &httpError{
	http.StatusConflict, "This spreadsheet was submitted",
	"Nothing was deleted. Its batch waits for approval, and its orders are placed once it is approved. To stop it, " +
		"cancel the batch, or ask an approver to reject it.",
}

func (h *uploadHandler) deleteUpload(v *request, u intake.Upload) error {
	err := h.uploads.Delete(v.withAudit("delete-upload", u.File, u.Batch), u.ID)
	if errors.Is(err, approval.ErrSubmitted) {
		return errDeleteSubmitted
	}
	if err != nil {
		return err
	}
	submitted, err := h.isOpen(v.ctx(), u.Batch)
	if submitted {
		return v.done(err, "/batches/"+u.Batch,
			"Deleted the upload %s. Its batch was submitted before and is not changed.", u.File)
	}
	return v.done(err, "/", "Deleted %s. Nothing was ordered from it.", u.File)
}

// isOpen reports whether a batch was submitted. It returns false if the batch does not exist.
func (h *uploadHandler) isOpen(ctx context.Context, batch string) (bool, error) {
	if batch == "" {
		return false, nil
	}
	b, err := h.Ledger.Batch(ctx, batch)
	if errors.Is(err, ledger.ErrNotFound) {
		err = nil
	}
	return b.Open, err
}

// highlightedSheet sends the spreadsheet with its errors highlighted.
func (h *uploadHandler) highlightedSheet(v *request, u intake.Upload) error {
	return v.download(baseName(u.File)+".checked.xlsx", func(path string) error {
		err := h.queue.readUpload(v.ctx(), u, func(content []byte, o importer.Options) error {
			im, err := importer.OpenReader(u.File, bytes.NewReader(content), int64(len(content)), o)
			if err != nil {
				return badRequest("%s", err)
			}
			defer im.Close()
			return im.WriteChecked(v.ctx(), path)
		})
		if err != nil {
			return err
		}
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return badRequest("%s has no cells with errors to highlight.", u.File)
		}
		return v.record("", "download", u.ID, "spreadsheet with errors highlighted")
	})
}

// downloadTemplate sends an empty template.
func (h *uploadHandler) downloadTemplate(v *request) error {
	product := filing.Product(strings.TrimSuffix(v.r.PathValue("product"), ".xlsx"))
	if !product.Valid() {
		return errNoPage
	}
	return v.download(string(product)+".xlsx", func(path string) error { return importer.WriteTemplate(product, path) })
}
