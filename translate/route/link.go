package route

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
)

// The annotations, label and group of EP-10943.
const (
	inheritMatcher  = "delegation.kgateway.dev/inherit-parent-matcher"
	delegationGroup = "delegation.kgateway.dev"
	// DelegationLabel is the label by which a parent selects its children.
	DelegationLabel = "delegation.kgateway.dev/label"
)

// Mode is whether the parent or the child made a Link. Only combine.go reads it, and bind.go for
// the transaction of an inclusion.
type Mode uint8

// The modes.
const (
	Delegated Mode = iota // the parent named the child (EP-10943)
	Included              // the child named the parent (GEP-1058)
)

// AllNamespaces is the default word for all namespaces.
const AllNamespaces = "all"

// Link binds a child route to one Point of a parent.
type Link struct {
	Mode  Mode
	Point *Point
	// Ref is the index of the Point's first backendRef that selects the child, 0 for an
	// included child.
	Ref int
	// Inherit combines the child's matches with the parent's, instead of requiring that they
	// are within them (EP-10943, Matcher inheritance).
	Inherit bool
}

// Point is a place where requests are delegated: one match of a delegating rule, below one
// chain of parents.
type Point struct {
	// Name is unique in its table: the name of the rule that would be in this place.
	Name        string
	Rule, Match int
	RuleName    string
	// Matcher is the match of every request that arrives here, from the root on.
	Matcher ir.Match
	Chain   []ir.Hop // ends with this rule; all rules below it share it
	Root    *ir.Origin
	// Levels are the delegating rules' own settings, root first.
	Levels []Level
	// Selectors select routes that the rule names; Allowed admits routes that name the rule.
	Selectors []Selector
	Allowed   *gwv1.AllowedRoutes
	// Rest answers what no child matches: the Services beside the references, or 500 if it must
	// (see Guard).
	Rest *ir.Rule
	// Guarded is true if Rest is served even if children are live.
	Guarded bool
}

// Selector selects routes: one, those of a namespace, or those with a label.
type Selector struct {
	Form SelectorForm
	// Namespace is "" for all namespaces (labels only).
	Namespace string
	Value     string // name or label value
	// Ref is the index of the backendRef.
	Ref int
}

// SelectorForm is how a Selector selects routes.
type SelectorForm uint8

// The forms (EP-10943).
const (
	ByName      SelectorForm = iota // one route
	ByNamespace                     // "*": all routes of a namespace
	ByLabel                         // all with the label, of a namespace or of all
	ByParent                        // those whose parentRefs name the route (GEP-1058)
	ByParentIn                      // those of them that are of one namespace, see Property.In
)

// ParentRoute is a parentRef of kind HTTPRoute.
type ParentRoute struct {
	Key     manifest.Key
	Section string // "" is every rule
	Index   int    // in parentRefs
}

// parentRoutes returns the parentRefs that name routes. The kind must be set (GEP-1058, 3.1). The
// default namespace is the child's.
func parentRoutes(key manifest.Key, route *api.HTTPRoute) []ParentRoute {
	var out []ParentRoute
	for i, ref := range route.Spec.ParentRefs {
		if !ToRoute(key, ref) {
			continue
		}
		p := ParentRoute{Key: manifest.Key{Group: key.Group, Kind: key.Kind, Namespace: key.Namespace, Name: string(ref.Name)}, Index: i}
		if ref.Namespace != nil {
			p.Key.Namespace = string(*ref.Namespace)
		}
		if ref.SectionName != nil {
			p.Section = string(*ref.SectionName)
		}
		out = append(out, p)
	}
	return out
}

// ToRoute reports whether a parentRef of the child names a parent route: only HTTPRoutes can be
// parent and child (EP-10943; GEP-1058: of the same type).
func ToRoute(child manifest.Key, ref gwv1.ParentReference) bool {
	return child.Kind == "HTTPRoute" && (ref.Group == nil || *ref.Group == gwv1.GroupName) && ref.Kind != nil && *ref.Kind == "HTTPRoute"
}

// ParentRoutes returns the parentRefs of an object that name routes.
func ParentRoutes(object *manifest.Object) []ParentRoute {
	route, _ := manifest.As[*api.HTTPRoute](object)
	return parentRoutes(object.Key, route)
}

// Linked is the result of matching a parent's Points with one candidate.
type Linked struct {
	Links []Link
	// Points are the names of all Points that name or admit it, whether they are linked or not.
	Points []string
	// Rejections says which rules of the parent are not linked, and why. It is not empty if there
	// is no Link although a rule or the candidate asked for one.
	Rejections []BindingRejection
	// Named is true if a rule of the parent names the candidate itself, and not only its
	// namespace or label.
	Named bool
}

