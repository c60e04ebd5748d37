package ir

// RBAC rejects clients in Blocked. It admits only requests that match or, with Deny, rejects them.
// A request matches if one of Expressions is true and its client is in Allowed.
type RBAC struct {
	Deny bool
	// Expressions are texts of CEL. Without any, all requests match.
	Expressions []string
	// Allowed and Blocked are ranges of addresses, as those of an ACLRule. Without any, Allowed are
	// all addresses.
	Allowed, Blocked []string
}
