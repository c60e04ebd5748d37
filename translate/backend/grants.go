package backend

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/manifest"
)

// Grants are the ReferenceGrants of one namespace. They are indexed by the kinds and namespaces that may refer to
// objects in it, so that a lookup reads only the matching grants.
type Grants struct {
	all  []*gwv1.ReferenceGrant
	from map[referrer][]targets
}

// referrer is a kind and a namespace whose objects may refer to other objects.
type referrer struct {
	kind      schema.GroupKind
	namespace string
}

// targets are the names of objects that one ReferenceGrant permits references to, by kind. "" means every name.
type targets map[schema.GroupKind]map[string]struct{}

// ReadGrants returns the Grants of one namespace. The parameter all has the ReferenceGrants of that namespace.
func ReadGrants(all []*gwv1.ReferenceGrant) *Grants {
	g := &Grants{all: all, from: map[referrer][]targets{}}
	for _, grant := range all {
		to := targetsOf(grant.Spec.To)
		seen := map[referrer]bool{}
		for _, f := range grant.Spec.From {
			from := referrer{schema.GroupKind{Group: string(f.Group), Kind: string(f.Kind)}, string(f.Namespace)}
			if !seen[from] {
				g.from[from] = append(g.from[from], to)
			}
			seen[from] = true
		}
	}
	return g
}

// targetsOf returns the targets in the field spec.to of a ReferenceGrant.
func targetsOf(to []gwv1.ReferenceGrantTo) targets {
	out := targets{}
	for _, t := range to {
		kind, name := schema.GroupKind{Group: string(t.Group), Kind: string(t.Kind)}, ""
		if t.Name != nil {
			name = string(*t.Name)
		}
		if out[kind] == nil {
			out[kind] = map[string]struct{}{}
		}
		out[kind][name] = struct{}{}
	}
	return out
}

// Same reports whether two Grants have the same ReferenceGrants (the same pointers) in the same order.
func (g *Grants) Same(other *Grants) bool { return slices.Equal(g.all, other.all) }

// Permit reports whether one of the ReferenceGrants permits a reference into the namespace of g (Gateway API,
// ReferenceGrant).
func (g *Grants) Permit(r Reference) bool {
	for _, to := range g.from[referrer{r.From.GroupKind(), r.From.Namespace}] {
		if to.has(r.To) {
			return true
		}
	}
	return false
}

// has reports whether the targets contain the object with the given key.
func (t targets) has(key manifest.Key) bool {
	names := t[key.GroupKind()]
	_, named := names[key.Name]
	_, all := names[""]
	return named || all
}
