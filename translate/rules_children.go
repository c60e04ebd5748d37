package translate

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/translate/route"
	"github.com/gatefold/gatefold/translate/status"
)

// handedOn reports whether the rules of a root that hand requests to other routes
// find any; the message of a good verdict tells whom they do not hand to.
func (r *childRules) handedOn(c *memo.Ctx, key manifest.Key, mount *mountOut) manifest.Verdict[gwv1.RouteConditionReason] {
	var out manifest.Verdict[gwv1.RouteConditionReason]
	for _, port := range mount.Attach.Ports {
		if len(mount.flat(port).Points) > 0 {
			if out = r.in.graft.Get(c, flatKey{Route: key, Port: port}).resolved(); !out.Good() {
				return out
			}
		}
	}
	return out
}

// childEntry is an entry of a route's status for a route above it: for a
// parentRef, as it is written, or for a parent that asked for the route unnamed.
//
// The Gateway API keys entries by parentRef, so each parentRef has its own, with
// its sectionName. Under one of them several things may meet: rules of the parent
// that take the route and rules that do not, ports, chains above the parent. The
// route is accepted when it stands anywhere there; whatever refuses it beside
// that is in PartiallyInvalid, by name.
type childEntry struct {
	Ref    gwv1.ParentReference
	Index  int // in parentRefs, -1 for a parent that no parentRef names
	Parent manifest.Key
	Named  bool // by a rule of the parent
	// Accepted refuses the route, in the words of all who did. Without a reason its
	// message tells of chains above the parent that lead elsewhere.
	Accepted route.Refusal
	Resolved manifest.Verdict[gwv1.RouteConditionReason]
	// Dropped is what does not serve of a route that does.
	Dropped []string
	// beside are refusals by rules of the parent, of a route that others took.
	beside []route.Refusal
}

// childEntries returns the entries of a route's status for the routes above it,
// used or refused (docs/design/routes.md): those that its own parentRefs name, and
// those that asked for it.
func (r *childRules) childEntries(c *memo.Ctx, object *manifest.Object) []childEntry {
	var out []childEntry
	bound := r.boundTo(c, object.Key)
	from, _ := manifest.As[*api.HTTPRoute](object)
	named := map[manifest.Key][]string{} // sections
	for _, ref := range route.ParentRoutes(object) {
		if slices.Contains(named[ref.Key], ref.Section) {
			continue
		}
		named[ref.Key] = append(named[ref.Key], ref.Section)
		entry := childEntry{Ref: from.Spec.ParentRefs[ref.Index], Index: ref.Index, Parent: ref.Key}
		if bindings := of(bound, ref.Key); len(bindings) > 0 {
			entry.join(bindings, func(section string) bool { return ref.Section == "" || section == ref.Section }, ref.Section)
		} else {
			entry.Accepted = r.unbound(c, ref, bound)
		}
		out = append(out, entry)
	}
	for len(bound) > 0 {
		parent := bound[0].Parent
		bindings := of(bound, parent)
		bound = bound[len(bindings):]
		group, kind, namespace := gwv1.Group(parent.Group), gwv1.Kind(parent.Kind), gwv1.Namespace(parent.Namespace)
		entry := childEntry{Index: -1, Parent: parent,
			Ref: gwv1.ParentReference{Group: &group, Kind: &kind, Namespace: &namespace, Name: gwv1.ObjectName(parent.Name)}}
		unnamed := func(section string) bool { return !slices.Contains(named[parent], section) }
		if len(named[parent]) == 0 || unnamed("") && entry.concerned(bindings, unnamed) {
			entry.Named = slices.ContainsFunc(bindings, func(b *bindingOf) bool { return b.Named })
			entry.join(bindings, unnamed, "")
			out = append(out, entry)
		}
	}
	return out
}

// boundTo returns what became of a route under all parents, sorted by parent.
func (r *childRules) boundTo(c *memo.Ctx, key manifest.Key) []*bindingOf {
	bindings, _ := r.in.bindings.Get(c, key)
	return slices.AppendSeq(make([]*bindingOf, 0, bindings.Len()), bindings.All())
}

// of returns the bindings to one parent, which stand together.
func of(bound []*bindingOf, parent manifest.Key) []*bindingOf {
	first := slices.IndexFunc(bound, func(b *bindingOf) bool { return b.Parent == parent })
	if first < 0 {
		return nil
	}
	last := first
	for last < len(bound) && bound[last].Parent == parent {
		last++
	}
	return bound[first:last]
}

// concerned reports whether the parent did anything in rules that no parentRef names.
func (e *childEntry) concerned(bindings []*bindingOf, unnamed func(string) bool) bool {
	return slices.ContainsFunc(bindings, func(b *bindingOf) bool {
		return slices.ContainsFunc(b.Sections, unnamed) ||
			slices.ContainsFunc(b.Refused, func(r route.Refusal) bool { return unnamed(r.Section) && r.Rule != "" })
	})
}

