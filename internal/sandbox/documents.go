package sandbox

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"time"
)

// The lifetimes of links.
// Source: spec section 8.
const (
	downloadLife  = time.Hour
	magicLinkLife = 7 * 24 * time.Hour
)

// Document is a file of a filing or of registered agent mail.
// Source: spec section 2, which does not show its fields.
type Document struct {
	ID        string `json:"id"`
	CompanyID string `json:"companyId"`
	OrderID   string `json:"orderId"`
	// Type is registered_agent for agent mail. The spec does not show other values.
	Type string `json:"documentType"`
	At   stamp  `json:"createdAt"`
	// Elsewhere marks a document of another organization, which is never shown.
	Elsewhere bool `json:"-"`
}

// documents has the documents and the links to them and to the dashboard.
type documents struct {
	*core
	records *records
	files   map[string]*Document
	links   map[string]link
}

// AddDocument puts a document on record and returns it. It fills in an empty ID, and the time.
func (s *documents) AddDocument(d Document) Document {
	s.mu.Lock()
	defer s.mu.Unlock()
	return *s.addDocument(d)
}

func (s *documents) addDocument(d Document) *Document {
	if d.ID == "" {
		d.ID = s.id("doc")
	}
	d.At = stamp(s.cfg.Now())
	s.files[d.ID] = &d
	return &d
}

var documentID = regexp.MustCompile(`^doc_[A-Za-z0-9_-]+$`)

// getDocument answers with a new link to /files/{id}. Earlier links keep their lifetime.
func (s *documents) getDocument(c *call) (any, error) {
	if !documentID.MatchString(c.id) {
		return nil, forbidden(http.StatusNotFound, "2 identifiers", "%q is not a document id", c.id)
	}
	d := s.files[c.id]
	if d == nil || d.Elsewhere {
		return nil, refuse(http.StatusNotFound, "Document not found")
	}
	token, expires := s.newLink(d.ID, downloadLife)
	return struct {
		*Document
		URL       string `json:"url"`
		ExpiresAt stamp  `json:"expiresAt"`
	}{d, base(c.request) + "/files/" + url.PathEscape(d.ID) + "?token=" + token, stamp(expires)}, nil
}

// fileEndpoint is the endpoint of downloads in a Fault. It needs no key, because the link
// authorizes the download.
const fileEndpoint = "GET /files/{id}"

// serveFile answers a download link. An expired link answers 403, as object stores do.
func (s *Service) serveFile(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	s.mu.Lock()
	link := s.links[r.URL.Query().Get("token")]
	d := s.files[id]
	s.requests[fileEndpoint]++
	s.mu.Unlock()
	switch {
	case link.to != id || d == nil:
		http.Error(w, "This link is not valid.", http.StatusForbidden)
		return
	case s.cfg.Now().After(link.expires):
		http.Error(w, "This link has expired.", http.StatusForbidden)
		return
	}

	file := fmt.Appendf([]byte(pdf), "%% %s of %s, order %s, document %s\n", d.Type, d.CompanyID, d.OrderID, d.ID)
	c := &call{request: r, endpoint: fileEndpoint, id: id}
	if fault := s.pickFault(c); fault != nil {
		s.applyFault(w, c, fault, answer{http.StatusOK, file})
		return
	}
	w.Header().Set("Content-Type", "application/pdf")
	w.Header().Set("Content-Disposition", `attachment; filename="`+d.Type+"-"+d.ID+`.pdf"`)
	// The client may have disconnected.
	_, _ = w.Write(file)
}

// pdf is a page that names its origin. A comment after it distinguishes the documents.
const pdf = `%PDF-1.4
1 0 obj
<< /Type /Catalog /Pages 2 0 R >>
endobj
2 0 obj
<< /Type /Pages /Kids [3 0 R] /Count 1 >>
endobj
3 0 obj
<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R
/Resources << /Font << /F1 5 0 R >> >> >>
endobj
4 0 obj
<< /Length 80 >>
stream
BT 72 720 Td /F1 14 Tf (Made by the sandbox: nothing was filed anywhere.) Tj ET
endstream
endobj
5 0 obj
<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>
endobj
xref
0 6
0000000000 65535 f 
0000000009 00000 n 
0000000058 00000 n 
0000000115 00000 n 
0000000241 00000 n 
0000000370 00000 n 
trailer
<< /Size 6 /Root 1 0 R >>
startxref
440
%%EOF
`

// base returns the address at which the client reached the service.
func base(r *http.Request) string { return "http://" + r.Host }

// link is a link to a document, or to the dashboard of a company. It needs no key.
type link struct {
	// to is the ID of the document or company.
	to      string
	expires time.Time
}

// newLink makes a link. The caller holds s.mu.
func (s *documents) newLink(to string, life time.Duration) (token string, expires time.Time) {
	token, expires = s.id("link"), s.cfg.Now().Add(life)
	s.links[token] = link{to, expires}
	return token, expires
}

// createMagicLink answers a link to the company's dashboard.
// Assumption: the URL is in the field url.
func (s *documents) createMagicLink(c *call) (any, error) {
	user, comp := c.body.text("userId"), c.body.text("companyId")
	c.body.matches("userId", user, userID, "a user id (user_…)")
	c.body.matches("companyId", comp, companyID, "a company id (comp_…)")
	if err := s.finish(c); err != nil {
		return nil, err
	}
	if s.records.findUser(user) == nil {
		return nil, refuse(http.StatusNotFound, "User not found")
	}
	if s.records.findCompany(comp) == nil {
		return nil, refuse(http.StatusNotFound, "Company not found")
	}
	token, expires := s.newLink(comp, magicLinkLife)
	return map[string]any{"url": base(c.request) + "/dashboard/" + token, "expiresAt": stamp(expires)}, nil
}
