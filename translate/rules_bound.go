package translate

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/store/tenancy"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/listen"
	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/translate/ordered"
	"github.com/gatefold/gatefold/translate/route"
)

// An annotation of a Namespace limits the hostnames of its listeners and routes (tenancy.AnnotationHosts). The
// limit applies to attached routes and to delegated routes. A route serves only those of its hosts that the
// limit allows. A listener has one hostname, which the limit must allow.

type namespaceIn struct {
	namespaces *objects
	invalid    *memo.Input[manifest.Key, *store.Invalid]
}

// namespaceRules read the labels, the allowed hosts and the allowed parents of Namespaces.
type namespaceRules struct {
	in    namespaceIn
	bound *memo.Rule[string, listen.Bound]
	// allowed has the endpoints that a namespace may have: see runAllowed.
	allowed   *memo.Rule[string, *tenancy.Backends]
	allBounds *memo.Fold[struct{}, string, listen.Bound, ordered.Set[listen.Bound]]
	// delegators are the namespaces whose routes may delegate to routes of a namespace (tenancy.AnnotationDelegation).
	delegators *memo.Rule[string, tenancy.Namespaces]
}

func newNamespaceRules(e *memo.Engine, in namespaceIn) *namespaceRules {
	r := &namespaceRules{in: in}
	r.bound = memo.NewRule(e, "bound", r.runBound, deepEqual)
	r.allowed = memo.NewRule(e, "allowedbackends", r.runAllowed, deepEqual)
	r.allBounds = memo.NewFold[struct{}, string](e, "allbounds", gather[string](compareBounds), func(a, b ordered.Set[listen.Bound]) bool { return a.Same(b) })
	memo.From(r.allBounds, r.bound, func(namespace string, b listen.Bound, yield func(memo.Place[struct{}, string], listen.Bound)) {
		if !b.Hosts.Every() {
			yield(memo.Place[struct{}, string]{ID: namespace}, b)
		}
	}, deepEqual)
	r.delegators = memo.NewRule(e, "delegators", r.runDelegators, deepEqual)
	return r
}

// runDelegators returns the namespaces that a Namespace lets delegate to its routes. A Namespace that does not exist,
// or has no valid version, names none.
func (r *namespaceRules) runDelegators(c *memo.Ctx, name string) tenancy.Namespaces {
	object, ok := r.in.namespaces.Get(c, manifest.Key{Kind: "Namespace", Name: name})
	if !ok {
		return nil
	}
	names, _ := tenancy.ParseNamespaces(object.Value.GetAnnotations()[tenancy.AnnotationDelegation])
	return names
}

// home returns what a Namespace (name) says about a parent of its routes.
func (r *namespaceRules) home(c *memo.Ctx, name string, parent *ir.Origin) route.Home {
	home := route.Home{Labels: r.namespaceLabels(c, name)}
	if parent.Outside && parent.Key.Namespace != name {
		home.Delegators = r.delegators.Get(c, name)
	}
	return home
}

// namespaceLabels returns the labels of a Namespace. If the object does not exist, it returns only the label
// kubernetes.io/metadata.name (docs/design/inputs.md).
func (r *namespaceRules) namespaceLabels(c *memo.Ctx, name string) map[string]string {
	labels := map[string]string{corev1.LabelMetadataName: name}
	if object, ok := r.in.namespaces.Get(c, manifest.Key{Kind: "Namespace", Name: name}); ok {
		for k, v := range object.Value.GetLabels() {
			labels[k] = v
		}
		labels[corev1.LabelMetadataName] = name
	}
	return labels
}

func compareBounds(a, b listen.Bound) int { return manifest.CompareKeys(a.Namespace, b.Namespace) }

// runBound returns the hosts that a namespace may serve. If the Namespace is invalid and has no valid version,
// the limit is unknown: then the namespace may serve no host.
func (r *namespaceRules) runBound(c *memo.Ctx, namespace string) listen.Bound {
	out := listen.Bound{Namespace: manifest.Key{Kind: "Namespace", Name: namespace}, Hosts: ir.EveryHost()}
	object, ok := r.in.namespaces.Get(c, out.Namespace)
	if !ok {
		if _, invalid := r.in.invalid.Get(c, out.Namespace); invalid {
			out.Hosts = ir.Hosts{}
		}
		return out
	}
	from, _ := manifest.As[*corev1.Namespace](object)
	if grant, _ := tenancy.Read(from.Annotations); grant.Hosts != nil {
		out.Hosts = ir.HostsOf(grant.Hosts...)
	}
	return out
}

