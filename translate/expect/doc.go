// Package expect is about files of tests: lines beside the YAML that say what must happen to
// requests. Parse reads them, Judge compares them with what explain knows of a View, and Coverage
// finds the rules that no line reaches. docs/reference/tests.md is the format.
//
// The package does what `gatefold test` does offline, and the project's own cases are the same
// lines with the same judge (package cases).
package expect
