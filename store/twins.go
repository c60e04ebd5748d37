package store

import (
	"slices"
	"strings"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/store/schema"
)

// Twins are listeners of one Gateway or ListenerSet that the schema does not let stand
// beside each other: they share a name, or port, protocol and hostname. Where a sound
// version of the object serves, it serves on; where there is none, as at a cold start,
// the object is admitted all the same, with its problems, and translate serves the
// listeners that are not at fault (docs/design/gateways.md).

// twinRules are the words of the schema's rules about them.
func twinRules() []string {
	return []string{
		"Listener name must be unique within the Gateway",
		"Combination of port, protocol and hostname must be unique for each listener",
	}
}

// onlyTwins reports whether twins are all that is wrong with an object.
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

func hasListeners(key manifest.Key) bool {
	return key.Group == gatewayGroup && (key.Kind == "Gateway" || key.Kind == "ListenerSet")
}

// hasTwins finds them in an object whose rules are not run again.
func hasTwins(object map[string]any) bool {
	spec, _ := object["spec"].(map[string]any)
	listeners, _ := spec["listeners"].([]any)
	if !hasListeners(keyOf(object)) {
		return false
	}
	seen := map[[4]any]bool{}
	for _, element := range listeners {
		l, _ := element.(map[string]any)
		for _, same := range [][4]any{{text(l["name"])}, {l["port"], text(l["protocol"]), text(l["hostname"]), l["hostname"] == nil}} {
			if seen[same] {
				return true
			}
			seen[same] = true
		}
	}
	return false
}

func text(value any) string {
	s, _ := value.(string)
	return s
}

// sound leaves out the definitions with twins.
func sound(definitions []*definition) []*definition {
	return slices.DeleteFunc(slices.Clone(definitions), func(d *definition) bool { return d.twins })
}

// candidates returns the definitions of a key that may serve: sound ones; else, where
// none serves or is kept, those with twins.
func (s *Store) candidates(key manifest.Key, inside []*definition) []*definition {
	best := sound(inside)
	if len(best) > 0 || len(inside) == 0 {
		return best
	}
	if before, serving := s.served[key]; serving && !before.twins() && s.keeps(before) {
		return nil
	}
	return inside
}
