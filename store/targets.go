package store

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	apischema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/gatefold/gatefold/store/api"
)

// kindBackendTLSPolicy is the kind of the only policies in the Gateway API's own group that gatefold reads.
const kindBackendTLSPolicy = "BackendTLSPolicy"

// Target is a target of an invalid policy, as far as it can be read. If something cannot be read, the Target
// covers more objects, never fewer. For example, without a readable sectionName the whole object is the target.
// If the kind is unknown, there is a Target for every kind that the policy can target.
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
	policy *kind // nil for a policy of another program
	kinds  []apischema.GroupKind
	found  []Target
	seen   map[string]bool
	lost   bool // something looks like a target and cannot be read

	// exact is true if only targets with a kind in kinds count. If it is false, a target without a known kind
	// counts for all of kinds.
	exact bool
	// loose is true if targets count anywhere in the object, not only in fields for targets. Then each mapping with a
	// kind in kinds and a name, or with matchLabels, is a target. parentRefs are targets, too: no policy has a field
	// parentRefs, so in a policy the field is probably meant as targetRefs.
	loose     bool
	namespace string // of the policy; "" if targets may be in any namespace
}

// readTargets returns the targets of a policy of the kind k. The policy may be invalid anywhere. Targets that can be
// read in the fields of spec for targets (targetsInSpec) are the only ones. If there are none, readTargets searches the
// whole object for targets. lost is true if the policy has further targets that cannot be read.
func (k *kind) readTargets(object map[string]any, namespace string) (targets []Target, lost bool) {
	if targets, lost = k.targetsInSpec(object, namespace); len(targets) > 0 {
		return targets, lost
	}
	return k.targetsAnywhere(object, namespace)
}

// targetsAnywhere searches a whole object for targets, also under misspelt and duplicate keys.
func (k *kind) targetsAnywhere(object map[string]any, namespace string) (targets []Target, lost bool) {
	r := &targetReader{policy: k, kinds: k.policyTargets(), seen: map[string]bool{}, namespace: namespace}
	r.loose = len(valuesOf(object, "kind")) < 2 // with two kinds, the document has another object
	r.search(withoutHistory(object))
	for _, spec := range valuesOf(object, "spec") {
		_, isText := spec.(string)
		r.lost = r.lost || isText
	}
	return r.bounded()
}

// targetsInSpec returns the targets that an object has in spec.targetRefs, spec.targetRef and spec.targetSelectors, also
// under misspelt and duplicate keys. The kinds of the targets are those that policies of the kind k can target.
func (k *kind) targetsInSpec(object map[string]any, namespace string) (targets []Target, lost bool) {
	r := &targetReader{policy: k, kinds: k.policyTargets(), seen: map[string]bool{}, namespace: namespace}
	r.searchSpec(object)
	return r.bounded()
}

// searchSpec adds the targets in the fields of spec for targets to r.found.
func (r *targetReader) searchSpec(object map[string]any) {
	for _, spec := range valuesOf(object, "spec") {
		fields, _ := spec.(map[string]any)
		for _, refs := range valuesOf(fields, "targetRefs") {
			r.each(refs, r.ref)
		}
		for _, selectors := range valuesOf(fields, "targetSelectors") {
			r.each(selectors, r.selector)
		}
	}
}

// bounded returns the targets that were found, and whether there are further ones that cannot be read. If there are more
// than maxClosingTargets, the result has instead one Target for each kind that the policy can target. Such a Target
// stands for all objects of its kind.
func (r *targetReader) bounded() (targets []Target, lost bool) {
	if len(r.found) <= maxClosingTargets {
		return r.found, r.lost
	}
	for _, kind := range r.kinds {
		targets = append(targets, Target{GroupKind: kind})
	}
	return targets, false
}

// PolicyTargets returns everything in a policy that may be a target, wherever it stands, so that an import can tell
// whether it has them all. The parameters are the policy's kind, and the policy as it is written. The result lost is
// true if the policy has further targets that cannot be read. A target in another namespace than the policy's counts as
// one in the policy's namespace. The results are zero values if the kind is no policy that gatefold serves.
func PolicyTargets(gk apischema.GroupKind, object map[string]any) (targets []Target, lost bool) {
	k := kindOf(gk)
	if !k.policy() {
		return nil, false
	}
	return k.targetsAnywhere(object, "")
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

// search adds the targets in value, and in the values that it contains, to r.found.
func (r *targetReader) search(value any) {
	switch v := value.(type) {
	case []any:
		for _, item := range v {
			r.search(item)
		}
	case map[string]any:
		switch {
		case r.loose && len(valuesOf(v, "matchLabels")) > 0:
			r.selector(v)
			return
		case r.loose && len(namesIn(v["name"])) > 0 && len(r.kindsOf(v)) == 1:
			r.ref(v)
			return
		}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			switch {
			case means(name, "targetSelectors"):
				r.each(v[name], r.selector)
			case namesTargets(name), r.loose && MayNameTargets(name):
				r.each(v[name], r.ref)
			default:
				r.search(v[name])
			}
		}
	}
}

// namesTargets reports whether a key is targetRefs, targets, or a misspelling of these. No policy has a field
// targets, but people write it.
func namesTargets(key string) bool {
	return slices.ContainsFunc([]string{"targetRefs", "targets"}, func(name string) bool { return means(key, name) })
}

