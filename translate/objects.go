package translate

import (
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/memo"
)

// objects is the input of one kind.
type objects = memo.Input[manifest.Key, *manifest.Object]

// kinds are inputs by group and kind.
type kinds map[[2]string]*objects

// Kinds of the Gateway API that have no constant of their own.
const (
	kindListenerSet      = "ListenerSet"
	kindBackendTLSPolicy = "BackendTLSPolicy"
)

// newObjects declares the input of a kind.
func newObjects(e *memo.Engine, kind string) *objects {
	return memo.NewInput[manifest.Key](e, kind, func(a, b *manifest.Object) bool { return a.Same(b) })
}
