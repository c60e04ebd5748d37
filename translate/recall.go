package translate

import "github.com/gatefold/gatefold/translate/memo"

// recall is an input with the values that a family (a memo rule or a memo fold) had in the last Result. A rule that
// gives a thing to one of several objects reads it, and prefers the object that has the thing already (the incumbent,
// route.Rank.Incumbent). The family may be declared after the rules that read the recall.
//
// The rule extension reads one for what only an object said that is removed (extensionRules.before).
//
// To use it for another thing:
//  1. Declare it with newRecall before the rule that decides, and read it in this rule with Get. Read it only where
//     several objects want the thing, so that other edits do not run the rule again.
//  2. Call follow with the family whose values say who wants the thing (all of them, because an object that was alone
//     is an incumbent, too) or who got it. Values are kept, not copied: a fold on a persistent tree costs one pointer.
//  3. Read network.saved at the Thing as well: it has the holder at a start (see Holders).
//  4. Return the recall from network.recalls, and give the things that several objects want to the fold
//     network.holdings.
//
// The rule must be idempotent: if the objects that it chose are the incumbents, it chooses the same objects again.
// Then a Result does not depend on the way that led to it, except by the incumbents (docs/design/flow.md).
type recall[K comparable, V any] struct {
	*memo.Input[K, V]
	changes *memo.Sink[K, V]
}

// newRecall declares a recall. The name is that of the input. equal reports whether two values are equal.
func newRecall[K comparable, V any](e *memo.Engine, name string, equal func(a, b V) bool) *recall[K, V] {
	return &recall[K, V]{Input: memo.NewInput[K](e, name, equal)}
}

// follow sets the family whose values the recall keeps.
func (r *recall[K, V]) follow(family memo.Keyed[K, V]) { r.changes = memo.NewSink(family) }

// settle takes over the present values of the family. It reports whether some of them changed since the last call.
func (r *recall[K, V]) settle() (changed bool) {
	for key, change := range r.changes.Drain() {
		changed = true
		if change.Has {
			r.Set(key, change.New)
		} else {
			r.Delete(key)
		}
	}
	return changed
}

// settler is a recall of any type.
type settler interface{ settle() (changed bool) }
