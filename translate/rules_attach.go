package translate

import (
	"fmt"
	"slices"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/listen"
	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/translate/route"
)

// attachOut says where a route attaches, and why not elsewhere.
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

type attachIn struct {
	*hintRules
	*namespaceRules
	*gatewayRules
	*coverageRules
	routes       *objects
	gateways     *objects
	listenerSets *objects
	invalid      *memo.Input[manifest.Key, *store.Invalid]
}

// attachRules say which routes attach to which listeners.
type attachRules struct {
	in       attachIn
	attach   *memo.Rule[manifest.Key, *attachOut]
	contest  *memo.Rule[listenerKey, map[manifest.Key]listen.Loss]
	admitted *memo.Rule[manifest.Key, *attachOut]
	won      *memo.Fold[manifest.Key, winKey, *win, memo.Ordered[*win]]
}

func newAttachRules(e *memo.Engine, in attachIn) *attachRules {
	r := &attachRules{in: in}
	r.attach = memo.NewRule(e, "attach", r.runAttach, deepEqual)
	memo.Each(r.attach, in.routes)
	r.declareContest(e)
	return r
}

func (r *attachRules) report(all *problemFold) {
	problemsFrom(all, "attach", r.admitted, func(a *attachOut) []manifest.Problem { return a.Problems })
	problemsFrom(all, "won", r.won, winProblems)
}

// attachment resolves the parentRef of a route to a Gateway or ListenerSet; ours is
// false where it is somebody else's to speak of.
func (r *attachRules) attachment(c *memo.Ctx, parent manifest.Key, ref gwv1.ParentReference, from *route.Common) (p parentOut, ours bool) {
	p = parentOut{Ref: ref, Gateway: parent.Namespace + "/" + parent.Name}
	of := r.in.gateways
	if parent.Kind == kindListenerSet {
		of = r.in.listenerSets
	}
	if _, exists := of.Get(c, parent); !exists {
		if invalid, ok := r.in.invalid.Get(c, parent); ok {
			p.Attachment = listen.InvalidParent(parent)
			return p, r.in.speaksOfInvalid(c, invalid)
		}
		p.Attachment = listen.NoParent(parent, r.in.absent(c, parent, "parentRef"))
		if _, isRoute := r.in.routes.Get(c, routeKey(p.Gateway)); isRoute && from.Key.Kind == "HTTPRoute" {
			p.Hint = "an HTTPRoute has that name; to stand under it, write kind: HTTPRoute into the parentRef"
		}
		return p, true
	}
	if parent.Kind == kindListenerSet {
		set := r.in.listenerSet.Get(c, parent)
		if set == nil {
			return p, false
		}
		if p.Gateway = set.Gateway; !set.Refused.Good() {
			p.Attachment = set.AttachToNone()
			return p, true
		}
	}
	part := r.in.part.Get(c, partKey{p.Gateway, parent})
	if part == nil {
		return p, false
	}
	if from.Hosts.None() {
		p.Attachment = r.in.bound.Get(c, from.Key.Namespace).NoHost()
		return p, true
	}
	asked := listen.Route{Common: *from, NamespaceLabels: r.in.namespaceLabels(c, from.Key.Namespace)}
	p.Attachment = part.Attach(parent, ref, asked, func(at listen.Socket, domain string) string {
		return r.in.owner.Get(c, hostKey{portKey{p.Gateway, at.Port, at.UDP}, domain})
	})
	return p, true
}

func (r *attachRules) runAttach(c *memo.Ctx, key manifest.Key) *attachOut {
	object, ok := r.in.routes.Get(c, key)
	if !ok {
		return &attachOut{}
	}
	from, out := route.Read(object), &attachOut{Origin: route.OriginOf(object)}
	if bound, narrower := r.in.bindHosts(c, &from); narrower {
		out.Bound = bound.String()
		out.Problems = hostProblems(&from, bound)
	}
	for i, ref := range from.Parents {
		switch {
		case route.ToRoute(key, ref):
		case !toListeners(ref):
			out.Problems = append(out.Problems, strangeParent(key, i, ref))
		default:
			r.attachTo(c, out, &from, i)
		}
	}
	if len(from.Parents) == 0 && key.Kind != "HTTPRoute" { // that one may stand below another
		out.Problems = append(out.Problems, manifest.Problem{
			Code: "ServesNowhere", Severity: manifest.Warning, Object: key, Field: "spec",
			Message: "this route is never reached: it has no parentRefs", Hint: "add a parentRef to a Gateway",
		})
	}
	slices.Sort(out.Ports)
	out.Ports = slices.Compact(out.Ports)
	return out
}

