package translate

import (
	"cmp"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/store/tenancy"
	"github.com/gatefold/gatefold/translate/backend"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/translate/ordered"
	"github.com/gatefold/gatefold/translate/policy"
	"github.com/gatefold/gatefold/translate/status"
	"github.com/gatefold/gatefold/translate/xds"
)

// extensionOut is the result for one GatewayExtension.
type extensionOut struct {
	// Extension is nil if the extension cannot be used. Missing is true if the object does not exist. Invalid is
	// true if the schema rejects the object.
	Extension        *ir.Extension
	Missing, Invalid bool
	// Unusable says why the extension cannot be used, and Hint what to do. Unasked is true if the only reason is
	// that the discovery document of the issuer was not requested yet.
	Unasked        bool
	Unusable, Hint string
	// Rejected is the message of Envoys that rejected the extension, if no connected Envoy accepts it. Rejected is
	// "" in all other cases.
	Rejected string
	// Users are the namespaces whose policies may use the extension (tenancy.AnnotationUsers).
	Users tenancy.Namespaces
	// Issuer is the issuer whose discovery document is needed, "" if none is.
	Issuer string
	// Backends are the backends that Envoy needs for the extension: the backend of its service or identity provider,
	// or the backends from which Envoy fetches the JWKS of its JWT providers. If the extension has JWT providers,
	// there is one more backend.Key, whose Object is the extension itself (see the method tokens).
	Backends []*backend.Key
	// Writes are the names of the identity headers (ir.Identity) that the extension writes, whether or not it can be
	// used. For an invalid extension they are those that could be read. For one that does not exist they are those
	// that it had last, as long as a policy names it (extensionRules.before).
	Writes   []string
	Problems []manifest.Problem
}

type extensionIn struct {
	*hintRules
	*credentialRules
	backend    *memo.Rule[backend.Reference, backend.Resolution]
	grants     *memo.Rule[string, *backend.Grants]
	extensions *objects
	configMaps *objects
	invalid    *memo.Input[manifest.Key, *store.Invalid]
	quarantine *quarantineInputs

	discoveries *discoveryInputs
	holders     *holdersInput
}

// extensionRules read GatewayExtensions, and follow their references to backends and Secrets.
type extensionRules struct {
	in              extensionIn
	extension       *memo.Rule[manifest.Key, *extensionOut]
	extensionStatus *memo.Rule[manifest.Key, *status.Update]
	issuers         *memo.Fold[struct{}, manifest.Key, issuerUse, ordered.Set[issuerUse]]
	// before has the last extensionOut of each extension that exists or that a policy names. Only extensions that do
	// not exist read it.
	before *recall[manifest.Key, *extensionOut]
}

func newExtensionRules(e *memo.Engine, in extensionIn) *extensionRules {
	r := &extensionRules{in: in, before: newRecall[manifest.Key](e, "hadextension", identical[*extensionOut])}
	r.extension = memo.NewRule(e, "extension", r.runExtension, deepEqual)
	memo.Each(r.extension, in.extensions)
	r.before.follow(r.extension)
	r.extensionStatus = memo.NewRule(e, "extensionstatus", r.runExtensionStatus, deepEqual)
	memo.Each(r.extensionStatus, in.extensions)
	r.issuers = newIssuers(e, r.extension)
	return r
}

func (r *extensionRules) report(all *problemFold) {
	problemsFrom(all, "extension", r.extension, func(x *extensionOut) []manifest.Problem { return x.Problems })
}

// hold implements holder. The names that an extension without an object keeps are held by the extension.
func (r *extensionRules) hold(all *holdingFold) {
	holdingsFrom(all, r.extension, func(key manifest.Key, x *extensionOut) Holders {
		if !x.Missing || len(x.Writes) == 0 {
			return nil
		}
		out := make(Holders, len(x.Writes))
		for _, header := range x.Writes {
			out[Thing{Extension: key.Namespace + "/" + key.Name, Header: header}] = key
		}
		return out
	})
}

