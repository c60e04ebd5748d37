package api

// ACL admits and rejects requests by the address of the client. Behind proxies, Envoy finds this address by the
// trusted hops or the PROXY protocol. If several CIDRs contain the address, the rule with the longest prefix
// decides. The order of the rules has no meaning.
type ACL struct {
	// DefaultAction is for addresses that no rule contains.
	DefaultAction ACLAction `json:"defaultAction"`
	// Rules are actions for addresses.
	//
	// +kubebuilder:validation:MaxItems=256
	Rules []ACLRule `json:"rules,omitempty"`
	// DenyResponse is the answer to requests that are denied; 403 when it is not set.
	DenyResponse *ACLDenyResponse `json:"denyResponse,omitempty"`
}

// ACLAction is what is done with requests.
//
// +kubebuilder:validation:Enum=allow;deny
type ACLAction = string

// The actions of an ACL.
const (
	ACLAllow ACLAction = "allow"
	ACLDeny  ACLAction = "deny"
)

// CIDR is a range of addresses, such as 10.1.0.0/16 or 2001:db8::/32, or one address. Package
// translate/policy checks it.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=64
type CIDR = string

// ACLRule is an action for the addresses in some CIDRs.
type ACLRule struct {
	// Name is shown in Envoy's access log, by gatefold explain, and in BlockedByHeaderName.
	//
	// +kubebuilder:validation:MaxLength=256
	Name *string `json:"name,omitempty"`
	// CIDRs are the addresses. An address without a length is that address alone.
	//
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=256
	CIDRs []CIDR `json:"cidrs"`
	// Action is what is done with requests from these addresses.
	Action ACLAction `json:"action"`
	// Response replaces DenyResponse for this rule. No manifest has it: translate/policy sets it in a rule of a merged
	// ACL. An empty one is Envoy's own answer.
	Response *ACLDenyResponse `json:"-"`
}

// ACLDenyResponse is the answer to requests that are denied.
//
// +kubebuilder:validation:XValidation:message="set at least one of statusCode, headers and blockedByHeaderName",rule="has(self.statusCode) || has(self.headers) || has(self.blockedByHeaderName) || has(self.addBlockedByHeader)"
type ACLDenyResponse struct {
	// StatusCode is the status of the answer; 403 when it is not set.
	StatusCode *StatusCode `json:"statusCode,omitempty"`
	// Headers are headers of the answer.
	//
	// +kubebuilder:validation:MaxItems=16
	Headers []Header `json:"headers,omitempty"`
	// BlockedByHeaderName is the name of a header that is added to the answer. The value of the header
	// is the name of the rule that denies the request, or "rule" if this rule has no name. The value is
	// "default" if no rule contains the address of the client.
	BlockedByHeaderName *HeaderName `json:"blockedByHeaderName,omitempty"`
	// AddBlockedByHeader is the old name of BlockedByHeaderName, which goes before it. No release of kgateway
	// has the old name.
	AddBlockedByHeader *HeaderName `json:"addBlockedByHeader,omitempty"`
}
