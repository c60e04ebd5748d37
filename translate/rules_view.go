package translate

import (
	"cmp"
	"strings"

	"github.com/gatefold/gatefold/translate/backend"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/translate/ordered"
)

type viewIn struct {
	host     *memo.Rule[tableKey, *hostOut]
	listener *memo.Rule[portKey, *portOut]
	cluster  *memo.Rule[backend.Key, *clusterOut]

	requirement *memo.Rule[useKey, *requirementOut]

	flat     *memo.Rule[flatKey, *flatOut]
	rejected *memo.Fold[flatKey, rejectedChildKey, *rejectedChild, ordered.Set[*rejectedChild]]
}

// viewFolds collect what an ir.View shows, except policies, certificates and the allowed hosts of namespaces.
type viewFolds struct {
	in       viewIn
	allHosts *memo.Fold[struct{}, tableKey, *hostOut, ordered.Set[*hostOut]]
	allPorts *memo.Fold[struct{}, portKey, *portOut, ordered.Set[*portOut]]
	allUsed  *memo.Fold[struct{}, backend.Key, *clusterOut, ordered.Set[*clusterOut]]

	allRequired *memo.Fold[struct{}, useKey, *requirementOut, ordered.Set[*requirementOut]]

	allDelegating *memo.Fold[struct{}, delegatingKey, delegating, ordered.Set[delegating]]
	allRejected   *memo.Fold[struct{}, flatKey, rejectedBelow, ordered.Set[rejectedBelow]]
}

// delegating is a node with rules that delegate, and its port. A node is a route in a delegation tree (see
// flatKey).
type delegating struct {
	*flatOut
	port int32
}

// delegatingKey identifies a node that delegates, by the port and the name of its first delegating match
// (route.Point). It is smaller than the flatKey of the node, which matters because a folder can have very many
// nodes.
type delegatingKey struct {
	port  int32
	point string
}

func compareDelegating(a, b delegating) int {
	return cmp.Or(cmp.Compare(a.port, b.port), strings.Compare(a.Points[0].Name, b.Points[0].Name))
}

// rejectedBelow are the candidates that a node does not accept as children. flatKey is the node.
type rejectedBelow struct {
	flatKey
	children ordered.Set[*rejectedChild]
}

func newViewFolds(e *memo.Engine, in viewIn) *viewFolds {
	r := &viewFolds{in: in}
	r.allHosts = memo.NewFold[struct{}, tableKey, *hostOut](e, "allhosts", gather[tableKey](compareHosts), ordered.Set[*hostOut].Same)
	memo.From(r.allHosts, in.host, func(key tableKey, h *hostOut, yield func(memo.Place[struct{}, tableKey], *hostOut)) {
		if h != nil {
			yield(memo.Place[struct{}, tableKey]{ID: key}, h)
		}
	}, identical)
	r.allPorts = memo.NewFold[struct{}, portKey, *portOut](e, "allports", gather[portKey](comparePorts), ordered.Set[*portOut].Same)
	memo.From(r.allPorts, in.listener, func(key portKey, p *portOut, yield func(memo.Place[struct{}, portKey], *portOut)) {
		yield(memo.Place[struct{}, portKey]{ID: key}, p)
	}, identical)
	r.allUsed = memo.NewFold[struct{}, backend.Key, *clusterOut](e, "allused", gather[backend.Key](compareClusters), ordered.Set[*clusterOut].Same)
	memo.From(r.allUsed, in.cluster, func(key backend.Key, c *clusterOut, yield func(memo.Place[struct{}, backend.Key], *clusterOut)) {
		if c != nil {
			yield(memo.Place[struct{}, backend.Key]{ID: key}, c)
		}
	}, identical)
	r.allRequired = memo.NewFold[struct{}, useKey, *requirementOut](e, "allrequired", gather[useKey](compareRequirements), ordered.Set[*requirementOut].Same)
	memo.From(r.allRequired, in.requirement, func(key useKey, one *requirementOut, yield func(memo.Place[struct{}, useKey], *requirementOut)) {
		if one != nil {
			yield(memo.Place[struct{}, useKey]{ID: key}, one)
		}
	}, identical)
	r.allDelegating = memo.NewFold[struct{}, delegatingKey](e, "alldelegating", gather[delegatingKey](compareDelegating), ordered.Set[delegating].Same)
	memo.From(r.allDelegating, in.flat, func(key flatKey, f *flatOut, yield func(memo.Place[struct{}, delegatingKey], delegating)) {
		if len(f.Points) > 0 {
			yield(memo.Place[struct{}, delegatingKey]{ID: delegatingKey{key.Port, f.Points[0].Name}}, delegating{f, key.Port})
		}
	}, identical)
	r.allRejected = memo.NewFold[struct{}, flatKey](e, "allrejected", gather[flatKey](func(a, b rejectedBelow) int { return compareNodes(a.flatKey, b.flatKey) }), ordered.Set[rejectedBelow].Same)
	memo.From(r.allRejected, in.rejected, func(key flatKey, children ordered.Set[*rejectedChild], yield func(memo.Place[struct{}, flatKey], rejectedBelow)) {
		yield(memo.Place[struct{}, flatKey]{ID: key}, rejectedBelow{key, children})
	}, func(a, b rejectedBelow) bool { return a.children.Same(b.children) })
	return r
}

func compareRequirements(a, b *requirementOut) int {
	return cmp.Or(strings.Compare(a.Gateway, b.Gateway), strings.Compare(a.Encoded.Requirement, b.Encoded.Requirement))
}

func compareHosts(a, b *hostOut) int {
	return cmp.Or(comparePortKeys(a.Key.portKey, b.Key.portKey), strings.Compare(a.Key.Chain, b.Key.Chain), compareDomains(a, b))
}

func comparePorts(a, b *portOut) int {
	return cmp.Or(strings.Compare(a.Port.Gateway, b.Port.Gateway), cmp.Compare(a.Port.Port, b.Port.Port), ir.TrueFirst(!a.Port.UDP, !b.Port.UDP))
}

func compareClusters(a, b *clusterOut) int { return strings.Compare(a.Source.Name, b.Source.Name) }
