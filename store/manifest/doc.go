// Package manifest has the types with which all packages describe a user's manifests. A document defines an
// Object with a Key. A Problem is a mistake, and a Verdict is the result of a condition. Nearest finds the name
// that was probably meant. The package reads no YAML and has no schemas; package store does that.
package manifest
