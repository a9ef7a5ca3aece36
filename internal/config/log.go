package config

import "github.com/bulkfiling/bulkfiling/internal/logs"

// LogFormat reads FILING_LOG_FORMAT before the rest of the configuration. It returns otherwise if
// the variable is not set, and also with an error if the variable or the settings file is invalid.
func LogFormat(getenv func(string) string, otherwise logs.Format) (logs.Format, error) {
	settings, err := loadSettings(SettingsPath(getenv))
	if err != nil {
		return otherwise, err
	}
	l := layers{getenv, settings}
	format, err := logs.ParseFormat(l.value("FILING_LOG_FORMAT"), otherwise)
	return format, l.explain(err)
}
