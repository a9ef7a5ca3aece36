package importer

// YearColumn returns what Options.Map calls the column of the filing year; "" where
// the sheet has none.
func (im *Import) YearColumn() string {
	if b := im.mapping.binding(filingYear); b != nil && b.index >= 0 {
		return b.mapName
	}
	return ""
}
