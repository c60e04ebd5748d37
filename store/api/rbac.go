package api

// RBAC admits or rejects requests by expressions and by the address of the client.
type RBAC struct {
	// Action is what is done with the requests that Policy matches: Allow admits only these
	// requests, Deny rejects them.
	//
	// +kubebuilder:validation:Enum=Allow;Deny
	// +kubebuilder:default=Allow
	Action RBACAction `json:"action,omitempty"`
	// Policy matches requests.
	Policy RBACPolicy `json:"policy"`
}

// RBACAction is what is done with the requests that match.
type RBACAction = string

// The actions of an RBAC.
const (
	RBACAllow RBACAction = "Allow"
	RBACDeny  RBACAction = "Deny"
)

// CELExpression is an expression of the Common Expression Language over the attributes of Envoy, such as
// request.method == 'GET'. Package translate/xds checks it.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=16384
type CELExpression = string

// RBACPolicy matches a request if one of MatchExpressions is true and the client's address is in
// one of AllowedCIDRs. A list that is not set matches every request.
//
// +kubebuilder:validation:XValidation:message="set at least one of matchExpressions, allowedCIDRs and blockedCIDRs",rule="has(self.matchExpressions) || has(self.allowedCIDRs) || has(self.blockedCIDRs)"
type RBACPolicy struct {
	// MatchExpressions match a request if one of them is true. An expression that fails, for
	// example because it reads a header that the request does not have, is not true.
	//
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=256
	MatchExpressions []CELExpression `json:"matchExpressions,omitempty"`
	// AllowedCIDRs match the addresses of clients.
	//
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=256
	AllowedCIDRs []CIDR `json:"allowedCIDRs,omitempty"`
	// BlockedCIDRs are addresses of clients that are rejected before all else.
	//
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=256
	BlockedCIDRs []CIDR `json:"blockedCIDRs,omitempty"`
}
