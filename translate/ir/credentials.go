package ir

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/gatefold/gatefold/store/manifest"
)

// UserHeader is the request header in which Envoy reports the user of basicAuth. It is taken out
// of every client's request.
const UserHeader = "x-envoy-basic-auth-user"

// Credential is a user with the hash of a password, or a client with its key.
type Credential struct {
	Name string
	// Secret is an entry of an htpasswd file without the name, or a key.
	Secret Hidden
}

// Hidden is a text that must not be shown: no verb of package fmt writes it.
type Hidden string

// String returns a placeholder.
func (Hidden) String() string { return "[redacted]" }

// GoString returns a placeholder.
func (Hidden) GoString() string { return "[redacted]" }

// MarshalText returns a placeholder.
func (Hidden) MarshalText() ([]byte, error) { return []byte("[redacted]"), nil }

// NamesCredential reports whether a header, a parameter or a field of this name may contain a
// credential. It is a guess, for names that are in no policy.
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

// CredentialSource is where the credentials of a policy's field are written: in one entry of a
// Secret, in all entries of a Secret, or in all entries of the Secrets of a namespace that have all
// labels. It is the zero value if they are in the policy itself.
type CredentialSource struct {
	Field  Field
	Secret manifest.Key
	Entry  string
	// Namespace and Labels are those of a selector: see Select.
	Namespace, Labels string
}

// Select returns s for the Secrets of a namespace that have all labels, at least one.
func (s CredentialSource) Select(namespace string, labels map[string]string) CredentialSource {
	text, err := json.Marshal(labels) // sorts them
	if err != nil {
		panic("ir: a map of texts is no JSON: " + err.Error())
	}
	s.Namespace, s.Labels = namespace, string(text)
	return s
}

// Selected returns the labels of a selector.
func (s CredentialSource) Selected() (labels map[string]string) {
	if err := json.Unmarshal([]byte(s.Labels), &labels); err != nil {
		panic("ir: the labels are not those of Select: " + err.Error())
	}
	return labels
}

// CredentialUse is a field of a policy that needs credentials.
type CredentialUse struct {
	Source CredentialSource
	// List has the credentials, sorted by name. Where they are in Secrets, it is nil until the
	// rules have read them; in a route it is never empty.
	List []Credential
}

// BasicAuth asks clients for a name and a password.
type BasicAuth struct {
	CredentialUse
}

// APIKeyAuth asks clients for a key.
type APIKeyAuth struct {
	CredentialUse
	// Sources are the places of a request that may have a key, in order: the first that is
	// present decides.
	Sources []KeySource
	// Forward sends the key to the backend, too.
	Forward bool
	// ClientHeader is sent to the backend with the client's name; "" for none.
	ClientHeader string
}

// KeySource is a place of a request that may have a key: exactly one of its fields is set.
type KeySource struct {
	Header, Query, Cookie string
}

// Credentials returns the fields that need credentials from Secrets, none for nil.
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
