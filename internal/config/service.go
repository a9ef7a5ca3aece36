package config

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bulkfiling/bulkfiling/internal/filingapi"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/secret"
)

// Service is a filing service and its key. The settings file has the key or the path of its file.
type Service struct {
	BaseURL string
	Key     secret.Value
	KeyFile string
	// Live reports whether a live key is allowed.
	Live bool
}

// String returns the address without the key.
func (s Service) String() string { return "filing service at " + s.BaseURL }

// GoString keeps the key out of %#v.
func (s Service) GoString() string { return s.String() }

// ReadKey reads the key from its file if it has one. It makes the path of the file absolute,
// because commands run in any folder.
func (s *Service) ReadKey() (err error) {
	if s.KeyFile == "" {
		return nil
	}
	if s.KeyFile, err = filepath.Abs(s.KeyFile); err != nil {
		return fmt.Errorf("find the key file: %w", err)
	}
	s.Key, err = readSecretFile("the key file", s.KeyFile)
	return err
}

// IsLive reports whether the key buys real filings.
func (s Service) IsLive() bool { return strings.HasPrefix(s.Key.Reveal(), "sk_live_") }

// With returns the environment with another filing service.
func (e Environment) With(s Service) Environment {
	e.BaseURL, e.key, e.Live = s.BaseURL, s.Key, s.Live
	e.organization, e.binding = nil, new(binding)
	return e
}

// CheckService requests the organization of the key. If the service does not report one, another
// request must succeed with this key, because a wrong address returns no organization either.
func (e Environment) CheckService(ctx context.Context) (ledger.Organization, error) {
	client, err := e.Client()
	if err != nil {
		return ledger.Organization{}, err
	}
	defer client.Close()
	o, err := FindOrganization(ctx, client)
	if err != nil || o.Name != "" || o.Known() {
		return o, err
	}
	if _, err = client.Prices(ctx); errors.Is(err, filingapi.ErrNotFound) {
		err = fmt.Errorf("%s is not the address of a filing service: %w", e.BaseURL, err)
	}
	return o, err
}

// SavedService returns the filing service of the settings file. It does not read a key from another
// file.
func SavedService(getenv func(string) string) (Service, error) {
	settings, err := loadSettings(SettingsPath(getenv))
	if err != nil {
		return Service{}, err
	}
	v := settings.values
	return Service{
		BaseURL: v["FILING_BASE_URL"],
		Key:     secret.New(v["FILING_API_KEY"]),
		KeyFile: v["FILING_API_KEY_FILE"],
		Live:    v["FILING_LIVE"] == "1",
	}, nil
}

// HasKey reports whether there is a key or a key file.
func (s Service) HasKey() bool { return !s.Key.IsEmpty() || s.KeyFile != "" }

// ReadFor reads the environment for a filing service that replaces the one of the variables and the
// settings file, which can be invalid.
func ReadFor(getenv func(string) string, s Service) (Environment, error) {
	settings, err := loadSettings(SettingsPath(getenv))
	if err != nil {
		return Environment{}, err
	}
	own := []string{"FILING_BASE_URL", "FILING_API_KEY", "FILING_API_KEY_FILE", "FILING_LIVE"}
	for _, name := range own {
		delete(settings.values, name)
	}
	layers := layers{settings: settings, getenv: func(name string) string {
		if slices.Contains(own, name) {
			return ""
		}
		return getenv(name)
	}}
	e, err := layers.read()
	return e.With(s), layers.explain(err)
}
