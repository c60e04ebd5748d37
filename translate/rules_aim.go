package translate

import (
	"fmt"
	"maps"
	"slices"

	apischema "k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/translate/ordered"
)

// Targets of policies. The same rules find the targets of valid and invalid policies: a valid policy applies to
// its targets, and an invalid policy makes them fail closed.

// maxListed limits how many of the objects that selectors select are listed in the status of a policy.
const maxListed = 16

// targetRules has the rules for the targets of one kind of policy. It finds the objects that a policy applies to,
// and the policies that apply to an object.
type targetRules struct {
	kind string
	// targets has the targets of each policy, in the order of its spec.
	targets *memo.Rule[manifest.Key, []store.Target]
	// The fold named has, for each object, the policies whose targetRefs name that object. The fold wanted has the
	// policies with targetSelectors. A selector is stored under the alphabetically first of its labels. A selector
	// without labels, which selects all objects of a kind, is stored under an empty label (see labelAt).
	named  *memo.Fold[manifest.Key, manifest.Key, *policyTarget, aims]
	wanted *memo.Fold[labelAt, manifest.Key, *policyTarget, aims]
	// The fold selectable has, by label, the objects with that label.
	selectable *memo.Fold[labelAt, manifest.Key, *selectable, ordered.Set[*selectable]]
	// The rule at has, for each object, the policies that apply to that object.
	at *memo.Rule[manifest.Key, *attachments]
	// The fold crowded has, by namespace, the objects and sections with too many policies.
	crowded *memo.Fold[string, overLimitAt, overLimitAt, ordered.Set[overLimitAt]]
	// byKind has the objects of all kinds. The labels of a target are read from there.
	byKind kinds
}

// aims has policies with their targets, sorted by policy. An aims value belongs to one object or label. It has only
// the targets for this object or label (see policyTarget), and the field Targets is their number.
type aims struct {
	Targets int
	Ordered ordered.Set[*policyTarget]
}

func sameAims(a, b aims) bool { return a.Ordered.Same(b.Ordered) }

// gatherAims returns the step function of two memo.Folds: targetRules.named and targetRules.wanted. The step
// function adds new policies to an aims value, removes old policies, and updates the field Targets.
func gatherAims() func(aims, []memo.Member[manifest.Key, *policyTarget]) aims {
	step := gather[manifest.Key](compareAims)
	return func(so aims, members []memo.Member[manifest.Key, *policyTarget]) aims {
		for _, m := range members {
			if m.Had {
				so.Targets -= len(m.Old.Targets)
			}
			if m.Has {
				so.Targets += len(m.New.Targets)
			}
		}
		return aims{so.Targets, step(so.Ordered, members)}
	}
}

// selectable is an object that selectors can select, with its labels.
type selectable struct {
	Key    manifest.Key
	Labels map[string]string
}

func sameSelectable(a, b *selectable) bool { return a.Key == b.Key && maps.Equal(a.Labels, b.Labels) }

// labelAt is a label of the objects of one kind in one namespace. If Name is "", it stands for all objects of
// that kind in the namespace, with or without labels.
type labelAt struct {
	apischema.GroupKind
	Namespace, Name, Value string
}

// targetRulesIn is the input of newTargetRules: the valid objects by kind, and the invalid objects.
type targetRulesIn struct {
	byKind  kinds
	invalid *memo.Input[manifest.Key, *store.Invalid]
}

// newTargetRules declares the rules for the targets of the policies of kind gk. The targetSelectors
// of these policies can select only objects in candidates. Without candidates, they select nothing.
func newTargetRules(e *memo.Engine, in targetRulesIn, gk apischema.GroupKind, candidates ...*objects) targetRules {
	policies := in.byKind[[2]string{gk.Group, gk.Kind}]
	a := targetRules{
		kind:   gk.Kind,
		byKind: in.byKind,
		targets: memo.NewRule(e, "aims", func(c *memo.Ctx, key manifest.Key) []store.Target {
			if object, ok := policies.Get(c, key); ok {
				return store.Targets(object)
			}
			if invalid, ok := in.invalid.Get(c, key); ok {
				return invalid.Targets
			}
			return nil
		}, deepEqual),
		named:      memo.NewFold[manifest.Key, manifest.Key](e, "policies of", gatherAims(), sameAims),
		wanted:     memo.NewFold[labelAt, manifest.Key](e, "wanted", gatherAims(), sameAims),
		selectable: memo.NewFold[labelAt, manifest.Key](e, "selectable", gather[manifest.Key](func(a, b *selectable) int { return manifest.CompareKeys(a.Key, b.Key) }), ordered.Set[*selectable].Same),
	}
	memo.Each(a.targets, policies)
	memo.EachOf(a.targets, in.invalid, invalidOf(gk))
	if gk == trafficPolicyKind() {
		memo.EachOf(a.targets, in.invalid, unservedOnes)
	}
	memo.From(a.named, a.targets, func(key manifest.Key, targets []store.Target, yield func(memo.Place[manifest.Key, manifest.Key], *policyTarget)) {
		for object, one := range aimsBy(key, targets, objectOf) {
			yield(memo.Place[manifest.Key, manifest.Key]{Key: object, ID: key}, one)
		}
	}, deepEqual)
	if len(candidates) > 0 {
		a.addSelectors(candidates)
	}
	a.at = memo.NewRule(e, "policies at", a.runAt, deepEqual)
	a.crowded = memo.NewFold[string, overLimitAt](e, "crowded", gather[overLimitAt](compareCrowded), ordered.Set[overLimitAt].Same)
	memo.From(a.crowded, a.at, func(key manifest.Key, at *attachments, yield func(memo.Place[string, overLimitAt], overLimitAt)) {
		for _, crowded := range at.Crowded {
			yield(memo.Place[string, overLimitAt]{Key: key.Namespace, ID: crowded}, crowded)
		}
	}, identical)
	return a
}

