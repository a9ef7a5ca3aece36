package web

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// export is download of data that the audit log says has left, and of which object.
func (v *request) export(of, what, name string, write func(path string) error) error {
	return v.download(name, func(path string) error {
		if err := write(path); err != nil {
			return err
		}
		return v.record("", "download", of, what)
	})
}

// download sends a file that is made for it, and removed.
func (v *request) download(name string, write func(path string) error) error {
	return inFolder(func(dir string) error {
		// The name of an upload is no part of a path.
		path := filepath.Join(dir, "download"+filepath.Ext(name))
		if err := write(path); err != nil {
			return err
		}
		return v.sendFile(path, name, mimeTypes[filepath.Ext(name)])
	})
}

// inFolder calls f with a temporary folder, which it removes.
func inFolder(f func(dir string) error) error {
	dir, err := os.MkdirTemp("", "bulkfiling-page-")
	if err != nil {
		return fmt.Errorf("make a temporary folder: %w", err)
	}
	defer os.RemoveAll(dir)
	return f(dir)
}

// sendFile sends a file for the reader to save under a name.
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

// attachment names a download, in letters that every browser knows and in all.
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
