// Package manifest holds what every package says of a user's manifests: the Key and the Object
// that a document defines, the Problem of one that is wrong, the Verdict of a condition, and
// the name that a misspelt one is Nearest to. It reads no YAML and knows no schema; package
// store does.
package manifest
