// Package expect is about files of tests: lines beside the YAML that say what must happen to requests. Parse
// reads these lines. Judge compares them with what explain answers from a View, and Observer with what clients
// see. Run also finds the rules that no line reaches. docs/reference/tests.md has the format.
//
// `gatefold test` uses this package. The project's own cases (package cases) have the same lines and the same
// Judge.
package expect
