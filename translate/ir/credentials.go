package ir

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/gatefold/gatefold/store/manifest"
)

// UserHeader is the request header in which Envoy sends the user of basicAuth to the backend. Envoy removes it
// from clients' requests.
const UserHeader = "x-envoy-basic-auth-user"

// Credential is a user with the hash of a password, or a client with its API key.
type Credential struct {
	Name string
	// Secret is the part of an htpasswd line after the name, or an API key.
	Secret Hidden
}

// Hidden is a text that must not be shown. Package fmt prints a placeholder instead.
type Hidden string

// String returns a placeholder.
func (Hidden) String() string { return "[redacted]" }

// GoString returns a placeholder.
func (Hidden) GoString() string { return "[redacted]" }

// MarshalText returns a placeholder.
func (Hidden) MarshalText() ([]byte, error) { return []byte("[redacted]"), nil }

// NamesCredential reports whether a header, a parameter or a field with this name may contain a credential. It
// guesses, and is for names that no policy declares.
func NamesCredential(name string) bool {
	name = strings.NewReplacer("-", "", "_", "", ".", "").Replace(strings.ToLower(name))
	switch name {
	case "key", "xkey", "sig", "code":
		return true
	}
	name = strings.NewReplacer("authoriz", "auth", "author", "").Replace(name)
	return slices.ContainsFunc([]string{
		"auth", "passw", "secret", "token", "credential", "session", "signature", "jwt", "cookie",
		"apikey", "accesskey", "privatekey", "accountkey", "sharedkey", "subscriptionkey",
	}, func(word string) bool { return strings.Contains(name, word) })
}

// CredentialSource says where the credentials of a policy's field are stored: in one entry of a Secret, in all
// entries of a Secret (Entry is ""), or in all entries of several Secrets. Several Secrets are selected by
// namespace and labels. CredentialSource is zero if the credentials are in the policy itself.
type CredentialSource struct {
	Field  Field
	Secret manifest.Key
	Entry  string
	// Namespace and Labels select Secrets. The method Select sets both.
	Namespace, Labels string
}

// Select returns a copy of s that selects Secrets by labels: all Secrets in the namespace that have all of the
// labels. The parameter labels must not be empty.
func (s CredentialSource) Select(namespace string, labels map[string]string) CredentialSource {
	text, err := json.Marshal(labels) // sorts them
	if err != nil {
		panic("ir: a map of texts is no JSON: " + err.Error())
	}
	s.Namespace, s.Labels = namespace, string(text)
	return s
}

// Selected returns the labels that Select has set. It panics if Select was not called.
func (s CredentialSource) Selected() (labels map[string]string) {
	if err := json.Unmarshal([]byte(s.Labels), &labels); err != nil {
		panic("ir: the labels are not those of Select: " + err.Error())
	}
	return labels
}

// CredentialUse is a field of a policy that needs credentials.
type CredentialUse struct {
	Source CredentialSource
	// List has the credentials, sorted by name. If they are in Secrets, List is nil until the rules of translate have
	// read the Secrets. After that, gatefold drops a policy without credentials. So List is never empty in the Extras
	// of a route's action.
	List []Credential
}

// BasicAuth requires a name and a password of clients.
type BasicAuth struct {
	CredentialUse
}

// APIKeyAuth requires an API key of clients.
type APIKeyAuth struct {
	CredentialUse
	// Sources say where a request may have its key, in order. The first source that the request contains decides.
	Sources []KeySource
	// Forward is true if the backend receives the key, too.
	Forward bool
	// ClientHeader is the header in which the backend receives the client's name. "" means none.
	ClientHeader string
}

// KeySource says where a request may have its key. Exactly one of the fields is set.
type KeySource struct {
	Header, Query, Cookie string
}

// Credentials returns the policy fields of e whose credentials are in Secrets. It returns nil if there are none,
// or if e is nil.
func (e *Extras) Credentials() []*CredentialUse {
	if e == nil {
		return nil
	}
	var out []*CredentialUse
	if e.BasicAuth != nil && e.BasicAuth.Source != (CredentialSource{}) {
		out = append(out, &e.BasicAuth.CredentialUse)
	}
	if e.APIKeyAuth != nil {
		out = append(out, &e.APIKeyAuth.CredentialUse)
	}
	return out
}
