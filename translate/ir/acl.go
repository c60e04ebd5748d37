package ir

// ACL admits and rejects requests by the client's address. The longest range that contains the
// address decides.
type ACL struct {
	// Allow is the decision for an address that no rule contains.
	Allow bool
	// Rules are those of the policy, or of all that were joined. They have no range in common, and
	// their order has no meaning.
	Rules []ACLRule
	// Response is the answer to what is denied; nil is Envoy's own 403.
	Response *ACLResponse
}

// ACLRule is a decision for the addresses in some ranges.
type ACLRule struct {
	// Name is "" for a rule without one.
	Name  string
	Allow bool
	// Ranges are written as netip.Prefix writes them, without host bits, and none is IPv4-mapped.
	// A rule may have none: another one has them.
	Ranges []string
}

// ACLResponse is the answer to a request that is denied.
type ACLResponse struct {
	Status  uint32
	Headers []Header
	// BlockedBy is a header that has the name of the rule, "" for none.
	BlockedBy string
}

// The words in the header BlockedBy where the rule that denies has no name, and where no rule
// contains the address.
const (
	ACLUnnamed = "rule"
	ACLDefault = "default"
)
