package differ

import "fmt"

// The generator of what a second namespace has at a world's Gateway: backends, routes of its own and below those of
// the world, and policies that write identity headers. It is a team where path policies are in force.

// side is the name of the second namespace.
func (w *world) side() string { return w.namespace + "-side" }

// in has add put objects into another namespace while do runs.
func (w *world) in(space string, do func()) {
	before := w.space
	w.space = space
	do()
	w.space = before
}

// addSide adds the second namespace. Most references between the two namespaces are granted.
func (w *world) addSide() {
	for _, way := range [][2]string{{w.namespace, w.side()}, {w.side(), w.namespace}} {
		if w.IntN(6) == 0 {
			continue
		}
		w.in(way[1], func() {
			from := list{}
			for _, kind := range []string{"HTTPRoute", "GRPCRoute"} {
				from = append(from, object{"group": "gateway.networking.k8s.io", "kind": kind, "namespace": way[0]})
			}
			w.add("gateway.networking.k8s.io/v1beta1", "ReferenceGrant", "grant", object{"from": from, "to": list{object{"group": "gateway.kgateway.dev", "kind": "Backend"}, object{"group": "", "kind": "Service"}}})
		})
	}
	w.in(w.side(), func() {
		w.addCredentials()
		w.add(kgateway, "Backend", "side", object{"type": "Static", "static": object{"hosts": list{object{"host": "127.0.0.1", "port": w.ports["side"]}}}})
		for i := range w.IntN(3) {
			w.addSideRoute(i)
		}
	})
}

// fence adds both namespaces themselves, and makes the files of the second one those of a team, which may have some backends
// alone. Path policies must be in force.
func (w *world) fence() {
	annotations, port := object{"gatefold.io/paths": "side/" + w.namespace + "/**"}, w.ports["side"]
	w.maybe(2, annotations, "gatefold.io/backends", one(w.Rand, "127.0.0.0/8", fmt.Sprintf("127.0.0.1:%d", port), fmt.Sprintf("localhost, 127.0.0.0/30:%d-%d", port, port), "10.0.0.0/8", fmt.Sprintf("127.0.0.1:%d", port+1), "*.example.com"))
	for _, metadata := range []object{{"name": w.namespace}, {"name": w.side(), "annotations": annotations}} {
		w.objects = append(w.objects, object{"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
	}
}

// addSideRoute adds a route of the second namespace to the Gateway, on hosts that the world's own routes have, too.
func (w *world) addSideRoute(number int) {
	name := fmt.Sprintf("side%d", number)
	spec := object{"parentRefs": list{object{"name": "eg", "namespace": w.namespace}}, "hostnames": some(w.Rand, hostnames()...)}
	own := routeName{kind: "HTTPRoute", name: name}
	var rules list
	for i := range 1 + w.IntN(3) {
		rule := w.rule("/" + one(w.Rand, "a", "b", "s"))
		rule["name"] = fmt.Sprintf("s%d", i)
		own.rules = append(own.rules, fmt.Sprintf("s%d", i))
		rules = append(rules, rule)
	}
	if w.IntN(2) == 0 {
		rules = append(rules, w.delegation(name, "/d", 1))
	}
	spec["rules"] = rules
	w.annotate(w.add(gatewayAPI, "HTTPRoute", name, spec))
	w.addSidePolicy(own)
}

// addSidePolicy adds, to most routes of the second namespace or to one of their rules, a policy that writes identity headers.
func (w *world) addSidePolicy(route routeName) {
	if w.IntN(3) == 0 {
		return
	}
	target := object{"group": "gateway.networking.k8s.io", "kind": route.kind, "name": route.name}
	if w.IntN(3) > 0 { // other rules stay open
		target["sectionName"] = one(w.Rand, route.rules...)
	}
	spec := object{"targetRefs": list{target}}
	extension := func(names ...string) object {
		return object{"extensionRef": object{"namespace": w.namespace, "name": one(w.Rand, names...)}}
	}
	switch w.IntN(4) {
	case 0, 1:
		spec["apiKeyAuth"] = w.apiKeyAuth()
	case 2:
		spec["jwtAuth"] = extension("tokens", "tokens-failed", "tokens-two", "tokens-damaged", "nothing")
	case 3:
		spec["extAuth"] = extension("sign-in", "sign-in-some", "sign-in-open")
	}
	w.add(kgateway, "TrafficPolicy", "side-"+route.name, spec)
}

// users are the namespaces whose policies may use an extension, where path policies are in force.
func (w *world) users(extension object) {
	if w.IntN(6) > 0 {
		extension["metadata"].(object)["annotations"] = object{"gatefold.io/used-by": one(w.Rand, "*", w.side())}
	}
}

// files are the world's objects as files of a folder. Where path policies are in force, those in platform are of
// cluster paths.
func (w *world) files() map[string][]byte {
	return map[string][]byte{
		"platform/" + w.namespace + ".yaml":       []byte(w.text(func(o object) bool { return !w.ofSide(o) })),
		"side/" + w.namespace + "/" + "side.yaml": []byte(w.text(w.ofSide)),
	}
}

// ofSide reports whether an object is in the second namespace.
func (w *world) ofSide(o object) bool { return o["metadata"].(object)["namespace"] == w.side() }
