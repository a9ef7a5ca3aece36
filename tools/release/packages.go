package main

import (
	"errors"
	"os"
	"path"
	"path/filepath"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb" // a format
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm" // a format
)

// writePackage writes a package of Linux, with the library that goreleaser uses.
func (s *snapshot) writePackage(c nfpmConfig, format string, of names, programs []program) error {
	info := &nfpm.Info{
		Name:        c.PackageName,
		Arch:        of.Arch,
		Platform:    of.Os,
		Version:     of.Version,
		Section:     c.Section,
		Priority:    c.Priority,
		Maintainer:  c.Maintainer,
		Description: c.Description,
		Vendor:      c.Vendor,
		MTime:       s.at,
		Overridables: nfpm.Overridables{
			RPM: nfpm.RPM{BuildHost: c.RPM.BuildHost},
		},
	}
	for _, b := range programs {
		info.Contents = append(info.Contents, &files.Content{
			Source:      b.path,
			Destination: path.Join(c.BinDir, b.name),
			FileInfo:    &files.ContentFileInfo{Mode: 0o755, MTime: s.at},
		})
	}
	for _, f := range c.Contents {
		info.Contents = append(info.Contents, &files.Content{
			Source:      filepath.Join(s.root, f.Src),
			Destination: f.Dst,
			FileInfo:    &files.ContentFileInfo{Mode: f.FileInfo.Mode, MTime: s.at},
		})
	}
	info = nfpm.WithDefaults(info)
	packager, err := nfpm.Get(format)
	if err != nil {
		return err
	}
	if err := nfpm.PrepareForPackager(info, format); err != nil {
		return err
	}
	name, err := of.expand(c.FileNameTemplate)
	if err != nil {
		return err
	}
	out, err := os.Create(filepath.Join(s.out, name+"."+format))
	if err != nil {
		return err
	}
	return errors.Join(packager.Package(info, out), out.Close())
}
