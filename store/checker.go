package store

import (
	"k8s.io/apimachinery/pkg/runtime"
	apischema "k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/gatefold/gatefold/store/schema"
)

// checker is the part of schema.Set that reader uses.
type checker interface {
	Check(gvk apischema.GroupVersionKind, object map[string]any) []schema.Finding
	Recheck(gvk apischema.GroupVersionKind, object map[string]any) []schema.Finding
	KindNotServed(gk apischema.GroupKind) (schema.KindNotServed, bool)
	HasSpecField(gk apischema.GroupKind, name string) bool
}

// comparing is a checker that adds what a version of kgateway would not take (Options.Kgateway).
type comparing struct {
	checker
	with *schema.Kgateway
}

// Check checks an object, and compares it as it is written.
func (c comparing) Check(gvk apischema.GroupVersionKind, object map[string]any) []schema.Finding {
	written := runtime.DeepCopyJSON(object) // Check changes the object
	own := c.checker.Check(gvk, object)
	return append(own, c.with.Compare(gvk.GroupKind(), written, own)...)
}
