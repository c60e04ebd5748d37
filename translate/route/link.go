package route

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/store/scope"
	"github.com/gatefold/gatefold/translate/ir"
)

// The annotation, the group and the label of EP-10943.
const (
	inheritMatcher  = "delegation.kgateway.dev/inherit-parent-matcher"
	delegationGroup = "delegation.kgateway.dev"
	// DelegationLabel is the label by which a parent selects its children.
	DelegationLabel = "delegation.kgateway.dev/label"
)

// Mode says which side connects a child route to its parent: the parent names the child, or the child names the
// parent. Only combine.go, bind.go and place.go read the Mode of a Link.
type Mode uint8

// The modes.
const (
	Delegated Mode = iota // the parent named the child (EP-10943)
	Included              // the child named the parent (GEP-1058)
)

// AllNamespaces is the default of Setting.Wildcard. To select routes by label in all namespaces, a backendRef has
// this word as its namespace.
const AllNamespaces = "all"

// Link connects a child route to one match of a delegating rule (the Point). The child's rules serve the requests
// that this match accepts.
type Link struct {
	Mode  Mode
	Point *Point
	// Ref is the index of the Point's first backendRef that selects the child. It is 0 for an included child.
	Ref int
	// Inherit is true if the child's matches are combined with the parent's. If it is false, the child's matches
	// must be within the parent's (EP-10943, Matcher inheritance).
	Inherit bool
}

// Point is one match of a rule that delegates: requests that match go to child routes. If several chains of parent
// routes lead to the rule, there is one Point for each chain.
type Point struct {
	// Name is the name of the Point's guard (the field Rest). No other rule or Point of a virtual host has this name.
	// Rule and Match are the indexes in the route, and RuleName is rules[].name.
	Name        string
	Rule, Match int
	RuleName    string
	// Matcher is the condition of all requests that reach the Point, combined from the root down to this match.
	Matcher ir.Match
	// Chain are the delegating rules from the root down to this rule. All rules of the Point's children have this
	// slice as their ir.Rule.Chain.
	Chain []ir.Hop
	Root  *ir.Origin
	// Levels are the settings of the delegating rules from the root down to this rule, the root's first.
	Levels []Level
	// Selectors select child routes: they are backendRefs of the rule. Allowed is about the routes whose parentRefs
	// name the rule: it says which of these are admitted as children. If Allowed is nil, none is.
	Selectors []Selector
	Allowed   *gwv1.AllowedRoutes
	// Rest is the guard of the Point (ir.Rule.Guard): the rule for requests that no child matches. It sends these
	// requests to the backends of the delegating rule, or answers an error.
	Rest *ir.Rule
	// Guarded is true if the delegating rule has backendRefs to backends. Rest is then served even if children have
	// rules below the Point.
	Guarded bool
}

// Selector is a backendRef of a delegating rule that selects child routes: one route, those of a namespace, or those
// with a label.
type Selector struct {
	Form SelectorForm
	// Namespace is the namespace of the children. It is "" for all namespaces, which only ByLabel can select.
	Namespace string
	Value     string // the name of the route, or the value of the label
	// Ref is the index of the backendRef.
	Ref int
}

// SelectorForm is how a Selector or Property selects routes.
type SelectorForm uint8

// The forms (EP-10943).
const (
	ByName      SelectorForm = iota // one route by its name
	ByNamespace                     // all routes of a namespace ("*")
	ByLabel                         // all routes with the label, in one namespace or in all
	ByParent                        // routes whose parentRefs name the parent (GEP-1058)
	ByParentIn                      // as ByParent, in one namespace only: see Property.In
)

// ParentRoute is a parentRef of kind HTTPRoute.
type ParentRoute struct {
	Key     manifest.Key
	Section string // the sectionName; "" means every rule
	Index   int    // the index in parentRefs
}

// parentRoutes returns the parentRefs of an HTTPRoute that name HTTPRoutes. Such a parentRef must set the kind
// (GEP-1058, 3.1). The parameter key is the key of the route. The default namespace of a parentRef is the route's.
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

// ToRoute reports whether a parentRef of a route (the parameter child) names a parent route. It returns false unless
// child and parent are HTTPRoutes: delegation (EP-10943) has only HTTPRoutes, and GEP-1058 requires the same kind.
func ToRoute(child manifest.Key, ref gwv1.ParentReference) bool {
	return child.Kind == "HTTPRoute" && (ref.Group == nil || *ref.Group == gwv1.GroupName) && ref.Kind != nil && *ref.Kind == "HTTPRoute"
}