// runExtension returns the result for one extension. If the extension is invalid, has an error, or needs a
// discovery document that is not known, Extension is nil and Unusable is set. If the extension does not exist,
// Extension is nil and Missing is true.
func (r *extensionRules) runExtension(c *memo.Ctx, key manifest.Key) *extensionOut {
	object, _ := r.in.extensions.Get(c, key)
	from, ok := manifest.As[*api.GatewayExtension](object)
	if !ok {
		return r.absentExtension(c, key)
	}
	out := &extensionOut{Writes: policy.ExtensionHeaders(&from.Spec)}
	out.Users, _ = tenancy.ParseNamespaces(from.Annotations[tenancy.AnnotationUsers])
	var extension *ir.Extension
	var problems []manifest.Problem
	if object.Source == manifest.OtherFile {
		problems = append(problems, teamService(&from.Spec))
	} else if from.Spec.OAuth2 != nil {
		out.Issuer = policy.NeededIssuer(from.Spec.OAuth2)
	}
	if from.Spec.JWT != nil {
		extension = &ir.Extension{JWT: r.tokens(c, key, from.Spec.JWT, out, &problems)}
	} else {
		extension = r.service(c, key, &from.Spec, out, &problems)
	}
	for _, problem := range problems {
		problem.Object = key
		out.Problems = append(out.Problems, problem)
		if closes(&problem) && out.Unusable == "" {
			out.Unusable, out.Hint = problem.Field+": "+problem.Message, problem.Hint
		}
	}
	if out.Unusable == "" {
		out.Extension = extension
	}
	out.Unasked = out.Unusable != "" && !hasErrors(problems)
	if out.Rejected != "" {
		out.Problems = append(out.Problems, rejectedTokens(key, out.Rejected))
	}
	return out
}

// service returns the external service or identity provider that an extension (key) defines. It adds the backend of
// the service to out.Backends, and the mistakes that it finds to problems.
func (r *extensionRules) service(c *memo.Ctx, key manifest.Key, spec *api.GatewayExtensionSpec, out *extensionOut, problems *[]manifest.Problem) *ir.Extension {
	extension, service, found := policy.LowerExtension(key, spec)
	*problems = append(*problems, found...)
	known := out.Issuer == "" || r.discover(c, out.Issuer, extension.SignIn, problems)
	ref := backend.Refer(key, service.Object())
	ref.GRPC = extension.GRPC()
	if cluster := r.reach(c, ref, extension.ServicePath(), out, problems); cluster != "" {
		extension.Service.Cluster = cluster
		if known && !hasErrors(*problems) {
			*problems = append(*problems, xds.CheckExtension(key, extension)...)
		}
		*problems = append(*problems, r.in.missingClientSecret(c, key, spec)...)
	}
	return extension
}

// reach returns the name of the cluster for a backend that an extension refers to, and adds the backend to
// out.Backends. The parameter field is the path of the reference in the extension. If the backend cannot be used,
// reach returns "" and adds a problem.
func (r *extensionRules) reach(c *memo.Ctx, ref backend.Reference, field string, out *extensionOut, problems *[]manifest.Problem) (cluster string) {
	resolution := r.in.backend.Get(c, ref)
	if resolution.OK() {
		out.Backends = append(out.Backends, resolution.Key)
		return resolution.Cluster
	}
	*problems = append(*problems, manifest.Problem{
		Code: string(resolution.Reason), Severity: manifest.Error, Field: field, Message: resolution.Message, Hint: resolution.Hint,
	})
	return ""
}

// absentExtension returns the result for an extension that is invalid or does not exist.
func (r *extensionRules) absentExtension(c *memo.Ctx, key manifest.Key) *extensionOut {
	if invalid, ok := r.in.invalid.Get(c, key); ok {
		return &extensionOut{Invalid: true, Writes: invalid.Identities, Unusable: invalid.Message(), Hint: "fix " + key.String()}
	}
	return &extensionOut{Missing: true, Writes: r.lastWrites(c, key), Hint: r.in.absentHint(c, key, "extensionRef")}
}

// lastWrites returns the names of the identity headers that an extension without an object wrote before it was removed,
// sorted: no file says which they are, and a policy that still names the extension must not let clients write them. It
// returns nil if the extension was never seen.
func (r *extensionRules) lastWrites(c *memo.Ctx, key manifest.Key) []string {
	names, _ := r.in.holders.headers.Get(c, key)
	if last, ok := r.before.Get(c, key); ok {
		names = last.Writes
	}
	return slices.Compact(slices.Sorted(slices.Values(names)))
}

func (r *extensionRules) runExtensionStatus(c *memo.Ctx, key manifest.Key) *status.Update {
	object, ok := r.in.extensions.Get(c, key)
	if !ok {
		return nil
	}
	generation, bad := object.Value.GetGeneration(), manifest.Verdict[gwv1.PolicyConditionReason]{}
	own := r.extension.Get(c, key)
	if why := cmp.Or(own.Unusable, own.Rejected); why != "" {
		bad = manifest.Verdict[gwv1.PolicyConditionReason]{Reason: gwv1.PolicyReasonInvalid, Message: why}
	}
	return &status.Update{Key: key, Generation: generation, Status: &api.GatewayExtensionStatus{
		Conditions: []metav1.Condition{status.ExtensionAccepted(generation, bad)},
	}}
}

// ClosedUntil is the beginning of the hint of a problem that makes routes answer 500.
const ClosedUntil = "routes of the policy answer 500 until this is fixed: "

