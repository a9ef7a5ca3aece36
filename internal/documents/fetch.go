package documents

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filingapi"
	"github.com/bulkfiling/bulkfiling/internal/folder"
	"github.com/bulkfiling/bulkfiling/internal/network"
	"github.com/bulkfiling/bulkfiling/internal/retry"
)

// partEnding marks an incomplete file.
const partEnding = ".part"

const (
	maxAttempts = 4
	// maxBytes limits one document.
	maxBytes   = 256 << 20
	maxTime    = 15 * time.Minute
	silence    = time.Minute
	firstPause = 500 * time.Millisecond
	maxPause   = 4 * time.Second
)

// errGone means that a link does not lead to the document.
var errGone = errors.New("the link leads nowhere")

// errTooLong means that a document did not arrive within maxTime over all attempts.
var errTooLong = fmt.Errorf("it took longer than %s", maxTime)

// failure is the reason why a document was not downloaded, in words that may be shown. Its cause
// describes the network of this machine and is only logged.
type failure struct {
	text  string
	cause error
}

func (f *failure) Error() string { return f.text }

func (f *failure) Unwrap() error { return f.cause }

// fetcher follows download links without a key, because they need none. The configuration limits
// their hosts.
type fetcher struct {
	client *http.Client
	log    *slog.Logger
	pause  time.Duration
}

func newFetcher(from network.Downloads, log *slog.Logger) fetcher {
	return fetcher{client: from.NewClient(silence, saversAtOnce), log: log, pause: firstPause}
}

// into saves a document under the stem and the ending of its type. It returns its path relative to
// dir.
func (f fetcher) into(ctx context.Context, links Links, id, dir, stem string) (file string, err error) {
	part := filepath.Join(dir, stem+partEnding)
	ending, err := f.download(ctx, links, id, part)
	if err != nil {
		_ = os.Remove(part) // it may not exist
	}
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if errors.Is(err, filingapi.ErrNotFound) || errors.Is(err, filingapi.ErrKeyRefused) {
		return "", err
	}
	if err != nil {
		if hidden := new(failure); errors.As(err, &hidden) {
			f.log.Warn("document not downloaded", "document", id, "err", hidden.cause)
		}
		return "", fmt.Errorf("fetch the document %s: %w", id, err)
	}
	file = stem + ending
	if err := os.Rename(part, filepath.Join(dir, file)); err != nil {
		return "", fmt.Errorf("save %s: %w", file, err)
	}
	return file, folder.Sync(filepath.Dir(filepath.Join(dir, file)))
}

// download downloads a document to part and returns the ending of its type. If the connection
// breaks, it starts again with a new link.
func (f fetcher) download(ctx context.Context, links Links, id, part string) (ending string, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, maxTime, errTooLong)
	defer cancel()
	attempts := 0
	err = retry.Do(ctx, retry.Backoff{First: f.pause, Max: maxPause}, func() (final bool, err error) {
		attempts++
		link, err := links.Document(ctx, id)
		if errors.Is(err, filingapi.ErrNotFound) || errors.Is(err, filingapi.ErrKeyRefused) {
			return true, err
		}
		if err != nil {
			return attempts == maxAttempts, &failure{"the filing service gives no link to it now", err}
		}
		ending, err = f.get(ctx, link.URL, part)
		ending = cmp.Or(ending, strings.ToLower(filepath.Ext(link.Name)), ".bin")
		return attempts == maxAttempts || errors.Is(err, network.ErrForbidden), err
	})
	if err != nil && errors.Is(context.Cause(ctx), errTooLong) {
		err = errTooLong
	}
	return ending, err
}

// get writes the content of a link to part and returns the ending of its type.
func (f fetcher) get(ctx context.Context, link, part string) (ending string, err error) {
	out, err := os.Create(part)
	if err != nil {
		return "", err
	}
	defer out.Close()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, link, nil)
	if err != nil {
		// err contains the link, which gives access to the document.
		return "", errGone
	}
	host := req.URL.Hostname()
	res, err := f.client.Do(req)
	if err != nil {
		return "", unreachable(host, err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%w: %s", errGone, res.Status)
	}
	if strings.HasPrefix(res.Header.Get("Content-Type"), "text/html") {
		// It is usually a sign-in page.
		return "", fmt.Errorf("%w: the server sent a web page, not the document", errGone)
	}
	// A server that sends nothing for a minute counts as gone.
	timer := time.AfterFunc(silence, func() { cancel(errors.New("the server sent nothing for a minute")) })
	defer timer.Stop()
	n, err := io.Copy(out, io.LimitReader(watched{res.Body, timer}, maxBytes+1))
	switch {
	case err != nil:
		return "", unreachable(host, cmp.Or(context.Cause(ctx), err))
	case n > maxBytes:
		return "", fmt.Errorf("it is larger than %d MB", maxBytes>>20)
	case n == 0:
		return "", errors.New("it is empty")
	}
	return endingOf(res), out.Sync()
}

// watched resets a timer at every read.
type watched struct {
	io.Reader
	timer *time.Timer
}

func (w watched) Read(p []byte) (int, error) {
	n, err := w.Reader.Read(p)
	w.timer.Reset(silence)
	return n, err
}

// unreachable returns the failure of a connection to a host. It hides the cause, which would
// describe this network to the author of the link. Neither text contains the link, because it gives
// access to the document.
func unreachable(host string, err error) error {
	if wrapped := new(url.Error); errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	host = host[:min(len(host), 253)] // the longest name in DNS
	return &failure{"it could not be downloaded from " + host + "; the log says why", err}
}

// endings are the file endings of document types. Package mime would choose among several endings
// by the configuration of the machine.
var endings = map[string]string{
	"application/pdf": ".pdf", "image/png": ".png", "image/jpeg": ".jpg", "image/tiff": ".tif", "text/plain": ".txt",
	"application/zip": ".zip", "application/vnd.openxmlformats-officedocument.wordprocessingml.document": ".docx",
}

// endingOf returns the file ending of a response's type, "" if it has none.
func endingOf(res *http.Response) string {
	if kind, _, err := mime.ParseMediaType(res.Header.Get("Content-Type")); err == nil && endings[kind] != "" {
		return endings[kind]
	}
	if _, params, err := mime.ParseMediaType(res.Header.Get("Content-Disposition")); err == nil {
		if ext := strings.ToLower(filepath.Ext(params["filename"])); len(ext) > 1 && len(ext) <= 6 &&
			fileName(ext[1:]) == ext[1:] && ext != partEnding {
			return ext
		}
	}
	return ""
}
