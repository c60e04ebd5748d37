package ir

// RBAC allows or rejects requests by the client's address and by expressions. Clients in Blocked are always
// rejected. A request matches if the client is in Allowed and one of Expressions is true; an empty list counts as
// fulfilled. If Deny is false, other clients' requests are allowed only if they match. If Deny is true, they are
// allowed only if they do not match.
type RBAC struct {
	Deny bool
	// Expressions are expressions of CEL. If there are none, the expressions match every request.
	Expressions []string
	// Allowed and Blocked are ranges of addresses, in the form of ACLRule.Ranges. An empty Allowed contains all
	// addresses.
	Allowed, Blocked []string
}
