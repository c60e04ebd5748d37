package ir

// ACL admits or rejects requests by the client's address. If several ranges contain the address, the range with
// the longest prefix decides.
type ACL struct {
	// Allow is the decision for an address that no rule contains.
	Allow bool
	// Rules are the rules of the policy, or of all policies that were merged. No range is in two rules. The order
	// of the rules has no meaning.
	Rules []ACLRule
	// Response is the answer to a rejected request. nil means Envoy's own answer 403.
	Response *ACLResponse
}

// ResponseOf returns the answer to a request that the rule with an index rejects, -1 for addresses that no rule
// contains. nil means Envoy's own answer 403.
func (a *ACL) ResponseOf(rule int) *ACLResponse {
	switch {
	case rule < 0 || a.Rules[rule].Response == nil:
		return a.Response
	case a.Rules[rule].Response.Status == 0:
		return nil
	}
	return a.Rules[rule].Response
}

// Responds reports whether a rejected request may get an answer that is not Envoy's own.
func (a *ACL) Responds() bool {
	for i := -1; i < len(a.Rules); i++ {
		if a.ResponseOf(i) != nil {
			return true
		}
	}
	return false
}

// ACLRule is a decision for the addresses in some ranges.
type ACLRule struct {
	// Name is the name of the rule. It is "" if the rule has no name.
	Name  string
	Allow bool
	// Ranges are in the form of netip.Prefix.String, without host bits, and not IPv4-mapped. A range that
	// several rules list belongs to the first of these rules alone. So a rule may have no ranges.
	Ranges []string
	// Response is the answer in the place of ACL.Response, for a rule of one of several policies that all must let a
	// request pass. nil means ACL.Response. If Status is 0, the answer is Envoy's own.
	Response *ACLResponse `json:",omitempty"`
}

// ACLResponse is the answer to a rejected request.
type ACLResponse struct {
	Status  uint32
	Headers []Header
	// BlockedBy is the name of a header to add to the answer. Its value is the name of the rule that rejects the
	// request. If BlockedBy is "", no such header is added.
	BlockedBy string
}

// The values of the header that ACLResponse.BlockedBy names, if there is no rule name to use as the value.
// ACLUnnamed is used if the rule that rejects the request has no name. ACLDefault is used if no rule contains the
// client's address.
const (
	ACLUnnamed = "rule"
	ACLDefault = "default"
)
