// Package memo is the engine of incremental translation: inputs, indexes, rules
// and folds, and nothing that knows what a gateway is.
//
//   - An Input holds values by key. An Index lists an Input's keys by a property.
//   - A Rule computes one value per key with a pure function. Whatever the
//     function reads through its Ctx is recorded, absent values too; it runs
//     again when one of those changed, and never otherwise.
//   - A Fold computes one value per key from members that come and go one by
//     one. It is handed only the changed ones, so that unbounded fan-in costs
//     what changed. Members come from Inputs, Rules or other Folds.
//   - A Sink collects what changed since it was last drained.
//
// What holds, and what the rest of translate rests on:
//
//   - After Flush every value is what a fresh engine would compute from the
//     present inputs, provided that rules read through their Ctx only, that
//     they are pure, and that a Fold's value depends on its set of members and
//     not on their order of arrival.
//   - A value that is equal to the one before stops the wave: its readers do
//     not run.
//   - A rule's value lives while something reads it or Each asks for it.
//   - Values handed out are never changed.
//   - A Flush that a Stop interrupts, or that a rule panics in, leaves every other rule as it
//     was: what ran is kept, and the next Flush does the rest.
//
// Families (inputs, rules, folds) are declared once, in an order in which each
// reads only from those declared before it or, for rules, from itself with
// another key. While a flush runs, a rule may see an old value of its own family
// beside a new one (it runs again then), so the keys alone must keep such reads
// from running in a circle: a path that grows does, a check of values does not.
// The engine has one owner: no method may be called concurrently.
package memo
