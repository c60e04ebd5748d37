package api

import (
	"slices"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// SecretRef names a Secret, in the policy's namespace when Namespace is not set. Another
// namespace must allow the reference with a ReferenceGrant.
type SecretRef struct {
	// Name is the name of the Secret.
	Name gwv1.ObjectName `json:"name"`
	// Namespace is the namespace of the Secret; that of the policy when it is not set.
	Namespace *gwv1.Namespace `json:"namespace,omitempty"`
	// Group is the API group of the Secret, "".
	//
	// +kubebuilder:validation:Enum=""
	Group *gwv1.Group `json:"group,omitempty"`
	// Kind is Secret.
	//
	// +kubebuilder:validation:Enum=Secret
	Kind *gwv1.Kind `json:"kind,omitempty"`
}

// SecretEntryRef names an entry of a Secret.
type SecretEntryRef struct {
	SecretRef `json:",inline"`
	// Key is the name of the entry in the Secret's data.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:default=".htpasswd"
	Key *string `json:"key,omitempty"`
}

// SecretSelector selects Secrets of the policy's namespace.
type SecretSelector struct {
	// MatchLabels are the labels that a Secret must have, all of them.
	//
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=64
	MatchLabels map[string]string `json:"matchLabels"`
	// Namespace is that of the policy. It is no field of the API.
	Namespace string `json:"-"`
}

// DefaultHtpasswdKey is the entry of a Secret that basicAuth reads.
const DefaultHtpasswdKey = ".htpasswd"

// BasicAuth asks clients for a name and a password. Exactly one of its fields is set.
//
// +kubebuilder:validation:XValidation:message="set exactly one of users, secretRef and disable",rule="[has(self.users), has(self.secretRef), has(self.disable)].filter(x, x).size() == 1"
type BasicAuth struct {
	// Users are lines of an htpasswd file, such as alice:{SHA}…; `gatefold hash` writes them.
	//
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=256
	Users []HtpasswdLine `json:"users,omitempty"`
	// SecretRef names the entry of a Secret that holds an htpasswd file.
	SecretRef *SecretEntryRef `json:"secretRef,omitempty"`
	// Disable turns off the basicAuth that a policy of a higher level sets, for example a policy
	// of the Gateway.
	Disable *Disable `json:"disable,omitempty"`
}

// UsersNotSaved stands for the users of a policy that a saved state does not have. It is no line of an htpasswd file, so
// that such a policy closes its targets.
const UsersNotSaved = "not saved"

// LacksUsers reports whether users that are not known are left out (UsersNotSaved).
func (b *BasicAuth) LacksUsers() bool {
	return b != nil && slices.Equal(b.Users, []HtpasswdLine{UsersNotSaved})
}

// HtpasswdLine is a line of an htpasswd file.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=1024
type HtpasswdLine = string

// KeyAuth asks clients for a key. Exactly one of SecretRef, SecretSelector and Disable is
// set.
//
// +kubebuilder:validation:XValidation:message="set exactly one of secretRef, secretSelector and disable",rule="[has(self.secretRef), has(self.secretSelector), has(self.disable)].filter(x, x).size() == 1"
// +kubebuilder:validation:XValidation:message="disable stands alone",rule="!has(self.disable) || (!has(self.keySources) && !has(self.forwardCredential) && !has(self.clientIdHeader))"
type KeyAuth struct {
	// SecretRef names a Secret. Each entry of the Secret's data is a client: the name of the
	// entry is the name of the client, and the value of the entry is the client's key.
	SecretRef *SecretRef `json:"secretRef,omitempty"`
	// SecretSelector selects Secrets of the policy's namespace. The clients of all these Secrets
	// are accepted.
	SecretSelector *SecretSelector `json:"secretSelector,omitempty"`
	// KeySources are the places in which a request may have its key. The first place that has a
	// key decides. If KeySources is not set, the place is the header api-key.
	//
	// +kubebuilder:validation:MinItems=0
	// +kubebuilder:validation:MaxItems=16
	KeySources []KeySource `json:"keySources,omitempty"`
	// ForwardCredential sends the key to the backend, too.
	ForwardCredential *bool `json:"forwardCredential,omitempty"`
	// ClientIDHeader is a header that is sent to the backend with the client's name.
	ClientIDHeader *HeaderName `json:"clientIdHeader,omitempty"`
	// Disable turns off the apiKeyAuth that a policy of a higher level sets, for example a policy
	// of the Gateway.
	Disable *Disable `json:"disable,omitempty"`
}

// KeySource is a place of a request that may have a key. If several of the fields are set,
// each of them is a place, in the order header, query, cookie.
//
// +kubebuilder:validation:XValidation:message="set header, query or cookie",rule="has(self.header) || has(self.query) || has(self.cookie)"
type KeySource struct {
	// Header is the name of a header. "Bearer " before the key is left out.
	Header *HeaderName `json:"header,omitempty"`
	// Query is the name of a parameter of the query. It needs ForwardCredential: Envoy cannot take
	// the key out without decoding the other parameters.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Query *string `json:"query,omitempty"`
	// Cookie is the name of a cookie.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Cookie *string `json:"cookie,omitempty"`
}
