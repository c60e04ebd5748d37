package store

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	apischema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/store/schema"
	"github.com/gatefold/gatefold/store/scope"
)

// kindBackendTLSPolicy is the kind of the only policies in the Gateway API's own group that gatefold reads.
const kindBackendTLSPolicy = "BackendTLSPolicy"

// Target is a target of an invalid policy. Without a readable sectionName, the whole object is the target.
type Target struct {
	apischema.GroupKind
	// Name is the name of an object in the policy's namespace. It is "" for a selector.
	Name string
	// Labels are the labels of a selector. A selector without labels selects all objects of the kind in the
	// policy's namespace.
	Labels map[string]string
	// Expressions are the matchExpressions of a selector of another program's policy, such as "app in (a,b),!test", as far
	// as they can be read. It is "" for policies that gatefold serves, because their selectors have no such field.
	Expressions string
	// Section is the name of a rule, listener or port. It is "" for the whole object.
	Section string
}

// Key returns the key of the object that the target names. The parameter namespace is the namespace of the policy. For a
// selector, the Name of the key is "".
func (t Target) Key(namespace string) manifest.Key {
	return manifest.Key{Group: t.Group, Kind: t.Kind, Namespace: namespace, Name: t.Name}
}

// Selects reports whether a policy with the target is for an object with some labels, which must be in the namespace that
// the target is for. A target with a name is for the object that it names. A selector is for the objects of its kind that
// have all of its labels and meet its expressions. Selects ignores the section of the target.
func (t Target) Selects(object manifest.Key, labels map[string]string) bool {
	if t.Name != "" {
		return t.Key(object.Namespace) == object
	}
	return t.GroupKind == object.GroupKind() && scope.HasLabels(labels, t.Labels) && scope.MeetsSelector(labels, t.Expressions)
}

// maxClosingTargets is how many targets of one invalid policy are read. A policy with more targets counts as a
// policy for all objects in its namespace that it can target.
const maxClosingTargets = 1024

// policyTargets returns the kinds that policies of the kind can target. It returns nil for a kind that is no
// policy.
func (k *kind) policyTargets() []apischema.GroupKind {
	switch k.name {
	case api.KindTrafficPolicy:
		return []apischema.GroupKind{
			{Group: gatewayGroup, Kind: "HTTPRoute"}, {Group: gatewayGroup, Kind: "GRPCRoute"},
			{Group: gatewayGroup, Kind: "Gateway"}, {Group: gatewayGroup, Kind: "ListenerSet"},
			{Group: gatewayGroup, Kind: "TCPRoute"}, {Group: gatewayGroup, Kind: "TLSRoute"}, {Group: gatewayGroup, Kind: "UDPRoute"},
		}
	case kindBackendTLSPolicy, api.KindBackendConfigPolicy:
		return []apischema.GroupKind{{Kind: "Service"}, {Group: api.Group, Kind: api.KindBackend}}
	}
	return nil
}

// hasSections reports whether a policy of the kind k can target a section of an object of a kind: a rule, a listener or
// a port of a Service. A Backend has no sections, and a BackendConfigPolicy is always for the whole object.
func (k *kind) hasSections(target apischema.GroupKind) bool {
	return k.name != api.KindBackendConfigPolicy && target.Kind != api.KindBackend
}

// policy reports whether objects of the kind are policies. It is false for a nil kind.
func (k *kind) policy() bool { return k != nil && len(k.policyTargets()) > 0 }

// targetReader collects the targets of a policy as it is written. The policy may be invalid.
type targetReader struct {
	kinds       []apischema.GroupKind // the kinds of targets that count
	namespace   string                // of the policy; "" if targets may be in any namespace
	sections    func(apischema.GroupKind) bool
	expressions bool // matchExpressions of selectors count
	found       []Target
	lost        bool // something in the fields for targets cannot be read
}

