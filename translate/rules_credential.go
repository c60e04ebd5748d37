package translate

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apischema "k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/store/scope"
	"github.com/gatefold/gatefold/translate/backend"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/translate/ordered"
	"github.com/gatefold/gatefold/translate/policy"
)

// The credentials of policies are in the encoded routes, because Envoy does not accept them by SDS or as a
// hash. No problem and no admin page contains them.

// maxCredentialBytes limits the credentials of one field of a policy, in bytes. Each route of the policy contains
// all these credentials. It also limits the public keys that an extension reads from a ConfigMap.
const maxCredentialBytes = 1 << 20

// credentialsOut are the credentials that a policy names in one field (ir.CredentialSource), or the reason why
// they cannot be used.
type credentialsOut struct {
	List []ir.Credential
	// Problem has a code, a message and a hint. It is nil if List can be used.
	Problem *manifest.Problem
}

type credentialIn struct {
	*hintRules
	grants  *memo.Rule[string, *backend.Grants]
	secrets *objects
}

// credentialRules read users and keys from Secrets.
type credentialRules struct {
	in          credentialIn
	labelled    *memo.Fold[labelAt, manifest.Key, *selectable, ordered.Set[*selectable]]
	credentials *memo.Rule[ir.CredentialSource, *credentialsOut]
}

func newCredentialRules(e *memo.Engine, in credentialIn) *credentialRules {
	r := &credentialRules{in: in}
	r.labelled = memo.NewFold[labelAt, manifest.Key](e, "labelled secrets", gather[manifest.Key](func(a, b *selectable) int { return manifest.CompareKeys(a.Key, b.Key) }), ordered.Set[*selectable].Same)
	memo.From(r.labelled, in.secrets, func(key manifest.Key, object *manifest.Object, yield func(memo.Place[labelAt, manifest.Key], *selectable)) {
		one := &selectable{key, object.Value.GetLabels()}
		for _, label := range offeredLabels(key, one.Labels) {
			if label.Name != "" {
				yield(memo.Place[labelAt, manifest.Key]{Key: label, ID: key}, one)
			}
		}
	}, sameSelectable)
	r.credentials = memo.NewRule(e, "credentials", r.runCredentials, deepEqual)
	return r
}

// fill reads the credentials that policy fields (extras) refer to, for example users and keys, from Secrets,
// and sets them in extras. It returns an error for each source that cannot be used. With an error, the policy
// must not be used.
func (r *credentialRules) fill(c *memo.Ctx, extras *ir.Extras) (problems []manifest.Problem) {
	for _, use := range extras.Credentials() {
		found := r.credentials.Get(c, use.Source)
		if use.List = found.List; found.Problem != nil {
			problem := *found.Problem
			problem.Field, problem.Severity = sourceField(use.Source), manifest.Error
			problem.Hint = ClosedUntil + problem.Hint
			problems = append(problems, problem)
		}
	}
	return problems
}

// notGranted returns an error for each reference of a policy to a Secret in another namespace that no ReferenceGrant
// allows. The references are in the policy's fields (the parameter extras). The error does not reveal whether the
// Secret exists.
func (r *credentialRules) notGranted(c *memo.Ctx, policyKey manifest.Key, extras *ir.Extras) (problems []manifest.Problem) {
	for _, use := range extras.Credentials() {
		ref := backend.Reference{From: policyKey, To: use.Source.Secret}
		if ref.To.Name == "" || ref.To.Namespace == policyKey.Namespace || r.in.grants.Get(c, ref.To.Namespace).Permit(ref) {
			continue
		}
		why := ref.NotGranted()
		problems = append(problems, manifest.Problem{
			Code: string(why.Reason), Severity: manifest.Error, Field: sourceField(use.Source), Message: why.Message, Hint: ClosedUntil + why.Hint,
		})
	}
	return problems
}

// sourceField returns the path of the policy field that refers to the source: a secretRef or a secretSelector.
func sourceField(source ir.CredentialSource) string {
	if source.Secret.Name == "" {
		return source.Field.Path() + ".secretSelector"
	}
	return source.Field.Path() + ".secretRef"
}

// runCredentials returns the users of a source for basicAuth, and the keys of any other source.
func (r *credentialRules) runCredentials(c *memo.Ctx, source ir.CredentialSource) *credentialsOut {
	if source.Field == ir.FieldBasicAuth {
		return r.users(c, source)
	}
	return r.clients(c, source)
}

