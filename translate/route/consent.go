package route

import (
	"fmt"
	"slices"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/store/tenancy"
	"github.com/gatefold/gatefold/translate/ir"
)

// ReasonDelegationNotAllowed is the reason for a route without parentRefs that a route of another namespace selects
// by its name, without the consent of the Namespace (docs/design/routes.md).
const ReasonDelegationNotAllowed gwv1.RouteConditionReason = "DelegationNotAllowed"

// Home is what the Namespace of a route says about the parents of the route.
type Home struct {
	// Labels are the labels of the Namespace. A selector in allowedRoutes may require some.
	Labels map[string]string
	// Delegators are the namespaces that may delegate to routes without parentRefs (tenancy.AnnotationDelegation).
	Delegators tenancy.Namespaces
}

// trusts reports whether a parent may select a route without parentRefs. Every parent may, except if path policies
// are in force and the parent is neither of cluster paths, nor of the route's namespace, nor of one that the
// Namespace of the route names. The parameter namespace is that of the route.
func (h Home) trusts(parent *ir.Origin, namespace string) bool {
	return !parent.Outside || parent.Key.Namespace == namespace || h.Delegators.Has(parent.Key.Namespace)
}

// notConsented returns the rejection of a route without parentRefs whose Namespace does not let the parent delegate
// to it. The mistake is the parent's: if it were one of the child, any team could keep the child's file from being
// applied.
func notConsented(parent, child manifest.Key, home Home) BindingRejection {
	return BindingRejection{Reason: ReasonDelegationNotAllowed, Foreign: true,
		Message: fmt.Sprintf("HTTPRoute %s/%s delegates here, and neither parentRefs of this route nor its Namespace permit that", parent.Namespace, parent.Name),
		Hint: fmt.Sprintf("%s, or a parentRef of kind HTTPRoute, name %s, namespace %s into the route",
			ConsentHint(parent.Namespace, child.Namespace, home.Delegators), parent.Name, parent.Namespace)}
}

// ConsentHint returns the annotation that lets routes of a namespace (from) delegate to those of another (to). The
// parameter before has the namespaces that the annotation names already.
func ConsentHint(from, to string, before tenancy.Namespaces) string {
	return fmt.Sprintf("write the annotation %s: %q into Namespace %s", tenancy.AnnotationDelegation, before.With(from), to)
}

// Consents reports whether a route allows the parent to delegate to it. A route without parentRefs allows every
// parent. Otherwise one of its parentRefs must name the parent (docs/design/routes.md).
func Consents(parent manifest.Key, child *manifest.Object) bool {
	route, _ := manifest.As[*api.HTTPRoute](child)
	return len(route.Spec.ParentRefs) == 0 ||
		slices.ContainsFunc(parentRoutes(child.Key, route), func(p ParentRoute) bool { return p.Key == parent })
}

// Concerned reports whether the parent may delegate to the candidate: a rule selects or admits the candidate, or the
// candidate names the parent, and its Namespace has not refused the parent.
func (l *Linked) Concerned() bool {
	refused := slices.ContainsFunc(l.Rejections, func(r BindingRejection) bool { return r.Foreign })
	return len(l.Points)+len(l.Rejections) > 0 && !refused
}
