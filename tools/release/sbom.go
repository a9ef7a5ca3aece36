package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
)

// document is a bill of materials in CycloneDX 1.6.
type document struct {
	Schema       string      `json:"$schema"`
	BOMFormat    string      `json:"bomFormat"`
	SpecVersion  string      `json:"specVersion"`
	SerialNumber string      `json:"serialNumber"`
	Version      int         `json:"version"`
	Metadata     metadata    `json:"metadata"`
	Components   []component `json:"components"`
}

type metadata struct {
	Timestamp string    `json:"timestamp,omitempty"`
	Component component `json:"component"`
}

type component struct {
	Ref     string `json:"bom-ref"`
	Type    string `json:"type"`
	Name    string `json:"name"`
	Version string `json:"version"`
	PURL    string `json:"purl"`
	Hashes  []hash `json:"hashes,omitempty"`
}

type hash struct {
	Alg     string `json:"alg"`
	Content string `json:"content"`
}

// writeSBOM writes the modules of a binary with their hashes, as the linker noted
// them in it.
func writeSBOM(binary, file string) error {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return err
	}
	content, err := os.ReadFile(binary)
	if err != nil {
		return err
	}
	d, err := describe(info, filepath.Base(binary), sha256.Sum256(content))
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(text, '\n'), 0o644)
}

func describe(info *debug.BuildInfo, name string, sum [32]byte) (document, error) {
	id := slices.Clone(sum[:16])
	id[6], id[8] = id[6]&0x0f|0x80, id[8]&0x3f|0x80 // a UUID of version 8: of our own making
	program := golang(&info.Main)
	program.Type, program.Name = "application", name
	program.Hashes = []hash{{"SHA-256", hex.EncodeToString(sum[:])}}
	d := document{
		Schema:       "http://cyclonedx.org/schema/bom-1.6.schema.json",
		BOMFormat:    "CycloneDX",
		SpecVersion:  "1.6",
		SerialNumber: fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:]),
		Version:      1,
		Metadata:     metadata{Component: program},
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.time" {
			d.Metadata.Timestamp = s.Value
		}
	}
	d.Components = append(d.Components, golang(&debug.Module{
		Path:    "std",
		Version: strings.TrimPrefix(strings.Fields(info.GoVersion)[0], "go"),
	}))
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		c := golang(m)
		if h1, ok := strings.CutPrefix(m.Sum, "h1:"); ok {
			raw, err := base64.StdEncoding.DecodeString(h1)
			if err != nil {
				return d, fmt.Errorf("the hash of %s: %w", m.Path, err)
			}
			c.Hashes = []hash{{"SHA-256", hex.EncodeToString(raw)}}
		}
		d.Components = append(d.Components, c)
	}
	return d, nil
}

func golang(m *debug.Module) component {
	purl := "pkg:golang/" + m.Path + "@" + strings.ReplaceAll(m.Version, "+", "%2B")
	return component{Ref: purl, Type: "library", Name: m.Path, Version: m.Version, PURL: purl}
}
