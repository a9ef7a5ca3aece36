package ledger

import (
	"encoding/json"
	"errors"
	"time"
)

// ErrFlow is returned for a flow that is not ours, or too old.
var ErrFlow = errors.New("it took too long: start again")

// FlowKind is what a flow is the first half of.
type FlowKind string

// The kinds of flows.
const (
	FlowProvider FlowKind = "provider" // the browser was sent to the sign-in provider
	FlowPasskey  FlowKind = "passkey"  // a challenge to sign in by a passkey
	FlowEnroll   FlowKind = "enroll"   // a challenge to add a passkey
)

// flow is the state between the two halves of a sign-in or an enrollment. The
// browser keeps it, sealed: strangers begin flows, so the ledger stores none.
type flow struct {
	Data string
	Ends int64
}

// SealFlow seals the state of a flow for the browser to bring back within life.
func (l Accounts) SealFlow(kind FlowKind, data string, life time.Duration) (sealed string, err error) {
	content, err := json.Marshal(flow{data, toMillis(l.now().Add(life))})
	if err != nil {
		return "", err
	}
	return l.sealText("flow|"+string(kind), content)
}

// OpenFlow opens the state of a flow. It returns ErrFlow.
func (l Accounts) OpenFlow(kind FlowKind, sealed string) (data string, err error) {
	content, err := l.openText("flow|"+string(kind), sealed)
	var f flow
	if err == nil {
		err = json.Unmarshal(content, &f)
	}
	if errors.Is(err, ErrSealed) || err == nil && f.Ends <= toMillis(l.now()) {
		return "", ErrFlow
	}
	return f.Data, err
}
