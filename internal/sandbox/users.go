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
func (r *records) AddUser(u User) User {
	r.mu.Lock()
	defer r.mu.Unlock()
	return *r.addUser(u)
}

func (r *records) addUser(u User) *User {
	if u.ID == "" {
		u.ID = r.id("user")
	}
	if u.FullName == "" {
		u.FullName = "Alex Morgan"
	}
	if u.Email == "" {
		u.Email = strings.ToLower(u.ID) + "@users.example"
	}
	if u.CreatedAt.IsZero() {
		u.CreatedAt = r.cfg.Now()
		u.UpdatedAt = u.CreatedAt
	}
	r.users[u.ID] = &u
	r.usersByEmail[strings.ToLower(u.Email)] = &u
	if u.PhoneNumber != "" {
		r.usersByPhone[u.PhoneNumber] = &u
	}
	return &u
}

// findUser returns the user with an ID or email address, or nil.
func (r *records) findUser(key string) *User {
	u := r.users[key]
	if u == nil {
		u = r.usersByEmail[strings.ToLower(key)]
	}
	switch {
	case u != nil && u.Elsewhere:
		return nil
	case u != nil || !r.cfg.AutoSeed:
		return u
	case userID.MatchString(key):
		return r.addUser(User{ID: key})
	case emailLike.MatchString(key):
		return r.addUser(User{Email: key})
	}
	return nil
}

func (r *records) getUser(c *call) (any, error) {
	if !userID.MatchString(c.id) && !emailLike.MatchString(c.id) {
		return nil, forbidden(http.StatusNotFound, "2 identifiers",
			"%q is neither a user id nor an email address", c.id)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	u := r.findUser(c.id)
	if u == nil {
		return nil, refuse(http.StatusNotFound, "User not found")
	}
	return u.answer(), nil
}

// createUser refuses an email address or phone number of any organization's user.
// Source: spec sections 2 and 7.
func (r *records) createUser(c *call) (any, error) {
	u := User{FullName: c.body.text("fullName"), Email: c.body.text("email")}
	c.body.matches("email", u.Email, emailLike, "an email address")
	var phoned bool
	if u.PhoneNumber, phoned = c.body.maybeText("phoneNumber"); phoned && !e164.MatchString(u.PhoneNumber) {
		c.body.fail("phoneNumber", "must be in E.164 form, not %q", u.PhoneNumber)
	}
	if err := r.finish(c); err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.usersByEmail[strings.ToLower(u.Email)] != nil {
		return nil, refuse(http.StatusConflict, "A user with this email already exists")
	}
	if phoned && r.usersByPhone[u.PhoneNumber] != nil {
		return nil, refuse(http.StatusConflict, "A user with this phone number already exists")
	}
	return r.addUser(u).answer(), nil
}
