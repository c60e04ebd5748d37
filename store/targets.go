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

// kindBackendTLSPolicy is the one policy of the Gateway API's own group.
const kindBackendTLSPolicy = "BackendTLSPolicy"

// Target is a target of an invalid policy, as far as it can be read. If a part cannot be read, the
// Target selects more, never less. Without a readable sectionName it is the whole object. Without a
// known kind it is every kind that the policy can target.
type Target struct {
	apischema.GroupKind
	// Name is the name of an object in the policy's namespace, "" for a selector.
	Name string
	// Labels are those of a selector. A selector without labels selects all objects of the kind
	// in the policy's namespace.
	Labels map[string]string
	// Section is the name of a rule, listener or port; "" is the whole object.
	Section string
}

// maxClosingTargets bounds the targets that are read of one invalid policy. A policy with
// more of them stands for all objects of its namespace that it may be for.
const maxClosingTargets = 1024

// policyTargets returns the kinds that policies of the kind can target, none for a kind that is no
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

// policy reports whether objects of the kind are policies.
func (k *kind) policy() bool { return k != nil && len(k.policyTargets()) > 0 }

// targetReader reads the targets of an object as it is written. The object may be invalid.
type targetReader struct {
	kinds []apischema.GroupKind
	found []Target
	seen  map[string]bool
	lost  bool // something that looks like a target could not be read

	// exact is true if a target of a kind that is not in kinds is none.
	exact bool
	// loose is true if each mapping with a kind of kinds and a name, or with labels to match, is
	// a target wherever it stands, and that parentRefs are targets: no policy has such fields.
	loose     bool
	namespace string // of the policy; "" where it does not matter
}

// readTargets returns the targets of a policy whose document may be invalid anywhere. lost is true
// if there are also targets that cannot be read. It looks for fields with targets in the whole
// object, also under misspelt and duplicate names.
func (k *kind) readTargets(object map[string]any, namespace string) (targets []Target, lost bool) {
	r := &targetReader{kinds: k.policyTargets(), seen: map[string]bool{}, namespace: namespace}
	r.loose = len(valuesOf(object, "kind")) < 2 // else there is another object in the document
	r.search(withoutHistory(object))
	for _, spec := range valuesOf(object, "spec") {
		if _, isText := spec.(string); isText {
			r.lost = true
		}
	}
	if len(r.found) <= maxClosingTargets {
		return r.found, r.lost
	}
	for _, kind := range r.kinds {
		targets = append(targets, Target{GroupKind: kind})
	}
	return targets, false
}

// withoutHistory returns an object without the fields that an API server writes.
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

// search looks for the fields that contain targets.
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
			case namesTargets(name), r.loose && (means(name, "parentRefs") || means(name, "targetReferences")):
				r.each(v[name], r.ref)
			default:
				r.search(v[name])
			}
		}
	}
}

// namesTargets reports whether a key is targetRefs or a misspelling of it, or "targets", which no
// policy has as a field but people write.
func namesTargets(key string) bool {
	return slices.ContainsFunc([]string{"targetRefs", "targets"}, func(name string) bool { return means(key, name) })
}

// each calls read for the entries of a list, or for an entry that is written without a list.
func (r *targetReader) each(value any, read func(fields map[string]any)) {
	switch v := value.(type) {
	case []any:
		for _, item := range v {
			r.each(item, read)
		}
	case map[string]any:
		r.entry(v, read)
	case string:
		parts := strings.Split(v, "/") // as kubectl writes it, or with the namespace
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

// entry calls read for an entry. If a mapping has no field of an entry, its values are read as
// entries.
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

// ref reads one of targetRefs. Without a name it has no target, unless it is a selector.
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

// selector reads one of targetSelectors. It leaves out a label that cannot be read, so that the
// rest selects more. An entry with a name instead of labels is read as one of targetRefs.
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
	r.add(fields, Target{Labels: labels})
}

// add adds a target for each kind that its fields may mean.
func (r *targetReader) add(fields map[string]any, target Target) {
	name, _ := fields["sectionName"].(string)
	if _, isText := resolvePlain(name).(string); isText && len(valuesOf(fields, "sectionName")) == 1 && len(validation.IsDNS1123Subdomain(name)) == 0 {
		target.Section = name
	}
	for _, kind := range r.kindsOf(fields) {
		target.GroupKind = kind
		if id := fmt.Sprintf("%#v", target); !r.seen[id] && len(r.found) <= maxClosingTargets {
			r.seen[id] = true
			r.found = append(r.found, target)
		}
	}
}

// kindsOf returns the kind that a target names, or all kinds that it may mean.
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

// repeated marks the name of a key that stands more than once in its mapping. No key that
// is written can hold it.
const repeated = "\x00"
