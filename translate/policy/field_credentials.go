package policy

import (
	"crypto/sha1" //nolint:gosec // htpasswd files that Envoy reads have nothing else
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
)

// The problems of this file never contain a hash or a key.

// BadCredentials is the code of problems with credentials that cannot be used.
const BadCredentials = "InvalidCredentials"

func basicAuthOff(s *api.TrafficPolicySpec) bool  { return s.BasicAuth.Disable != nil }
func apiKeyAuthOff(s *api.TrafficPolicySpec) bool { return s.APIKeyAuth.Disable != nil }

// basicAuthIn sets the namespace of references in the policy field basicAuth (see Field.inNamespace).
func basicAuthIn(spec *api.TrafficPolicySpec, namespace string) {
	auth := *spec.BasicAuth
	if auth.SecretRef != nil && auth.SecretRef.Namespace == nil {
		ref := *auth.SecretRef
		ref.Namespace = namespaceOf(namespace)
		auth.SecretRef = &ref
	}
	spec.BasicAuth = &auth
}

// apiKeyAuthIn sets the namespace of references in the policy field apiKeyAuth (see Field.inNamespace).
func apiKeyAuthIn(spec *api.TrafficPolicySpec, namespace string) {
	auth := *spec.APIKeyAuth
	if auth.SecretRef != nil && auth.SecretRef.Namespace == nil {
		ref := *auth.SecretRef
		ref.Namespace = namespaceOf(namespace)
		auth.SecretRef = &ref
	}
	if auth.SecretSelector != nil {
		auth.SecretSelector = &api.SecretSelector{MatchLabels: auth.SecretSelector.MatchLabels, Namespace: namespace}
	}
	spec.APIKeyAuth = &auth
}

func namespaceOf(name string) *gwv1.Namespace {
	namespace := gwv1.Namespace(name)
	return &namespace
}

// lowerBasicAuth converts the policy field basicAuth (see Field.lower).
func lowerBasicAuth(spec *api.TrafficPolicySpec, extras *ir.Extras) []manifest.Problem {
	from := spec.BasicAuth
	switch {
	case from.Disable != nil:
		return nil
	case from.SecretRef != nil:
		extras.BasicAuth = &ir.BasicAuth{CredentialUse: ir.CredentialUse{Source: ir.CredentialSource{
			Field: ir.FieldBasicAuth, Secret: secretKey(&from.SecretRef.SecretRef), Entry: api.Text(from.SecretRef.Key),
		}}}
		return nil
	}
	users, problems := lowerUsers(from.Users)
	extras.BasicAuth = &ir.BasicAuth{CredentialUse: ir.CredentialUse{List: users}}
	return problems
}

// lowerAPIKeyAuth converts the policy field apiKeyAuth (see Field.lower). Without keySources, the key is in the
// header api-key.
func lowerAPIKeyAuth(spec *api.TrafficPolicySpec, extras *ir.Extras) []manifest.Problem {
	from := spec.APIKeyAuth
	if from.Disable != nil {
		return nil
	}
	to := &ir.APIKeyAuth{Forward: isTrue(from.ForwardCredential), ClientHeader: strings.ToLower(api.Text(from.ClientIDHeader))}
	to.Source.Field = ir.FieldAPIKeyAuth
	if selector := from.SecretSelector; selector != nil {
		to.Source = to.Source.Select(selector.Namespace, selector.MatchLabels)
	} else {
		to.Source.Secret = secretKey(from.SecretRef)
	}
	var problems []manifest.Problem
	for i, source := range from.KeySources {
		if source.Query != nil && !to.Forward {
			problems = append(problems, manifest.Problem{
				Code: "UnsupportedValue", Severity: manifest.Error, Field: fmt.Sprintf("%s.keySources[%d].query", ir.FieldAPIKeyAuth.Path(), i),
				Message: "Envoy cannot take a key out of the query without decoding the other parameters, so that %26 in one of them would begin another",
				Hint:    "write forwardCredential: true, or have clients send the key in a header",
			})
		}
		for _, one := range []ir.KeySource{
			{Header: strings.ToLower(api.Text(source.Header))}, {Query: api.Text(source.Query)}, {Cookie: api.Text(source.Cookie)},
		} {
			if one != (ir.KeySource{}) {
				to.Sources = append(to.Sources, one)
			}
		}
	}
	if len(to.Sources) == 0 {
		to.Sources = []ir.KeySource{{Header: "api-key"}}
	}
	extras.APIKeyAuth = to
	return problems
}

// secretKey returns the key of the Secret that the parameter ref names. The reference must have a namespace (see
// WithNamespace).
func secretKey(ref *api.SecretRef) manifest.Key {
	return manifest.Key{Kind: "Secret", Namespace: string(*ref.Namespace), Name: string(ref.Name)}
}

// ReadUsers returns the users in the text of an htpasswd file, sorted by name. The result fault says what is wrong
// with the file; it is nil if all lines are valid and there is a user. The fault contains no name and no hash.
func ReadUsers(text string) (users []ir.Credential, fault *CredentialFault) {
	return readUsers(strings.Split(text, "\n"), func(line int) string { return fmt.Sprintf("line %d ", line+1) })
}

// CredentialFault says why credentials cannot be used, and what to do. It contains no hash and no key.
type CredentialFault struct {
	// Line is the index of the first wrong line of an htpasswd file, or of the first wrong item in the list
	// basicAuth.users. For any other fault, Line is 0.
	Line          int
	Message, Hint string
}

