package web

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"time"
	"unicode"

	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/sheet"
)

// addUpload saves a file while it arrives: no part of it is on a disk unsealed. What
// cannot be opened as a spreadsheet is refused with the reason and deleted. It is
// recorded once it is kept, so that a form whose file was refused can be sent again.
func (s *Site) addUpload(v *request) error {
	file, err := v.file(s.MaxUpload)
	if err != nil {
		return err
	}
	defer file.Close()
	if err := s.mayKeep(v); err != nil {
		return err
	}
	u, err := s.Ledger.Uploads().Add(v.ctx(), ledger.Upload{File: file.name, CreatedBy: v.who()}, file)
	if err != nil {
		return file.readError(err)
	}
	if err := s.acceptUpload(v, u); err != nil {
		return errors.Join(err, s.Ledger.Uploads().Delete(context.WithoutCancel(v.ctx()), u.ID))
	}
	if !v.byScript() {
		return v.redirect("/sheets/" + u.ID)
	}
	s.startPreparing(v.ctx(), u.ID)
	v.w.Header().Set("Location", "/sheets/"+u.ID)
	return v.sendJSON(http.StatusCreated, uploaded{File: u.File, Path: "/sheets/" + u.ID})
}

// acceptUpload refuses what is no spreadsheet. A spreadsheet whose columns are not
// recognized is accepted: a person maps them.
func (s *Site) acceptUpload(v *request, u ledger.Upload) error {
	if u.Size == 0 {
		return badRequest("%s is empty. Choose the spreadsheet and upload it again.", u.File)
	}
	if err := s.verify(v.ctx(), u); err != nil {
		return err
	}
	survey, err := s.queue.survey(v.ctx(), u)
	var format *sheet.FormatError
	switch {
	case errors.As(err, &format):
		return badRequest("%s Nothing was saved.", err)
	case err != nil:
		return err
	case len(survey.Head) == 0 && survey.Err != nil: // there is nothing to map
		return badRequest("%s has no rows. Choose the spreadsheet and upload it again. Nothing was saved.", u.File)
	}
	if err := s.recallMapping(v.ctx(), u); err != nil {
		return err
	}
	return s.Ledger.AuditLog().Record(v.ctx(), ledger.AuditEvent{
		ID:   v.once,
		By:   v.who(),
		From: v.from(),
		What: "upload",
		Of:   u.File,
	})
}

// startPreparing prepares an upload before someone opens its page, so that several
// that arrive in a row are ready sooner. The page starts what this could not.
func (s *Site) startPreparing(ctx context.Context, id string) {
	u, err := s.Ledger.Uploads().Find(ctx, id)
	if err != nil {
		return
	}
	if survey, err := s.queue.survey(ctx, u); err == nil && survey.Err == nil {
		s.queue.prepare(u)
	}
}

// uploaded is the response to a script whose file was kept.
type uploaded struct {
	File string `json:"file"`
	Path string `json:"path"`
}

// byScript reports whether a script of the page uploads a file and wants JSON.
func (v *request) byScript() bool { return v.r.Header.Get("X-Upload") == "script" }

// What an account may keep of sheets that are not submitted.
const (
	keptEach  = 100
	keptBytes = 1 << 30
)

// mayKeep refuses another upload of a person who keeps too many.
func (s *Site) mayKeep(v *request) error {
	n, size, err := s.Ledger.Uploads().Count(v.ctx(), v.who())
	switch {
	case err != nil:
		return err
	case n >= keptEach:
		return badRequest(
			"You have %d uploads that are not submitted. Nothing was saved. Delete those that you no longer "+
				"need, then "+
				"upload this file again.", n)
	case size >= max(keptBytes, 2*s.MaxUpload):
		return badRequest(
			"Your uploads that are not submitted use %d MiB. Nothing was saved. Delete those that you no longer need, "+
				"then upload this file again.", size>>20)
	}
	return nil
}

// upload is a file on its way in.
type upload struct {
	*multipart.Part
	name string
	v    *request
}

// Read reads the file, and authorizes the request again at its end.
func (f *upload) Read(p []byte) (int, error) {
	n, err := f.Part.Read(p)
	if errors.Is(err, io.EOF) {
		err = cmp.Or(f.v.authorize(), err)
	}
	return n, err
}

// file finds the file of a form. What stands before it in the form is read, and
// the token is among it: otherwise not a byte of the file is.
func (v *request) file(limit int64) (*upload, error) {
	// A slow line takes its time; what it takes is bounded by the limit.
	deadline := time.Now().Add(15 * time.Minute)
	out := http.NewResponseController(v.w)
	if err := errors.Join(out.SetReadDeadline(deadline), out.SetWriteDeadline(deadline.Add(time.Minute))); err != nil {
		return nil, fmt.Errorf("wait for the file: %w", err)
	}
	v.r.Body = http.MaxBytesReader(v.w, v.r.Body, limit+maxFields)
	parts, err := v.r.MultipartReader()
	if err != nil {
		return nil, errForm
	}
	v.r.PostForm = make(url.Values)
	for fields := 0; fields < 50; fields++ {
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
		if err := v.authorize(); err != nil {
			return nil, err
		}
		if err := v.readOnce(); err != nil {
			return nil, err
		}
		name := fileName(part.FileName())
		if name == "" || name == "." || name == "/" {
			return nil, badRequest(
				"No file was chosen. Choose a spreadsheet (Excel or CSV), then upload it.")
		}
		return &upload{part, shortened(name, 200), v}, nil
	}
	return nil, errForm
}

// fileName is a file's own name, in one line that shows all that it is.
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

// maxFields bounds what stands beside a file in its form.
const maxFields = 64 << 10

// readError is the response to a file that could not be read from the request.
func (f *upload) readError(err error) error {
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		return &httpError{http.StatusRequestEntityTooLarge, "The file is too large",
			fmt.Sprintf("%s has more than %d MiB. Nothing was saved. Split the file.", f.name, large.Limit>>20)}
	}
	return err
}