// users returns the users of an htpasswd file, which is one entry of a Secret (source). If the file is missing,
// invalid or too large, the result has only the Problem.
func (r *credentialRules) users(c *memo.Ctx, source ir.CredentialSource) *credentialsOut {
	secret, missing := r.secret(c, source.Secret)
	if missing != nil {
		return missing
	}
	text, ok := secret.Data[source.Entry]
	switch {
	case !ok:
		return notUsable(fmt.Sprintf("%s has no entry %s", source.Secret, source.Entry), "write the htpasswd file into the entry, or name another one with key")
	case len(text) > maxCredentialBytes:
		return tooLarge(source.Secret.String(), len(text))
	}
	list, fault := policy.ReadUsers(string(text))
	if fault != nil {
		return notUsable(fmt.Sprintf("entry %s of %s: %s", source.Entry, source.Secret, fault.Message), fault.Hint)
	}
	return &credentialsOut{List: list}
}

// clients returns the clients in a Secret, each with its API key. Each entry of the Secret is a client. The
// parameter source names the Secret, or selects several Secrets by their labels. If a Secret is missing or invalid,
// if no Secret is selected, or if all entries together are too large, the result has only the Problem.
func (r *credentialRules) clients(c *memo.Ctx, source ir.CredentialSource) *credentialsOut {
	secrets, where := []manifest.Key{source.Secret}, source.Secret.String()
	if source.Secret.Name == "" {
		secrets, where = r.selected(c, source), fmt.Sprintf("the Secrets of namespace %s that are selected", source.Namespace)
		if len(secrets) == 0 {
			return notUsable(fmt.Sprintf("no Secret of namespace %s has all of the labels", source.Namespace), "give a Secret of that namespace these labels")
		}
	}
	known, size := map[string]ir.Hidden{}, 0
	for _, key := range secrets {
		secret, missing := r.secret(c, key)
		if missing != nil {
			return missing
		}
		for _, value := range secret.Data {
			size += len(value)
		}
		if size > maxCredentialBytes {
			return tooLarge(where, size)
		}
		if fault := policy.ReadKeys(known, secret.Data); fault != nil {
			return notUsable(fmt.Sprintf("%s: %s", key, fault.Message), fault.Hint)
		}
	}
	list, fault := policy.Clients(known)
	if fault != nil {
		return notUsable(fmt.Sprintf("%s: %s", where, fault.Message), fault.Hint)
	}
	return &credentialsOut{List: list}
}

// secret returns the Secret with the given key. If the Secret does not exist, the result secret is nil, and
// missing has the problem. Otherwise missing is nil.
func (r *credentialRules) secret(c *memo.Ctx, key manifest.Key) (secret *corev1.Secret, missing *credentialsOut) {
	object, _ := r.in.secrets.Get(c, key)
	secret, ok := manifest.As[*corev1.Secret](object)
	if !ok {
		return nil, &credentialsOut{Problem: &manifest.Problem{
			Code: "SecretNotFound", Message: key.String() + " does not exist, or cannot be read", Hint: r.in.absentHint(c, key, wordReference),
		}}
	}
	return secret, nil
}

// selected returns the keys of the Secrets that the selector of a source selects, sorted.
func (r *credentialRules) selected(c *memo.Ctx, source ir.CredentialSource) (out []manifest.Key) {
	wanted := source.Selected()
	name := slices.Min(slices.Collect(maps.Keys(wanted)))
	found, _ := r.labelled.Get(c, labelAt{apischema.GroupKind{Kind: "Secret"}, source.Namespace, name, wanted[name]})
	for one := range found.All() {
		if scope.HasLabels(one.Labels, wanted) {
			out = append(out, one.Key)
		}
	}
	return out
}

// notUsable returns a result without credentials, with the problem that they cannot be used.
func notUsable(message, hint string) *credentialsOut {
	return &credentialsOut{Problem: &manifest.Problem{Code: policy.BadCredentials, Message: message, Hint: hint}}
}

// tooLarge returns a result without credentials, with the problem that the credentials exceed maxCredentialBytes.
// The message begins with the text secrets, which names the Secrets. The parameter size is in bytes.
func tooLarge(secrets string, size int) *credentialsOut {
	return notUsable(fmt.Sprintf("%s: %d bytes are over the limit of %d", secrets, size, maxCredentialBytes), "ask a service by extAuth where there are so many users")
}
