// Package approval makes batches wait for a second person: the policy, who contributed to which
// orders, approving, sending back, rejecting, and the history of all of it. The ledger asks its Gate
// whether orders wait.
package approval
