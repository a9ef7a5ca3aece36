package importer

// YearColumn returns the name of the filing year's column in Options.Map. It is empty if the sheet
// has no such column.
func (im *Import) YearColumn() string {
	if b := im.mapping.binding(filingYear); b != nil && b.index >= 0 {
		return b.mapName
	}
	return ""
}
