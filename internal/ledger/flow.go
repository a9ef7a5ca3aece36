package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// ErrFlow is returned for a flow that is unknown, used, or too old.
var ErrFlow = errors.New("it took too long, or was already completed: start again")

// FlowKind says what a flow is the first half of.
type FlowKind string

// The kinds of flows.
const (
	FlowSecond   FlowKind = "second"   // a right password waits for the second factor
	FlowProvider FlowKind = "provider" // a browser was sent to the sign-in provider
	FlowPasskey  FlowKind = "passkey"  // a challenge of a sign-in by passkey
	FlowEnroll   FlowKind = "enroll"   // an app or a passkey that is being added
)

// maxFlows is how many flows one network may have open: strangers begin them.
const maxFlows = 100

// BeginFlow remembers data for the second half of a sign-in or an enrollment,
// and returns the secret that continues it. The data is sealed: it holds
// challenges and verifiers. It returns *TooMany for an address from whose
// network too many are open.
func (l Accounts) BeginFlow(ctx context.Context, kind FlowKind, data, from string,
	life time.Duration) (secret string, err error) {
	secret, hash := newSecret()
	sealed, err := l.sealText(flowPlace(kind, hash), data)
	if err != nil {
		return "", err
	}
	ctx, now := withoutAudit(ctx), l.now()
	if _, err := l.exclusively(ctx, `DELETE FROM flows WHERE ends_at <= $1`, toMillis(now)); err != nil {
		return "", fmt.Errorf("delete old flows: %w", err)
	}
	n, err := affected(l.exclusively(ctx,
		`INSERT INTO flows (hash, kind, data, origin, ends_at) SELECT $1, $2, $3, $4, $5
		WHERE (SELECT COUNT(*) FROM flows WHERE origin = $4) < $6`,
		hash, string(kind), sealed, Network(from), toMillis(now.Add(life)), maxFlows))
	switch {
	case err != nil:
		return "", fmt.Errorf("begin a flow: %w", err)
	case n == 0:
		return "", &TooMany{Until: now.Add(life), Scope: "address"}
	}
	return secret, nil
}

// FindFlow reads a flow and leaves it good. It returns ErrFlow.
func (l Accounts) FindFlow(ctx context.Context, kind FlowKind, secret string) (data string, err error) {
	return l.openFlow(kind, secret,
		l.read.QueryRowContext(ctx, `SELECT data FROM flows WHERE hash = $1 AND kind = $2 AND ends_at > $3`,
			hashed(secret), string(kind), toMillis(l.now())))
}

// TakeFlow uses a flow up; the first call gets it. It returns ErrFlow.
func (l Accounts) TakeFlow(ctx context.Context, kind FlowKind, secret string) (data string, err error) {
	if err := l.writeLock.lock(); err != nil {
		return "", err
	}
	defer l.writeLock.unlock()
	return l.openFlow(kind, secret,
		l.write.QueryRowContext(ctx, `DELETE FROM flows WHERE hash = $1 AND kind = $2 AND ends_at > $3 RETURNING data`,
			hashed(secret), string(kind), toMillis(l.now())))
}

func (l Accounts) openFlow(kind FlowKind, secret string, row *sql.Row) (string, error) {
	var sealed string
	switch err := row.Scan(&sealed); {
	case errors.Is(err, sql.ErrNoRows):
		return "", ErrFlow
	case err != nil:
		return "", fmt.Errorf("read a flow: %w", err)
	}
	data, err := l.openText(flowPlace(kind, hashed(secret)), sealed)
	return data, wrap("open a flow", err)
}

func flowPlace(kind FlowKind, hash string) []byte { return []byte("flow|" + string(kind) + "|" + hash) }