// join makes one entry of all bindings to a parent, as far as they are about the
// sections that are meant; section is the name that the parentRef has.
func (e *childEntry) join(bindings []*bindingOf, meant func(section string) bool, section string) {
	used, chains := false, map[string]bool{}
	for _, b := range bindings {
		used = used || slices.ContainsFunc(b.Sections, meant)
		chains[b.key.Parent.path()] = true
	}
	seen := map[string]bool{}
	add := func(b *bindingOf, why route.Refusal) {
		if len(chains) > 1 {
			why.Message = "below " + b.key.Parent.path() + ": " + why.Message
		}
		if !seen[why.Message] {
			seen[why.Message] = true
			e.beside = append(e.beside, why)
		}
	}
	for _, b := range bindings {
		for _, why := range b.Refused {
			if why.Section == "" && why.Rule == "" || meant(why.Section) {
				add(b, why)
			}
		}
		if slices.ContainsFunc(b.Sections, meant) {
			e.drop(b)
		}
		if e.Resolved.Message == "" || e.Resolved.Good() && !b.Resolved.Good() {
			e.Resolved = b.Resolved
		}
	}
	if !used {
		e.refuse(section)
		return
	}
	var unfit []string
	for _, why := range e.beside {
		if why.Unfit {
			unfit = append(unfit, why.InWords())
		} else {
			e.Dropped = append(e.Dropped, why.InWords())
		}
	}
	e.Accepted.Message = route.Several(unfit)
}

// drop notes what of a binding does not serve.
func (e *childEntry) drop(b *bindingOf) {
	for _, miss := range b.Missed {
		if words := miss.String(); !slices.Contains(e.Dropped, words) {
			e.Dropped = append(e.Dropped, words)
		}
	}
	for _, words := range b.Unsupported {
		if !slices.Contains(e.Dropped, words) {
			e.Dropped = append(e.Dropped, words)
		}
	}
}

// refuse gives the entry of a route that nothing of the parent took the reason of
// the first, and the words of all.
func (e *childEntry) refuse(section string) {
	if len(e.beside) == 0 {
		e.Accepted = route.Refusal{Reason: gwv1.RouteReasonUnsupportedValue, Hint: hintSuperset,
			Message: fmt.Sprintf("none of its matches fits a rule named %q of %s", section, e.Parent)}
		return
	}
	var all []string
	for _, why := range e.beside {
		all = append(all, why.Message)
	}
	e.Accepted, e.beside = e.beside[0], nil
	e.Accepted.Message = route.Several(all)
}

// unbound refuses a parentRef to a route that has no binding with this one. bound
// are the bindings to others.
func (r *childRules) unbound(c *memo.Ctx, ref route.ParentRoute, bound []*bindingOf) route.Refusal {
	out := route.Refusal{Reason: gwv1.RouteReasonNoMatchingParent}
	if _, ok := r.in.routes.Get(c, ref.Key); !ok {
		out.Message, out.Hint = ref.Key.String()+" does not exist", r.in.absent(c, ref.Key, "parentRef")
		for _, b := range bound { // who asked for the route is meant first
			if b.Parent.Name == ref.Key.Name {
				out.Hint = fmt.Sprintf("%s hands requests to this route: add namespace: %s to the parentRef", b.Parent, b.Parent.Namespace)
			}
		}
		return out
	}
	above, _ := r.in.bindings.Get(c, ref.Key)
	switch {
	case r.standing(c, ref.Key):
		return route.NotAllowed(ref.Key)
	case above.Len() > 0:
		out.Message, out.Hint = ref.Key.String()+" is rejected itself, and hands on nothing", "fix that route: gatefold status says why it is rejected"
	default:
		out.Message, out.Hint = ref.Key.String()+" serves nowhere itself", "attach it to a Gateway, or to an HTTPRoute that serves"
	}
	return out
}

// standing reports whether a route is attached to a Gateway or stands under a route.
func (r *childRules) standing(c *memo.Ctx, key manifest.Key) bool {
	if len(r.in.admitted.Get(c, key).Ports) > 0 {
		return true
	}
	bindings, _ := r.in.bindings.Get(c, key)
	for b := range bindings.All() {
		if len(b.Sections) > 0 {
			return true
		}
	}
	return false
}

func (e *childEntry) status(generation int64) gwv1.RouteParentStatus {
	accepted := manifest.Verdict[gwv1.RouteConditionReason]{Reason: e.Accepted.Reason, Message: e.Accepted.Message}
	conditions := []metav1.Condition{
		status.RouteAccepted(generation, accepted),
		status.RouteResolvedRefs(generation, e.Resolved),
	}
	if accepted.Good() && len(e.Dropped) > 0 {
		conditions = append(conditions, status.RoutePartiallyInvalid(generation, route.Several(e.Dropped)))
	}
	return gwv1.RouteParentStatus{ParentRef: e.Ref, ControllerName: status.ControllerName, Conditions: conditions}
}
