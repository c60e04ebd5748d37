package differ

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/gatefold/gatefold/envoy/envoytest"
	"github.com/gatefold/gatefold/translate/ir"
)

// object is a YAML object, or a part of one; list is a YAML list.
type (
	object = map[string]any
	list   = []any
)

// world is a namespace with a Gateway, routes, policies and backends, made at random.
type world struct {
	*rand.Rand
	number    int
	namespace string
	// space is the namespace that add puts objects into: namespace, or side.
	space   string
	address string // of the Gateway
	ports   map[string]int
	objects []object
	// view is what explain looks at: this world's Gateway alone.
	view *ir.View

	routes   []routeName
	children int
	exported []string // TrafficPolicies without targets, for ExtensionRef
}

// routeName is what a policy can target.
type routeName struct {
	kind, name string
	rules      []string
}

// shared are the backends that all worlds send to, and the services that policies ask.
type shared struct {
	ports     map[string]int // by name of the backend
	extension string         // "ip:port"
	signIn    string         // the same, of a service that is asked by HTTP
	authority *envoytest.Authority
}

// backendNames are the backends that answer; each is an object of the same name.
// "local" has a DNS name, "pair" two endpoints, "slice" and "draining" are
// Services. "side" is in the second namespace. "busy" answers 503.
func backendNames() []string {
	return []string{"b0", "b1", "b2", "local", "pair", "slice", "draining", "mirror", "side", "busy"}
}

func startShared(t *testing.T, backends *recorder) *shared {
	t.Helper()
	out := &shared{ports: map[string]int{}, extension: envoytest.LoopbackAddress() + ":9000", signIn: envoytest.LoopbackAddress() + ":9001", authority: envoytest.NewAuthority(t)}
	for _, name := range backendNames() {
		out.ports[name] = backends.backend(t, name)
	}
	out.ports["pair2"] = backends.backend(t, "pair")
	envoytest.StartExtension(t, "guard", out.extension)
	envoytest.StartSignIn(t, "signin-open", out.signIn, nil)
	return out
}

// newWorld makes the world of a seed and a number: the same every time.
func newWorld(seed uint64, number int, with *shared) *world {
	w := &world{
		Rand: rand.New(rand.NewPCG(seed, uint64(number))), number: number,
		namespace: fmt.Sprintf("w%d", number), address: envoytest.LoopbackAddress(), ports: with.ports,
	}
	w.space = w.namespace
	w.addBackends(with)
	w.addGateway(with.authority)
	w.addExtensions()
	w.addCredentials()
	w.addProviders()
	w.addTokens()
	for i := range 1 + w.IntN(3) {
		w.exported = append(w.exported, fmt.Sprintf("shared%d", i))
	}
	for range 5 + w.IntN(5) {
		w.addRoute()
	}
	for range 1 + w.IntN(3) {
		w.addGRPCRoute()
	}
	w.addSide()
	w.addPolicies()
	w.addBackendPolicies()
	return w
}

// text is those objects of the world that are wanted, as YAML.
func (w *world) text(wanted func(object) bool) string {
	var b strings.Builder
	for _, o := range w.objects {
		if !wanted(o) {
			continue
		}
		text, err := yaml.Marshal(o)
		if err != nil {
			panic(err)
		}
		b.WriteString("---\n")
		b.Write(text)
	}
	return b.String()
}

// add puts an object into w.space.
func (w *world) add(apiVersion, kind, name string, spec object) object {
	o := object{"apiVersion": apiVersion, "kind": kind, "metadata": object{"name": name, "namespace": w.space}}
	if strings.HasSuffix(kind, "Route") || kind == "Service" || kind == "Backend" && backendLike(name) { // of which policies select some
		o["metadata"].(object)["labels"] = object{"team": one(w.Rand, "a", "b", "c")}
	}
	if spec != nil {
		o["spec"] = spec
	}
	w.objects = append(w.objects, o)
	return o
}

// insist may give the last object, a Gateway or ListenerSet, an annotation by which its policies go before others.
func (w *world) insist() {
	if w.IntN(2) == 0 {
		return
	}
	last := w.objects[len(w.objects)-1]
	last["metadata"].(object)["annotations"] = object{"kgateway.dev/inherited-policy-priority": one(w.Rand,
		"ShallowMergePreferParent", "ShallowMergePreferChild", "DeepMergePreferParent", "DeepMergePreferChild", "PreferParent")}
}

// backendLike reports whether a Backend answers requests itself, and is no service or mirror: what a
// closed one comes to is not what is asked here. A health check would close "busy".
func backendLike(name string) bool {
	return !slices.Contains([]string{"guard", "signin", "down", "shut", "mirror", "busy"}, name)
}

const (
	gatewayAPI = "gateway.networking.k8s.io/v1"
	kgateway   = "gateway.kgateway.dev/v1alpha1"
)

// one of the values, at random.
func one[T any](w *rand.Rand, values ...T) T { return values[w.IntN(len(values))] }

// some of the values, in their order, at least one.
func some[T any](w *rand.Rand, values ...T) []T {
	var out []T
	for _, value := range values {
		if w.IntN(2) == 0 {
			out = append(out, value)
		}
	}
	if len(out) == 0 {
		out = append(out, one(w, values...))
	}
	return out
}

// maybe sets a field once in n times.
func (w *world) maybe(n int, o object, field string, value any) {
	if w.IntN(n) == 0 {
		o[field] = value
	}
}

