package billing

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"
	"time"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// ledesFields are the 24 fields of LEDES 1998B, in their order.
var ledesFields = []string{"INVOICE_DATE", "INVOICE_NUMBER", "CLIENT_ID", "LAW_FIRM_MATTER_ID", "INVOICE_TOTAL",
	"BILLING_START_DATE", "BILLING_END_DATE", "INVOICE_DESCRIPTION", "LINE_ITEM_NUMBER", "EXP/FEE/INV_ADJ_TYPE",
	"LINE_ITEM_NUMBER_OF_UNITS", "LINE_ITEM_ADJUSTMENT_AMOUNT", "LINE_ITEM_TOTAL", "LINE_ITEM_DATE",
	"LINE_ITEM_TASK_CODE", "LINE_ITEM_EXPENSE_CODE", "LINE_ITEM_ACTIVITY_CODE", "TIMEKEEPER_ID",
	"LINE_ITEM_DESCRIPTION", "LAW_FIRM_ID", "LINE_ITEM_UNIT_COST", "TIMEKEEPER_NAME", "TIMEKEEPER_CLASSIFICATION",
	"CLIENT_MATTER_ID"}

// The UTBMS expense codes of the lines: court and filing fees, and other professionals.
const (
	utbmsFilingFees    = "E112"
	utbmsProfessionals = "E123"
)

// Lengths of LEDES fields.
const (
	ledesID   = 20
	ledesText = 1024
)

// writeLEDES writes LEDES 1998B: ASCII, fields between pipes, each line ended by []. The
// first lines name the format and the fields. A unit is never negative: a credit is an
// adjustment of one unit that costs nothing.
func writeLEDES(bills []Bill, a Accounts) ([]byte, error) {
	var out bytes.Buffer
	line := func(fields ...string) { out.WriteString(strings.Join(fields, "|") + "[]\r\n") }
	line("LEDES1998B")
	line(ledesFields...)
	for i := range bills {
		b := &bills[i]
		first, last := b.span()
		matter := cmp.Or(ledesCode(b.Matter, ledesID), "GENERAL")
		for n := range b.Lines {
			l := &b.Lines[n]
			code := utbmsFilingFees
			if l.Kind == ServiceFee {
				code = utbmsProfessionals
			}
			unit, adjustment := l.Amount, "0.00"
			if l.Amount < 0 {
				unit, adjustment = 0, l.Amount.String()
			}
			line(redate(b.Dated, "20060102"), b.Name(), b.ledesClient(), matter, b.Sum().String(), first, last,
				ledesValue("Business filings for "+b.Client, ledesText), fmt.Sprint(n+1), "E", "1", adjustment,
				l.Amount.String(), l.PostedAt.UTC().Format("20060102"), "", code, "", "",
				ledesValue(l.Description(), ledesText), ledesCode(a.Firm, ledesID), unit.String(), "", "", matter)
		}
	}
	return out.Bytes(), nil
}

// ledesClient is the client's ID: its number, or its name as far as it fits.
func (b *Bill) ledesClient() string {
	return cmp.Or(ledesCode(b.ClientID, ledesID), ledesCode(b.Client, ledesID), "CLIENT")
}

// span are the days of the first and the last line.
func (b *Bill) span() (first, last string) {
	var from, to time.Time
	for _, l := range b.Lines {
		if from.IsZero() || l.PostedAt.Before(from) {
			from = l.PostedAt
		}
		if l.PostedAt.After(to) {
			to = l.PostedAt
		}
	}
	return from.UTC().Format("20060102"), to.UTC().Format("20060102")
}

// ledesValue is a text without what LEDES gives a meaning, in ASCII.
func ledesValue(text string, most int) string {
	text = strings.NewReplacer("|", "/", "[]", "()", "\r", " ", "\n", " ").Replace(text)
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.Is(unicode.Mn, r):
			return -1
		case r == '–' || r == '—':
			return '-'
		case r == '’' || r == '‘':
			return '\''
		case r < ' ' || r > '~':
			return '?'
		}
		return r
	}, norm.NFD.String(text))
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > most {
		text = strings.TrimSpace(text[:most])
	}
	// Taking letters out, or cutting, may bring the two together again.
	return strings.ReplaceAll(text, "[]", "()")
}

func ledesCode(text string, most int) string { return ledesValue(text, most) }
