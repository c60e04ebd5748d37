package store

import (
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/store/schema"
)

// Withhold returns an Invalid for a valid object that gatefold cannot apply. The Invalid has one mistake, whose
// message is the parameter why. If the object is a policy, requests to its targets are then answered with an error.
// If the object has another kind, its status then shows the message. For another kind than a policy, the result is
// nil if the Invalid would have no effect (see newInvalid): for example, because objects of the kind have no status.
func Withhold(o *manifest.Object, why string) *Invalid {
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o.Value)
	if err != nil {
		return nil
	}
	// The typed value has no apiVersion and kind, and closing and newInvalid need them.
	k := kindOf(o.Key.GroupKind())
	object["apiVersion"], object["kind"] = k.apiVersions()[0], k.name
	if k.policy() {
		return k.closing(object, []Mistake{{Message: why}})
	}
	return newInvalid(object, object, []schema.Finding{{Message: why}})
}
