package ir

// RBAC allows or rejects requests by the client's address and by expressions. A request is always rejected if the
// client is in Blocked. Otherwise, a request matches if the client is in Allowed and at least one of Expressions is
// true. If Deny is false, RBAC allows only requests that match. If Deny is true, RBAC rejects only requests that
// match.
type RBAC struct {
	Deny bool
	// Expressions are expressions of CEL. If there are none, the expressions match every request.
	Expressions []string
	// Allowed and Blocked are ranges of addresses, in the form of ACLRule.Ranges. An empty Allowed contains all
	// addresses.
	Allowed, Blocked []string
}
