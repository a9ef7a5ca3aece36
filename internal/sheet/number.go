package sheet

import (
	"bytes"
	"math"
	"strconv"
	"time"
)

// appendNumber appends a number from the XML of a sheet as a plain decimal. ok is false if raw is
// not a valid number. A whole number too long for a float stays as it is, because its digits must
// not be lost.
func appendNumber(dst, raw []byte) ([]byte, bool) {
	digits := bytes.TrimPrefix(raw, []byte("-"))
	if len(digits) > 0 && len(digits) <= 32 && digits[0] != '0' && len(bytes.Trim(digits, "0123456789")) == 0 {
		return append(dst, raw...), true
	}
	value, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || math.IsInf(value, 0) || math.IsNaN(value) {
		return dst, false
	}
	return appendDecimal(dst, value), true
}

// appendDecimal appends the shortest plain decimal of the value at the 15 digits that spreadsheet
// programs show. They store up to 17 digits, the last of which are rounding noise:
// 0.30000000000000004.
func appendDecimal(dst []byte, value float64) []byte {
	if value == 0 {
		// Never append "-0".
		return append(dst, '0')
	}
	var b [32]byte
	short := strconv.AppendFloat(b[:0], value, 'e', -1, 64)
	if digits := bytes.IndexByte(short, 'e'); digits > len("-1.23456789012345") ||
		value > 0 && digits > len("1.23456789012345") {
		rounded, err := strconv.ParseFloat(string(strconv.AppendFloat(b[:0], value, 'e', 14, 64)), 64)
		if err == nil {
			value = rounded
		}
	}
	return strconv.AppendFloat(dst, value, 'f', -1, 64)
}

// A serial number counts days. The 1904 date system runs 1,462 days behind the 1900 system.
const (
	offset1904 = 1462
	// maxSerial is the first day of the year 10000.
	maxSerial = 2958466
)

// appendSerial appends a serial number of the 1900 system as an ISO date. It adds the time of day,
// rounded to the second, if withTime is set and the time is not zero. It returns false if the date
// does not exist.
//
// The system has a February 29, 1900 (serial 60), which never existed. appendSerial returns it
// unchanged, and readers of dates refuse it.
func appendSerial(dst []byte, serial float64, withDate, withTime bool) ([]byte, bool) {
	if !(serial >= 0 && serial < maxSerial) {
		return dst, false
	}
	days := math.Floor(serial)
	seconds := 0
	if withTime {
		seconds = int(math.Round((serial - days) * 86400))
		if seconds == 86400 {
			days, seconds = days+1, 0
		}
	}
	day := int(days)
	if day == 0 || !withDate && serial < 1 {
		if withDate && !withTime || day > 0 {
			return dst, false
		}
		return time.Unix(int64(seconds), 0).UTC().AppendFormat(dst, "15:04:05"), true
	}
	switch {
	case day == 60:
		dst = append(dst, "1900-02-29"...)
	case day < 60:
		dst = epoch.AddDate(0, 0, day+1).AppendFormat(dst, time.DateOnly)
	default:
		dst = epoch.AddDate(0, 0, day).AppendFormat(dst, time.DateOnly)
	}
	if seconds > 0 {
		dst = append(dst, 'T')
		dst = time.Unix(int64(seconds), 0).UTC().AppendFormat(dst, "15:04:05")
	}
	return dst, true
}

// epoch is day 0 of the 1900 system for all dates from March 1900.
var epoch = time.Date(1899, 12, 30, 0, 0, 0, 0, time.UTC)

// isoLayouts are the layouts of the date in a cell of type "d".
var isoLayouts = []string{
	time.DateOnly, "2006-01-02T15:04:05.999999999", "2006-01-02T15:04:05.999999999Z07:00", "2006-01-02T15:04",
	"2006-01-02 15:04:05", "15:04:05.999999999", "15:04",
}

// appendISO appends an ISO date in the form that [Cell] documents. It drops the time zone, because
// spreadsheet programs do not show it.
func appendISO(dst, raw []byte) ([]byte, bool) {
	for i, layout := range isoLayouts {
		t, err := time.Parse(layout, string(raw))
		if err != nil {
			continue
		}
		if timeOnly := i >= len(isoLayouts)-2; timeOnly {
			return t.AppendFormat(dst, time.TimeOnly), true
		}
		dst = t.AppendFormat(dst, time.DateOnly)
		if t.Hour()|t.Minute()|t.Second() != 0 {
			dst = t.AppendFormat(dst, "T15:04:05")
		}
		return dst, true
	}
	return dst, false
}

// IsPlainNumber reports whether a text is a number in the form of a cell: a plain decimal without
// leading zeros.
func IsPlainNumber(text string) bool {
	plain, ok := appendNumber(nil, []byte(text))
	return ok && len(text) <= 15 && string(plain) == text
}
