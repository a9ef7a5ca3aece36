package sandbox

import (
	"net/http"
	"strings"
	"time"
)

// User is a customer of the organization.
// Source: spec section 2.
type User struct {
	ID, FullName, Email string
	// PhoneNumber is in E.164 format, or empty.
	PhoneNumber          string
	CreatedAt, UpdatedAt time.Time

	// Elsewhere marks a user of another organization. The user is never shown, but the email
	// address and phone number are in use.
	Elsewhere bool
}

type userAnswer struct {
	ID          string `json:"id"`
	FullName    string `json:"fullName"`
	Email       string `json:"email"`
	PhoneNumber string `json:"phoneNumber,omitempty"`
	CreatedAt   stamp  `json:"createdAt"`
	UpdatedAt   stamp  `json:"updatedAt"`
}

func (u *User) answer() userAnswer {
	return userAnswer{u.ID, u.FullName, u.Email, u.PhoneNumber, stamp(u.CreatedAt), stamp(u.UpdatedAt)}
}

// AddUser puts a user on record, fills in empty fields, and returns it.
func (s *Service) AddUser(u User) User {
	s.mu.Lock()
	defer s.mu.Unlock()
	return *s.addUser(u)
}

func (s *Service) addUser(u User) *User {
	if u.ID == "" {
		u.ID = s.id("user")
	}
	if u.FullName == "" {
		u.FullName = "Alex Morgan"
	}
	if u.Email == "" {
		u.Email = strings.ToLower(u.ID) + "@users.example"
	}
	if u.CreatedAt.IsZero() {
		u.CreatedAt = s.cfg.Now()
		u.UpdatedAt = u.CreatedAt
	}
	s.users[u.ID] = &u
	s.usersByEmail[strings.ToLower(u.Email)] = &u
	if u.PhoneNumber != "" {
		s.usersByPhone[u.PhoneNumber] = &u
	}
	return &u
}

// findUser returns the user with an ID or email address, or nil.
func (s *Service) findUser(key string) *User {
	u := s.users[key]
	if u == nil {
		u = s.usersByEmail[strings.ToLower(key)]
	}
	switch {
	case u != nil && u.Elsewhere:
		return nil
	case u != nil || !s.cfg.AutoSeed:
		return u
	case userID.MatchString(key):
		return s.addUser(User{ID: key})
	case emailLike.MatchString(key):
		return s.addUser(User{Email: key})
	}
	return nil
}

func (s *Service) getUser(c *call) (any, error) {
	if !userID.MatchString(c.id) && !emailLike.MatchString(c.id) {
		return nil, forbidden(http.StatusNotFound, "2 identifiers",
			"%q is neither a user id nor an email address", c.id)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.findUser(c.id)
	if u == nil {
		return nil, refuse(http.StatusNotFound, "User not found")
	}
	return u.answer(), nil
}

// createUser refuses an email address or phone number of any organization's user.
// Source: spec sections 2 and 7.
func (s *Service) createUser(c *call) (any, error) {
	u := User{FullName: c.body.text("fullName"), Email: c.body.text("email")}
	c.body.matches("email", u.Email, emailLike, "an email address")
	var phoned bool
	if u.PhoneNumber, phoned = c.body.maybeText("phoneNumber"); phoned && !e164.MatchString(u.PhoneNumber) {
		c.body.fail("phoneNumber", "must be in E.164 form, not %q", u.PhoneNumber)
	}
	if err := s.finish(c); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.usersByEmail[strings.ToLower(u.Email)] != nil {
		return nil, refuse(http.StatusConflict, "A user with this email already exists")
	}
	if phoned && s.usersByPhone[u.PhoneNumber] != nil {
		return nil, refuse(http.StatusConflict, "A user with this phone number already exists")
	}
	return s.addUser(u).answer(), nil
}