// MayNameTargets reports whether a key of a policy may be meant as a field with the policy's targets: targetRefs,
// targetSelectors, targetReferences, targets or parentRefs. The key may be misspelt.
func MayNameTargets(key string) bool {
	return namesTargets(key) || slices.ContainsFunc([]string{"targetSelectors", "targetReferences", "parentRefs"}, func(name string) bool {
		return means(key, name)
	})
}

// each calls the function read for every entry in value. An entry has the fields of a targetRef or selector. The
// entries are the items of a list, or value itself. A text counts as an entry: NAME, KIND/NAME or
// KIND/NAMESPACE/NAME. A value of any other type counts as a target that cannot be read.
func (r *targetReader) each(value any, read func(fields map[string]any)) {
	switch v := value.(type) {
	case []any:
		for _, item := range v {
			r.each(item, read)
		}
	case map[string]any:
		r.entry(v, read)
	case string:
		parts := strings.Split(v, "/") // KIND/NAME as kubectl writes it, or KIND/NAMESPACE/NAME
		fields := map[string]any{"name": parts[len(parts)-1]}
		if len(parts) > 1 {
			fields["kind"] = parts[0]
		}
		if len(parts) == 3 {
			fields["namespace"] = parts[1]
		}
		read(fields)
	default:
		r.lost = true
	}
}

// entry finds the entries (see each) in a mapping. If the mapping is empty or has a field of a targetRef or selector,
// the mapping itself is an entry, and the function read is called with it. Otherwise, each value of the mapping is
// searched for entries, by a call of r.each.
func (r *targetReader) entry(fields map[string]any, read func(fields map[string]any)) {
	isEntry := len(fields) == 0
	for _, name := range []string{"group", "kind", "name", "sectionName", "matchLabels"} {
		isEntry = isEntry || len(valuesOf(fields, name)) > 0
	}
	if isEntry {
		read(fields)
		return
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		r.each(fields[name], read)
	}
}

// ref adds the targets of an entry of targetRefs to r.found. An entry that has no name, but matchLabels, is read as
// a selector. An entry that has neither sets r.lost, because it has a target that cannot be read. An entry whose
// namespace is not the policy's namespace also sets r.lost.
func (r *targetReader) ref(fields map[string]any) {
	var names []string
	for _, value := range valuesOf(fields, "name") {
		names = append(names, namesIn(value)...)
	}
	for _, name := range names {
		r.add(fields, Target{Name: name})
	}
	for _, namespace := range valuesOf(fields, "namespace") {
		r.lost = r.lost || r.namespace != "" && namespace != r.namespace
	}
	switch {
	case len(names) > 0:
	case len(valuesOf(fields, "matchLabels")) > 0:
		r.selector(fields)
	default:
		r.lost = true
	}
}

// selector adds the target of an entry of targetSelectors. It leaves out labels that cannot be read; then the
// target selects more objects. An entry with a name and without matchLabels is read as an entry of targetRefs.
func (r *targetReader) selector(fields map[string]any) {
	labels, written := map[string]string{}, valuesOf(fields, "matchLabels")
	if len(written) == 0 && len(namesIn(fields["name"])) > 0 {
		r.ref(fields)
		return
	}
	for _, value := range written {
		pairs, _ := value.(map[string]any)
		for name, value := range pairs {
			if value, ok := resolvePlain(textOf(value)).(string); ok && !strings.Contains(name, repeated) && len(validation.IsValidLabelValue(value)) == 0 {
				labels[name] = value
			}
		}
	}
	target := Target{Labels: labels}
	if r.policy == nil {
		target.Expressions = expressionsOf(fields)
	}
	r.add(fields, target)
}

// add adds target to r.found, with the kind and the section in fields. If the kind in fields is missing or
// unknown, it adds a target for each possible kind (kindsOf). A section of a kind without sections (hasSections) is left
// out. It leaves out a target that is already in r.found, and adds nothing after maxClosingTargets+1 targets.
func (r *targetReader) add(fields map[string]any, target Target) {
	section, _ := fields["sectionName"].(string)
	if _, isText := resolvePlain(section).(string); !isText || len(valuesOf(fields, "sectionName")) != 1 || len(validation.IsDNS1123Subdomain(section)) > 0 {
		section = ""
	}
	for _, kind := range r.kindsOf(fields) {
		target.GroupKind, target.Section = kind, ""
		if r.policy == nil || r.policy.hasSections(kind) {
			target.Section = section
		}
		if id := fmt.Sprintf("%#v", target); !r.seen[id] && len(r.found) <= maxClosingTargets {
			r.seen[id] = true
			r.found = append(r.found, target)
		}
	}
}

// kindsOf returns the kind that an entry names. If the kind is missing or unknown, it returns all kinds of the
// reader, or nil if r.exact is true.
func (r *targetReader) kindsOf(fields map[string]any) []apischema.GroupKind {
	if written := valuesOf(fields, "kind"); len(written) == 1 {
		found, _, _ := FindKind(textOf(written[0]))
		for _, kind := range r.kinds {
			if found.Kind == kind.Kind {
				return []apischema.GroupKind{kind}
			}
		}
	}
	if r.exact {
		return nil
	}
	return r.kinds
}

// repeated separates the two parts of the name that decoder gives to a duplicate key: the original key and a number.
// A user's key contains this separator only if the key is written with an escape such as "\0".
const repeated = "\x00"
