package route

import (
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
)

// mirror adds a mirror of requests to a.action.Mirrors. A mirror whose backendRef cannot be resolved is left out and
// reported (Gateway API, HTTPRequestMirrorFilter.backendRef), and so is one to a listener (Setting.Loops). Requests pass
// without it.
func mirror(a *actionBuilder, field string, f *gwv1.HTTPRouteFilter) bool {
	field += ".requestMirror.backendRef"
	resolution := a.resolve(f.RequestMirror.BackendRef, false)
	if resolution.OK() && a.loops != nil {
		if listener := a.loops(*resolution.Key); listener != "" {
			a.problem(manifest.Error, "EndpointRefused", field, "no request is mirrored there: it is "+listener+", where the copy would be copied again",
				"mirror to another backend; if this is meant, name its address in --allow-endpoints")
			return true
		}
	}
	cluster, _ := a.resolved(field, resolution)
	if cluster == "" {
		return true
	}
	to := ir.Mirror{Cluster: cluster, Numerator: 100, Denominator: 100}
	if f.RequestMirror.Percent != nil {
		to.Numerator = uint32(*f.RequestMirror.Percent)
	}
	if fraction := f.RequestMirror.Fraction; fraction != nil {
		to.Numerator, to.Denominator = uint32(fraction.Numerator), 100
		if fraction.Denominator != nil {
			to.Denominator = uint32(*fraction.Denominator)
		}
	}
	a.action.Mirrors = append(a.action.Mirrors, to)
	return true
}
