package ir

// RBAC rejects all requests of clients in Blocked. Of the other requests, it admits only those that match. If
// Deny is true, it rejects those that match instead. A request matches if one of Expressions is true and the
// client is in Allowed.
type RBAC struct {
	Deny bool
	// Expressions are expressions of CEL. If there are none, the expressions match every request.
	Expressions []string
	// Allowed and Blocked are ranges of addresses, in the form of ACLRule.Ranges. An empty Allowed contains all
	// addresses.
	Allowed, Blocked []string
}
