package sheet

import (
	"strconv"
	"strings"

	"github.com/xuri/nfp"
)

// numberFormat is the part of a number format that decides how a cell is read: as a date, as digits
// in their places, or as a number. The zero value is General.
type numberFormat struct {
	// sections is nil if every section is a plain number.
	sections []formatSection
}

// formatSection is the part of a format that applies to some of the values.
type formatSection struct {
	// condition is nil if the position of the section decides.
	condition  func(float64) bool
	date, time bool
	// year reports whether the section shows only the year of a date.
	year bool
	// digits place the digits of a whole number.
	digits []digitPart
}

// digitPart is a literal, or a run of placeholders.
type digitPart struct {
	literal string
	// placeholders are '0' for a digit or a zero, and '#' or '?' for a digit or nothing.
	placeholders string
}

// builtinFormats are the dates among the formats that a workbook may use by number alone. None of
// the other built-in formats places digits. In East Asian workbooks 27 to 36 and 50 to 58 are dates
// too. Source: ECMA-376 part 1, 18.8.30.
var builtinFormats = map[int]string{
	14: "m/d/yyyy", 15: "d-mmm-yy", 16: "d-mmm", 17: "mmm-yy", 18: "h:mm AM/PM", 19: "h:mm:ss AM/PM", 20: "h:mm",
	21: "h:mm:ss", 22: "m/d/yyyy h:mm", 45: "mm:ss", 47: "mm:ss.0",
	27: "yyyy-m", 28: "m-d", 29: "m-d", 30: "m-d-yy", 31: "yyyy-m-d", 32: "h:mm", 33: "h:mm:ss", 34: "yyyy-m-d",
	35: "yyyy-m-d", 36: "yyyy-m-d", 50: "yyyy-m", 51: "m-d", 52: "yyyy-m-d", 53: "m-d", 54: "m-d", 55: "yyyy-m-d",
	56: "yyyy-m-d", 57: "yyyy-m", 58: "m-d",
}

// parseNumberFormat parses a format code. It returns General for an invalid one, because the number
// itself is always correct.
func parseNumberFormat(code string) (format numberFormat) {
	if len(code) > 255 {
		// Excel allows no longer code.
		return numberFormat{}
	}
	// The parser panics on some codes that no program writes.
	defer func() {
		if recover() != nil {
			format = numberFormat{}
		}
	}()
	parser := nfp.NumberFormatParser()
	useful := false
	var sections []formatSection
	for _, s := range parser.Parse(code) {
		section := parseSection(s.Items)
		useful = useful || section.date || section.time || section.digits != nil
		sections = append(sections, section)
	}
	if !useful {
		return numberFormat{}
	}
	return numberFormat{sections}
}

func parseSection(tokens []nfp.Token) (section formatSection) {
	months, days, elapsed, other := false, false, false, false
	zeros, places, literals := 0, 0, 0
	var parts []digitPart
	for _, t := range tokens {
		switch t.TType {
		case nfp.TokenTypeDateTimes:
			switch code := strings.ToLower(t.TValue); {
			case strings.ContainsAny(code, "hs"), code == "am/pm", code == "a/p", code == "上午/下午":
				section.time = true
			case strings.ContainsAny(code, "yd"):
				section.date = true
				days = days || strings.Contains(code, "d")
			case strings.Contains(code, "m"):
				months = true
			}
			other = true
		case nfp.TokenTypeElapsedDateTimes:
			elapsed = true
		case nfp.TokenTypeCondition:
			section.condition = parseCondition(t)
		case nfp.TokenTypeColor:
		case nfp.TokenTypeCurrencyLanguage:
			for _, part := range t.Parts {
				other = other || part.Token.TType == nfp.TokenSubTypeCurrencyString && part.Token.TValue != ""
			}
		case nfp.TokenTypeZeroPlaceHolder, nfp.TokenTypeHashPlaceHolder, nfp.TokenTypeDigitalPlaceHolder:
			other = other || strings.Trim(t.TValue, "0#?") != ""
			zeros += strings.Count(t.TValue, "0")
			places += len(t.TValue)
			parts = append(parts, digitPart{placeholders: t.TValue})
		case nfp.TokenTypeLiteral:
			// Separators place digits. Any other text explains the number and is not part of it.
			other = other || strings.Trim(t.TValue, "-() ./+\u00a0") != ""
			literals++
			parts = append(parts, digitPart{literal: t.TValue})
		default:
			other = true
		}
	}
	// A duration is a number of days, not a date.
	if elapsed {
		return formatSection{condition: section.condition}
	}
	section.year = section.date && !section.time && !months && !days
	if months && !section.time {
		// Without another date part, m means minutes.
		section.date = true
	}
	if !other && (zeros >= 2 || places >= 3 && literals > 0) {
		section.digits = parts
	}
	return section
}

// comparisons are the conditions of a section, by their operator.
var comparisons = map[string]func(value, operand float64) bool{
	"<":  func(v, o float64) bool { return v < o },
	"<=": func(v, o float64) bool { return v <= o },
	">":  func(v, o float64) bool { return v > o },
	">=": func(v, o float64) bool { return v >= o },
	"=":  func(v, o float64) bool { return v == o },
	"<>": func(v, o float64) bool { return v != o },
}

func parseCondition(t nfp.Token) func(float64) bool {
	if len(t.Parts) != 2 {
		return nil
	}
	operand, err := strconv.ParseFloat(t.Parts[1].Token.TValue, 64)
	compare := comparisons[t.Parts[0].Token.TValue]
	if err != nil || compare == nil {
		return nil
	}
	return func(value float64) bool { return compare(value, operand) }
}

// section returns the section that shows the value.
func (f *numberFormat) section(value float64) *formatSection {
	numeric := f.sections[:min(len(f.sections), 3)]
	conditional := false
	for i := range numeric {
		if c := numeric[i].condition; c != nil {
			if c(value) {
				return &numeric[i]
			}
			conditional = true
		}
	}
	if conditional {
		for i := range numeric {
			if numeric[i].condition == nil {
				return &numeric[i]
			}
		}
		return &formatSection{}
	}
	switch {
	case value < 0 && len(numeric) > 1:
		return &numeric[1]
	case value == 0 && len(numeric) > 2:
		return &numeric[2]
	}
	return &numeric[0]
}

// appendDigits appends a whole number with its digits placed.
func (s *formatSection) appendDigits(dst []byte, digits []byte) []byte {
	places := 0
	for _, part := range s.digits {
		places += len(part.placeholders)
	}
	// spare is the number of digits beyond the places. The first place takes them.
	spare := len(digits) - places
	for _, part := range s.digits {
		dst = append(dst, part.literal...)
		for i := range len(part.placeholders) {
			switch {
			case spare < 0:
				if part.placeholders[i] == '0' {
					dst = append(dst, '0')
				}
				spare++
			default:
				dst = append(dst, digits[:spare+1]...)
				digits = digits[spare+1:]
				spare = 0
			}
		}
	}
	return dst
}
