package web

import (
	"archive/zip"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/documents"
	"github.com/bulkfiling/bulkfiling/internal/filingapi"
	"github.com/bulkfiling/bulkfiling/internal/importer"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/report"
)

// downloadHandler handles the results and the documents of a batch.
type downloadHandler struct{ *Config }

func (h *downloadHandler) routes() []route {
	return []route{
		{pattern: "GET /batches/{batch}/results.xlsx", may: exporter, serve: ofBatch(h.results)},
		{pattern: "GET /batches/{batch}/results.csv", may: exporter, serve: ofBatch(h.results)},
		{pattern: "GET /batches/{batch}/next-year.xlsx", may: exporter, serve: ofBatch(h.nextYear)},
		{pattern: "GET /batches/{batch}/documents.zip", may: exporter, serve: ofBatch(h.documents)},
		{pattern: "GET /batches/{batch}/documents/{document}", may: exporter, serve: ofBatch(h.document)},
	}
}

// results sends the spreadsheet of a batch with a result for every row.
func (h *downloadHandler) results(v *request, b ledger.Batch) error {
	ending := filepath.Ext(v.r.URL.Path)
	return v.export(b.ID, "results"+ending, baseName(b.File)+".results"+ending, func(path string) error {
		_, err := report.Write(v.ctx(), h.Ledger, b.ID, path)
		return err
	})
}

// nextYear sends next year's spreadsheet of a batch of annual reports.
func (h *downloadHandler) nextYear(v *request, b ledger.Batch) error {
	name := strings.TrimSuffix(baseName(b.File), ".next-year") + ".next-year.xlsx"
	return v.export(b.ID, "next-year.xlsx", name, func(path string) error {
		_, err := report.WriteNextYear(v.ctx(), h.Ledger, b.ID, importer.ReadableHeaders(b), path)
		return err
	})
}

// document sends one document of a batch.
func (h *downloadHandler) document(v *request, b ledger.Batch) error {
	items, err := documents.Items(v.ctx(), h.Ledger, b.ID)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(items, func(i documents.Item) bool { return i.ID == v.r.PathValue("document") })
	if at < 0 {
		return ledger.ErrNotFound
	}
	client, err := h.Service()
	if err != nil {
		return noService(err)
	}
	return h.passOn(v, b, client, items[at])
}

func noService(err error) error {
	return &httpError{http.StatusServiceUnavailable, "No filing service is set up",
		sentence(err.Error()) + " Nothing was changed. Ask an operator to set it up."}
}

// passOn downloads a document and sends it to the reader.
func (h *downloadHandler) passOn(v *request, b ledger.Batch, links documents.Links, item documents.Item) error {
	return inFolder(func(dir string) error {
		var got documents.Outcome
		err := h.save(v.ctx(), dir, links, []documents.Item{item}, func(o documents.Outcome) { got = o })
		switch {
		case errors.Is(err, filingapi.ErrNotFound):
			return &httpError{http.StatusNotFound, "The filing service no longer has this document",
				"Check the company's dashboard."}
		case err != nil:
			return err
		case got.Err != nil:
			return &httpError{http.StatusBadGateway, "The document could not be downloaded", sentence(got.Err.Error())}
		}
		if err := v.record("", "download", b.ID, "document "+item.ID); err != nil {
			return err
		}
		// This type prevents the browser from displaying a file from another source.
		return v.sendFile(filepath.Join(dir, filepath.FromSlash(got.File)), filepath.Base(got.File),
			"application/octet-stream")
	})
}

// save saves documents into a folder. No other request uses the folder.
func (h *downloadHandler) save(ctx context.Context, dir string, links documents.Links, items []documents.Item,
	done func(documents.Outcome)) error {
	folder, err := documents.Open(dir, documents.Config{Links: links, Downloads: h.Downloads, Log: h.Log})
	if err != nil {
		return err
	}
	return errors.Join(folder.Save(ctx, items, done), folder.Close())
}

// documents sends all documents of a batch as a ZIP file while it downloads them.
func (h *downloadHandler) documents(v *request, b ledger.Batch) error {
	items, err := documents.Items(v.ctx(), h.Ledger, b.ID)
	if err != nil {
		return err
	}
	if len(items) == 0 {
		return v.leadTo("/batches/"+b.ID, "note", "No documents have arrived for this batch yet.")
	}
	client, err := h.Service()
	if err != nil {
		return noService(err)
	}
	if err := v.record("", "download", b.ID, count(len(items), "document")); err != nil {
		return err
	}
	return inFolder(func(dir string) error {
		v.w.Header().Set("Content-Type", "application/zip")
		v.w.Header().Set("Content-Disposition", attachment(baseName(b.File)+".documents.zip"))
		p := parcel{request: v, zip: zip.NewWriter(v.w), dir: dir, told: make(map[string]bool)}
		early := h.save(v.ctx(), dir, client, items, p.add)
		if v.ctx().Err() != nil {
			return nil // the reader has left
		}
		err := p.failed
		if err == nil {
			err = p.close(items, early)
		}
		if err != nil {
			// The response has started. Aborting it is the only way to show that it is incomplete.
			h.Log.Warn("document download incomplete", "batch", b.ID, "err", err)
			panic(http.ErrAbortHandler)
		}
		return nil
	})
}

