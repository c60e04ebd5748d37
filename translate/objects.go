package translate

import (
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/memo"
)

// objects is the input with the objects of one kind, or of several similar kinds.
type objects = memo.Input[manifest.Key, *manifest.Object]

// kinds has the input of each kind, by group and kind.
type kinds map[[2]string]*objects

// Kinds of the Gateway API for which the API's Go package has no constants.
const (
	kindListenerSet      = "ListenerSet"
	kindBackendTLSPolicy = "BackendTLSPolicy"
)

// newObjects declares the input of one kind, or of several similar kinds. The parameter kind is the name of the
// input.
func newObjects(e *memo.Engine, kind string) *objects {
	return memo.NewInput[manifest.Key](e, kind, func(a, b *manifest.Object) bool { return a.Same(b) })
}
