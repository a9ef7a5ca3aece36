package web

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/bulkfiling/bulkfiling/internal/importer"
	"github.com/bulkfiling/bulkfiling/internal/intake"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/rehearsal"
)

// rehearsalHandler rehearses uploads on a sandbox, one at a time. It keeps the last rehearsal in
// memory, and only on this server, because nothing depends on it.
type rehearsalHandler struct {
	queue *prepareQueue

	mu   sync.Mutex
	last *uploadRehearsal
}

// uploadRehearsal is the rehearsal of one version of an upload.
type uploadRehearsal struct {
	upload  string
	version int
	// ordered is the number of orders requested so far, of all orders. It is a string.
	ordered atomic.Value
	// done is closed when the rehearsal has ended. The fields below are set then.
	done     chan struct{}
	Result   rehearsal.Result
	workbook []byte
	err      error
}

// Busy reports whether the rehearsal is running.
func (u *uploadRehearsal) Busy() bool {
	select {
	case <-u.done:
		return false
	default:
		return true
	}
}

// Progress returns ": 120 of 300 orders", or "" at the beginning.
func (u *uploadRehearsal) Progress() string {
	text, _ := u.ordered.Load().(string)
	return text
}

// Problem returns why the rehearsal failed, or "".
func (u *uploadRehearsal) Problem() string {
	if u.err == nil {
		return ""
	}
	return sentence(u.err.Error())
}

func (h *rehearsalHandler) routes() []route {
	return []route{
		{pattern: "POST /sheets/{sheet}/rehearse", may: preparer, serve: of(h.queue.findUnchanged, h.rehearse)},
		{pattern: "GET /sheets/{sheet}/rehearsal", may: exporter, serve: of(h.queue.findUpload, h.workbook)},
	}
}

// of returns the rehearsal of an upload in its present version, or nil.
func (h *rehearsalHandler) of(u intake.Upload) *uploadRehearsal {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.last == nil || h.last.upload != u.ID || h.last.version != u.Version {
		return nil
	}
	return h.last
}

// rehearse starts the rehearsal of an upload, unless another one is running.
func (h *rehearsalHandler) rehearse(v *request, u intake.Upload) error {
	path := "/sheets/" + u.ID + "/approve#rehearsal"
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.last != nil && h.last.Busy() {
		return v.leadTo(path, "warn", "Another rehearsal is running. Nothing was started. Try again in a minute.")
	}
	if err := v.record(v.once, "rehearse", u.File, ""); err != nil {
		return err
	}
	now := &uploadRehearsal{upload: u.ID, version: u.Version, done: make(chan struct{})}
	h.last = now
	h.queue.running.Go(func() {
		defer close(now.done)
		if now.err = h.play(h.queue.ctx, u, now); now.err != nil && h.queue.ctx.Err() == nil {
			h.queue.Log.Warn("rehearsal failed", "upload", u.ID, "err", now.err)
		}
	})
	return v.leadTo(path, "ok", "The rehearsal has started. Nothing is filed or charged.")
}

func (h *rehearsalHandler) play(ctx context.Context, u intake.Upload, now *uploadRehearsal) error {
	return inFolder(func(dir string) (err error) {
		path := filepath.Join(dir, "rehearsal.xlsx")
		now.Result, err = rehearsal.Play(ctx, rehearsal.Config{
			Output: path,
			Read: func(do func(*importer.Import) error) error {
				return h.queue.readUpload(ctx, u, func(content []byte, o importer.Options) error {
					im, err := importer.OpenReader(u.File, bytes.NewReader(content), int64(len(content)), o)
					if err != nil {
						return err
					}
					defer im.Close()
					return do(im)
				})
			},
			Ordered: func(requests, total int) {
				now.ordered.Store(": " + number(requests) + " of " + count(total, "order"))
			},
		})
		// The sentences about the results lead to no file.
		now.Result.Summary.Output = ""
		if err == nil {
			now.workbook, err = os.ReadFile(path)
		}
		if err == nil {
			err = now.Result.Failure()
		}
		return err
	})
}

// workbook sends the workbook of the last rehearsal of an upload.
func (h *rehearsalHandler) workbook(v *request, u intake.Upload) error {
	last := h.of(u)
	if last == nil || last.Busy() || last.workbook == nil {
		return ledger.ErrNotFound
	}
	return v.export(u.ID, "workbook of a rehearsal", baseName(u.File)+".rehearsal.xlsx", func(path string) error {
		return os.WriteFile(path, last.workbook, 0o600)
	})
}