// addSelectors adds the inputs of two folds (memo.Fold), which store policies and objects by labels. The fold
// a.wanted gets the policies with selectors. The fold a.selectable gets the objects in candidates, which are the
// objects that selectors can select.
func (a targetRules) addSelectors(candidates []*objects) {
	memo.From(a.wanted, a.targets, func(key manifest.Key, targets []store.Target, yield func(memo.Place[labelAt, manifest.Key], *policyTarget)) {
		for label, one := range aimsBy(key, targets, wantedLabel) {
			yield(memo.Place[labelAt, manifest.Key]{Key: label, ID: key}, one)
		}
	}, deepEqual)
	for _, kind := range candidates {
		memo.From(a.selectable, kind, func(key manifest.Key, object *manifest.Object, yield func(memo.Place[labelAt, manifest.Key], *selectable)) {
			one := &selectable{key, object.Value.GetLabels()}
			for _, label := range offeredLabels(key, one.Labels) {
				yield(memo.Place[labelAt, manifest.Key]{Key: label, ID: key}, one)
			}
		}, sameSelectable)
	}
}

// runAt returns the policies that apply to an object: those whose targetRefs name the object, and those whose
// selector matches the object's labels. If more than maxAims targets of policies would have to be compared with
// the object, or if more than maxPolicies policies target the whole object, the result has only a Crowded
// entry. A section with more than maxPolicies policies has a Crowded entry of its own.
func (a targetRules) runAt(c *memo.Ctx, key manifest.Key) *attachments {
	groups, labels := a.groups(c, key)
	targets := 0
	for _, group := range groups {
		targets += group.Targets
	}
	if targets > maxAims {
		return &attachments{Crowded: []overLimitAt{{Object: key, Unread: true}}}
	}
	byPolicy := map[manifest.Key]*policyTarget{}
	for _, group := range groups {
		for one := range group.Ordered.All() {
			for _, target := range one.Targets {
				if !target.Selects(key, labels) {
					continue
				}
				if byPolicy[one.Policy] == nil {
					byPolicy[one.Policy] = &policyTarget{Policy: one.Policy}
				}
				byPolicy[one.Policy].Targets = append(byPolicy[one.Policy].Targets, target)
			}
		}
	}
	out := &attachments{Aims: slices.SortedFunc(maps.Values(byPolicy), compareAims)}
	out.count(key)
	return out
}

// groups returns the policies that may apply to an object, in several elements:
//   - The first element has the policies that name the object.
//   - One element has the policies with a selector of all objects of the kind.
//   - Each label of the object has one element, with the policies whose selector is stored under this label. A
//     selector is stored under the alphabetically first of its labels (see wantedLabel).
//
// The result labels has the labels of the object. If the object does not exist or its kind is unknown, labels is
// nil, and groups has only the first element.
func (a targetRules) groups(c *memo.Ctx, key manifest.Key) (groups []aims, labels map[string]string) {
	named, _ := a.named.Get(c, key)
	groups = append(groups, named)
	of := a.byKind[[2]string{key.Group, key.Kind}]
	if of == nil {
		return groups, nil
	}
	object, ok := of.Get(c, key)
	if !ok {
		return groups, nil
	}
	labels = object.Value.GetLabels()
	for _, label := range offeredLabels(key, labels) {
		group, _ := a.wanted.Get(c, label)
		groups = append(groups, group)
	}
	return groups, labels
}

