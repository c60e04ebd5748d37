package translate

import (
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/backend"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/memo"
)

// backendObjects are the objects that backends are made of.
type backendObjects struct {
	services, slices, staticBackends *objects
	// sliceIndex lists EndpointSlices by Service.
	sliceIndex *memo.Index[manifest.Key, manifest.Key]
}

func (b *backendObjects) service(c *memo.Ctx, key manifest.Key) *corev1.Service {
	object, _ := b.services.Get(c, key)
	service, _ := manifest.As[*corev1.Service](object)
	return service
}

func (b *backendObjects) backendExists(c *memo.Ctx, key manifest.Key) bool {
	input := b.services
	if key.Group == api.Group {
		input = b.staticBackends
	}
	_, ok := input.Get(c, key)
	return ok
}

// hasNames reports whether the endpoints of a backend are found by DNS, and so have
// names.
func (b *backendObjects) hasNames(c *memo.Ctx, key manifest.Key) bool {
	if key.Group != api.Group {
		object, _ := b.services.Get(c, key)
		service, ok := manifest.As[*corev1.Service](object)
		return ok && service.Spec.Type == corev1.ServiceTypeExternalName
	}
	object, _ := b.staticBackends.Get(c, key)
	from, ok := manifest.As[*api.Backend](object)
	return ok && backend.FromBackend(backend.Key{Object: key}, from).Discovery == ir.DNS
}

func (b *backendObjects) endpointSlices(c *memo.Ctx, service manifest.Key) []*discoveryv1.EndpointSlice {
	var out []*discoveryv1.EndpointSlice
	for _, key := range b.sliceIndex.Get(c, service) {
		object, _ := b.slices.Get(c, key)
		if slice, ok := manifest.As[*discoveryv1.EndpointSlice](object); ok {
			out = append(out, slice)
		}
	}
	return out
}

// fieldOf returns the field of the backend's object that has an endpoint, "" if no field has it.
func (b *backendObjects) fieldOf(c *memo.Ctx, key manifest.Key, endpoint ir.Endpoint) string {
	if key.Kind == "EndpointSlice" {
		object, _ := b.slices.Get(c, key)
		slice, _ := manifest.As[*discoveryv1.EndpointSlice](object)
		return backend.SliceField(slice, endpoint.Host)
	}
	object, _ := b.staticBackends.Get(c, key)
	if static, ok := manifest.As[*api.Backend](object); ok {
		return backend.HostField(static, endpoint)
	}
	if service := b.service(c, key); service != nil && service.Spec.ExternalName == endpoint.Host {
		return "spec.externalName"
	}
	return ""
}