// lowerUsers returns the users in a policy's field basicAuth.users. The parameter lines is the value of that field.
// If a line is invalid, or if there is no user, lowerUsers returns a problem and no users.
func lowerUsers(lines []string) ([]ir.Credential, []manifest.Problem) {
	users, fault := readUsers(lines, func(int) string { return "it " })
	if fault == nil {
		return users, nil
	}
	if (&api.BasicAuth{Users: lines}).LacksUsers() {
		fault.Message = "the users of the policy are not saved, and its file has had no valid version of it since the restart"
		fault.Hint = "fix the errors of the file; with --state-secrets, a restart knows the users"
	}
	return nil, []manifest.Problem{{
		Code: BadCredentials, Severity: manifest.Error, Field: fmt.Sprintf("%s.users[%d]", ir.FieldBasicAuth.Path(), fault.Line),
		Message: fault.Message, Hint: fault.Hint,
	}}
}

// readUsers returns the users in the lines of an htpasswd file, sorted by name. If a line is invalid or there is
// no user, it returns a fault and no users. The message of the fault begins with the result of the function subject,
// such as "line 3 ". The parameter of subject is the index of the invalid line.
func readUsers(lines []string, subject func(line int) string) ([]ir.Credential, *CredentialFault) {
	known := map[string]ir.Hidden{}
	for i, line := range lines {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, hash, found := strings.Cut(line, ":")
		fail := func(message, hint string) ([]ir.Credential, *CredentialFault) {
			return nil, &CredentialFault{i, subject(i) + message, hint}
		}
		switch {
		case !found || name == "" || !isText(name):
			return fail("is no user with a hash", "write NAME:{SHA}…, as `gatefold hash NAME` prints it")
		case !isSHA(hash):
			return fail("has "+hashKind(hash)+", and Envoy accepts {SHA} alone",
				"write what `gatefold hash NAME` prints, and choose a long random password: SHA-1 has no salt")
		case known[name] != "" && known[name] != ir.Hidden(hash):
			return fail("has another hash for a user of a line before", "keep one line for each user")
		}
		known[name] = ir.Hidden(hash)
	}
	if len(known) == 0 {
		return nil, &CredentialFault{0, "there is no user", "write a line for each user: NAME:{SHA}…, as `gatefold hash NAME` prints it"}
	}
	return sortedCredentials(known), nil
}

// ReadKeys adds the API keys of clients to the map known. In the data of a Secret, the key is a client's name and
// the value is the client's API key. ReadKeys removes surrounding blanks from API keys, and skips clients with an
// empty one. It returns a fault if the data cannot be used, and nil otherwise. With a fault, only some clients may
// have been added. The fault contains no API key.
func ReadKeys(known map[string]ir.Hidden, data map[string][]byte) *CredentialFault {
	for _, name := range slices.Sorted(maps.Keys(data)) {
		key := ir.Hidden(strings.TrimSpace(string(data[name])))
		switch {
		case key == "":
			continue
		case !isText(string(key)):
			return &CredentialFault{0, fmt.Sprintf("the key of client %q has characters that no header can have", name), "write a key of letters, digits and signs, on one line"}
		case known[name] != "" && known[name] != key:
			return &CredentialFault{0, fmt.Sprintf("client %q has another key in another Secret", name), "give each client one name"}
		}
		known[name] = key
	}
	return nil
}

// Clients returns, sorted by name, the clients in the map known. The map has an API key for each client name. Clients
// returns a fault and no clients if the map is empty, or if two clients have the same API key. The fault contains
// no API key.
func Clients(known map[string]ir.Hidden) (clients []ir.Credential, fault *CredentialFault) {
	if len(known) == 0 {
		return nil, &CredentialFault{0, "there is no key", "write an entry for each client, with its key"}
	}
	clients = sortedCredentials(known)
	first := map[ir.Hidden]string{}
	for _, client := range clients {
		if other, ok := first[client.Secret]; ok {
			return nil, &CredentialFault{0, fmt.Sprintf("clients %q and %q have the same key", other, client.Name), "give each client a key of its own"}
		}
		first[client.Secret] = client.Name
	}
	return clients, nil
}

// sortedCredentials converts the entries of a map to credentials, sorted by name. The parameter known has the
// secrets by name.
func sortedCredentials(known map[string]ir.Hidden) (out []ir.Credential) {
	for _, name := range slices.Sorted(maps.Keys(known)) {
		out = append(out, ir.Credential{Name: name, Secret: known[name]})
	}
	return out
}

// isText reports whether s consists of printable ASCII and spaces, so that a header can contain it.
func isText(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' })
}

// isSHA reports whether the hash of an htpasswd line is a SHA-1 hash, which is what Envoy accepts.
func isSHA(hash string) bool {
	text, found := strings.CutPrefix(hash, "{SHA}")
	sum, err := base64.StdEncoding.Strict().DecodeString(text)
	return found && err == nil && len(sum) == sha1.Size
}

// hashKind returns in words the kind of a hash that Envoy does not accept.
func hashKind(hash string) string {
	for _, known := range [][2]string{
		{"$2", "a bcrypt hash"}, {"$apr1$", "an MD5 hash"}, {"$5$", "a SHA-256 hash"}, {"$6$", "a SHA-512 hash"}, {"{SHA}", "a {SHA} hash that is not whole"},
	} {
		if strings.HasPrefix(hash, known[0]) {
			return known[1]
		}
	}
	return "no hash of a known kind"
}
