// Package expect reads files of tests, and checks them. A file of tests lies beside the YAML. Each line has a
// request or a connection, and says what must happen to it. Parse reads the lines. A Judge compares them with
// the answers of package explain for the translated configuration (ir.View), without an Envoy. An Observer
// compares them with the answers of a running Envoy. Run judges all lines, and also finds the rules that no
// line reaches. docs/reference/tests.md has the format.
//
// `gatefold test` uses this package. The project's own cases (package cases) have the same lines and the same
// Judge.
package expect