// readTargets returns the targets that a policy of the kind k has in spec.targetRefs, spec.targetRef and
// spec.targetSelectors. The policy may be invalid anywhere. lost is true if there is more in these fields that cannot be
// read. If there are more than maxClosingTargets, the result has instead one Target for each kind that the policy can
// target, which stands for all objects of its kind.
func (k *kind) readTargets(object map[string]any, namespace string) (targets []Target, lost bool) {
	r := &targetReader{kinds: k.policyTargets(), namespace: namespace, sections: k.hasSections}
	for _, spec := range writtenAs(object, "spec") {
		r.spec(spec)
	}
	if len(r.found) <= maxClosingTargets {
		return r.found, r.lost
	}
	for _, kind := range r.kinds {
		targets = append(targets, Target{GroupKind: kind})
	}
	return targets, false
}

// PolicyTargets returns the targets of a policy as it is written, so that an import can tell whether it has them all.
// lost is true if a target cannot be read, or may stand elsewhere (namesTargets). A target in another namespace than the
// policy's counts as one in the policy's namespace. The results are zero values if the kind is no policy that gatefold
// serves.
func PolicyTargets(gk apischema.GroupKind, object map[string]any) (targets []Target, lost bool) {
	k := kindOf(gk)
	if !k.policy() {
		return nil, false
	}
	targets, lost = k.readTargets(object, "")
	return targets, lost || namesTargetsElsewhere(object)
}

