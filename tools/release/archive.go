package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"time"
)

// archived is a file of an archive.
type archived struct {
	name, path string
	mode       os.FileMode
}

// writeArchive writes the archive of a platform.
func (s *snapshot) writeArchive(a archiveConfig, of names, p platform, programs []program) error {
	base, err := of.expand(a.NameTemplate)
	if err != nil {
		return err
	}
	formats, within := a.Formats, ""
	for _, o := range a.FormatOverrides {
		if o.GOOS == p.os {
			formats = o.Formats
		}
	}
	if a.WrapInDirectory {
		within = base
	}
	var all []archived
	for _, b := range programs {
		all = append(all, archived{path.Join(within, b.name), b.path, a.BuildsInfo.Mode})
	}
	for _, f := range a.Files {
		found, err := filepath.Glob(filepath.Join(s.root, f.Src))
		if err != nil || len(found) == 0 {
			return fmt.Errorf("no file is %s (%w)", f.Src, err)
		}
		for _, file := range found {
			all = append(all, archived{path.Join(within, f.Dst, filepath.Base(file)), file, f.Info.Mode})
		}
	}
	for _, format := range formats {
		write := writeTar
		if format == "zip" {
			write = writeZIP
		}
		out, err := os.Create(filepath.Join(s.out, base+"."+format))
		if err != nil {
			return err
		}
		if err := errors.Join(write(out, all, s.at), out.Close()); err != nil {
			return err
		}
	}
	return nil
}

func writeTar(to io.Writer, files []archived, at time.Time) error {
	zipped, err := gzip.NewWriterLevel(to, gzip.BestCompression)
	if err != nil {
		return err
	}
	w := tar.NewWriter(zipped)
	for _, f := range files {
		content, err := os.ReadFile(f.path)
		if err != nil {
			return err
		}
		if err := w.WriteHeader(&tar.Header{
			Name:    f.name,
			Mode:    int64(f.mode),
			Size:    int64(len(content)),
			ModTime: at,
			Uname:   "root",
			Gname:   "root",
		}); err != nil {
			return err
		}
		if _, err := w.Write(content); err != nil {
			return err
		}
	}
	return errors.Join(w.Close(), zipped.Close())
}

func writeZIP(to io.Writer, files []archived, at time.Time) error {
	w := zip.NewWriter(to)
	for _, f := range files {
		content, err := os.ReadFile(f.path)
		if err != nil {
			return err
		}
		h := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: at}
		h.SetMode(f.mode)
		in, err := w.CreateHeader(h)
		if err != nil {
			return err
		}
		if _, err := in.Write(content); err != nil {
			return err
		}
	}
	return w.Close()
}