// strangeParent refuses a parentRef to what no route of its kind stands under.
func strangeParent(key manifest.Key, i int, ref gwv1.ParentReference) manifest.Problem {
	kind, kinds, hint := "", []string{"Gateway", kindListenerSet}, fmt.Sprintf("a %s stands under a Gateway or a ListenerSet", key.Kind)
	if ref.Kind != nil {
		kind = string(*ref.Kind)
	}
	if key.Kind == "HTTPRoute" {
		kinds, hint = []string{"HTTPRoute", "Gateway", kindListenerSet}, "an HTTPRoute stands under a Gateway, a ListenerSet or another HTTPRoute"
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

// toListeners reports whether a parentRef names an object that has listeners.
func toListeners(ref gwv1.ParentReference) bool {
	return (ref.Group == nil || *ref.Group == gwv1.GroupName) && (ref.Kind == nil || *ref.Kind == "Gateway" || *ref.Kind == kindListenerSet)
}

// parentKey names the object with listeners that a parentRef leads to.
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

// attachTo resolves the i-th parentRef. A Gateway that is not ours is somebody
// else's to speak of.
func (r *attachRules) attachTo(c *memo.Ctx, out *attachOut, from *route.Common, i int) {
	ref := from.Parents[i]
	p, ours := r.attachment(c, parentKey(from.Key, ref), ref, from)
	if !ours {
		return
	}
	p.Index = i
	switch {
	case reasonBound(p.Refused.Reason): // hostProblems say it
	case p.Refused.Good():
		p.Refused.Message = out.Bound
	default:
		if out.Bound != "" && p.Refused.Reason == gwv1.RouteReasonNoMatchingListenerHostname {
			p.Refused.Message += "; " + out.Bound
		}
		out.Problems = append(out.Problems, parentProblem(from.Key, i, string(p.Refused.Reason), p.Refused.Message, p.Hint))
	}
	if p.Shadowed != "" {
		problem := parentProblem(from.Key, i, "ShadowedByListener", p.Shadowed, "attach it to that listener, which is more specific and alone serves its host")
		problem.Severity = manifest.Warning
		out.Problems = append(out.Problems, problem)
	}
	out.Problems = append(out.Problems, r.in.uncovered(c, from, &p)...)
	for _, place := range p.Places {
		out.Ports = append(out.Ports, place.Port)
	}
	out.Parents = append(out.Parents, p)
}

// spans reports whether hosts hold all that the node's root serves on its port.
func (r *attachRules) spans(c *memo.Ctx, key flatKey, hosts ir.Hosts) bool {
	return !slices.ContainsFunc(r.admitted.Get(c, key.root()).Parents, func(p parentOut) bool {
		places := slices.DeleteFunc(slices.Clone(p.Places), func(p listen.Place) bool { return p.Port != key.Port })
		return !listen.Spans(hosts, places)
	})
}

// tablesOf returns the tables of a node's root on its port that hold some of the
// hosts. A narrower table of such a host is there when another route or a
// listener claims it: then the node is its guest. A child takes no host away
// from the others of its root.
func (r *attachRules) tablesOf(c *memo.Ctx, key flatKey, hosts ir.Hosts) (tables, guests []tableKey) {
	for _, parent := range r.admitted.Get(c, key.root()).Parents {
		held, narrower := parent.Places, []listen.Place(nil)
		if !hosts.Every() {
			if g := r.in.gateway.Get(c, ir.GatewayKey(parent.Gateway)); g != nil {
				held, narrower = g.Within(held, hosts)
			}
		}
		tables = appendTables(tables, key.Port, parent.Gateway, held)
		guests = appendTables(guests, key.Port, parent.Gateway, narrower)
	}
	return tables, slices.DeleteFunc(guests, func(t tableKey) bool { return slices.Contains(tables, t) })
}

func appendTables(out []tableKey, port int32, gateway string, places []listen.Place) []tableKey {
	for _, place := range places {
		table := tableOf(gateway, place)
		if place.Port == port && !slices.Contains(out, table) {
			out = append(out, table)
		}
	}
	return out
}
