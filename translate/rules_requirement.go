package translate

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/backend"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/listen"
	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/translate/ordered"
	"github.com/gatefold/gatefold/translate/policy"
	"github.com/gatefold/gatefold/translate/xds"
)

// tokens returns the JWT providers of an extension (the parameter key). It adds to problems what is wrong with the
// extension. If Envoys rejected the extension, it sets out.Rejected. It adds to out.Backends the backends from
// which Envoy fetches the providers' JWKS.
//
// The filter of a Gateway must have only the extensions that the policies of its routes and listeners use. The
// clusterRules already find out which Gateways need which backends. So tokens also adds the extension itself to
// out.Backends, as if it were a backend: the clusterRules then find out which Gateways need the extension.
func (r *extensionRules) tokens(c *memo.Ctx, key manifest.Key, from *api.JWT, out *extensionOut, problems *[]manifest.Problem) *ir.JWT {
	jwt, found := policy.LowerJWT(key, from, func(name string) (string, *policy.CredentialFault) { return r.configuredKeys(c, key.Namespace, name) })
	*problems = append(*problems, found...)
	out.Backends = append(out.Backends, &backend.Key{Object: key})
	reached := true
	for i := range from.Providers {
		remote := from.Providers[i].JWKS.Remote
		if remote == nil {
			continue
		}
		field := fmt.Sprintf("spec.jwt.providers[%d].jwks.remote.backendRef", i)
		cluster := r.reach(c, backend.Refer(key, remote.BackendRef.Object()), field, out, problems)
		jwt.Providers[i].Remote.Cluster = cluster
		reached = reached && cluster != ""
	}
	if reached && !hasErrors(*problems) {
		*problems = append(*problems, xds.CheckJWT(key, jwt)...)
	}
	said, _ := r.in.quarantine.extensions.Get(c, jwt.Name)
	for _, rejection := range said {
		out.Rejected = max(out.Rejected, rejection.Words)
	}
	jwt.Rejected = out.Rejected
	return jwt
}

// rejectedTokens returns the problem of an extension (key) that Envoys rejected and no connected Envoy accepts. The
// parameter words is the message of the Envoys. The extension stays in the filter, so that an Envoy that accepts
// the extension serves it.
func rejectedTokens(key manifest.Key, words string) manifest.Problem {
	return manifest.Problem{
		Code: xds.RejectedCode, Severity: manifest.Error, Object: key, Field: "spec.jwt",
		Message: "an Envoy does not accept these providers, and routes of policies that name them answer 403: " + words,
		Hint:    "change what Envoy's words are about; then it is tried again",
	}
}

// hasErrors reports whether one of the problems is an error.
func hasErrors(problems []manifest.Problem) bool {
	for _, problem := range problems {
		if problem.Severity == manifest.Error {
			return true
		}
	}
	return false
}

// configuredKeys returns the keys for tokens that a ConfigMap has: the text of its entry api.JWKSEntry. If the
// ConfigMap or the entry is missing, or if the text is too long, it returns "" and a fault that says why.
func (r *extensionRules) configuredKeys(c *memo.Ctx, namespace, name string) (string, *policy.CredentialFault) {
	key := manifest.Key{Kind: "ConfigMap", Namespace: namespace, Name: name}
	object, _ := r.in.configMaps.Get(c, key)
	configMap, ok := manifest.As[*corev1.ConfigMap](object)
	if !ok {
		return "", &policy.CredentialFault{Message: key.String() + " does not exist, or cannot be read", Hint: r.in.hintRules.absentHint(c, key, wordReference)}
	}
	text := configMap.Data[api.JWKSEntry]
	switch {
	case strings.TrimSpace(text) == "":
		return "", &policy.CredentialFault{Message: fmt.Sprintf("%s has no entry %s", key, api.JWKSEntry), Hint: "write the keys into the entry " + api.JWKSEntry}
	case len(text) > maxCredentialBytes:
		return "", &policy.CredentialFault{Message: fmt.Sprintf("%s: %d bytes are over the limit of %d", key, len(text), maxCredentialBytes), Hint: "keep the keys that tokens are signed with"}
	}
	return text, nil
}

// requirementOut is an extension with JWT providers at one Gateway.
type requirementOut struct {
	Encoded xds.Requirement
	Gateway string
	// Claims are the headers for claims. Envoy removes them from the requests to every route with jwtAuth.
	Claims []string
}

type requirementIn struct {
	extension *memo.Rule[manifest.Key, *extensionOut]
	uses      *memo.Fold[useKey, flatKey, struct{}, struct{}]
	gateway   *memo.Rule[manifest.Key, *listen.Gateway]
}

// requirementRules build the filter that checks tokens for each Gateway. The filter contains the extensions that the
// policies of the Gateway's routes and listeners use.
type requirementRules struct {
	in           requirementIn
	requirement  *memo.Rule[useKey, *requirementOut]
	requirements *memo.Fold[string, string, *requirementOut, ordered.Set[*requirementOut]]
	filter       *memo.Rule[string, xds.Resource]
}

func newRequirementRules(e *memo.Engine, in requirementIn) *requirementRules {
	r := &requirementRules{in: in}
	r.requirement = memo.NewRule(e, "requirement", r.runRequirement, deepEqual)
	memo.EachOf(r.requirement, in.uses, func(use useKey, _ struct{}) []useKey {
		if use.Backend.Object.Kind != api.KindGatewayExtension {
			return nil
		}
		return []useKey{use}
	})
	r.requirements = memo.NewFold[string, string](e, "requirements",
		gather[string](func(a, b *requirementOut) int { return strings.Compare(a.Encoded.Requirement, b.Encoded.Requirement) }), ordered.Set[*requirementOut].Same)
	memo.From(r.requirements, r.requirement, func(use useKey, one *requirementOut, yield func(memo.Place[string, string], *requirementOut)) {
		if one != nil {
			yield(memo.Place[string, string]{Key: use.Gateway, ID: one.Encoded.Requirement}, one)
		}
	}, identical)
	r.filter = memo.NewRule(e, "filter", r.runFilter, sameResource)
	memo.EachOf(r.filter, in.gateway, func(_ manifest.Key, g *listen.Gateway) []string {
		if g == nil {
			return nil
		}
		for _, port := range g.Ports() {
			if len(port.Chains) > 0 {
				return []string{g.Name}
			}
		}
		return nil
	})
	return r
}

// runRequirement returns the JWT providers of an extension for one Gateway (use). If the extension cannot be
// used, or has no JWT providers, the result is nil.
func (r *requirementRules) runRequirement(c *memo.Ctx, use useKey) *requirementOut {
	found := r.in.extension.Get(c, use.Backend.Object)
	if found.Extension == nil || found.Extension.JWT == nil {
		return nil
	}
	jwt := found.Extension.JWT
	if client := use.Backend.Client; client != "" {
		jwt = jwt.Renamed(func(cluster string) string { return backend.As(cluster, client) })
	}
	out := &requirementOut{Encoded: xds.RequirementOf(jwt), Gateway: use.Gateway}
	for _, p := range jwt.Providers {
		for _, claim := range p.Claims {
			out.Claims = append(out.Claims, claim.Header)
		}
	}
	return out
}

// runFilter returns the filter that checks tokens for a Gateway. The filter exists even if no route uses
// tokens, so that no listener must wait for the filter later.
func (r *requirementRules) runFilter(c *memo.Ctx, gateway string) xds.Resource {
	set, _ := r.requirements.Get(c, gateway)
	var all []xds.Requirement
	for one := range set.All() {
		all = append(all, one.Encoded)
	}
	return xds.RequirementFilter(all)
}
