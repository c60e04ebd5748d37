package translate

import (
	"slices"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/listen"
	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/translate/route"
)

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
	in     attachIn
	attach *memo.Rule[manifest.Key, *attachOut]
}

func newAttachRules(e *memo.Engine, in attachIn) *attachRules {
	r := &attachRules{in: in}
	r.attach = memo.NewRule(e, "attach", r.runAttach, deepEqual)
	memo.Each(r.attach, in.routes)
	return r
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
		if p.Gateway = set.Gateway; !set.Accepted.Good() {
			p.Attachment = set.AttachNothing()
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
	case reasonBound(p.Accepted.Reason): // hostProblems say it
	case p.Accepted.Good():
		p.Accepted.Message = out.Bound
	default:
		if out.Bound != "" && p.Accepted.Reason == gwv1.RouteReasonNoMatchingListenerHostname {
			p.Accepted.Message += "; " + out.Bound
		}
		out.Problems = append(out.Problems, parentProblem(from.Key, i, string(p.Accepted.Reason), p.Accepted.Message, p.Hint))
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