// BindingRejection is a reason and message of the child's Accepted condition, with a hint.
type BindingRejection struct {
	Reason        gwv1.RouteConditionReason
	Message, Hint string
	// Field is the child's field to fix, "" for its parentRef or for the parent.
	Field string
	// Unfit is true if none of its matches is below the parent's match. That is no mistake if
	// another chain of parents leads to the child.
	Unfit bool
	// Reported is true if the Problems of the route already report it, at the field to fix.
	Reported bool
	// Section is the name of the parent's rule, and Rule says where that rule is. Both are ""
	// if the rejection is about the whole parent.
	Section, Rule string
}

// String returns which rule rejects the child, and why.
func (r BindingRejection) String() string {
	if r.Rule == "" {
		return r.Message
	}
	return "not under " + r.Rule + " of the parent: " + r.Message
}

// Concerns reports whether the rejection is about the rule of that name. "" stands for any rule.
func (r BindingRejection) Concerns(section string) bool {
	return section == "" || r.Section == section || r.Section == "" && r.Rule == ""
}

// ReasonNotAllowedByParent is the reason for a route that no rule of its parent selects or
// admits (docs/design/routes.md).
const ReasonNotAllowedByParent gwv1.RouteConditionReason = "NotAllowedByParent"

// LinkTo links a candidate to the Points of parent that select or admit it. labels are those of
// the candidate's namespace.
func LinkTo(parent manifest.Key, points []*Point, child *manifest.Object, labels map[string]string) Linked {
	route, _ := manifest.As[*api.HTTPRoute](child)
	refs := slices.DeleteFunc(parentRoutes(child.Key, route), func(p ParentRoute) bool { return p.Key != parent })
	consents := Consents(parent, child)
	out := Linked{}
	for _, point := range points {
		by, selected := point.selects(child)
		admitted := !selected && point.admits(refs, child, parent.Namespace, labels)
		if selected || admitted {
			out.Points = append(out.Points, point.Name)
		}
		out.Named = out.Named || selected && slices.ContainsFunc(point.Selectors, func(s Selector) bool { return s.Form == ByName && s.Value == child.Key.Name })
		switch {
		case selected && !consents:
			out.reject(point, BindingRejection{Reason: ReasonNotAllowedByParent,
				Message: fmt.Sprintf("HTTPRoute %s/%s delegates here, but parentRefs do not name it", parent.Namespace, parent.Name),
				Hint:    fmt.Sprintf("add a parentRef of kind HTTPRoute, name %s, namespace %s, or take all parentRefs out", parent.Name, parent.Namespace)})
		case selected && len(route.Spec.Hostnames) > 0:
			out.reject(point, BindingRejection{Reason: gwv1.RouteReasonUnsupportedValue, Field: "spec.hostnames",
				Message: "a delegated route has the hostnames of its root, and must not set its own", Hint: "take spec.hostnames out"})
		case selected:
			out.Links = append(out.Links, Link{Mode: Delegated, Point: point, Ref: by.Ref, Inherit: inherits(route)})
		case admitted:
			out.Links = append(out.Links, Link{Mode: Included, Point: point})
		}
	}
	out.unmet(parent, points, refs, child)
	return out
}

// Consents reports whether a route allows the parent to delegate to it: it has no parentRefs, or
// one that names the parent (docs/design/routes.md).
func Consents(parent manifest.Key, child *manifest.Object) bool {
	route, _ := manifest.As[*api.HTTPRoute](child)
	return len(route.Spec.ParentRefs) == 0 ||
		slices.ContainsFunc(parentRoutes(child.Key, route), func(p ParentRoute) bool { return p.Key == parent })
}

// reject notes why a rule does not accept the candidate. It does so once for all matches of the
// rule.
func (l *Linked) reject(point *Point, why BindingRejection) {
	why.Section, why.Rule = point.RuleName, point.At()
	if !slices.Contains(l.Rejections, why) {
		l.Rejections = append(l.Rejections, why)
	}
}

// unmet adds rejections for the candidate's parentRefs that no rule accepts: for each rule that
// they name, or for the parent if it accepts nothing of the candidate.
func (l *Linked) unmet(parent manifest.Key, points []*Point, refs []ParentRoute, child *manifest.Object) {
	for _, ref := range refs {
		has := slices.ContainsFunc(l.Links, func(k Link) bool { return ref.Section == "" || k.Point.RuleName == ref.Section })
		if has || slices.ContainsFunc(l.Rejections, func(r BindingRejection) bool { return r.Concerns(ref.Section) }) {
			continue
		}
		l.Rejections = append(l.Rejections, notAdmitted(parent, points, ref, child))
	}
}