// writtenAs returns the values of a field, also those of duplicate keys (see repeated). Null values are left out.
func writtenAs(fields map[string]any, name string) (values []any) {
	var keys []string
	for key := range fields {
		if original, _, _ := strings.Cut(key, repeated); original == name && fields[key] != nil {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	for _, key := range keys {
		values = append(values, fields[key])
	}
	return values
}

// isTargetField reports whether a key is that of a field with the targets of a policy.
func isTargetField(key string) bool {
	key, _, _ = strings.Cut(key, repeated)
	return key == "targetRef" || key == "targetRefs" || key == "targetSelectors"
}

// MayNameTargets reports whether a key may be meant as a field with the targets of a policy. It has the word targetRef or
// targetSelector, or is nearly such a field, or one that no policy has: target, targets, targetReferences, parentRefs.
func MayNameTargets(key string) bool {
	return targetWord.MatchString(key) || slices.ContainsFunc([]string{"targetRefs", "targetSelectors", "target", "targets", "targetReferences", "parentRefs"}, func(name string) bool {
		return isNearly(key, name)
	})
}

// namesTargetsElsewhere reports whether an object may have targets outside of the fields for targets: it has a key that
// may name some (MayNameTargets), anywhere else.
func namesTargetsElsewhere(object map[string]any) bool {
	object = withoutHistory(object)
	for _, key := range slices.Sorted(maps.Keys(object)) {
		fields, isMapping := object[key].(map[string]any)
		if key != "spec" || !isMapping {
			if MayNameTargets(key) || mentionsTargets(object[key]) {
				return true
			}
			continue
		}
		for name, value := range fields {
			if !isTargetField(name) && (MayNameTargets(name) || mentionsTargets(value)) {
				return true
			}
		}
	}
	return false
}

// mentionsTargets reports whether a value has a key that may name targets, anywhere in it, or is a text with one.
func mentionsTargets(value any) bool {
	switch v := value.(type) {
	case string:
		return targetWord.MatchString(v)
	case []any:
		return slices.ContainsFunc(v, mentionsTargets)
	case map[string]any:
		for key, inner := range v {
			if MayNameTargets(key) || mentionsTargets(inner) {
				return true
			}
		}
	}
	return false
}

// withoutHistory returns a copy of an object without status, metadata.managedFields and metadata.ownerReferences,
// which a cluster writes.
func withoutHistory(object map[string]any) map[string]any {
	object = maps.Clone(object)
	delete(object, "status")
	if metadata, ok := object["metadata"].(map[string]any); ok {
		metadata = maps.Clone(metadata)
		delete(metadata, "managedFields")
		delete(metadata, "ownerReferences")
		object["metadata"] = metadata
	}
	return object
}

// spec adds the targets of the fields of a spec for targets.
func (r *targetReader) spec(spec any) {
	fields, isMapping := spec.(map[string]any)
	r.lost = r.lost || !isMapping
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		if !isTargetField(key) {
			continue
		}
		list, isList := fields[key].([]any)
		if single := strings.HasPrefix(key, "targetRef") && !strings.HasPrefix(key, "targetRefs"); single && !isList {
			list, isList = []any{fields[key]}, true
		}
		r.lost = r.lost || !isList
		for _, entry := range list {
			r.entry(entry, strings.HasPrefix(key, "targetSelectors"))
		}
	}
}

// entry adds the target of an entry of targetRefs, or of targetSelectors. An entry that cannot be read sets r.lost: one
// without a kind that counts, without a valid name or labels, of another namespace, or with a key twice. Policies of other
// programs may have targets of other kinds.
func (r *targetReader) entry(entry any, selects bool) {
	fields, _ := entry.(map[string]any)
	written := textOf(fields["kind"])
	if written == schema.OldListenerSet {
		written = "ListenerSet"
	}
	i := slices.IndexFunc(r.kinds, func(kind apischema.GroupKind) bool { return kind.Kind == written })
	target := Target{Name: textOf(fields["name"])}
	namespace, elsewhere := fields["namespace"]
	readable := i >= 0 && !(elsewhere && r.namespace != "" && namespace != r.namespace) && !slices.ContainsFunc(slices.Collect(maps.Keys(fields)), isTwice)
	if selects {
		var ok bool
		target.Name = ""
		target.Labels, ok = readLabels(fields["matchLabels"])
		readable = readable && ok
	} else {
		readable = readable && len(validation.IsDNS1123Subdomain(target.Name)) == 0
	}
	if !readable {
		r.lost = r.lost || !r.expressions || i >= 0 || r.mayBeTarget(written)
		return
	}
	target.GroupKind = r.kinds[i]
	section := textOf(fields["sectionName"])
	if _, isText := resolvePlain(section).(string); isText && r.sections(target.GroupKind) && len(validation.IsDNS1123Subdomain(section)) == 0 {
		target.Section = section
	}
	if r.expressions {
		target.Expressions = expressionsOf(fields)
	}
	if len(r.found) <= maxClosingTargets && !slices.ContainsFunc(r.found, func(t Target) bool { return t.Name == target.Name && reflect.DeepEqual(t, target) }) {
		r.found = append(r.found, target)
	}
}

// mayBeTarget reports whether the kind of a target is missing, or nearly one that counts.
func (r *targetReader) mayBeTarget(written string) bool {
	known := slices.ContainsFunc(kinds, func(k kind) bool { return k.name == written })
	return written == "" || !known && slices.ContainsFunc(r.kinds, func(kind apischema.GroupKind) bool { return isNearly(written, kind.Kind) })
}

// readLabels returns the labels of a selector. ok is false if one of them cannot be read.
func readLabels(value any) (labels map[string]string, ok bool) {
	pairs, isMapping := value.(map[string]any)
	labels = map[string]string{}
	for name, value := range pairs {
		text, isText := resolvePlain(textOf(value)).(string)
		if !isText || value == nil || isTwice(name) || len(validation.IsValidLabelValue(text)) > 0 {
			return nil, false
		}
		labels[name] = text
	}
	return labels, isMapping || value == nil
}

// isTwice reports whether a key is a duplicate (see repeated).
func isTwice(key string) bool { return strings.Contains(key, repeated) }

// repeated separates the two parts of the name that decoder gives to a duplicate key: the original key and a number.
// A user's key contains this separator only if the key is written with an escape such as "\0".
const repeated = "\x00"
