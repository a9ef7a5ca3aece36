package sheet

import "github.com/xuri/excelize/v2"

// numberLook is the number format of a value.
type numberLook uint8

const (
	asGeneral numberLook = iota
	// asText keeps typed text as text. A later edit in Excel cannot turn it into a formula or a
	// date.
	asText
	asMoney
	asDate
	asTime
)

var numberFormats = [...]string{
	asMoney: `"$"#,##0.00;[Red]-"$"#,##0.00`,
	asDate:  "yyyy-mm-dd",
	asTime:  "yyyy-mm-dd hh:mm:ss",
}

// look is the key of a style in the workbook.
type look struct {
	style  StyleID
	format numberLook
	// custom is a number format that replaces the default of format. Empty means the default.
	custom string
}

// appearance is the visual part of a style.
type appearance struct {
	// An empty fill or color means the default.
	fill, color string
	bold        bool
	size        float64
	wrap, right bool
	border      string
}

var appearances = [styleCount]appearance{
	StyleTitle:  {bold: true, size: 16, color: "1F3864"},
	StyleHeader: {bold: true, fill: "1F3864", color: "FFFFFF", wrap: true},
	StyleHeaderRight: {
		bold:  true,
		fill:  "1F3864",
		color: "FFFFFF",
		wrap:  true,
		right: true,
	},
	StyleBold:  {bold: true},
	StyleWrap:  {wrap: true},
	StyleOK:    {fill: "C6EFCE", color: "006100"},
	StyleWait:  {fill: "DCE6F1", color: "1F4E79"},
	StyleWarn:  {fill: "FFEB9C", color: "7F5F00"},
	StyleBad:   {fill: "FFC7CE", color: "9C0006"},
	StyleGrey:  {color: "7F7F7F"},
	StyleFault: {fill: "FFD966", border: "C00000"},
}

// style returns the ID of a style. It adds the style to the workbook on first use.
func (w *Workbook) style(l look) (int, error) {
	if id, ok := w.styles[l]; ok {
		return id, nil
	}
	if l.style >= styleCount {
		l.style = StylePlain
	}
	a := appearances[l.style]
	style := &excelize.Style{}
	if a.bold || a.color != "" || a.size > 0 {
		style.Font = &excelize.Font{Bold: a.bold, Color: a.color, Size: a.size, Family: "Calibri"}
		if a.size == 0 {
			style.Font.Size = 11
		}
	}
	if a.fill != "" {
		style.Fill = excelize.Fill{Type: "pattern", Pattern: 1, Color: []string{a.fill}}
	}
	style.Alignment = alignment(l, a)
	if a.border != "" {
		for _, side := range []string{"left", "top", "right", "bottom"} {
			style.Border = append(style.Border, excelize.Border{Type: side, Color: a.border, Style: 1})
		}
	}
	switch {
	case l.custom != "":
		style.CustomNumFmt = &l.custom
	case l.format == asGeneral:
	case l.format == asText:
		// Number format 49 is the built-in one for text.
		style.NumFmt = 49
	default:
		style.CustomNumFmt = &numberFormats[l.format]
	}
	id, err := w.book.NewStyle(style)
	if err != nil {
		return 0, err
	}
	w.styles[l] = id
	return id, nil
}

// alignment returns the alignment of a cell, or nil if the default applies. Dates are centered, to
// separate them from the text beside them.
func alignment(l look, a appearance) *excelize.Alignment {
	to := excelize.Alignment{WrapText: a.wrap}
	if a.wrap {
		to.Vertical = "top"
	}
	switch {
	case a.right:
		to.Horizontal = "right"
	case l.format == asDate, l.format == asTime:
		to.Horizontal = "center"
	}
	if to == (excelize.Alignment{}) {
		return nil
	}
	return &to
}