// runAllowed returns the endpoints that objects of a namespace may have (tenancy.AnnotationBackends), or nil for every
// endpoint. If the Namespace is invalid and has no valid version, it returns an empty list: none.
func (r *namespaceRules) runAllowed(c *memo.Ctx, namespace string) *tenancy.Backends {
	key := manifest.Key{Kind: "Namespace", Name: namespace}
	object, ok := r.in.namespaces.Get(c, key)
	if !ok {
		if _, invalid := r.in.invalid.Get(c, key); invalid {
			return &tenancy.Backends{}
		}
		return nil
	}
	if grant, _ := tenancy.Read(object.Value.GetAnnotations()); grant.Backends != nil {
		return &grant.Backends
	}
	return nil
}

// bindHosts limits the hosts of a route to those that the route's namespace may serve, by changing from.Hosts,
// and sets from.Granted. A kind of route without hosts is not changed. The result bound is the limit of the namespace (see
// listen.Bound). If the route loses hosts by the limit, narrower is true.
func (r *namespaceRules) bindHosts(c *memo.Ctx, from *route.Common) (bound listen.Bound, narrower bool) {
	bound = r.bound.Get(c, from.Key.Namespace)
	if bound.Hosts.Every() || !from.Kind.Hosts {
		return bound, false
	}
	asked := from.Hosts
	from.Granted = true
	from.Hosts = listen.Narrow(asked, bound.Hosts)
	return bound, asked.String() != from.Hosts.String()
}

// hostProblems returns a problem for each hostname of a route that the route's namespace may not serve, or may serve
// only in part. For a route without hostnames, there is a problem if the namespace may serve no host at all. The
// parameter bound is the limit of the namespace. The parameter from is the route after bindHosts: from.Hostnames
// still has all hostnames of the route, and from.Hosts has only the hosts within the limit.
func hostProblems(from *route.Common, bound listen.Bound) (problems []manifest.Problem) {
	for i, hostname := range from.Hostnames {
		left := listen.Narrow(ir.HostsOf(hostname), bound.Hosts)
		if names := left.Names(); len(names) == 1 && names[0] == hostname {
			continue
		}
		problem := manifest.Problem{
			Code: listen.HostnameNotAllowed, Severity: manifest.Error, Object: from.Key, Field: fmt.Sprintf("spec.hostnames[%d]", i),
			Message: fmt.Sprintf("the route does not serve %s: %s", hostname, bound), Hint: bound.Hint("remove the hostname, or write one of those"), Cause: bound.Cause(),
		}
		if !left.None() {
			problem.Severity = manifest.Warning
			problem.Message = fmt.Sprintf("of %s the route serves only %s: %s", hostname, left, bound)
		}
		problems = append(problems, problem)
	}
	if len(from.Hostnames) == 0 && from.Hosts.None() {
		problems = append(problems, manifest.Problem{
			Code: listen.HostnameNotAllowed, Severity: manifest.Error, Object: from.Key, Field: "spec.hostnames",
			Message: fmt.Sprintf("the route serves no host: %s", bound), Hint: bound.Hint(""), Cause: bound.Cause(),
		})
	}
	return problems
}

// outOfBounds returns the rejection of a child route that can serve no host of its parent, because the child's
// namespace may serve only some hosts. The parameter bound is this limit of the namespace. The parameter hosts has
// those hosts of the child route that are within the limit.
func outOfBounds(parent manifest.Key, hosts ir.Hosts, bound listen.Bound) route.BindingRejection {
	out := route.BindingRejection{Reason: listen.HostnameNotAllowed, Field: "spec.hostnames", Hint: bound.Hint("delegate to a route of another namespace, or add a hostname of the parent")}
	if hosts.None() {
		out.Message = fmt.Sprintf("the route serves no host: %s", bound)
		out.Reported = true // hostProblems reports it at each hostname
		return out
	}
	out.Message = fmt.Sprintf("none of the hosts that %s serves is one of this namespace: %s", parent, bound)
	return out
}

// reasonBound reports whether a route was rejected because of the allowed hosts of its namespace.
func reasonBound(reason gwv1.RouteConditionReason) bool { return reason == listen.HostnameNotAllowed }
