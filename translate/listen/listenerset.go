package listen

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/store/scope"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/policy"
	"github.com/gatefold/gatefold/translate/route"
)

// Set is a ListenerSet (GEP-1713). Each of its listeners is validated separately.
type Set struct {
	Origin     *ir.Origin
	Generation int64
	// Gateway is the "namespace/name" of the Gateway in its parentRef.
	Gateway string
	// Accepted is zero if the Gateway accepts the set. Otherwise it is the reason why not.
	Accepted  manifest.Verdict[gwv1.ListenerSetConditionReason]
	Listeners []*Listener
	Problems  []manifest.Problem
}

// CompareSets orders ListenerSets by the conflict resolution order. If listeners of two sets conflict, and Order does
// not decide, the set that comes first wins (Gateway API, ListenerSetSpec.listeners).
func CompareSets(a, b *Set) int { return route.CompareOrigins(a.Origin, b.Origin) }

// ParentOf returns the key of a ListenerSet's parent. By default it is a Gateway of the same namespace.
func ParentOf(object *manifest.Object) manifest.Key {
	set, _ := manifest.As[*gwv1.ListenerSet](object)
	ref := set.Spec.ParentRef
	key := manifest.Key{Group: gwv1.GroupName, Kind: "Gateway", Namespace: object.Key.Namespace, Name: string(ref.Name)}
	if ref.Group != nil {
		key.Group = string(*ref.Group)
	}
	if ref.Kind != nil {
		key.Kind = string(*ref.Kind)
	}
	if ref.Namespace != nil {
		key.Namespace = string(*ref.Namespace)
	}
	return key
}

// SetReferences resolves the references of a ListenerSet.
type SetReferences struct {
	// Bound is the set of hosts that the ListenerSet's namespace may serve.
	Bound Bound
	// Labels returns the labels of the ListenerSet's namespace.
	Labels func() map[string]string
	// Absent returns the message and the hint for a parentRef to a Gateway that does not exist or is not valid.
	Absent func(gateway manifest.Key) (message, hint string)
	// Certificate resolves a reference to a Secret.
	Certificate func(gwv1.SecretObjectReference) Certificate
}

// ReadSet validates a ListenerSet. gateway is the Gateway of its parentRef, or nil if that Gateway does not
// exist.
func ReadSet(object, gateway *manifest.Object, refs SetReferences) *Set {
	from, _ := manifest.As[*gwv1.ListenerSet](object)
	parent := ParentOf(object)
	reader := &specReader{Gateway: &Gateway{Origin: route.OriginOf(object)}, bound: refs.Bound}
	reader.Problems = policy.CheckStrategy(object.Key, from.Annotations)
	for i, entry := range from.Spec.Listeners {
		reader.Listeners = append(reader.Listeners, reader.listener(i, &gwv1.Listener{
			Name: entry.Name, Hostname: entry.Hostname, Port: entry.Port, Protocol: entry.Protocol, TLS: entry.TLS, AllowedRoutes: entry.AllowedRoutes,
		}, refs.Certificate))
	}
	s := &Set{Origin: reader.Origin, Generation: from.Generation, Gateway: parent.Namespace + "/" + parent.Name, Listeners: reader.Listeners, Problems: reader.Problems}
	switch {
	case parent.Group != gwv1.GroupName || parent.Kind != "Gateway":
		s.reject(gwv1.ListenerSetReasonInvalid, fmt.Sprintf("a ListenerSet hangs on a Gateway, not on kind %s", parent.Kind), "write kind: Gateway")
	case gateway == nil:
		message, hint := refs.Absent(parent)
		s.reject(gwv1.ListenerSetReasonParentNotAccepted, message, hint)
	default:
		if !allows(gateway, object.Key.Namespace, refs.Labels) {
			s.reject(gwv1.ListenerSetReasonNotAllowed, fmt.Sprintf("%s does not allow ListenerSets of namespace %s", parent, object.Key.Namespace),
				"set spec.allowedListeners.namespaces of the Gateway (default: None), or move the ListenerSet")
		}
	}
	return s
}

