package translate

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/listen"
)

// attachOut is where a route attaches, and why it does not attach elsewhere.
type attachOut struct {
	Origin  *ir.Origin
	Parents []parentOut
	// Ports are those that the route serves on, sorted.
	Ports    []int32
	Problems []manifest.Problem
	// Bound says which hosts the namespace may serve, where it asks for others or for all.
	Bound string
	// Lost are the hosts that routes of the other kind have, by listener.
	Lost map[listenerKey]listen.Loss
}

// parentOut is one parentRef.
type parentOut struct {
	Ref     gwv1.ParentReference
	Index   int // in parentRefs
	Gateway string
	listen.Attachment
}

// parentKey returns the key of the object with listeners that a parentRef names.
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

// toListeners reports whether a parentRef names an object that has listeners.
func toListeners(ref gwv1.ParentReference) bool {
	return (ref.Group == nil || *ref.Group == gwv1.GroupName) && (ref.Kind == nil || *ref.Kind == "Gateway" || *ref.Kind == kindListenerSet)
}

// strangeParent returns the problem of a parentRef to a kind that cannot be a parent of the route.
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

func parentProblem(key manifest.Key, i int, code, message, hint string) manifest.Problem {
	return manifest.Problem{
		Code: code, Severity: manifest.Error, Object: key,
		Field: fmt.Sprintf("spec.parentRefs[%d]", i), Message: message, Hint: hint,
	}
}

// places yields each table that a route is in, once, with one place of it.
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

// tables counts the tables that a route is in.
func (a *attachOut) tables() (n int) {
	if a == nil {
		return 0
	}
	for range a.places() {
		n++
	}
	return n
}

// without returns the parent without the listeners that the route lost to other routes. rejection
// says to which; it is "" if the route lost none.
func (p parentOut) without(lost map[listenerKey]listen.Loss) (left parentOut, rejection string) {
	var words []string
	left = p
	left.Places = slices.DeleteFunc(slices.Clone(p.Places), func(place listen.Place) bool {
		_, gone := lost[listenerKey{p.Gateway, place.Listener}]
		return gone
	})
	left.Listeners = slices.DeleteFunc(slices.Clone(p.Listeners), func(name string) bool {
		loss, gone := lost[listenerKey{p.Gateway, name}]
		if gone {
			words = append(words, fmt.Sprintf("%s holds %s on listener %s, and comes first", loss.By, loss.Domain, name))
		}
		return gone
	})
	rejection = strings.Join(words, "; ")
	if rejection != "" {
		left.Accepted.Message = rejection
	}
	if rejection != "" && len(left.Listeners) == 0 {
		left.Accepted.Reason = reasonHostnameConflict
	}
	return left, rejection
}

// reasonHostnameConflict rejects a route whose hosts another kind of route holds; the
// Gateway API names no reason for it.
const reasonHostnameConflict gwv1.RouteConditionReason = "HostnameConflict"
