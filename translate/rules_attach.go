package translate

import (
	"fmt"
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
	routes       *servedRoutes
	gateways     *objects
	listenerSets *objects
	invalid      *memo.Input[manifest.Key, *store.Invalid]
	MaxCopies    int
}

// attachRules decide which listeners a route attaches to. They reject routes with so many hostnames and
// listeners that their places exceed a limit (Options.MaxCopies). A place (listen.Place) is one virtual host or
// hostname that gets rules of a route. All namespaces have equal shares of the limit.
type attachRules struct {
	in     attachIn
	wide   *memo.Rule[manifest.Key, copies]
	tooFar *memo.Rule[struct{}, map[shareKey]overload]
	attach *memo.Rule[manifest.Key, *attachOut]
}

func newAttachRules(e *memo.Engine, in attachIn) *attachRules {
	r := &attachRules{in: in}
	r.wide = memo.NewRule(e, "wide", r.runWide, identical[copies])
	memo.EachOf(r.wide, in.routes, manyNames)
	width := memo.NewFold[struct{}, shareKey](e, "width", addTotal, sameTotal)
	memo.From(width, r.wide, shareOfRoute, identical)
	r.tooFar = memo.NewRule(e, "toofar", func(c *memo.Ctx, _ struct{}) map[shareKey]overload {
		all, _ := width.Get(c, struct{}{})
		return all.cut(placesPerCopy * in.MaxCopies)
	}, deepEqual)
	r.attach = memo.NewRule(e, "attach", r.runAttach, deepEqual)
	memo.Each(r.attach, in.routes)
	return r
}

// attachment returns the result for one parentRef (ref) of a route (from). The parameter parent is the key of
// the Gateway or ListenerSet that the parentRef names. If gatefold does not serve the class of the Gateway, the
// result ours is false, and the parentRef gets no status.
func (r *attachRules) attachment(c *memo.Ctx, parent manifest.Key, ref gwv1.ParentReference, from *route.Common) (p parentOut, ours bool) {
	p = parentOut{Ref: ref, Gateway: parent.Namespace + "/" + parent.Name}
	of := r.in.gateways
	if parent.Kind == kindListenerSet {
		of = r.in.listenerSets
	}
	if _, exists := of.Get(c, parent); !exists {
		absent := r.in.absent(c, parent, "parentRef")
		p.Attachment = listen.NoParent(absent.Message, absent.Hint)
		if absent.Invalid {
			return p, r.in.speaksOf(c, parent)
		}
		if _, isRoute := r.in.routes.Get(c, routeKey(p.Gateway)); isRoute && from.Key.Kind == "HTTPRoute" {
			p.Hint = "an HTTPRoute has that name; to attach to it, write kind: HTTPRoute into the parentRef"
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

const (
	// freePlaces is the number of places (listen.Place) of a route that do not count toward the limit: 16
	// hostnames on four listeners.
	freePlaces = 64
	// placesPerCopy is the number of places (listen.Place) that all routes together may have for each unit of
	// Options.MaxCopies. Each place that serves costs at least one of these units. So the limit of places never
	// rejects routes whose total cost is within MaxCopies.
	placesPerCopy = 2
)

// manyNames reports whether the places (listen.Place) of a route must be counted before it is decided where routes
// attach. If so, it returns a list with one element, the route's key. If not, it returns nil. The places must be
// counted if the number of the route's hostnames, times the number of its parentRefs, is above freeTables. A route
// without hostnames counts as a route with one hostname. The rule attachRules.wide counts the places (see runWide).
func manyNames(key manifest.Key, object *manifest.Object) []manifest.Key {
	from := route.Read(object)
	if max(1, len(from.Hostnames))*len(from.Parents) <= freeTables {
		return nil
	}
	return []manifest.Key{key}
}

// runWide returns how many places (listen.Place) a route with many hostnames or parentRefs would have if no
// limit applied. The number of places is in both fields Tables and Cost of the result. The field Free is freePlaces,
// the number of places that do not count toward the limit.
func (r *attachRules) runWide(c *memo.Ctx, key manifest.Key) copies {
	places := r.attachAll(c, key).tables()
	return copies{Owner: key.Namespace, Tables: places, Cost: places, Free: freePlaces}
}

// runAttach returns where a route attaches. A place is a hostname on a listener (see listen.Place). A route may have
// freePlaces places, and further places up to a limit of its namespace. If the route exceeds this limit, all its
// parentRefs are rejected, and it attaches nowhere.
func (r *attachRules) runAttach(c *memo.Ctx, key manifest.Key) *attachOut {
	out := r.attachAll(c, key)
	if out.tables() <= freePlaces {
		return out
	}
	r.wide.Get(c, key) // a route counts only while a rule reads this value
	over, cut := r.tooFar.Get(c, struct{}{})[shareKey{Root: key}]
	if !cut {
		return out
	}
	why := fmt.Sprintf("TooManyCopies: the route would be on %d hosts and ports; what the namespace may have beyond %d for each route is %d", over.Tables, freePlaces, over.Limit)
	out.Ports = nil
	for i := range out.Parents {
		if out.Parents[i].Accepted.Good() {
			out.Parents[i].Attachment = listen.Attachment{
				Accepted: manifest.Verdict[gwv1.RouteConditionReason]{Reason: gwv1.RouteReasonUnsupportedValue, Message: why},
			}
		}
	}
	out.Problems = append(out.Problems, manifest.Problem{
		Code: "TooManyCopies", Severity: manifest.Error, Object: key, Field: "spec.parentRefs", Message: "the route serves nowhere: " + why,
		Hint: "name the listeners that it is for by sectionName, name fewer hostnames, or raise --max-copies",
	})
	return out
}

// attachAll returns where a route attaches, without the limit of places that runAttach applies.
func (r *attachRules) attachAll(c *memo.Ctx, key manifest.Key) *attachOut {
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
	if len(from.Parents) == 0 && key.Kind != "HTTPRoute" && !from.AsksForDefaults { // an HTTPRoute without parentRefs may be below another
		out.Problems = append(out.Problems, manifest.Problem{
			Code: "ServesNowhere", Severity: manifest.Warning, Object: key, Field: "spec",
			Message: "this route is never reached: it has no parentRefs", Hint: "add a parentRef to a Gateway",
		})
	}
	slices.Sort(out.Ports)
	out.Ports = slices.Compact(out.Ports)
	return out
}

// attachTo adds the result for the i-th parentRef to out, with its ports and problems. It adds nothing if
// gatefold does not serve the class of the Gateway.
func (r *attachRules) attachTo(c *memo.Ctx, out *attachOut, from *route.Common, i int) {
	ref := from.Parents[i]
	p, ours := r.attachment(c, parentKey(from.Key, ref), ref, from)
	if !ours {
		return
	}
	p.Index = i
	switch {
	case reasonBound(p.Accepted.Reason): // hostProblems reports it
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
