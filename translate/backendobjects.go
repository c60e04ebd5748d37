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

// backendObjects are the inputs that backends are read from: Services, EndpointSlices and Backends.
type backendObjects struct {
	services, slices, staticBackends *objects
	// sliceIndex has the keys of the EndpointSlices of each Service.
	sliceIndex *memo.Index[manifest.Key, manifest.Key]
}

// service returns the Service of a key, nil if it does not exist.
func (b *backendObjects) service(c *memo.Ctx, key manifest.Key) *corev1.Service {
	object, _ := b.services.Get(c, key)
	service, _ := manifest.As[*corev1.Service](object)
	return service
}

// backendExists reports whether the Service or Backend of a key exists.
func (b *backendObjects) backendExists(c *memo.Ctx, key manifest.Key) bool {
	input := b.services
	if key.Group == api.Group {
		input = b.staticBackends
	}
	_, ok := input.Get(c, key)
	return ok
}

// hasNames reports whether Envoy finds the endpoints of a Service or Backend by DNS. It is false if the object
// does not exist.
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

// endpointSlices returns the EndpointSlices of a Service.
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

// fieldOf returns the path of the field that contains an endpoint. The parameter key is the key of the object with
// this field: an EndpointSlice, Backend or Service. If no field of the object contains the endpoint, the result is
// "".
func (b *backendObjects) fieldOf(c *memo.Ctx, key manifest.Key, endpoint ir.Endpoint) string {
	if key.Kind == "EndpointSlice" {
		object, _ := b.slices.Get(c, key)
		slice, _ := manifest.As[*discoveryv1.EndpointSlice](object)
		return backend.SliceField(slice, endpoint)
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
