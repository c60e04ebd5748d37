// Package translate turns a store.Change into a Result: the resources for Envoy, the status of the objects, and
// the problems. It starts no goroutine, logs nothing and reads no clock.
//
// It is a network of rules and folds on package memo. A rule reads values through its memo.Ctx, calls a worker
// in a sub-package and returns its value. A worker is a pure function.
//
// The rules are declared in parts (network.go). A part is a struct named ...Rules (or viewFolds), with its rules
// and folds as fields. Its constructor gets the memo.Engine and an input struct named ...In (newHintRules:
// inputs). The input struct lists what the part may read: inputs, options, and single rules and folds of other
// parts. It embeds another part if it calls methods of that part. So the compiler checks which part may read
// what. network.go constructs each part after the parts that it reads.
//
// The files form layers, and each layer uses only itself and earlier ones: keys and inputs (keys.go,
// nodekeys.go, inputs.go); values, with the pure functions that build and compare them (entry.go, attach.go,
// node.go, graft.go, host.go); the parts (rules_*.go); network.go, which joins the parts; translate.go with the
// Translator.
//
// docs/design/rules.md has the map: each rule with its key, what it reads and its value.
//
// A table has the rules of one virtual host. A virtual host belongs to a filter chain of its port: with TLS,
// each listener has its own chain.
//
// A node is a route on one port under one chain of parents (flatKey). The chain of a root is empty. The rules
// flat and link are recursive: the flat of a child reads the link to the child, and the link reads the flat of
// the parent. The parent has a shorter chain, so that the recursion ends at the root.
package translate
