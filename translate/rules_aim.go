package translate

import (
	"maps"
	"slices"

	apischema "k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/memo"
)

// What a policy is for is one thing for the rules, whether the policy is valid or not: a
// valid one works there, and an invalid one closes it.

// aiming knows what the policies of one kind are for, both ways.
type aiming struct {
	// targets are those of a policy, in the order in which it writes them.
	targets *memo.Rule[manifest.Key, []store.Target]
	// policies are those that may be for an object: that select it may ask for more labels
	// than it has.
	policies *memo.Fold[manifest.Key, aimID, aimID, memo.Ordered[aimID]]
	// selected are the objects that a policy may select.
	selected *memo.Fold[manifest.Key, manifest.Key, manifest.Key, memo.Ordered[manifest.Key]]
	// byKind has the objects that can be selected.
	byKind kinds
}

// aimID tells what a policy names from what it selects.
type aimID struct {
	Policy   manifest.Key
	Selector bool
}

func compareAims(a, b aimID) int {
	if c := manifest.CompareKeys(a.Policy, b.Policy); c != 0 || a.Selector == b.Selector {
		return c
	}
	if b.Selector {
		return -1
	}
	return 1
}

// labelAt is a label of the objects of a kind in a namespace; without a name it stands for
// all of them.
type labelAt struct {
	apischema.GroupKind
	Namespace, Name, Value string
}

// aimIn is what the aims of policies are read from.
type aimIn struct {
	byKind  kinds
	invalid *memo.Input[manifest.Key, *store.Invalid]
}

// newAiming declares what the policies of a kind are for, valid ones, as read says, and invalid
// ones. Objects that can be selected are in sides.
func newAiming(e *memo.Engine, in aimIn, gk apischema.GroupKind, read func(*manifest.Object) []store.Target, sides ...*objects) aiming {
	policies := in.byKind[[2]string{gk.Group, gk.Kind}]
	a := aiming{
		byKind: in.byKind,
		targets: memo.NewRule(e, "aims", func(c *memo.Ctx, key manifest.Key) []store.Target {
			if object, ok := policies.Get(c, key); ok {
				return read(object)
			}
			if invalid, ok := in.invalid.Get(c, key); ok {
				return invalid.Targets
			}
			return nil
		}, deepEqual),
		policies: memo.NewFold[manifest.Key, aimID](e, "policies at", gather[aimID](compareAims), memo.Ordered[aimID].Same),
		selected: memo.NewFold[manifest.Key, manifest.Key](e, "selected", gather[manifest.Key](manifest.CompareKeys), memo.Ordered[manifest.Key].Same),
	}
	memo.Each(a.targets, policies)
	memo.EachOf(a.targets, in.invalid, invalidOf(gk))
	memo.From(a.policies, a.targets, func(key manifest.Key, targets []store.Target, yield func(memo.Place[manifest.Key, aimID], aimID)) {
		for _, at := range targetKeys(key.Namespace, targets) {
			id := aimID{Policy: key}
			yield(memo.Place[manifest.Key, aimID]{Key: at, ID: id}, id)
		}
	}, identical)
	type pair = memo.Pair[manifest.Key, manifest.Key]
	for _, side := range sides {
		join := memo.NewJoin(a.targets, wantedLabels, side, offeredLabels, func(labelAt) (key manifest.Key, named bool) { return key, false })
		memo.From(a.policies, join, func(p pair, _ struct{}, yield func(memo.Place[manifest.Key, aimID], aimID)) {
			id := aimID{p.Left, true}
			yield(memo.Place[manifest.Key, aimID]{Key: p.Right, ID: id}, id)
		}, identical)
		memo.From(a.selected, join, func(p pair, _ struct{}, yield func(memo.Place[manifest.Key, manifest.Key], manifest.Key)) {
			yield(memo.Place[manifest.Key, manifest.Key]{Key: p.Left, ID: p.Right}, p.Right)
		}, identical)
	}
	return a
}

// invalidOf names the invalid objects of a kind.
func invalidOf(gk apischema.GroupKind) func(manifest.Key, *store.Invalid) []manifest.Key {
	return func(key manifest.Key, _ *store.Invalid) []manifest.Key {
		if key.GroupKind() != gk {
			return nil
		}
		return []manifest.Key{key}
	}
}