// parcel is a ZIP file that is being sent.
type parcel struct {
	*request
	zip *zip.Writer
	dir string
	// told has the items that are in the ZIP file or are missing, keyed by event and ID.
	told    map[string]bool
	missing []documents.Outcome
	failed  error
}

// add sends a document, or records that it is missing.
func (p *parcel) add(o documents.Outcome) {
	p.told[o.Event+o.ID] = true
	switch {
	case p.failed != nil:
	case o.Err != nil:
		p.missing = append(p.missing, o)
	default:
		// A PDF is already compressed.
		p.failed = p.send(o.File, zip.Store)
	}
}

// send sends a file of the folder, then deletes it, so that the disk never holds all of them.
func (p *parcel) send(name string, method uint16) error {
	path := filepath.Join(p.dir, name)
	content, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("send %s: %w", name, err)
	}
	defer content.Close()
	if err := p.extendDeadline(); err != nil {
		return err
	}
	to, err := p.zip.CreateHeader(&zip.FileHeader{
		Name:     filepath.ToSlash(name),
		Method:   method,
		Modified: time.Now(),
	})
	if err == nil {
		_, err = io.Copy(to, content)
	}
	if err == nil {
		err = errors.Join(p.zip.Flush(), http.NewResponseController(p.w).Flush(), os.Remove(path))
	}
	if err != nil {
		return fmt.Errorf("send %s: %w", name, err)
	}
	return nil
}

// missingFile is the name of the list of missing documents in the ZIP file.
const missingFile = "MISSING DOCUMENTS.txt"

// close adds the manifest of the folder and the list of missing documents. early is the error that
// ended the download early, or nil.
func (p *parcel) close(items []documents.Item, early error) error {
	if len(p.told) > len(p.missing) {
		if err := p.send(documents.ManifestFile, zip.Deflate); err != nil {
			return err
		}
	}
	for _, item := range items {
		if early != nil && !p.told[item.Event+item.ID] {
			p.missing = append(p.missing, documents.Outcome{Item: item, Err: early})
		}
	}
	if len(p.missing) > 0 {
		var text strings.Builder
		fmt.Fprintf(&text, "%s could not be downloaded. Download again later to get what is missing.\r\n\r\n",
			count(len(p.missing), "document"))
		for _, o := range p.missing {
			fmt.Fprintf(&text, "row %d, %s, %s %s: %s\r\n", o.Number, cmp.Or(legible(o.Name), o.Company),
				cmp.Or(o.Type, "document"), o.ID, o.Err)
		}
		if err := os.WriteFile(filepath.Join(p.dir, missingFile), []byte(text.String()), 0o600); err != nil {
			return fmt.Errorf("list the missing documents: %w", err)
		}
		if err := p.send(missingFile, zip.Deflate); err != nil {
			return err
		}
	}
	if err := p.zip.Close(); err != nil {
		return fmt.Errorf("end the download: %w", err)
	}
	return nil
}

// export sends a data file and records the download of the object in the audit log.
func (v *request) export(of, what, name string, write func(path string) error) error {
	return v.download(name, func(path string) error {
		if err := write(path); err != nil {
			return err
		}
		return v.record("", "download", of, what)
	})
}

// download sends the file that write makes.
func (v *request) download(name string, write func(path string) error) error {
	return inFolder(func(dir string) error {
		// The name comes from a user and must not become part of a path.
		path := filepath.Join(dir, "download"+filepath.Ext(name))
		if err := write(path); err != nil {
			return err
		}
		return v.sendFile(path, name, mimeTypes[filepath.Ext(name)])
	})
}

// inFolder calls f with a temporary folder and removes the folder afterwards.
func inFolder(f func(dir string) error) error {
	dir, err := os.MkdirTemp("", "bulkfiling-page-")
	if err != nil {
		return fmt.Errorf("make a temporary folder: %w", err)
	}
	defer os.RemoveAll(dir)
	return f(dir)
}

// sendFile sends a file as a download with a name.
func (v *request) sendFile(path, name, mimeType string) error {
	content, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("open a download: %w", err)
	}
	defer content.Close()
	if err := v.extendDeadline(); err != nil {
		return err
	}
	v.w.Header().Set("Content-Type", mimeType)
	v.w.Header().Set("Content-Disposition", attachment(name))
	http.ServeContent(v.w, v.r, "", time.Time{}, content)
	return nil
}

var mimeTypes = map[string]string{
	".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
	".csv":  "text/csv; charset=utf-8",
}

// attachment returns a Content-Disposition header. It has the name in ASCII for old browsers and in
// UTF-8.
func attachment(name string) string {
	plain := strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' || strings.ContainsRune(`"\/;%`, r) {
			return '_'
		}
		return r
	}, name)
	return `attachment; filename="` + plain + `"; filename*=UTF-8''` + strings.ReplaceAll(url.QueryEscape(name),
		"+", "%20")
}

func baseName(file string) string { return strings.TrimSuffix(file, filepath.Ext(file)) }