// ParentRoutes returns the parentRefs of an HTTPRoute that name HTTPRoutes.
func ParentRoutes(object *manifest.Object) []ParentRoute {
	route, _ := manifest.As[*api.HTTPRoute](object)
	return parentRoutes(object.Key, route)
}

// Linked is the result of LinkTo for a parent and one route that may become its child (the candidate): the Links
// between them, and why other rules of the parent do not delegate to the candidate.
type Linked struct {
	Links []Link
	// Points are the names of the parent's delegating matches (see Point) that select the candidate or admit it as
	// a child, with or without a Link.
	Points []string
	// Rejections are the reasons why rules of the parent have no Link to the candidate. If a rule selects the
	// candidate, or the candidate names the parent, there is at least one Link or one rejection.
	Rejections []BindingRejection
	// Named is true if a rule of the parent selects the candidate by its name, and not only by its namespace or
	// label.
	Named bool
}

// BindingRejection says why a parent does not delegate to a child route: a reason and message for the child's
// condition Accepted, and a hint what to do.
type BindingRejection struct {
	Reason        gwv1.RouteConditionReason
	Message, Hint string
	// Field is the path of the child's field to fix. It is "" if the parentRef or the parent must be fixed instead.
	Field string
	// Unfit is true if the parent rejects the child because no match of the child fits the parent's match (see
	// Link.Inherit). This is no mistake if another chain of parents leads to the child.
	Unfit bool
	// Reported is true if the problems of the child (Flat.Problems) already contain the mistake.
	Reported bool
	// Foreign is true if the mistake is the parent's alone: the child has no problem for it.
	Foreign bool
	// Section is the name of the parent's rule, or the sectionName of a rejected parentRef. Rule is the path of the
	// rule. Section and Rule are "" if the rejection is about the whole parent.
	Section, Rule string
}

// String returns the message. If Rule is set, the text also names the rule of the parent that rejects the child.
func (r BindingRejection) String() string {
	if r.Rule == "" {
		return r.Message
	}
	return "not under " + r.Rule + " of the parent: " + r.Message
}

// Concerns reports whether the rejection is about the parent's rule with the given name (the parameter section). If
// section is "", or if the whole parent rejects the child, the result is true.
func (r BindingRejection) Concerns(section string) bool {
	return section == "" || r.Section == section || r.Section == "" && r.Rule == ""
}

// ReasonNotAllowedByParent is the reason for a route that no rule of its parent selects or admits
// (docs/design/routes.md).
const ReasonNotAllowedByParent gwv1.RouteConditionReason = "NotAllowedByParent"

