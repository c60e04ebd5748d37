package store

import (
	"slices"
	"strings"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/store/schema"
)

// Twins are listeners of one Gateway or ListenerSet that the schema does not allow together: they have the same
// name, or the same port, protocol and hostname. If a valid version of such an object is served, it stays
// served. Otherwise, for example at a start, the object is served with its problems. Then translate serves the
// listeners without a mistake (docs/design/gateways.md).

// twinRules returns the messages of the schema's rules against twins. Twins are listeners of one object with
// the same name, or with the same port, protocol and hostname.
func twinRules() []string {
	return []string{
		"Listener name must be unique within the Gateway",
		"Combination of port, protocol and hostname must be unique for each listener",
	}
}

// onlyTwins reports whether twins (see twinRules) are the only mistake of an object. It is false for an object
// without mistakes.
func onlyTwins(key manifest.Key, findings []schema.Finding) bool {
	found := false
	for _, f := range findings {
		switch {
		case f.Warning:
		case f.Code == schema.DuplicateEntry && strings.HasPrefix(f.Field, "spec.listeners[") && strings.HasSuffix(f.Field, "]") && strings.Count(f.Field, "[") == 1,
			f.Code == schema.RuleViolated && f.Field == "spec.listeners" && slices.Contains(twinRules(), f.Message):
			found = true
		default:
			return false
		}
	}
	return found && hasListeners(key)
}

// hasListeners reports whether the key is that of a Gateway or ListenerSet.
func hasListeners(key manifest.Key) bool {
	return key.Group == gatewayGroup && (key.Kind == "Gateway" || key.Kind == "ListenerSet")
}

// hasTwins reports whether a Gateway or ListenerSet has twins: two listeners with the same name, or with the same
// port, protocol and hostname (see twinRules). It is false for objects of other kinds. It is used for saved objects,
// for which the rules of the schema do not run again.
func hasTwins(object map[string]any) bool {
	spec, _ := object["spec"].(map[string]any)
	listeners, _ := spec["listeners"].([]any)
	if !hasListeners(keyOf(object)) {
		return false
	}
	seen := map[[4]any]bool{}
	for _, element := range listeners {
		l, _ := element.(map[string]any)
		for _, same := range [][4]any{{textOf(l["name"])}, {l["port"], textOf(l["protocol"]), textOf(l["hostname"]), l["hostname"] == nil}} {
			if seen[same] {
				return true
			}
			seen[same] = true
		}
	}
	return false
}

// withoutTwins returns only those definitions whose object has no twins. Twins are listeners of one object that the
// schema does not allow together (see twinRules).
func withoutTwins(definitions []*definition) []*definition {
	return slices.DeleteFunc(slices.Clone(definitions), func(d *definition) bool { return d.twins })
}
