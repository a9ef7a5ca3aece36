package filingapi

import (
	"context"
	"net/http"

	"github.com/bulkfiling/bulkfiling/internal/filing"
)

// User looks a user up by id or by e-mail.
// Source: spec section 4, GET /users/{userIdOrEmail}.
func (c *Client) User(ctx context.Context, idOrEmail string) (filing.User, error) {
	const op = "look up user"
	id, err := segment(idOrEmail)
	if err != nil {
		return filing.User{}, &Error{Op: op, Message: err.Error(), kind: ErrRefused, cause: err}
	}
	return c.user(op, idOrEmail, c.do(ctx, http.MethodGet, "/users/"+id, nil))
}

// CreateUser makes a user of a name, an e-mail and, optionally, a phone number.
// ErrConflict says that the e-mail or the phone number is taken; after an
// ErrUnavailable a look-up by e-mail tells whether the user was made.
// Source: spec section 4, POST /users; section 7.
func (c *Client) CreateUser(ctx context.Context, user filing.User) (filing.User, error) {
	user.ID = "" // the service gives it
	return c.user("create user", user.Email, c.do(ctx, http.MethodPost, "/users", user))
}

func (c *Client) user(op, id string, o outcome) (filing.User, error) {
	var user filing.User
	err := c.decodeInto(op, id, o, &user, func() bool { return user.ID != "" })
	if err != nil {
		return filing.User{}, err
	}
	return user, nil
}