// NotAllowed returns the rejection of a route that no rule of its parent selects or admits.
func NotAllowed(parent manifest.Key) BindingRejection {
	return BindingRejection{Reason: ReasonNotAllowedByParent,
		Message: fmt.Sprintf("no rule of HTTPRoute %s/%s leads here: none names this route in its backendRefs, or admits it by allowedRoutes", parent.Namespace, parent.Name),
		Hint:    "name this route in its backendRefs (kind HTTPRoute), or admit it by allowedRoutes in one of its rules"}
}

// notAdmitted returns the rejection of a parentRef that no rule with allowedRoutes admits. It names
// these rules.
func notAdmitted(parent manifest.Key, points []*Point, ref ParentRoute, child *manifest.Object) BindingRejection {
	out := NotAllowed(parent)
	out.Section = ref.Section
	var all, meant, names []string
	for _, p := range points {
		at := p.At()
		if p.Allowed == nil || slices.Contains(all, at) {
			continue
		}
		all, names = append(all, at), append(names, p.RuleName)
		if p.namedBy([]ParentRoute{ref}) {
			meant = append(meant, at)
		}
	}
	switch {
	case len(meant) > 0:
		out.Message += fmt.Sprintf("; the allowedRoutes of %s leave out %s of namespace %s", strings.Join(meant, ", "), child.Key.Kind, child.Key.Namespace)
		out.Hint = fmt.Sprintf("let the rule's allowedRoutes admit kind %s of namespace %s (namespaces: {from: All}, or a selector)", child.Key.Kind, child.Key.Namespace)
		if ref.Section != "" {
			out.Rule = meant[0]
		}
	case len(all) > 0:
		out.Message += fmt.Sprintf("; none with allowedRoutes is named %s: they are %s", ref.Section, strings.Join(all, ", "))
		out.Hint = "correct the sectionName of the parentRef, or the name of the rule"
		if near := manifest.Nearest(ref.Section, names); near != "" {
			out.Hint = fmt.Sprintf("did you mean sectionName: %s?", near)
		}
	}
	return out
}

// At returns the path and the name of the Point's rule in its route.
func (p *Point) At() string {
	if p.RuleName == "" {
		return fmt.Sprintf("spec.rules[%d]", p.Rule)
	}
	return fmt.Sprintf("spec.rules[%d] (%s)", p.Rule, p.RuleName)
}

// namedBy reports whether a parentRef names the rule, or all rules.
func (p *Point) namedBy(refs []ParentRoute) bool {
	return slices.ContainsFunc(refs, func(r ParentRoute) bool { return r.Section == "" || r.Section == p.RuleName })
}

// Sections returns the names of the rules with one of the live Points, sorted.
func (l Linked) Sections(live map[string]bool) []string {
	var out []string
	for _, link := range l.Links {
		if live[link.Point.Name] {
			out = append(out, link.Point.RuleName)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// selects returns the first reference of the rule that selects the route. ok is false if none does.
func (p *Point) selects(child *manifest.Object) (by Selector, ok bool) {
	value, labelled := child.Value.GetLabels()[DelegationLabel]
	i := slices.IndexFunc(p.Selectors, func(s Selector) bool {
		here := s.Namespace == child.Key.Namespace
		switch s.Form {
		case ByName:
			return here && s.Value == child.Key.Name
		case ByNamespace:
			return here
		}
		return labelled && s.Value == value && (here || s.Namespace == "")
	})
	if i < 0 {
		return Selector{}, false
	}
	return p.Selectors[i], true
}

// admits reports whether the rule's allowedRoutes admit one of the child's
// parentRefs to this route (GEP-1058, Summary of Changes 2 and 4).
func (p *Point) admits(refs []ParentRoute, child *manifest.Object, namespace string, set map[string]string) bool {
	if p.Allowed == nil || !p.namedBy(refs) {
		return false
	}
	if len(p.Allowed.Kinds) > 0 && !slices.ContainsFunc(p.Allowed.Kinds, func(k gwv1.RouteGroupKind) bool {
		return string(k.Kind) == child.Key.Kind && (k.Group == nil || string(*k.Group) == child.Key.Group)
	}) {
		return false
	}
	return admitsNamespace(p.Allowed.Namespaces, child.Key.Namespace, namespace, set)
}

func admitsNamespace(from *gwv1.RouteNamespaces, child, parent string, set map[string]string) bool {
	if from == nil || from.From == nil {
		return child == parent
	}
	switch *from.From {
	case gwv1.NamespacesFromAll:
		return true
	case gwv1.NamespacesFromSame:
		return child == parent
	case gwv1.NamespacesFromSelector:
		selector, err := metav1.LabelSelectorAsSelector(from.Selector)
		return err == nil && selector.Matches(labels.Set(set))
	}
	return false
}

// inherits reports whether the annotation enables inheritance. It accepts the same values as
// kgateway.
func inherits(route *api.HTTPRoute) bool {
	return slices.Contains([]string{"true", "yes", "enabled"}, strings.ToLower(route.Annotations[inheritMatcher]))
}
