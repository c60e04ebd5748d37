package plan

import "github.com/gatefold/gatefold/store/manifest"

// Judged is what a gatefold that serves the old configuration does with the edits that lead to the new one. In a comparison
// with a running gatefold, only Held is known, and only edits that have an error of their own.
type Judged struct {
	// Held are the edits that are not applied. The answers after are those that are served meanwhile.
	Held []HeldEdit `json:"held,omitempty"`
	// Brought are errors of objects that were served before and that have no error of their own: an edit of another object
	// brings them.
	Brought []BroughtError `json:"brought,omitempty"`
	// Strict is what `gatefold serve --strict` does not apply. It is empty if everything is applied.
	Strict []Refusal `json:"strict,omitempty"`
}

// HeldEdit is an edit that is not applied, because it has an error, or because it takes effect only together with an edit
// that has one.
type HeldEdit struct {
	// Kind is what the edit does to the object: added, removed or changed.
	Kind   Kind         `json:"change"`
	Object manifest.Key `json:"object"`
	// Serves is what is served meanwhile: before (the version before the edit), closed (the new route answers 500) or nothing.
	Serves Serves `json:"serves"`
	// Problems are why. The code WaitsFor means that the edit waits for another object, which the message names.
	Problems []manifest.Problem `json:"problems"`
}

// Serves is what is served while an edit is not applied.
type Serves string

// What can be served while an edit is not applied.
const (
	ServesBefore  Serves = "before"
	ServesClosed  Serves = "closed"
	ServesNothing Serves = "nothing"
)

// BroughtError is an error of an object that the edit of another object brings.
type BroughtError struct {
	// Problem is the error, at the object that has it.
	Problem manifest.Problem `json:"problem"`
	// By is the object whose edit brings the error. It is empty if no single edit does.
	By manifest.Key `json:"by,omitzero"`
}

// Refusal is a part of the folder of which `gatefold serve --strict` applies no change.
type Refusal struct {
	// Of is "the folder", or with path policies the namespaces, such as "namespace shop".
	Of string `json:"of"`
	// Errors are the new errors because of which it is not applied.
	Errors []manifest.Problem `json:"errors"`
}
