package translate

import (
	"fmt"
	"net"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/store/tenancy"
	"github.com/gatefold/gatefold/translate/backend"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/listen"
	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/translate/ordered"
)

// Some endpoints get no requests, whoever refers to them: routes, mirrors and external services alike. Options.Guard
// refuses the addresses through which gatefold, Envoy and clouds are controlled. Under path policies, an object outside
// of cluster paths may also have no endpoint that is a listener of another namespace's Gateway (the request would come
// back as one of gatefold's own, past rules for clients), and only those that its Namespace allows
// (docs/design/safety.md).

// maxRejectedEndpoints limits the number of problems about refused endpoints of one cluster.
const maxRejectedEndpoints = 20

// refusal says why an endpoint gets no requests, and what to do.
type refusal struct {
	endpoint      ir.Endpoint
	message, hint string
	cause         manifest.Field
}

// sift removes from a cluster the endpoints that get no requests. It returns an error for each removed endpoint, at the
// field that contains the endpoint, but at most maxRejectedEndpoints errors.
func (r *clusterRules) sift(c *memo.Ctx, key backend.Key, cluster *ir.Cluster) []manifest.Problem {
	var refused []refusal
	for _, endpoint := range r.in.Guard.RemoveRefused(cluster) {
		refused = append(refused, refusal{
			endpoint: endpoint,
			message:  "%s is no place for requests: it is where gatefold or Envoy is steered, or where a cloud gives out credentials",
			hint:     "send to another address; if this is meant, start gatefold with --allow-endpoints %s",
		})
	}
	if limit := r.limitOf(c, key, cluster); limit != nil {
		backend.Remove(cluster, func(endpoint ir.Endpoint) bool {
			found := limit.refuse(endpoint)
			if found != nil {
				refused = append(refused, *found)
			}
			return found != nil
		})
	}
	var problems []manifest.Problem
	for _, one := range refused[:min(len(refused), maxRejectedEndpoints)] {
		problems = append(problems, r.refusedProblem(c, cluster, one))
	}
	return problems
}

// refusedProblem returns the error about a refused endpoint, at the field that contains the endpoint.
func (r *clusterRules) refusedProblem(c *memo.Ctx, cluster *ir.Cluster, one refusal) manifest.Problem {
	at := net.JoinHostPort(one.endpoint.Host, fmt.Sprint(one.endpoint.Port))
	problem := manifest.Problem{
		Code: "EndpointRefused", Severity: manifest.Error, Object: cluster.Objects[0],
		Message: fmt.Sprintf(one.message, at), Hint: fmt.Sprintf(one.hint, at), Cause: one.cause,
	}
	for _, key := range cluster.Objects {
		if field := r.in.fieldOf(c, key, one.endpoint); field != "" {
			problem.Object, problem.Field = key, field
			break
		}
	}
	return problem
}

// endpointLimit refuses endpoints of objects outside of cluster paths.
type endpointLimit struct {
	guard     *backend.Guard
	namespace string
	// platform has the endpoints that an EndpointSlice of cluster paths has, too, by Host and Port alone. They are not
	// limited.
	platform map[ir.Endpoint]bool
	// allowed are the endpoints that the namespace may have. nil means every endpoint.
	allowed *tenancy.Backends
	// listening returns the Gateways that bind a port.
	listening func(port uint32) ordered.Set[*listen.Listening]
}

// limitOf returns the limit for the endpoints of a cluster, nil if path policies are not in force, or if all endpoints
// are from cluster paths.
func (r *clusterRules) limitOf(c *memo.Ctx, key backend.Key, cluster *ir.Cluster) *endpointLimit {
	var platform []*discoveryv1.EndpointSlice
	outside := false
	for _, from := range cluster.Objects {
		object := r.in.origin(c, from)
		slice, isSlice := manifest.As[*discoveryv1.EndpointSlice](object)
		switch {
		case object == nil:
		case object.Source == manifest.OtherFile:
			outside = true
		case isSlice:
			platform = append(platform, slice)
		}
	}
	if !outside {
		return nil
	}
	limit := &endpointLimit{guard: &r.in.Guard, namespace: key.Object.Namespace, platform: map[ir.Endpoint]bool{}}
	if service := r.in.service(c, key.Object); service != nil && len(platform) > 0 {
		for _, e := range backend.FromService(key, service, platform).Endpoints {
			limit.platform[ir.Endpoint{Host: e.Host, Port: e.Port}] = true
		}
	}
	limit.allowed = r.in.allowed.Get(c, limit.namespace)
	known := map[uint32]ordered.Set[*listen.Listening]{}
	limit.listening = func(port uint32) ordered.Set[*listen.Listening] {
		all, ok := known[port]
		if !ok {
			all, _ = r.in.sockets.Get(c, listen.Socket{Port: int32(port), UDP: key.UDP})
			known[port] = all
		}
		return all
	}
	return limit
}

