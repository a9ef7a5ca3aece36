package documents

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"mime"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"bulkfiling/internal/filingapi"
	"bulkfiling/internal/network"
	"bulkfiling/internal/retry"
)

// partEnding is that of a file which is not whole yet.
const partEnding = ".part"

const (
	maxTries   = 4
	maxBytes   = 256 << 20 // of one document
	maxTime    = 15 * time.Minute
	silence    = time.Minute
	firstPause = 500 * time.Millisecond
	maxPause   = 4 * time.Second
)

// errGone is returned for a link that does not lead to the document.
var errGone = errors.New("the link leads nowhere")

// errTooLong is returned for a document that did not arrive within maxTime, all
// tries together.
var errTooLong = fmt.Errorf("it took longer than %s", maxTime)

// failure is why a document was not downloaded, in words that may be shown. Its
// cause tells of the network that this machine is in, and is for the log alone.
type failure struct {
	text  string
	cause error
}

func (f *failure) Error() string { return f.text }

func (f *failure) Unwrap() error { return f.cause }

// fetcher follows download links. They need no key, and get none: where they may
// lead is the configuration's to say.
type fetcher struct {
	client *http.Client
	log    *slog.Logger
	pause  time.Duration
}

func newFetcher(from network.Downloads, log *slog.Logger) fetcher {
	return fetcher{client: from.NewClient(silence, saversAtOnce), log: log, pause: firstPause}
}

// into saves a document under the stem and the ending of its type, and returns
// its path below dir. A download that breaks goes on from its last byte, each
// time with a fresh link; what an earlier process left is begun anew, for only
// this one knows of which version it is a part.
func (f fetcher) into(ctx context.Context, links Links, id, dir, stem string) (file string, err error) {
	part := filepath.Join(dir, stem+partEnding)
	if err := os.Remove(part); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("save the document %s: %w", id, err)
	}
	outer := ctx
	ctx, cancel := context.WithTimeoutCause(ctx, maxTime, errTooLong)
	defer cancel()
	defer func() {
		if hidden := new(failure); errors.As(err, &hidden) {
			f.log.Warn("document not downloaded", "document", id, "err", hidden.cause)
		}
	}()
	var version string // of what the part is of
	backoff := retry.Backoff{First: f.pause, Max: maxPause}
	for try := range maxTries {
		if try > 0 {
			if retry.Sleep(ctx, backoff.Next()) != nil {
				return "", context.Cause(ctx)
			}
		}
		var link filingapi.Download
		link, err = links.Document(ctx, id)
		if err != nil {
			if errors.Is(err, filingapi.ErrNotFound) || errors.Is(err, filingapi.ErrKeyRefused) {
				return "", err
			}
			err = &failure{"the filing service gives no link to it now", err}
			continue
		}
		var ending string
		if ending, err = f.get(ctx, link.URL, part, &version); err == nil {
			file = stem + cmp.Or(ending, strings.ToLower(filepath.Ext(link.Name)), ".bin")
			if err = os.Rename(part, filepath.Join(dir, file)); err != nil {
				return "", fmt.Errorf("save %s: %w", file, err)
			}
			return file, syncFolder(filepath.Dir(filepath.Join(dir, file)))
		}
		if outer.Err() != nil {
			return "", outer.Err()
		}
		if ctx.Err() != nil || errors.Is(err, network.ErrForbidden) {
			break // as it will be at the next try
		}
	}
	_ = os.Remove(part) // it may never have come to be, and the next run begins anew
	return "", fmt.Errorf("fetch the document %s: %w", id, err)
}

// get brings a part up to the whole and returns the ending that its type has.
// version is that of the part, as far as the server tells it.
func (f fetcher) get(ctx context.Context, link, part string, version *string) (ending string, err error) {
	out, err := os.OpenFile(part, os.O_CREATE|os.O_RDWR, 0o666)
	if err != nil {
		return "", err
	}
	defer out.Close()
	have, err := out.Seek(0, io.SeekEnd)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, link, nil)
	if err != nil {
		return "", errGone // the error would print the link, and whoever has it has the document
	}
	host := req.URL.Hostname()
	if have > 0 {
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-", have))
		if *version != "" {
			req.Header.Set("If-Range", *version)
		}
	}
	res, err := f.client.Do(req)
	if err != nil {
		return "", unreachable(host, err)
	}
	defer res.Body.Close()
	switch {
	case res.StatusCode == http.StatusPartialContent &&
		strings.HasPrefix(res.Header.Get("Content-Range"), fmt.Sprintf("bytes %d-", have)):
	case res.StatusCode == http.StatusOK:
		have = 0
		if *version = res.Header.Get("ETag"); strings.HasPrefix(*version, "W/") {
			*version = ""
		}
	case res.StatusCode == http.StatusRequestedRangeNotSatisfiable, res.StatusCode == http.StatusPartialContent:
		return "", errors.Join(fmt.Errorf("the part that is there does not belong to it: %s", res.Status),
			out.Truncate(0))
	default:
		return "", fmt.Errorf("%w: %s", errGone, res.Status)
	}
	if strings.HasPrefix(res.Header.Get("Content-Type"), "text/html") {
		return "", fmt.Errorf("%w: a page came instead of the document", errGone) // a sign-in, as a rule
	}
	if err := out.Truncate(have); err != nil {
		return "", err
	}
	if _, err := out.Seek(have, io.SeekStart); err != nil {
		return "", err
	}
	// A server that sends nothing for a minute is considered gone.
	timer := time.AfterFunc(silence, func() { cancel(errors.New("nothing came for a minute")) })
	defer timer.Stop()
	n, err := io.Copy(out, io.LimitReader(watched{res.Body, timer}, maxBytes-have+1))
	switch {
	case err != nil:
		return "", unreachable(host, cmp.Or(context.Cause(ctx), err))
	case have+n > maxBytes:
		return "", fmt.Errorf("it is larger than %d MB", maxBytes>>20)
	case have+n == 0:
		return "", errors.New("it is empty")
	}
	return endingOf(res), out.Sync()
}

// watched moves a timer on with every byte that comes.
type watched struct {
	io.Reader
	timer *time.Timer
}

func (w watched) Read(p []byte) (int, error) {
	n, err := w.Reader.Read(p)
	w.timer.Reset(silence)
	return n, err
}

// unreachable is a failure of the network on the way to a host. What the network
// said of it would let whoever wrote the link look around in it; the link itself
// is in neither text, for whoever has it has the document.
func unreachable(host string, err error) error {
	if wrapped := new(url.Error); errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	return &failure{"it could not be downloaded from " + shortHost(host) + "; the log says why", err}
}

// shortHost is a host as it is shown: at most as long as one can be.
func shortHost(host string) string { return host[:min(len(host), 253)] }

// endings of the types that documents come in; mime's own choice among the
// endings of a type differs by machine.
var endings = map[string]string{
	"application/pdf": ".pdf", "image/png": ".png", "image/jpeg": ".jpg", "image/tiff": ".tif", "text/plain": ".txt",
	"application/zip": ".zip", "application/vnd.openxmlformats-officedocument.wordprocessingml.document": ".docx",
}

// endingOf is what a file of the answer's type ends with; "" where it does not say.
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

// syncFolder makes a rename in it durable.
func syncFolder(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
