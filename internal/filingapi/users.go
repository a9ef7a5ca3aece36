package filingapi

import (
	"context"
	"net/http"

	"github.com/bulkfiling/bulkfiling/internal/filing"
)

// User looks a user up by id or by e-mail.
// Source: spec section 4, GET /users/{userIdOrEmail}.
func (c *Client) User(ctx context.Context, idOrEmail string) (filing.User, error) {
	var user filing.User
	err := c.get(ctx, "look up user", "/users/", idOrEmail, &user, func() bool { return user.ID != "" })
	return user, err
}

// CreateUser makes a user of a name, an e-mail and, optionally, a phone number.
// ErrConflict says that the e-mail or the phone number is taken; after an
// ErrUnavailable a look-up by e-mail tells whether the user was made.
// Source: spec section 4, POST /users; section 7.
func (c *Client) CreateUser(ctx context.Context, user filing.User) (filing.User, error) {
	user.ID = "" // the service gives it
	var made filing.User
	o := c.do(ctx, http.MethodPost, "/users", user)
	err := c.decodeInto("create user", user.Email, o, &made, func() bool { return made.ID != "" })
	return made, err
}