// wantedLabels are where what a policy selects is found: by one label of each selector.
func wantedLabels(policy manifest.Key, targets []store.Target) (out []labelAt) {
	for _, target := range targets {
		if target.Name != "" {
			continue
		}
		at := labelAt{GroupKind: target.GroupKind, Namespace: policy.Namespace}
		if names := slices.Sorted(maps.Keys(target.Labels)); len(names) > 0 {
			at.Name, at.Value = names[0], target.Labels[names[0]]
		}
		if !slices.Contains(out, at) {
			out = append(out, at)
		}
	}
	return out
}

// offeredLabels are where policies find an object.
func offeredLabels(key manifest.Key, object *manifest.Object) []labelAt {
	at := labelAt{GroupKind: key.GroupKind(), Namespace: key.Namespace}
	out := []labelAt{at}
	for at.Name, at.Value = range object.Value.GetLabels() {
		out = append(out, at)
	}
	return out
}

// at returns the policies that may be for an object, sorted by key.
func (a aiming) at(c *memo.Ctx, object manifest.Key) (out []manifest.Key) {
	ids, _ := a.policies.Get(c, object)
	for id := range ids.All() {
		if n := len(out); n == 0 || out[n-1] != id.Policy {
			out = append(out, id.Policy)
		}
	}
	return out
}

// any reports whether a policy may be for an object.
func (a aiming) any(c *memo.Ctx, object manifest.Key) bool {
	ids, _ := a.policies.Get(c, object)
	return ids.Len() > 0
}

// objects returns the objects that a target of a policy stands for, sorted, and at most so
// many of them: the one that it names, or those that it selects.
func (a aiming) objects(c *memo.Ctx, policy manifest.Key, target store.Target, limit int) (out []manifest.Key) {
	if target.Name != "" {
		return []manifest.Key{targetKey(policy.Namespace, target)}
	}
	of := a.byKind[[2]string{target.Group, target.Kind}]
	selected, _ := a.selected.Get(c, policy)
	for object := range selected.All() {
		if len(out) < limit && object.GroupKind() == target.GroupKind && isFor(target, object, labelsOf(c, of, object)) {
			out = append(out, object)
		}
		if len(out) == limit {
			break
		}
	}
	return out
}

// isFor reports whether a target of a policy in a namespace stands for an object with
// these labels, whatever its section.
func isFor(target store.Target, of manifest.Key, labels map[string]string) bool {
	if target.Name != "" {
		return targetKey(of.Namespace, target) == of
	}
	if target.GroupKind != of.GroupKind() {
		return false
	}
	for name, value := range target.Labels {
		if has, ok := labels[name]; !ok || has != value {
			return false
		}
	}
	return true
}

func targetKey(namespace string, target store.Target) manifest.Key {
	return manifest.Key{Group: target.Group, Kind: target.Kind, Namespace: namespace, Name: target.Name}
}

// targetKeys gives the objects that targets name, once each.
func targetKeys(namespace string, targets []store.Target) []manifest.Key {
	var out []manifest.Key
	for _, target := range targets {
		if target.Name != "" {
			out = append(out, targetKey(namespace, target))
		}
	}
	slices.SortFunc(out, manifest.CompareKeys)
	return slices.Compact(out)
}

// targetsOf reads the targets of a valid policy: targetRefs, and then targetSelectors.
func targetsOf(refs []api.PolicyTarget, selectors ...api.PolicySelector) []store.Target {
	var out []store.Target
	for _, ref := range refs {
		out = append(out, store.Target{
			GroupKind: apischema.GroupKind{Group: string(ref.Group), Kind: string(ref.Kind)}, Name: string(ref.Name), Section: api.Text(ref.SectionName),
		})
	}
	for _, s := range selectors {
		out = append(out, store.Target{
			GroupKind: apischema.GroupKind{Group: string(s.Group), Kind: string(s.Kind)}, Labels: s.MatchLabels, Section: api.Text(s.SectionName),
		})
	}
	return out
}

// labelsOf are the labels of an object, none where it does not exist.
func labelsOf(c *memo.Ctx, of *objects, key manifest.Key) map[string]string {
	if object, ok := of.Get(c, key); ok {
		return object.Value.GetLabels()
	}
	return nil
}
