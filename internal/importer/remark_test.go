package importer

import (
	"strings"
	"testing"
)

// What a text says about filing its row, in 2026.
func TestJudge(t *testing.T) {
	for want, all := range map[verdict]map[string][]string{
		holds: {
			"Status": {"Void", "Forfeited", "Converted out", "Exempt - no AR due", "Dissolved (Term Expired)",
				"Voluntarily Dissolved", "SOLD", "Merged into Acme Inc.", "Cancelled", "Withdrawn", "Filed",
				"Filed 3/2/26", "Completed", "Do not file", "On hold", "Client files", "inactive", "Revoked",
				"Pending Dissolution", "No longer a client", "not renewing",
				"Admin. dissolved 9/1/2024", "Closed", "Skip"},
			"Company_Status": {"Terminated"},
			"Co. Status":     {"void"},
			"Status (SOS)":   {"Charter revoked"},
			"Notes": {"Already filed by client 3/2", "DO NOT FILE", "don’t file", "Dissolved 12/31/2025",
				"Sold to ABC in 2025", "Company was sold.", "merged with Quay Inc. 1/1/26",
				"Client will file themselves",
				"CPA handles this one", "Void", "filed 3/2", "Called 2/1: entity administratively dissolved in May",
				"no report due", "HOLD until partners agree", "Former client", "DNF", "AR filed online", "do not renew",
				"per Bob, won't file this year", "self-filed",
				"client moved to CPA in March, leave it", "client is doing this one", "handled by parent company",
				"don't touch", "not filing this year", "let it lapse", "closing down in June", "closed the business",
				"paid & filed 3/1/26", "we filed this 2/2", "did this already", "no longer operating",
				"wait until June",
				"ok to skip", "client left", "moved to another firm",
				"dissolution filed 3/1", "filed yesterday", "company merged w/ Delta", "owner does not want to renew",
				"already paid and filed", "filed by prior CPA", "Dissolved 12/31/25, final tax return filed",
				"2026 AR filed by owner", "client wound this up in March", "surrendered 2/1", "shut down in 2025"},
			"Comment": {"DO NOT FILE - client is winding this one up, see mail of 10/14"},
			"Heading": {"Clients lost in 2026", "Sold or dissolved in 2025 - for reference only", "Closed in 2025",
				"Inactive entities"},
			"":             {"sold 2025"},
			"Legal Name":   {},
			"AR Done":      {"3/1/2026"},
			"AR Filed?":    {"done", "by client", "CPA", "x", "Yes", "3/2", "3/2/2026", "TRUE"},
			"Date Filed":   {"2026-03-02", "March 2"},
			"Prior filing": {"filed 2/1/2026", "2/1/2026"},
			"2026 Filed":   {"✓"},
			"Do Not File":  {"x", "TRUE"},
			"Dissolved?":   {"Y"},
			"File?":        {"No", "n"},
			"Proceed?":     {"No"},
			"Approved":     {"No"},
			"Instructions": {"skip", "Leave out this year"},
			"Due":          {"Exempt", "not due"},
			"Other":        {"Dissolved 2024", "please do not file"},
		},
		warns: {
			"Status":   {"Suspended - FTB", "Unknown", "Not in good standing", "Filed 2025", "Dissolved, reinstated"},
			"Standing": {"Bad"},
			"Notes": {"The client sold building 4", "not dissolved after all", "Tax return filed by CPA",
				"acquired by Quay Inc.", "ask Ana first", "pending sale", "check with the client before filing"},
			"Confirmation #": {"2026-118822", "A118"},
			"Due Date":       {"2028-04-15"},
		},
		passes: {
			"Status": {"Active", "ACTIVE", "Good Standing", "In good standing", "In existence", "Current", "Delinquent",
				"Active - Good Standing", "Active/Compliance", "Existing", "Past due", "Not filed", "To be filed",
				"Not yet filed", "n/a", "", "Registered", "Subsisting", "In force",
				"Active (DE)", "AR due", "Not started", "Qualified", "Awaiting filing", "Non-compliant", "OK to file",
				"Pending",
				"Active (2026)", "Open"},
			"Tax Status":     {"Exempt", "S Corp", "Void"},
			"Payment Status": {"Paid", "Closed"},
			"Notes": {"Called client 3/2", "Client prefers email", "Void check returned", "Hold harmless letter signed",
				"filed 2025 report on 3/2/2025", "needs to be filed by June 1", "not filed yet",
				"Client files kept in Box",
				"Canceled meeting", "Send invoice to CPA", "file before March", "Close call",
				"Filed last year by us 2025",
				"New address confirmed", "Member is retired", "Renewed lease", "client filed an extension for taxes",
				"filed by us last year", "exempt from sales tax", "CPA handles taxes", "leave at front desk",
				"Do not email", "Client moved to new office"},
			"AR Filed?":           {"No", "n", "not yet", "n/a", "pending"},
			"Date Filed":          {"2025-03-02", "3/2/25", "2010-05-15", "not filed"},
			"2025 AR Filed":       {"x", "2026-01-10"},
			"Initial Filing Date": {"2026-01-10"},
			"Amount Filed":        {"300"},
			"Due Date":            {"2026-06-01", "2027-03-01", "June 1"},
			"File #":              {"1"},
			"Last report":         {"2025", "3/1/2025", "none"},
			"Active":              {"Yes", "Y"},
			"Dissolved?":          {"No"},
			"File?":               {"Yes"},
			"County":              {"Sold", "Void", "Kings"},
			"Phone":               {"302 555 0140"},
		},
	} {
		for header, texts := range all {
			for _, text := range texts {
				if got := remarkKindOf(header).judge(header, text, 2026); got != want {
					t.Errorf("%s=%s: %d, want %d in %s", header, text, got, want, clauses(text))
				}
			}
		}
	}
	log := strings.Repeat("Spoke to the client about the address. ", 210)
	for text, want := range map[string]verdict{
		log + "DO NOT FILE.": holds, "Dissolved 2024. " + log: holds, log: passes,
		log + "DO NOT FILE. " + log + log: warns,
	} {
		if got := noteRemark.judge("Notes", text, 2026); got != want {
			t.Errorf("%d bytes: %d, want %d", len(text), got, want)
		}
	}
	for name, want := range map[string]verdict{
		"Quay LLC?": holds, "Option 1: Quay LLC": holds, "Quay LLC or Tarn LLC": holds, `"Quay LLC"`: holds,
		"Quay LLC / Quay Inc": holds, "2. Quay LLC": holds, "Who Dat? LLC": passes, "E*Quay Inc.": passes,
		"1st Option LLC": passes, "Quay Co. & Tarn LLC": passes, `The "Good" Quay LLC`: passes,
	} {
		if got := newNameRemark.judge("Legal Name", name, 2026); got != want {
			t.Errorf("new %s: %d, want %d", name, got, want)
		}
	}
	for name, want := range map[string]verdict{
		"VOID - Acme LLC": holds, "Acme LLC (Dissolved)": holds, "*** SOLD *** Acme LLC": holds,
		"DO NOT FILE Acme":    holds,
		"Sold Out Events LLC": passes, "Void Studios, LLC": passes, "Closed Loop Systems Inc.": passes,
		"Sold LLC":                    passes,
		"Merged Realities - East LLC": passes, "Acme, Inc.": passes, "Hold Fast, L.L.C.": passes, "Exempt LLC": passes,
		"Acme LLC, Delinquent May 1, 2026": holds, "Acme LLC dba Foo": holds, "Acme Inc East Chapter": passes,
		"Acme LLC, Good Standing": holds, "Acme LLC LLC": passes,
		"Void, Inc.": passes, "Sold! Realty LLC": passes, "Out of Business Signs LLC": passes, "DNF Racing LLC": passes,
		"CPA Files Online LLC": passes, "Acme (Closed Block) LLC": passes, "(VOID) Acme LLC": holds,
		"x Old - do not file - Acme LLC": holds, "Acme LLC (filed)": holds, "Acme LLC - client files": holds,
	} {
		if got := nameRemark.judge("Legal Name", name, 2026); got != want {
			t.Errorf("%s: %d, want %d in %s", name, got, want, clauses(name))
		}
	}
}
