package store

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
)

// maxTargets is how many targets of a policy a message names.
const maxTargets = 5

// consequence returns text about the effect on traffic of an invalid policy without a valid version. It records
// the targets in s.fresh.targets, because the text changes when a target appears or disappears.
func (s *problemLists) consequence(i *Invalid) string {
	if len(i.Targets) == 0 {
		return i.untargeted()
	}
	var missing []Target
	closed := map[closure][]Target{}
	for _, target := range i.Targets {
		key := manifest.Key{Group: target.Group, Kind: target.Kind, Namespace: i.Key.Namespace, Name: target.Name}
		s.fresh.targets[key] = struct{}{}
		at, ok := s.serving.served[key]
		if ok && !slices.Contains(sectionsOf(at.object), target.Section) { // nobody knows which section it means
			target.Section = ""
		}
		if target.Name == "" || ok {
			closed[closureOf(i.Key, target)] = append(closed[closureOf(i.Key, target)], target)
		} else {
			missing = append(missing, target)
		}
	}
	var parts []string
	for _, how := range slices.SortedFunc(maps.Keys(closed), func(a, b closure) int { return strings.Compare(a.one, b.one) }) {
		parts = append(parts, fmt.Sprintf("%s %s until it is fixed", namesOf(closed[how], i.Key.Namespace), numbered(closed[how], how.one, how.several)))
	}
	if len(missing) > 0 {
		parts = append(parts, fmt.Sprintf("its %s %s %s not in the folder, or not valid", numbered(missing, "target", "targets"), namesOf(missing, i.Key.Namespace), numbered(missing, "is", "are")))
	}
	if i.Lost {
		parts = append(parts, "a target of it cannot be read: if it was served before, it stays open")
	}
	return strings.Join(parts, "; ")
}

// closure is what a closed target does, in words for one target and for several.
type closure struct{ one, several string }

// closureOf returns what Envoy does for a target of an invalid policy.
func closureOf(policy manifest.Key, target Target) closure {
	switch {
	case policy.Kind != api.KindTrafficPolicy:
		return closure{"answers 503", "answer 503"}
	case target.Kind == "GRPCRoute":
		return closure{"answers UNAVAILABLE", "answer UNAVAILABLE"}
	case target.Kind == "TCPRoute", target.Kind == "TLSRoute":
		return closure{"closes connections", "close connections"}
	case target.Kind == "UDPRoute":
		return closure{"drops datagrams", "drop datagrams"}
	}
	return closure{"answers 500", "answer 500"}
}

// numbered returns the parameter one if targets has one element, and the parameter several otherwise.
func numbered(targets []Target, one, several string) string {
	if len(targets) == 1 {
		return one
	}
	return several
}

// maxConsequences limits how many effects on traffic one error message lists. A message lists several effects if one
// error makes several policies invalid. For example, a syntax error in a list of policies makes all policies of the
// list invalid.
const maxConsequences = 5

// addConsequences appends the effect of invalid policies on traffic to the messages of problems. The parameter all
// has the problems, and is changed in place. The effect of a policy is added to the first error of its invalid
// definition. Nothing is added for a definition in a file that may not define objects of the namespace (see
// fence.admits).
func (s *problemLists) addConsequences(all []manifest.Problem) {
	effects := map[spotOfError][]string{}
	s.fresh.targets = map[manifest.Key]struct{}{}
	for key, refusals := range s.serving.rejected {
		for _, r := range refusals {
			if r.invalid != nil && kindOf(key.GroupKind()).policy() && s.serving.fence.admits(r.file.path, key) {
				at := r.cause
				at.file, at.line = r.file.path, at.line+r.document.line-1
				effects[at] = append(effects[at], s.consequenceOf(key, r))
			}
		}
	}
	for _, texts := range s.serving.unreadable {
		for _, d := range texts {
			for _, closes := range d.closes {
				effects[d.cause] = append(effects[d.cause], closes.words(d.unseen))
			}
		}
	}
	for i := range all {
		p := &all[i]
		if texts := effects[spotOfError{p.File, p.Line, p.Column, p.Code}]; len(texts) > 0 {
			p.Message += "; " + joinEffects(texts)
		}
	}
}

