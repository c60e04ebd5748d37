package ir

// RBAC rejects all requests of clients in Blocked. If Deny is false, it admits other requests only if they
// match. If Deny is true, it admits other requests only if they do not match. A request matches if one of
// Expressions is true and the client is in Allowed.
type RBAC struct {
	Deny bool
	// Expressions are expressions of CEL. If there are none, the expressions match every request.
	Expressions []string
	// Allowed and Blocked are ranges of addresses, in the form of ACLRule.Ranges. An empty Allowed contains all
	// addresses.
	Allowed, Blocked []string
}
