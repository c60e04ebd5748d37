// Package memo is the engine of incremental translation. It has inputs, indexes, rules and folds, and knows
// nothing about gateways.
//
//   - An Input has values by key. An Index lists keys by a property of their values. A Join pairs keys that
//     share a property.
//   - A Rule computes one value per key with a pure function. Every value that the function reads through its
//     Ctx is recorded, even an absent value. The function runs again only after one of these values has
//     changed.
//   - A Fold computes one value per key from members that are added and removed one by one. It receives only
//     the changed members, so that a value with very many members costs only what changed. Members come from
//     Inputs, Rules, Joins or other Folds.
//   - A Sink collects the changes since it was last drained.
//
// Package translate relies on these properties:
//
//   - After Flush, every value is what a new engine would compute from the present inputs. For this, rules must
//     be pure and read only through their Ctx. A Fold's value must depend on its set of members, and not on
//     their order of arrival.
//   - If a new value equals the previous one, its readers do not run.
//   - A rule's value exists while a rule reads it, or while the function Each or EachOf requires it.
//   - Returned values are never changed.
//   - If a Stop interrupts a Flush, or a rule panics, all other values stay valid. What ran is kept, and the
//     next Flush does the rest.
//
// Families (inputs, rules, folds) are declared once. A family reads only from families that were declared
// before it. In addition, a rule may read its own family with another key. During a Flush, a rule may see an
// old value of its own family beside a new one; then it runs again. So the keys alone must prevent a circle of
// reads. A key that is a path, and longer in each read, prevents it. A check of values does not prevent it.
//
// An Engine is not safe for concurrent use.
package memo
