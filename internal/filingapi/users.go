package filingapi

import (
	"context"
	"net/http"

	"github.com/bulkfiling/bulkfiling/internal/filing"
)

// User looks up a user by ID or email.
// Source: spec section 4, GET /users/{userIdOrEmail}.
func (c *Client) User(ctx context.Context, idOrEmail string) (filing.User, error) {
	var user filing.User
	err := c.get(ctx, "look up user", "/users/", idOrEmail, &user, func() bool { return user.ID != "" })
	return user, err
}

// CreateUser creates a user with a name, an email and optionally a phone number. It returns
// ErrConflict if the email or the phone number is taken. After ErrUnavailable, a lookup by email
// shows whether the user was created.
// Source: spec section 4, POST /users; section 7.
func (c *Client) CreateUser(ctx context.Context, user filing.User) (filing.User, error) {
	user.ID = "" // the service assigns it
	var made filing.User
	o := c.do(ctx, http.MethodPost, "/users", user)
	err := c.decodeInto("create user", user.Email, o, &made, func() bool { return made.ID != "" })
	return made, err
}