func (w *world) addBackends(with *shared) {
	static := func(name string, spec object) {
		w.add(kgateway, "Backend", name, object{"type": "Static", "static": spec})
	}
	at := func(host string, port int) object { return object{"host": host, "port": port} }
	for _, name := range []string{"b0", "b1", "b2", "mirror", "busy"} {
		static(name, object{"hosts": list{at("127.0.0.1", w.ports[name])}})
	}
	static("local", object{"hosts": list{at("localhost", w.ports["local"])}})
	static("pair", object{"hosts": list{at("127.0.0.1", w.ports["pair"]), at("127.0.0.1", w.ports["pair2"])}})
	static("refused", object{"hosts": list{at("169.254.169.254", 80)}})
	static("down", object{"appProtocol": "grpc", "hosts": list{at("127.0.0.1", 1)}})
	static("shut", object{"appProtocol": "grpc", "hosts": list{at("127.0.0.1", 1)}})
	service := func(address string) list {
		host, port, _ := strings.Cut(address, ":")
		number, err := strconv.Atoi(port)
		if err != nil {
			panic(err)
		}
		return list{at(host, number)}
	}
	static("guard", object{"appProtocol": "grpc", "hosts": service(with.extension)})
	static("signin", object{"hosts": service(with.signIn)})
	w.addService("slice", w.ports["slice"], object{"ready": true})
	w.addService("notready", w.ports["slice"], object{"ready": false})
	w.addService("draining", w.ports["draining"], object{"ready": false, "serving": true, "terminating": true})
	w.add("v1", "Service", "empty", object{"ports": list{object{"port": 80}}})
}

func (w *world) addService(name string, port int, conditions object) {
	w.add("v1", "Service", name, object{"ports": list{object{"port": 80}}})
	slice := w.add("discovery.k8s.io/v1", "EndpointSlice", name, nil)
	slice["metadata"].(object)["labels"] = object{"kubernetes.io/service-name": name}
	slice["addressType"] = "IPv4"
	slice["ports"] = list{object{"port": port}}
	slice["endpoints"] = list{object{"addresses": list{"127.0.0.1"}, "conditions": conditions}}
}

// hostnames are those that listeners and routes have.
func hostnames() []string {
	return []string{"a.test", "b.test", "*.c.test", "x.c.test", "*.test", "*.x.c.test", "y.x.c.test"}
}

// addGateway has one port for HTTP with one or several listeners, often a second one,
// and often one for HTTPS with several certificates.
func (w *world) addGateway(authority *envoytest.Authority) {
	all := object{"namespaces": object{"from": "All"}}
	http := func(name string, port int, hostname string) object {
		l := object{"name": name, "port": port, "protocol": "HTTP", "allowedRoutes": all}
		if hostname != "" {
			l["hostname"] = hostname
		}
		return l
	}
	listeners := list{http("http", 8080, "")}
	if w.IntN(3) == 0 {
		listeners = append(listeners, http("wild", 8080, "*.c.test"), http("exact", 8080, "a.test"))
	}
	if w.IntN(3) == 0 {
		listeners = append(listeners, http("other", 8081, one(w.Rand, "*.test", "a.test", "*.c.test")))
	}
	secure := func(name, hostname string, secrets ...string) object {
		l := http(name, 8443, hostname)
		l["protocol"] = "HTTPS"
		var refs list
		for _, secret := range secrets {
			refs = append(refs, object{"name": secret})
		}
		l["tls"] = object{"certificateRefs": refs}
		return l
	}
	if w.IntN(2) == 0 {
		w.addSecret(authority, "cert-a", "a.test")
		w.addSecret(authority, "cert-b", "b.test", "*.c.test")
		listeners = append(listeners, secure("tls-a", "a.test", "cert-a"), secure("tls-b", "b.test", "cert-b", "cert-a"))
		if w.IntN(2) == 0 {
			listeners = append(listeners, secure("tls-c", "*.c.test", "cert-b"))
		}
		if w.IntN(3) == 0 {
			listeners = append(listeners, secure("tls-all", "", "cert-a"))
		}
	}
	spec := object{"gatewayClassName": "gatefold", "listeners": listeners, "addresses": list{object{"type": "IPAddress", "value": w.address}}}
	if w.IntN(3) == 0 {
		spec["allowedListeners"] = object{"namespaces": object{"from": "Same"}}
		own := list{http("set", one(w.Rand, 8080, 8082), one(w.Rand, "b.test", "x.c.test"))}
		if w.IntN(2) == 0 {
			own = append(own, http("deep", one(w.Rand, 8080, 8082), "*.x.c.test"))
		}
		if w.IntN(2) == 0 {
			w.addSecret(authority, "cert-set", "y.x.c.test", "x.c.test")
			own = append(own, secure("tls-set", one(w.Rand, "x.c.test", "y.x.c.test"), "cert-set"))
		}
		w.add(gatewayAPI, "ListenerSet", "set", object{"parentRef": object{"name": "eg"}, "listeners": own})
		w.insist()
	}
	w.add(gatewayAPI, "Gateway", "eg", spec)
	w.insist()
	if w.IntN(4) == 0 { // the same hosts on other ports
		beside := object{"gatewayClassName": "gatefold", "addresses": spec["addresses"], "listeners": list{http("http", 8090, ""), http("own", 8091, one(w.Rand, "a.test", "*.test"))}}
		w.add(gatewayAPI, "Gateway", "beside", beside)
	}
}

func (w *world) addSecret(authority *envoytest.Authority, name string, names ...string) {
	certificate, key := authority.Issue(names...)
	secret := w.add("v1", "Secret", name, nil)
	secret["type"] = "kubernetes.io/tls"
	secret["stringData"] = object{"tls.crt": string(certificate), "tls.key": string(key)}
}