// words returns text about the effect on traffic of a text that cannot be read. The parameter unseen is
// unreadableText.unseen.
func (c closing) words(unseen bool) string {
	var targets []Target
	for _, key := range c.keys {
		targets = append(targets, Target{GroupKind: key.GroupKind(), Name: key.Name})
	}
	if unseen {
		return fmt.Sprintf("nobody knows what the file would protect: all of namespace %s answers 500 until it can be read (%s)", clean(c.namespace), namesOf(targets, c.namespace))
	}
	if c.whole {
		return fmt.Sprintf("the text may be a policy, and names no object of the folder after its targetRefs: all of namespace %s answers 500 until it is fixed (%s)",
			clean(c.namespace), namesOf(targets, c.namespace))
	}
	return fmt.Sprintf("the text may be a policy for what it names: %s %s until it is fixed", namesOf(targets, c.namespace), numbered(targets, "answers 500", "answer 500"))
}

// joinEffects returns the texts sorted and joined, each once. After maxConsequences texts, it ends with the
// number of the texts that are left out.
func joinEffects(texts []string) string {
	texts = slices.Compact(slices.Sorted(slices.Values(texts)))
	if more := len(texts) - maxConsequences; more > 0 {
		texts = append(texts[:maxConsequences:maxConsequences], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(texts, "; ")
}

// consequenceOf returns text about the effect on traffic of an invalid definition of a policy. The effect
// depends on whether another version of the policy is served.
func (s *problemLists) consequenceOf(key manifest.Key, r *rejectedDefinition) string {
	i, open := r.invalid, s.serving.uncovered(r)
	at, serving := s.serving.served[key]
	switch {
	case !serving && len(i.Targets) > 0 && len(open.Targets) == 0:
		return "the last valid version of what it was is still in force"
	case !serving:
		return s.consequence(open)
	case at.definition == nil:
		return "its last valid version is still in force"
	}
	return "its definition in " + at.path() + " is in force"
}

// untargeted returns text about the effect on traffic of an invalid policy without readable targets.
func (i *Invalid) untargeted() string {
	switch {
	case i.Lost:
		return "its targets cannot be read: what was served before stays open"
	case i.Key.Kind == api.KindTrafficPolicy:
		return "a rule that names it by ExtensionRef answers an error until it is fixed"
	}
	return "it has no targets"
}

// namesOf returns the targets of a policy as text. After maxTargets targets, the text ends with the number of
// the targets that are left out. namespace is the policy's namespace.
func namesOf(targets []Target, namespace string) string {
	var names []string
	for _, target := range targets[:min(len(targets), maxTargets)] {
		names = append(names, target.words(namespace))
	}
	if more := len(targets) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}

// words returns the target as text, such as "HTTPRoute shop/cart#rule" or "each HTTPRoute in namespace shop
// with app=cart,tier in (a,b)". namespace is the policy's namespace.
func (t Target) words(namespace string) string {
	name := clean(t.Kind + " " + namespace + "/" + t.Name)
	if t.Name == "" {
		name = fmt.Sprintf("each %s in namespace %s", t.Kind, clean(namespace))
		var conditions []string
		for _, label := range slices.Sorted(maps.Keys(t.Labels)) {
			conditions = append(conditions, label+"="+t.Labels[label])
		}
		if t.Expressions != "" {
			conditions = append(conditions, t.Expressions)
		}
		if len(conditions) > 0 {
			name += " with " + clean(strings.Join(conditions, ","))
		}
	}
	if t.Section != "" {
		name += "#" + clean(t.Section)
	}
	return name
}