// reject sets s.Accepted to a reason and message, and adds the problem at the parentRef. hint says what to do.
func (s *Set) reject(reason gwv1.ListenerSetConditionReason, message, hint string) {
	s.Accepted = manifest.Because(reason, message)
	s.Problems = append(s.Problems, manifest.Problem{
		Code: string(reason), Severity: manifest.Error, Object: s.Origin.Key, Field: "spec.parentRef", Message: message, Hint: hint,
	})
}

// allowedFrom returns the namespaces whose ListenerSets a Gateway accepts (Gateway API,
// ListenerNamespaces.from: "The default value None"). The selector is used only with NamespacesFromSelector.
func allowedFrom(gateway *gwv1.Gateway) (gwv1.FromNamespaces, *metav1.LabelSelector) {
	allowed := gateway.Spec.AllowedListeners
	if allowed == nil || allowed.Namespaces == nil || allowed.Namespaces.From == nil {
		return gwv1.NamespacesFromNone, nil
	}
	return *allowed.Namespaces.From, allowed.Namespaces.Selector
}

// readAllowedListeners sets allowsSets from spec.allowedListeners. It reports an invalid selector, with which
// the Gateway accepts no ListenerSet.
func (r *specReader) readAllowedListeners(gateway *gwv1.Gateway) {
	from, by := allowedFrom(gateway)
	r.allowsSets = from != gwv1.NamespacesFromNone
	if from != gwv1.NamespacesFromSelector {
		return
	}
	if _, err := metav1.LabelSelectorAsSelector(by); err != nil {
		r.problem("InvalidValue", "spec.allowedListeners.namespaces.selector", "the selector cannot be read: "+err.Error(),
			"correct its matchLabels and matchExpressions")
	}
}

// allows reports whether the Gateway in object accepts ListenerSets of a namespace. The function labelsOf returns
// the labels of the namespace.
func allows(object *manifest.Object, namespace string, labelsOf func() map[string]string) bool {
	gateway, _ := manifest.As[*gwv1.Gateway](object)
	from, by := allowedFrom(gateway)
	return scope.AllowsNamespace(from, by, namespace == object.Key.Namespace, labelsOf)
}

// Join adds the listeners of ListenerSets to the Gateway. The caller must pass all ListenerSets that the Gateway
// accepts, and no others, in the order of CompareSets. Afterwards Join applies spec.tls.frontend to all listeners,
// and resolves and reports the conflicts between listeners. The parameter order decides between listeners of two
// objects.
func (g *Gateway) Join(sets []*Set, order Order) {
	for _, set := range sets {
		for _, l := range set.Listeners {
			joined := *l
			joined.rank = slices.MaxFunc([]*ir.Origin{g.Origin, l.rank}, route.CompareOrigins)
			if !g.Unusable.Good() {
				joined.Taken = g.unusable()
			}
			g.Listeners = append(g.Listeners, &joined)
		}
	}
	g.frontend.ask(g.Listeners)
	g.index()
	resolveConflicts(g.Listeners, order)
	g.reportConflicts()
}

// ListenersOf returns the listeners of one object: the Gateway or a ListenerSet. The caller must not change
// them.
func (g *Gateway) ListenersOf(owner manifest.Key) []*Listener {
	span := g.spans[owner]
	return g.Listeners[span.begin:span.end:span.end]
}

// AttachedSets returns how many ListenerSets have at least one served listener (Gateway API,
// GatewayStatus.attachedListenerSets). allowed is false if spec.allowedListeners accepts no ListenerSets (None,
// the default).
func (g *Gateway) AttachedSets() (count int32, allowed bool) {
	seen := map[manifest.Key]bool{g.Origin.Key: true}
	for _, l := range g.Listeners {
		if l.Serves() && !seen[l.Owner] {
			seen[l.Owner] = true
			count++
		}
	}
	return count, g.allowsSets
}

// ID returns the identifier of the listener. It is unique among the served listeners of the Gateway. Listeners of
// different ListenerSets may have the same name, so the name alone is not enough.
func (l *Listener) ID() string { return ir.Listener{Name: l.Name, Object: l.Owner}.ID() }

// field returns the path of the listener in its object.
func (l *Listener) field() string { return fmt.Sprintf("spec.listeners[%d]", l.Index) }
