package sandbox

import (
	"cmp"
	"net/http"
	"strings"
)

// User is a customer of the organization.
// Source: spec section 2.
type User struct {
	ID       string `json:"id"`
	FullName string `json:"fullName"`
	Email    string `json:"email"`
	// PhoneNumber is in E.164 format, or empty.
	PhoneNumber string `json:"phoneNumber,omitempty"`
	CreatedAt   stamp  `json:"createdAt"`
	UpdatedAt   stamp  `json:"updatedAt"`

	// Elsewhere marks a user of another organization. The user is never shown, but the email
	// address and phone number are in use.
	Elsewhere bool `json:"-"`
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
	u.FullName = cmp.Or(u.FullName, "Alex Morgan")
	u.Email = cmp.Or(u.Email, strings.ToLower(u.ID)+"@users.example")
	u.CreatedAt = stamp(r.cfg.Now())
	u.UpdatedAt = u.CreatedAt
	r.users[u.ID] = &u
	r.usersByEmail[strings.ToLower(u.Email)] = &u
	if u.PhoneNumber != "" {
		r.usersByPhone[u.PhoneNumber] = &u
	}
	return &u
}

// findUser returns the user with an ID or email address, or nil.
func (r *records) findUser(key string) *User {
	u := cmp.Or(r.users[key], r.usersByEmail[strings.ToLower(key)])
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
	u := r.findUser(c.id)
	if u == nil {
		return nil, refuse(http.StatusNotFound, "User not found")
	}
	return u, nil
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
	if r.usersByEmail[strings.ToLower(u.Email)] != nil {
		return nil, refuse(http.StatusConflict, "A user with this email already exists")
	}
	if phoned && r.usersByPhone[u.PhoneNumber] != nil {
		return nil, refuse(http.StatusConflict, "A user with this phone number already exists")
	}
	return r.addUser(u), nil
}