// origin returns an object of ir.Cluster.Objects. It returns nil for a Service whose endpoints are in EndpointSlices.
func (b *backendObjects) origin(c *memo.Ctx, key manifest.Key) (object *manifest.Object) {
	switch key.Kind {
	case "EndpointSlice":
		object, _ = b.slices.Get(c, key)
	case "Service":
		object, _ = b.services.Get(c, key)
		if service, ok := manifest.As[*corev1.Service](object); !ok || service.Spec.Type != corev1.ServiceTypeExternalName {
			return nil
		}
	default:
		object, _ = b.staticBackends.Get(c, key)
	}
	return object
}

// refuse returns why an endpoint gets no requests, nil if it gets them. What --allow-endpoints names is never a listener,
// and what the Namespace allows is limited nevertheless.
func (l *endpointLimit) refuse(e ir.Endpoint) *refusal {
	if l.platform[ir.Endpoint{Host: e.Host, Port: e.Port}] {
		return nil
	}
	for at := range l.listening(e.Port).All() {
		if (!at.Outside || at.Gateway.Namespace != l.namespace) && l.guard.Reaches(e, at.Addresses) && !l.guard.Allows(e) {
			return &refusal{
				endpoint: e,
				message:  fmt.Sprintf("%%s is listener %s of %s: requests would come back to it as if this machine sent them, past rules for other clients. It gets no requests", at.Listener, at.Gateway),
				hint:     "send to the backend itself; if this is meant, have a file of --cluster-paths define the backend, or start gatefold with --allow-endpoints %s",
			}
		}
	}
	if name, addresses := l.guard.Place(e); l.allowed == nil || l.allowed.Has(name, addresses, e.Port) {
		return nil
	}
	return l.notAllowed(e)
}

// notAllowed returns the refusal of an endpoint that the Namespace does not allow.
func (l *endpointLimit) notAllowed(e ir.Endpoint) *refusal {
	namespace := manifest.Key{Kind: "Namespace", Name: l.namespace}
	out := &refusal{
		endpoint: e,
		message:  fmt.Sprintf("%%s gets no requests: %s allows %s alone", namespace, *l.allowed),
		hint:     fmt.Sprintf("send to one of these; or add %%s to the annotation %s of %s", tenancy.AnnotationBackends, namespace),
		cause:    manifest.Field{Object: namespace, Path: "metadata.annotations[" + tenancy.AnnotationBackends + "]"},
	}
	if len(*l.allowed) == 0 {
		out.message, out.hint = fmt.Sprintf("%%s gets no requests: %s is invalid, and its namespace has no endpoint until it is fixed", namespace), "fix the Namespace; %s gets requests again if the annotation "+tenancy.AnnotationBackends+" allows it, or is not there"
	}
	return out
}

// loops returns, in words, the first listener to which an endpoint of a backend leads, or "". It leaves out endpoints
// that the rule cluster refuses, of which the problem is at the endpoint.
func (r *nodeRules) loops(c *memo.Ctx, key backend.Key) string {
	object, cluster := r.in.backends.written(c, key)
	if object == nil {
		return ""
	}
	for _, e := range cluster.Endpoints {
		all, _ := r.in.sockets.Get(c, listen.Socket{Port: int32(e.Port)})
		for at := range all.All() {
			refused := object.Source == manifest.OtherFile && (!at.Outside || at.Gateway.Namespace != key.Object.Namespace)
			if !refused && r.in.Guard.Reaches(e, at.Addresses) && !r.in.Guard.Allows(e) {
				return fmt.Sprintf("listener %s of %s", at.Listener, at.Gateway)
			}
		}
	}
	return ""
}

// written returns the object of a backend, and a cluster with the endpoints that are written for it. The object is nil
// if it does not exist.
func (b *backendObjects) written(c *memo.Ctx, key backend.Key) (*manifest.Object, *ir.Cluster) {
	if key.Object.Group == api.Group {
		object, _ := b.staticBackends.Get(c, key.Object)
		if from, ok := manifest.As[*api.Backend](object); ok {
			return object, backend.FromBackend(key, from)
		}
		return nil, nil
	}
	object, _ := b.services.Get(c, key.Object)
	if service, ok := manifest.As[*corev1.Service](object); ok {
		return object, backend.FromService(key, service, b.endpointSlices(c, key.Object))
	}
	return nil, nil
}