// invalidOf returns a function for memo.EachOf. The function returns the key of an invalid object if its group
// and kind are gk, and nil otherwise.
func invalidOf(gk apischema.GroupKind) func(manifest.Key, *store.Invalid) []manifest.Key {
	return func(key manifest.Key, _ *store.Invalid) []manifest.Key {
		if key.GroupKind() != gk {
			return nil
		}
		return []manifest.Key{key}
	}
}

// unservedOnes returns a list with the key of a policy of a kind that is not served, which closes its targets, and nil
// for any other invalid object.
func unservedOnes(key manifest.Key, from *store.Invalid) []manifest.Key {
	if !from.Unserved {
		return nil
	}
	return []manifest.Key{key}
}

// aimsBy groups the targets of a policy. The parameter by is a function that returns the group of a target, for
// example the object that the target names. Targets for which that function returns false are left out.
func aimsBy[K comparable](policy manifest.Key, targets []store.Target, by func(namespace string, target store.Target) (K, bool)) map[K]*policyTarget {
	out := map[K]*policyTarget{}
	for _, target := range targets {
		at, ok := by(policy.Namespace, target)
		if !ok {
			continue
		}
		if out[at] == nil {
			out[at] = &policyTarget{Policy: policy}
		}
		out[at].Targets = append(out[at].Targets, target)
	}
	return out
}

// objectOf returns the key of the object that a target of a policy names. The parameter namespace is the
// namespace of the policy. If the target is a selector, ok is false.
func objectOf(namespace string, target store.Target) (key manifest.Key, ok bool) {
	return target.Key(namespace), target.Name != ""
}

// wantedLabel returns the label under which a selector is stored in the fold wanted: the alphabetically first
// label of the selector. For a selector of all objects of a kind, the result has an empty Name. The parameter
// namespace is the namespace of the policy. If the target names an object, ok is false.
func wantedLabel(namespace string, target store.Target) (at labelAt, ok bool) {
	at = labelAt{GroupKind: target.GroupKind, Namespace: namespace}
	if names := slices.Sorted(maps.Keys(target.Labels)); len(names) > 0 {
		at.Name, at.Value = names[0], target.Labels[names[0]]
	}
	return at, target.Name == ""
}

// offeredLabels returns the keys under which selectors can find an object: one key for each label of the
// object, and one key with an empty Name, for selectors of all objects of the kind.
func offeredLabels(key manifest.Key, labels map[string]string) []labelAt {
	at := labelAt{GroupKind: key.GroupKind(), Namespace: key.Namespace}
	out := []labelAt{at}
	for at.Name, at.Value = range labels {
		out = append(out, at)
	}
	return out
}

// any reports whether policies may apply to an object. This is so if a policy names the object, selects all objects
// of its kind, or has a selector whose alphabetically first label is one of the object's labels. If the result is
// false, callers do not read the rule a.at for the object. This saves memory, because the engine then stores no value
// of a.at for objects without policies.
func (a targetRules) any(c *memo.Ctx, object manifest.Key) bool {
	groups, _ := a.groups(c, object)
	return slices.ContainsFunc(groups, func(group aims) bool { return group.Targets > 0 })
}

// objects returns the keys of the objects to which a target of a policy refers, sorted. For a target with a name,
// this is one object, which may not exist. For a selector, objects examines at most maxAims candidates, and returns
// at most limit objects. The result complete is false if either of these numbers ended the search.
func (a targetRules) objects(c *memo.Ctx, policy manifest.Key, target store.Target, limit int) (out []manifest.Key, complete bool) {
	label, selects := wantedLabel(policy.Namespace, target)
	if !selects {
		return []manifest.Key{target.Key(policy.Namespace)}, true
	}
	found, _ := a.selectable.Get(c, label)
	seen := 0
	for one := range found.All() {
		if len(out) == limit || seen == maxAims {
			return out, false
		}
		seen++
		if target.Selects(one.Key, one.Labels) {
			out = append(out, one.Key)
		}
	}
	return out, true
}

// report adds one problem for each namespace with objects to which too many policies apply. The problem is
// shown at the first such object, and its message has the number of the others. The parameter closed is the end
// of the message: what happens to requests for these objects.
func (a targetRules) report(all *problemFold, closed string) {
	problemsFrom(all, "crowded "+a.kind, a.crowded, func(crowded ordered.Set[overLimitAt]) []manifest.Problem {
		for first := range crowded.All() {
			message := first.words(a.kind)
			if others := crowded.Len() - 1; others > 0 {
				message += fmt.Sprintf(", and so it is at %d more places of namespace %s", others, first.Object.Namespace)
			}
			return []manifest.Problem{{
				Code: "TooManyPolicies", Severity: manifest.Error, Object: first.Object, Message: message + "; " + closed,
				Hint: "join policies that have the same targets into one, or let their selectors ask for a label that fewer objects have",
			}}
		}
		return nil
	})
}
