package server

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/translate/xds"
)

// blame is a reason not to promote a revision: a canary rejected a resource of the revision, or a part of such a
// resource (xds.Part: for example a route of a route table).
type blame struct {
	node      string
	typ, name string    // type and name of the resource
	part      *xds.Part // the rejected part of a route table or filter; nil if all of the resource is rejected
	words     string    // Envoy's error
}

// compareBlames compares blames for a sort: by what was rejected, then by canary, then by Envoy's error.
func compareBlames(a, b *blame) int {
	return cmp.Or(strings.Compare(a.what(), b.what()), strings.Compare(a.node, b.node), strings.Compare(a.words, b.words))
}

// what returns the name of the rejected part of a resource. If the whole resource is rejected, the method returns
// the type and the quoted name of the resource.
func (b *blame) what() string {
	if b.part != nil {
		return b.part.String()
	}
	return fmt.Sprintf("%s %q", xds.ShortType(b.typ), b.name)
}

// blamesOf returns what the canary st rejects of the revision that is not promoted yet: resources, and parts of
// resources, such as routes. It leaves out two kinds of parts:
//   - A part that did not change since the promoted revision. To find these parts, blamesOf compares hashes.
//   - A part that the canary rejects only because its Envoy is too old.
//
// If the hashes of a promoted resource are not computed yet, all rejected parts of this resource are in blames. The
// result unread then has functions that compute the missing hashes. The caller calls them, and then calls blamesOf
// again.
func (s *staging) blamesOf(c *scope, st *stream) (blames []*blame, unread []reading) {
	node := cmp.Or(st.node, st.peer)
	for r := range st.Rejections() {
		if c.holdsBack(r.Type, r.Name) {
			blames = append(blames, &blame{node: node, typ: r.Type, name: r.Name, words: r.Words})
		}
	}
	for part := range st.RejectedParts() {
		if part.Lack != nil || !c.holdsBack(part.Type(), part.Table) {
			continue
		}
		old, promoted := false, c.promotedForm(part.Type(), part.Table)
		if promoted != nil {
			sums, read := s.sums[promoted]
			if old = sums[part.Sum]; !read {
				unread = append(unread, s.sum(promoted))
			}
		}
		if old {
			continue
		}
		blames = append(blames, &blame{node: node, typ: part.Type(), name: part.Table, part: &part.Part, words: part.Words})
	}
	return blames, unread
}

// frozenFor returns the verdict that freezes the newest revision of a fleet: the revision is not promoted,
// because canaries rejected resources of it. The parameter blames has these rejections, sorted, at least one. The
// message quotes the first, and gives the number of the others.
func (s *staging) frozenFor(c *scope, blames []*blame) stageVerdict {
	first := blames[0]
	why := fmt.Sprintf("Envoy %q of stage canary rejected %s: %s", first.node, first.what(), strings.TrimSuffix(first.words, "."))
	if more := len(blames) - 1; more > 0 {
		why += fmt.Sprintf(" (and %d more)", more)
	}
	v := s.frozenBy(c, why)
	v.field = s.fieldOf(c, first)
	return v
}

// fieldOf returns the object, and the field in it, that the user must look at to repair what Envoy rejected (b). If
// the names in b do not lead to an object, the result is the zero Field.
func (s *staging) fieldOf(c *scope, b *blame) manifest.Field {
	switch {
	case b.part != nil && b.part.Requirement != "":
		namespace, name, _ := strings.Cut(b.part.Requirement, "/")
		return manifest.Field{Object: manifest.Key{Group: api.Group, Kind: "GatewayExtension", Namespace: namespace, Name: name}, Path: "spec.jwt"}
	case b.part != nil && b.part.Route != "":
		return translate.RuleOf(b.part.Route)
	case b.typ == xds.ClusterType, b.typ == xds.EndpointType, b.typ == xds.SecretType:
		return manifest.Field{Object: ownerOf(b.name), Path: "metadata.name"}
	case b.typ == xds.ListenerType:
		for gateway := range c.Owners(b.typ, b.name) {
			return s.verdicts.board.PortOf(gateway, b.name)
		}
	}
	return manifest.Field{}
}

// ownerOf returns the object that a cluster or secret is named after: for "Service/shop/cart/80" it is the
// Service shop/cart. It returns the zero Key if the name does not begin with a known kind, or has less than
// three elements.
func ownerOf(name string) manifest.Key {
	parts := strings.SplitN(name, "/", 4)
	if len(parts) < 3 {
		return manifest.Key{}
	}
	kind, _, known := store.FindKind(parts[0])
	if !known || kind.Kind != parts[0] {
		return manifest.Key{}
	}
	return manifest.Key{Group: kind.Group, Kind: kind.Kind, Namespace: parts[1], Name: parts[2]}
}
