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

// blame is what a canary rejects of a revision that is not promoted.
type blame struct {
	node      string
	typ, name string    // of the resource
	part      *xds.Part // of a table or filter; nil for all of it
	words     string    // of Envoy
}

func compareBlames(a, b *blame) int {
	return cmp.Or(strings.Compare(a.what(), b.what()), strings.Compare(a.node, b.node), strings.Compare(a.words, b.words))
}

// what names what was rejected.
func (b *blame) what() string {
	if b.part != nil {
		return b.part.String()
	}
	return fmt.Sprintf("%s %q", xds.ShortType(b.typ), b.name)
}

// blamesOf returns what a canary rejects, and the promoted revision does not have in that form. unread has the promoted
// tables looked at that are needed for it.
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

// frozenFor is the verdict on a revision of which canaries rejected something.
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

// fieldOf returns the field that a rejected part or resource is made of; zero where its name does not tell.
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

// ownerOf returns the object that a cluster or secret is named after: "Service/shop/cart/80" is of
// Service shop/cart. It is zero for other names.
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
