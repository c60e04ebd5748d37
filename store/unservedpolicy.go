package store

import (
	"cmp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apischema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/store/schema"
)

// foreignTargets returns the kinds of targets that servedWithout looks for in policies of other programs.
func foreignTargets() []apischema.GroupKind {
	return []apischema.GroupKind{
		{Group: gatewayGroup, Kind: kindGateway}, {Group: gatewayGroup, Kind: "HTTPRoute"},
		{Group: gatewayGroup, Kind: "GRPCRoute"}, {Group: gatewayGroup, Kind: "ListenerSet"},
	}
}

// openedBy says which targets are served without a policy of another program, as servedWithout does. An object is
// such a policy if its spec has a field for targets. For any other object, the results are "" and nil.
func openedBy(object map[string]any) (words string, policy *manifest.Unserved) {
	spec, _ := object["spec"].(map[string]any)
	if spec["targetRefs"] == nil && spec["targetRef"] == nil && spec["targetSelectors"] == nil {
		return "", nil
	}
	return servedWithout(object)
}

// servedWithout is called with a policy that gatefold does not serve. Its first result says which targets are served
// without the policy, such as "HTTPRoute shop/cart is served without it". The second result is the record of the
// policy. Only targets of the kinds in foreignTargets count. Without such a target, the results are "" and nil.
func servedWithout(object map[string]any) (words string, policy *manifest.Unserved) {
	found, _ := targetsOfForeign(object)
	if len(found) == 0 {
		return "", nil
	}
	metadata, _ := object["metadata"].(map[string]any)
	namespace := cmp.Or(textOf(metadata["namespace"]), metav1.NamespaceDefault)
	verb := " is served without it"
	if len(found) > 1 {
		verb = " are served without it"
	}
	return namesOf(found, namespace) + verb, unservedPolicy(object, namespace, found)
}

// targetsOfForeign returns the targets of a policy of another program, or of a kind that gatefold does not serve. Only
// targets of the kinds in foreignTargets count. lost is true if there may be more that cannot be read.
func targetsOfForeign(object map[string]any) (targets []Target, lost bool) {
	r := &targetReader{kinds: foreignTargets(), sections: func(apischema.GroupKind) bool { return true }, expressions: true}
	for _, spec := range writtenAs(object, "spec") {
		r.spec(spec)
	}
	return r.found, r.lost || len(r.found) == 0 && namesTargetsElsewhere(object)
}

// mayHaveTargets reports whether targetsOfForeign finds targets, or some that cannot be read.
func mayHaveTargets(object map[string]any) bool {
	targets, lost := targetsOfForeign(object)
	return len(targets) > 0 || lost
}

// closeUnserved records the targets of a policy of a kind that gatefold does not serve, because they must answer 500. It
// returns that in words, "" if no target can be read. The parameter why is why the policy is not served.
func (d *documentReader) closeUnserved(at fieldPath, object map[string]any, why string) string {
	targets, lost := targetsOfForeign(d.written(at))
	namespace := cmp.Or(writtenFor(d.written(at), "namespace"), metav1.NamespaceDefault)
	if len(targets) > maxClosingTargets {
		var all []Target
		for _, gk := range foreignTargets() {
			all = append(all, Target{GroupKind: gk})
		}
		targets = all
	}
	limits := limitsConnections(d.written(at)["spec"])
	i := &Invalid{Key: unservedPolicy(object, namespace, nil).Policy, Targets: targets, Unserved: true, Unprogrammed: limits, Mistakes: []Mistake{{Field: "kind", Message: why}}}
	i.Key.Name, i.Nameless = harmlessName(i.Key.Name)
	where := find(d.root, slices.Concat(at, parsePath("kind")))
	nowhere := len(validation.IsDNS1123Label(namespace)) > 0
	i.Lost = lost || nowhere
	d.closeByWords(at, d.written(at), i, spotOfError{line: where.line, column: where.column, code: schema.NotServed})
	if nowhere || len(targets) == 0 {
		return ""
	}
	d.rejected = append(d.rejected, rejectedObject{key: i.Key, place: d.nameAt(at), invalid: i})
	how, more := closureOf(manifest.Key{Kind: api.KindTrafficPolicy}, targets[0]), ""
	if limits && (targets[0].Kind == kindGateway || targets[0].Kind == "ListenerSet") {
		how = closure{"accepts no connections", "accept no connections"}
		more = "; on a port that other listeners have, too, its hosts answer 500"
	}
	return namesOf(targets, namespace) + " " + numbered(targets, how.one, how.several) + " because of it" + more
}

// limitsConnections reports whether the spec of a ListenerPolicy or HTTPListenerPolicy of kgateway has a field, at any
// depth, because of which not everybody can connect: listeners without it would trust whoever connects.
func limitsConnections(value any) bool {
	switch v := value.(type) {
	case []any:
		return slices.ContainsFunc(v, limitsConnections)
	case map[string]any:
		for key, inner := range v {
			key, _, _ = strings.Cut(key, repeated)
			if inner != nil && (key == "clientCertificateValidation" || key == "proxyProtocol") || limitsConnections(inner) {
				return true
			}
		}
	}
	return false
}

// unservedPolicy returns the record of a policy that gatefold does not serve, with at most maxUnserved targets.
func unservedPolicy(object map[string]any, namespace string, targets []Target) *manifest.Unserved {
	metadata, _ := object["metadata"].(map[string]any)
	group, _, _ := strings.Cut(textOf(object["apiVersion"]), "/")
	policy := &manifest.Unserved{Policy: manifest.Key{
		Group: clean(group), Kind: clean(textOf(object["kind"])), Namespace: clean(namespace), Name: clean(textOf(metadata["name"])),
	}}
	for _, target := range targets[:min(len(targets), maxUnserved)] {
		policy.Targets = append(policy.Targets, target.words(namespace))
	}
	return policy
}

// expressionsOf returns the matchExpressions of a selector as text (see Target.Expressions). It leaves out each
// expression that cannot be read; then the selector selects more objects.
func expressionsOf(selector map[string]any) string {
	var words []string
	list, _ := selector["matchExpressions"].([]any)
	for _, item := range list {
		fields, _ := item.(map[string]any)
		if one := readExpression(fields); one != "" {
			words = append(words, one)
		}
	}
	slices.Sort(words)
	return strings.Join(slices.Compact(words), ",")
}

// readExpression returns an entry of matchExpressions as text, such as "app in (a,b)". It returns "" if a part of it
// cannot be read, or if a cluster would not accept it.
func readExpression(fields map[string]any) string {
	one := metav1.LabelSelectorRequirement{Key: textOf(fields["key"]), Operator: metav1.LabelSelectorOperator(textOf(fields["operator"]))}
	values, isList := fields["values"].([]any)
	if !isList && fields["values"] != nil {
		return ""
	}
	for _, value := range values {
		text, isText := value.(string)
		if isText && text != "" {
			_, isText = resolvePlain(text).(string)
		}
		if !isText {
			return ""
		}
		one.Values = append(one.Values, text)
	}
	selector, err := metav1.LabelSelectorAsSelector(&metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{one}})
	if err != nil {
		return ""
	}
	return selector.String()
}
