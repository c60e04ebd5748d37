// Package translate turns store.Change into Result: what Envoy is to be sent,
// the status of the objects, and the problems found on the way. It starts no
// goroutine, logs nothing and reads no clock.
//
// It is a network of rules and folds on package memo. A rule reads through its
// Ctx, calls a worker in a sub-package and returns its value; a worker is a
// pure function.
//
// The rules are declared in parts (network.go). A part is a struct named ...Rules with
// its rules and folds as fields. Its constructor has one parameter beside the engine: the
// door, a struct named ...In with what the part may read: inputs, single rules and
// folds of other parts and, embedded, other parts of which it reads several. So the compiler
// checks which part may read what, and in network.go each part is constructed after those that it
// reads.
//
// The files lie in floors, and none names what is above it: keys and inputs (keys.go,
// nodekeys.go, inputs.go); values, with the pure functions that make and compare them (entry.go,
// attach.go, node.go, graft.go, host.go); the parts (rules_*.go); network.go, which joins the
// parts; translate.go with the Translator.
//
// docs/design/rules.md has the map: each rule with its key, what it reads and its value.
//
// The host of a table is in a chain of its port: with TLS, each listener has one.
//
// A node is a route on one port under one chain of parents (flatKey); a root has
// an empty chain. flat and link recurse: the flat of a child reads the link to it,
// and the link the flat of the parent, whose chain is shorter, up to the root.
package translate
