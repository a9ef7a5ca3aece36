package config

import "github.com/bulkfiling/bulkfiling/internal/logs"

// LogFormat reads FILING_LOG_FORMAT, before anything else of the configuration is read.
// otherwise is the format without it, and also where it or the settings file is wrong.
func LogFormat(getenv func(string) string, otherwise logs.Format) (logs.Format, error) {
	settings, err := loadSettings(SettingsPath(getenv))
	if err != nil {
		return otherwise, err
	}
	l := layers{getenv, settings}
	format, err := logs.ParseFormat(l.value("FILING_LOG_FORMAT"), otherwise)
	return format, l.explain(err)
}
