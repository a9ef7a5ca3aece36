package importer

// RuleOtherYear is the rule of a cell whose filing year is not the one that the
// run of a schedule files.
const RuleOtherYear = "schedule.filingYear"

// YearColumn returns what Options.Map calls the column of the filing year; "" where
// the sheet has none.
func (im *Import) YearColumn() string {
	if b := im.mapping.binding(filingYear); b != nil && b.index >= 0 {
		return b.mapName
	}
	return ""
}
