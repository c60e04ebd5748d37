package plan

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/explain"
	"github.com/gatefold/gatefold/translate/ir"
)

// backendComparison finds how the backends of the two configurations differ.
type backendComparison struct {
	clusters [2]map[string]*ir.Cluster
	effects  effectPair
}

// reasons returns how the backend with this cluster name differs between the two configurations: at least one
// Reason. If only one configuration has the cluster, the Reason has no details. Each Reason has the places of
// the backend's objects that may be the cause, such as its Service. If no such object is known, the Reason has
// the places in the parameter place, where the rule names the backend.
func (c *backendComparison) reasons(name string, place []Place) (out []Reason) {
	before, after := c.clusters[0][name], c.clusters[1][name]
	if before == nil || after == nil {
		return []Reason{{"backend " + name + " differs", place}}
	}
	say := func(text string, at []Place) {
		if len(at) == 0 {
			at = place
		}
		out = append(out, Reason{text, at})
	}
	if before.Closed != after.Closed {
		say(fmt.Sprintf("backend %s: %s", name, change(before.Closed, after.Closed)), c.places(name, "", "Service", "Backend"))
	}
	if x, y := explain.Endpoints(before), explain.Endpoints(after); !slices.Equal(x, y) {
		text := fmt.Sprintf("backend %s has the endpoints %s; before: %s", name, orNone(y), orNone(x))
		say(text, c.places(name, "", "EndpointSlice", "Backend", "Service"))
	}
	if before.HTTP2 != after.HTTP2 {
		version := map[bool]string{true: "HTTP/2", false: "HTTP/1.1"}
		say(fmt.Sprintf("Envoy speaks %s to backend %s; before: %s (appProtocol)", version[after.HTTP2], name, version[before.HTTP2]), c.places(name, "", "Service", "Backend"))
	}
	if words := c.tlsWords(before.TLS, after.TLS); words != "" {
		say(fmt.Sprintf("BackendTLSPolicy of backend %s: %s", name, words), c.places(name, "spec.validation", "BackendTLSPolicy"))
	}
	if words := c.upstreamWords(before.Upstream, after.Upstream); words != "" {
		say(fmt.Sprintf("BackendConfigPolicy of backend %s: %s", name, words), c.places(name, "", api.KindBackendConfigPolicy))
	}
	if len(out) == 0 {
		say("how Envoy connects to backend "+name+" differs", c.places(name, "", "Service", "Backend"))
	}
	return out
}

// places returns the objects of the given kinds that a cluster comes from. It returns the objects of the new
// configuration. If the new configuration has none, it returns the objects of the old configuration. The parameter
// field is the path of the field that each Place names; "" stands for the whole object.
func (c *backendComparison) places(cluster, field string, kinds ...string) (out []Place) {
	for side, clusters := range c.clusters {
		for _, object := range clusters[cluster].Objects {
			if slices.Contains(kinds, object.Kind) {
				out = append(out, Place{Source: explain.Source{Object: object, Field: field}, Before: side == 0})
			}
		}
	}
	return currentFirst(out)
}

// tlsWords returns, in words, how the TLS between Envoy and a backend differs. It returns "" if it does not differ.
func (c *backendComparison) tlsWords(before, after *ir.UpstreamTLS) string {
	switch {
	case before == nil && after == nil:
		return ""
	case before == nil:
		return "added: TLS with validation.hostname " + after.Hostname
	case after == nil:
		return "removed: the backend gets clear text; before: TLS with validation.hostname " + before.Hostname
	}
	var words []string
	say := func(field, x, y string) {
		if x != y {
			words = append(words, fmt.Sprintf("%s: %s; before: %s", field, cmp.Or(y, "none"), cmp.Or(x, "none")))
		}
	}
	names := func(t *ir.UpstreamTLS) string {
		var all []string
		for _, name := range t.Names {
			all = append(all, name.Value)
		}
		return strings.Join(all, ", ")
	}
	authorities := func(t *ir.UpstreamTLS) string {
		var all []string
		for _, key := range t.Authorities {
			all = append(all, key.String())
		}
		return cmp.Or(strings.Join(all, ", "), "the system's")
	}
	client := func(t *ir.UpstreamTLS) string {
		if t.Client == (manifest.Key{}) {
			return ""
		}
		return t.Client.String()
	}
	say("validation.hostname", before.Hostname, after.Hostname)
	say("validation.subjectAltNames", names(before), names(after))
	say("validation.caCertificateRefs", authorities(before), authorities(after))
	say("least version of TLS", leastTLS(before.Version13), leastTLS(after.Version13))
	say("the client certificate of the Gateway", client(before), client(after))
	if len(words) == 0 && !c.effects.same(before, after) {
		words = []string{"CA certificates differ"}
	}
	return strings.Join(words, "; ")
}

// leastTLS returns the lowest version of TLS that is allowed. version13 reports whether it is 1.3.
func leastTLS(version13 bool) string {
	if version13 {
		return "1.3"
	}
	return "1.2"
}

// upstreamWords returns, in words, which fields of a BackendConfigPolicy differ, and how. It returns "" if none
// differs.
func (c *backendComparison) upstreamWords(before, after *ir.Upstream) string {
	a, b := orEmpty(before), orEmpty(after)
	var words []string
	for _, field := range []struct {
		name string
		x, y any
	}{
		{"connectTimeout", a.ConnectTimeout, b.ConnectTimeout}, {"perConnectionBufferLimitBytes", a.BufferLimit, b.BufferLimit},
		{"tcpKeepalive", a.Keepalive, b.Keepalive}, {"loadBalancer", a.Balancer, b.Balancer}, {"healthCheck", a.HealthCheck, b.HealthCheck},
		{"outlierDetection", a.Outliers, b.Outliers}, {"circuitBreakers", a.Breakers, b.Breakers},
	} {
		if !c.effects.same([]any{field.x}, []any{field.y}) {
			words = append(words, field.name+" "+howDiffers(field.x, field.y))
		}
	}
	return strings.Join(words, ", ")
}

// orEmpty returns the Upstream that u refers to, and an empty one for nil.
func orEmpty(u *ir.Upstream) ir.Upstream {
	if u == nil {
		return ir.Upstream{}
	}
	return *u
}

// howDiffers returns a text with the new and the old value of a setting. The parameters are pointers to the old value
// (before) and to the new value (after). A nil pointer means Envoy's default. At most one of the pointers may be nil.
// The value of a struct is not written out: if both pointers are pointers to structs, the text is "differs". If one
// of them is nil, the text has the word "set" for the struct.
func howDiffers(before, after any) string {
	x, y := reflect.ValueOf(before), reflect.ValueOf(after)
	switch {
	case x.IsNil():
		x = reflect.ValueOf(new("Envoy's default"))
	case y.IsNil():
		y = reflect.ValueOf(new("Envoy's default"))
	case y.Elem().Kind() == reflect.Struct:
		return "differs"
	}
	text := func(v reflect.Value) string {
		if v.Elem().Kind() == reflect.Struct {
			return "set"
		}
		return fmt.Sprint(v.Elem().Interface())
	}
	return fmt.Sprintf("%s (before: %s)", text(y), text(x))
}
