package ir

// RBAC rejects what is Blocked. It admits the requests that match alone or, with Deny, rejects
// them: those that one of Expressions matches and that come from Allowed.
type RBAC struct {
	Deny bool
	// Expressions are texts of CEL. Without any, all requests match.
	Expressions []string
	// Allowed and Blocked are ranges of addresses, as those of an ACLRule. Without any, Allowed are
	// all addresses.
	Allowed, Blocked []string
}