// LinkTo finds the matches of the parent's delegating rules that select or admit a route (child), and links the
// route to them. The parameter points has all matches of the parent's delegating rules (see Point), also those that
// neither select nor admit the child. The parameter home is what the child's Namespace says about parents. The result
// also has the reasons why rules reject the child. A rule that selects the child by its namespace or label, without
// the consent of the Namespace, is as if it did not select the child.
func LinkTo(parent manifest.Key, points []*Point, child *manifest.Object, home Home) Linked {
	route, _ := manifest.As[*api.HTTPRoute](child)
	refs := slices.DeleteFunc(parentRoutes(child.Key, route), func(p ParentRoute) bool { return p.Key != parent })
	consents := Consents(parent, child)
	out := Linked{}
	for _, point := range points {
		by, selected := point.selects(child)
		trusted := len(route.Spec.ParentRefs) > 0 || home.trusts(point.Rest.Source, child.Key.Namespace)
		named := selected && point.names(child.Key)
		selected = named || selected && trusted
		admitted := !selected && point.admits(refs, child, parent.Namespace, home.Labels)
		if selected || admitted {
			out.Points = append(out.Points, point.Name)
		}
		out.Named = out.Named || named
		switch {
		case selected && !trusted:
			out.reject(point, notConsented(parent, child.Key, home))
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

// reject records in l that the rule with the given Point (a match of the rule) does not accept the candidate, and
// why. A rule with several matches has several Points, but an equal rejection is recorded only once.
func (l *Linked) reject(point *Point, why BindingRejection) {
	why.Section, why.Rule = point.RuleName, point.At()
	if !slices.Contains(l.Rejections, why) {
		l.Rejections = append(l.Rejections, why)
	}
}

// unmet adds a rejection for each parentRef in the parameter refs for which l has neither a Link nor a rejection. The
// parameter refs has the parentRefs of the child that name the parent.
func (l *Linked) unmet(parent manifest.Key, points []*Point, refs []ParentRoute, child *manifest.Object) {
	for _, ref := range refs {
		has := slices.ContainsFunc(l.Links, func(k Link) bool { return ref.Section == "" || k.Point.RuleName == ref.Section })
		if has || slices.ContainsFunc(l.Rejections, func(r BindingRejection) bool { return r.Concerns(ref.Section) }) {
			continue
		}
		l.Rejections = append(l.Rejections, notAdmitted(parent, points, ref, child))
	}
}

// NotAllowed returns the rejection of a child route because no rule of its parent route leads to it: none selects
// the child by a backendRef, and none admits the child by allowedRoutes.
func NotAllowed(parent manifest.Key) BindingRejection {
	return BindingRejection{Reason: ReasonNotAllowedByParent,
		Message: fmt.Sprintf("no rule of HTTPRoute %s/%s leads here: none names this route in its backendRefs, or admits it by allowedRoutes", parent.Namespace, parent.Name),
		Hint:    "name this route in its backendRefs (kind HTTPRoute), or admit it by allowedRoutes in one of its rules"}
}

// notAdmitted returns the rejection of a parentRef (the parameter ref) that no rule of the parent admits. The
// message lists the rules with allowedRoutes to which the parentRef refers. If there are none, the message lists
// all rules of the parent with allowedRoutes, if any.
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

// At returns the path of the delegating rule inside its route, such as spec.rules[0], with the rule's name if it
// has one.
func (p *Point) At() string {
	if p.RuleName == "" {
		return fmt.Sprintf("spec.rules[%d]", p.Rule)
	}
	return fmt.Sprintf("spec.rules[%d] (%s)", p.Rule, p.RuleName)
}

// namedBy reports whether one of the parentRefs names the Point's rule. A parentRef without a sectionName names all
// rules.
func (p *Point) namedBy(refs []ParentRoute) bool {
	return slices.ContainsFunc(refs, func(r ParentRoute) bool { return r.Section == "" || r.Section == p.RuleName })
}

// Sections returns the names (rules[].name) of the parent's rules that delegate to the candidate, sorted and
// unique. The name of a rule without a name is "". The parameter live is a set of Point names. Sections ignores Links
// to Points that are not in this set.
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

// names reports whether a backendRef of the Point's rule names the route.
func (p *Point) names(child manifest.Key) bool {
	return slices.ContainsFunc(p.Selectors, func(s Selector) bool {
		return s.Form == ByName && s.Namespace == child.Namespace && s.Value == child.Name
	})
}

// selects returns the first of the delegating rule's Selectors that selects the child. The result ok is false if none
// of them does.
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

// admits reports whether the allowedRoutes of the Point's rule admit the child (GEP-1058, Summary of Changes 2 and
// 4). The parameter refs has the child's parentRefs that name the parent. At least one of them must have the name
// of the rule as its sectionName, or have no sectionName, which means every rule. The parameter namespace is the
// parent's namespace. The parameter namespaceLabels has the labels of the child's namespace.
func (p *Point) admits(refs []ParentRoute, child *manifest.Object, namespace string, namespaceLabels map[string]string) bool {
	if p.Allowed == nil || !p.namedBy(refs) {
		return false
	}
	if len(p.Allowed.Kinds) > 0 && !slices.ContainsFunc(p.Allowed.Kinds, func(k gwv1.RouteGroupKind) bool {
		return string(k.Kind) == child.Key.Kind && (k.Group == nil || string(*k.Group) == child.Key.Group)
	}) {
		return false
	}
	from, by := gwv1.NamespacesFromSame, (*metav1.LabelSelector)(nil)
	if all := p.Allowed.Namespaces; all != nil && all.From != nil {
		from, by = *all.From, all.Selector
	}
	return scope.AllowsNamespace(from, by, child.Key.Namespace == namespace, func() map[string]string { return namespaceLabels })
}

// inherits reports whether the route's annotation inherit-parent-matcher enables matcher inheritance (EP-10943). It
// accepts the same values as kgateway.
func inherits(route *api.HTTPRoute) bool {
	return slices.Contains([]string{"true", "yes", "enabled"}, strings.ToLower(route.Annotations[inheritMatcher]))
}
