package translate

import (
	"fmt"
	"iter"
	"slices"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/listen"
)

// attachOut says where a route attaches to listeners, and why some of its parentRefs are rejected.
type attachOut struct {
	Origin  *ir.Origin
	Parents []parentOut
	// Ports are the ports that the route is served on, sorted.
	Ports    []int32
	Problems []manifest.Problem
	// Bound lists, as text, the hosts that the route's namespace may serve. If the namespace may serve all hosts
	// that the route requests, Bound is "".
	Bound string
}

// parentOut is the result for one parentRef to a Gateway or ListenerSet.
type parentOut struct {
	Ref     gwv1.ParentReference
	Index   int // index in spec.parentRefs
	Gateway string
	listen.Attachment
}

// parentKey returns the key of the object that a parentRef names. The parameter from is the object that
// contains the parentRef. The default namespace is that of this object, and the default kind is Gateway.
func parentKey(from manifest.Key, ref gwv1.ParentReference) manifest.Key {
	parent := manifest.Key{Group: gwv1.GroupName, Kind: "Gateway", Namespace: from.Namespace, Name: string(ref.Name)}
	if ref.Kind != nil {
		parent.Kind = string(*ref.Kind)
	}
	if ref.Namespace != nil {
		parent.Namespace = string(*ref.Namespace)
	}
	return parent
}

// toListeners reports whether a parentRef names a Gateway or ListenerSet.
func toListeners(ref gwv1.ParentReference) bool {
	return (ref.Group == nil || *ref.Group == gwv1.GroupName) && (ref.Kind == nil || *ref.Kind == "Gateway" || *ref.Kind == kindListenerSet)
}

// strangeParent returns the error for a parentRef to a kind that a route cannot attach to. The parameter key is
// the route, and i is the index of the parentRef in spec.parentRefs.
func strangeParent(key manifest.Key, i int, ref gwv1.ParentReference) manifest.Problem {
	kind, kinds, hint := "", []string{"Gateway", kindListenerSet}, fmt.Sprintf("a %s attaches to a Gateway or a ListenerSet", key.Kind)
	if ref.Kind != nil {
		kind = string(*ref.Kind)
	}
	if key.Kind == "HTTPRoute" {
		kinds, hint = []string{"HTTPRoute", "Gateway", kindListenerSet}, "an HTTPRoute attaches to a Gateway, a ListenerSet or another HTTPRoute"
	}
	if like := manifest.Nearest(kind, kinds); like != "" {
		hint = fmt.Sprintf("write kind: %s, of group %s", like, gwv1.GroupName)
	}
	return parentProblem(key, i, "UnsupportedParent", fmt.Sprintf("a parentRef of kind %s is not followed", kind), hint)
}

// parentProblem returns an error at spec.parentRefs[i] of a route.
func parentProblem(key manifest.Key, i int, code, message, hint string) manifest.Problem {
	return manifest.Problem{
		Code: code, Severity: manifest.Error, Object: key,
		Field: fmt.Sprintf("spec.parentRefs[%d]", i), Message: message, Hint: hint,
	}
}

// places yields the key of each virtual host that the route attaches to. A virtual host is yielded once, even
// if several parentRefs lead to it, together with the first listen.Place of the route there. For a TCPRoute,
// TLSRoute or UDPRoute, each hostname of a listener counts as a virtual host.
func (a *attachOut) places() iter.Seq2[tableKey, listen.Place] {
	return func(yield func(tableKey, listen.Place) bool) {
		seen := map[tableKey]struct{}{}
		for _, parent := range a.Parents {
			for _, place := range parent.Places {
				key := tableOf(parent.Gateway, place)
				if _, again := seen[key]; again {
					continue
				}
				seen[key] = struct{}{}
				if !yield(key, place) {
					return
				}
			}
		}
	}
}

// schemes returns the schemes of the listeners that the route attaches to on a port, as route.Setting has them.
func (a *attachOut) schemes(port int32) (out []string) {
	for _, parent := range a.Parents {
		for _, place := range parent.Places {
			scheme := "http"
			if place.Chain != "" {
				scheme = "https"
			}
			if place.Port == port && !slices.Contains(out, scheme) {
				out = append(out, scheme)
			}
		}
	}
	slices.Sort(out)
	return out
}

// wider returns the hostname of the route for each virtual host where it is wider than the domain (listen.Place.Wider).
func (a *attachOut) wider() (out map[tableKey]string) {
	for table, place := range a.places() {
		if wider := place.Wider(); wider != "" {
			if out == nil {
				out = map[tableKey]string{}
			}
			out[table] = wider
		}
	}
	return out
}

// tables returns how many virtual hosts a.places() yields. It returns 0 if a is nil.
func (a *attachOut) tables() (n int) {
	if a == nil {
		return 0
	}
	for range a.places() {
		n++
	}
	return n
}

// without returns a copy of p that lacks the hosts that the route lost to routes of another kind. The parameter met has
// the meetings of the route by listener. If p lost hosts, Accepted of the result has a message with the routes that
// have them. If p has no host left, Accepted also has the reason HostnameConflict, which rejects the parentRef.
func (p parentOut) without(met meetings) parentOut {
	lost := map[string][]string{} // by listener
	left := p
	left.Places = nil
	for _, place := range p.Places {
		at := slices.IndexFunc(met[listenerKey{p.Gateway, place.Listener}], func(m listen.Meeting) bool {
			return m.Result == listen.Lost && m.Domain == place.Domain
		})
		if at < 0 {
			left.Places = append(left.Places, place)
			continue
		}
		m := met[listenerKey{p.Gateway, place.Listener}][at]
		lost[place.Listener] = append(lost[place.Listener], fmt.Sprintf("%s has %s, because %s", m.Other, quoted(m.Domain), m.Why))
	}
	if len(lost) == 0 {
		return p
	}
	var words []string
	left.Listeners = slices.DeleteFunc(slices.Clone(p.Listeners), func(name string) bool {
		if len(lost[name]) == 0 {
			return false
		}
		words = append(words, fmt.Sprintf("on listener %s, %s", name, few(lost[name])))
		return !slices.ContainsFunc(left.Places, func(place listen.Place) bool { return place.Listener == name })
	})
	left.Accepted.Message = few(words)
	if len(left.Listeners) == 0 {
		left.Accepted.Reason = reasonHostnameConflict
	}
	return left
}

// reasonHostnameConflict is the reason for a rejected route whose hosts belong to a route of another kind. The
// Gateway API has no reason for this case.
const reasonHostnameConflict gwv1.RouteConditionReason = "HostnameConflict"
