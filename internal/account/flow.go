package account

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/store"
)

// ErrFlow is returned for a flow that did not begin here or has expired.
var ErrFlow = errors.New("it took too long: start again")

// FlowKind is the kind of a sign-in or enrollment in progress.
type FlowKind string

// The kinds of flows.
const (
	// FlowProvider is a redirect of the browser to the sign-in provider.
	FlowProvider FlowKind = "provider"
	// FlowPasskey is a challenge to sign in with a passkey.
	FlowPasskey FlowKind = "passkey"
	// FlowEnroll is a challenge to add a passkey.
	FlowEnroll FlowKind = "enroll"
)

// flow is the state between the two halves of a sign-in or an enrollment. The browser stores it
// sealed. The ledger stores none, because strangers can begin flows.
type flow struct {
	Data string
	Ends int64
}

// SealFlow seals the state of a flow. The browser has to return it within life.
func (l *Accounts) SealFlow(kind FlowKind, data string, life time.Duration) (sealed string, err error) {
	content, err := json.Marshal(flow{data, store.ToMillis(l.db.Now().Add(life))})
	if err != nil {
		return "", err
	}
	return l.db.SealText("flow|"+string(kind), content)
}

// OpenFlow opens the state of a flow. It returns ErrFlow if the state is not ours or has expired.
func (l *Accounts) OpenFlow(kind FlowKind, sealed string) (data string, err error) {
	content, err := l.db.UnsealText("flow|"+string(kind), sealed)
	var f flow
	if err == nil {
		err = json.Unmarshal(content, &f)
	}
	if errors.Is(err, store.ErrSealed) || err == nil && f.Ends <= store.ToMillis(l.db.Now()) {
		return "", ErrFlow
	}
	return f.Data, err
}