// connect sets the extensions and credentials that policy fields (extras) refer to, and returns the backends of
// the extensions. If it returns a problem, the policy must not be used. For nil extras, both results are nil.
func (r *extensionRules) connect(c *memo.Ctx, extras *ir.Extras) (backends []*backend.Key, problems []manifest.Problem) {
	if extras == nil {
		return nil, nil
	}
	for _, use := range extras.Extensions() {
		found := r.extension.Get(c, use.Key)
		problem := manifest.Problem{
			Code: "ExtensionNotUsable", Severity: manifest.Error, Field: use.Field.Path() + ".extensionRef",
			Message: fmt.Sprintf("%s cannot be used: %s", use.Key, found.Unusable), Hint: ClosedUntil + found.Hint,
		}
		switch {
		case found.Missing:
			problem.Code, problem.Message = "ExtensionNotFound", use.Key.String()+" does not exist"
		case found.Invalid:
			problem.Message = fmt.Sprintf("%s is invalid: %s", use.Key, found.Unusable)
		case found.Extension == nil && found.Unasked:
			problem.Code, problem.Severity = codeIssuerNotAsked, manifest.Warning
		case found.Extension == nil:
		case found.Extension.Field() != use.Field:
			problem.Message = fmt.Sprintf("%s cannot be used: it is for %s", use.Key, found.Extension.Field())
			problem.Hint = ClosedUntil + "name one for " + string(use.Field)
		default:
			use.Extension = found.Extension
			backends = append(backends, found.Backends...)
			continue
		}
		problems = append(problems, problem)
	}
	return backends, append(problems, r.in.fill(c, extras)...)
}

// notUsers returns an error for each extension of another namespace that a policy (object) names, and that its owner
// does not let the policy's namespace use: neither by a ReferenceGrant, nor by tenancy.AnnotationUsers. The parameter
// extras has the policy's fields. Without path policies, and for a policy of cluster paths, there is no error.
func (r *extensionRules) notUsers(c *memo.Ctx, object *manifest.Object, extras *ir.Extras) (problems []manifest.Problem) {
	if object.Source != manifest.OtherFile {
		return nil
	}
	for _, use := range extras.Extensions() {
		ref := backend.Reference{From: object.Key, To: use.Key}
		if use.Key.Namespace == object.Key.Namespace || r.in.grants.Get(c, use.Key.Namespace).Permit(ref) {
			continue
		}
		found := r.extension.Get(c, use.Key)
		if found.Missing || found.Users.Has(object.Key.Namespace) {
			continue
		}
		problems = append(problems, manifest.Problem{
			Code: string(gwv1.RouteReasonRefNotPermitted), Severity: manifest.Error, Field: use.Field.Path() + ".extensionRef",
			Message: fmt.Sprintf("%s is of another namespace, which does not let this one use it", use.Key),
			Hint: fmt.Sprintf("%swrite the annotation %s: %q into %s, or a ReferenceGrant in namespace %s: from %s of namespace %s, to %s", ClosedUntil,
				tenancy.AnnotationUsers, found.Users.With(object.Key.Namespace), use.Key, use.Key.Namespace, object.Key.Kind, object.Key.Namespace, use.Key.Kind),
			Cause: manifest.Field{Object: use.Key, Path: "metadata.annotations[" + tenancy.AnnotationUsers + "]"},
		})
	}
	return problems
}

// teamService returns the problem of a GatewayExtension that was written by a team, and not by the platform. It was
// written by a team if the flag --cluster-paths is set and does not name the file of the object. gatefold does not
// use such an object, for these reasons (docs/guides/teams.md):
//
//   - Envoy cannot restrict the response headers of a service of extAuth or rateLimit, nor the response status of
//     any service. So the team's service could forge responses on a connection that other users share (response
//     splitting).
//   - All JWT providers share one filter. If one provider changes, Envoy fetches the keys of all providers again.
//     And Envoy removes the claim headers of each provider from requests to all routes with jwtAuth.
func teamService(spec *api.GatewayExtensionSpec) manifest.Problem {
	problem := manifest.Problem{
		Code: policy.ServiceNotAllowed, Severity: manifest.Error, Field: "spec",
		Message: "a GatewayExtension comes from files of --cluster-paths alone, as its service could change the answers to other users of the listener; policies that use it close their targets",
		Hint:    "have the platform define it in a file of --cluster-paths, if it trusts the service",
	}
	if spec.JWT != nil {
		problem.Message = "a GatewayExtension comes from files of --cluster-paths alone, as its claimsToHeaders take headers out of requests to other routes with jwtAuth; policies that use it close their targets"
		problem.Hint = "have the platform define it in a file of --cluster-paths"
	}
	return problem
}
