package cli

import (
	"encoding/asn1"
	"encoding/base64"
	"fmt"
	"math/big"
	"math/rand/v2"
	"net"
	"strings"
)

// attack makes the text of a file.
type attack = func(r *rand.Rand) string

// attacks are the files of the teams attacker and rival, each with an attack of its own and another text at each call.
func (b *besieged) attacks() map[string]attack {
	return map[string]attack{
		"attacker/keys.yaml":        hugeKeys,
		"attacker/expressions.yaml": bombs,
		"attacker/regexes.yaml":     regexes,
		"attacker/copies.yaml":      copies,
		"attacker/hosts.yaml":       b.hosts,
		"attacker/grpc.yaml":        grpcHosts,
		"attacker/identity.yaml":    identities,
		"attacker/weights.yaml":     weights,
		"attacker/deputy.yaml":      b.deputies,
		"attacker/reach.yaml":       reach,
		"attacker/broken.yaml": func(r *rand.Rand) string {
			return oneOf(r, "kind: [", "\xff\xfe", aliasBomb(), strings.Repeat("[", 100_000), strings.Repeat("a: b\n---\n", 20_001), delegationBomb())
		},
		"rival/hosts.yaml":     rivalHosts,
		"rival/listeners.yaml": b.listeners,
	}
}

func oneOf[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

// hostileObject is an object of the attacker; those of Gateway API have its parent where the spec begins with "PARENT".
func hostileObject(kind, name, annotations, spec string) string {
	group := map[string]string{"TrafficPolicy": "gateway.kgateway.dev/v1alpha1", "GatewayExtension": "gateway.kgateway.dev/v1alpha1", "Backend": "gateway.kgateway.dev/v1alpha1", "Service": "v1", "Secret": "v1"}[kind]
	if group == "" {
		group = "gateway.networking.k8s.io/v1"
	}
	spec = strings.NewReplacer("PARENT", "parentRefs: [{name: eg, namespace: default}]", "EVIL", "backendRefs: [{group: gateway.kgateway.dev, kind: Backend, name: evil}]").Replace(spec)
	return fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata: {name: %s, namespace: attacker, labels: {app: %s}, annotations: {%s}}\nspec: {%s}\n---\n", group, kind, name, strings.TrimRight(name, "0123456789"), annotations, spec)
}

// texts joins n texts.
func texts(n int, text func(i int) string) string {
	var all strings.Builder
	for i := range n {
		all.WriteString(text(i))
	}
	return all.String()
}

// hugeKeys are private keys of up to a million bits, and Secrets of many certificates.
func hugeKeys(r *rand.Rand) string {
	number := func(bits int) *big.Int {
		text := make([]byte, bits/8)
		for i := range text {
			text[i] = byte(r.IntN(256)) | 1
		}
		return new(big.Int).SetBytes(text)
	}
	return texts(3, func(i int) string {
		bits := oneOf(r, 8200, 100_000, 1_000_000)
		n, half := number(bits), number(bits/2)
		body, err := asn1.Marshal([]*big.Int{big.NewInt(0), n, big.NewInt(65537), n, half, half, half, half, half})
		if err != nil {
			panic(err)
		}
		key := fmt.Sprintf("-----BEGIN RSA PRIVATE KEY-----\n%s\n-----END RSA PRIVATE KEY-----\n", base64.StdEncoding.EncodeToString(body))
		certificate := "-----BEGIN CERTIFICATE-----\n" + strings.Repeat("TUlJQm1EQ0NBVDJnQXdJQkFnSVVTdWpS\n", oneOf(r, 1, 10_000)) + "-----END CERTIFICATE-----\n"
		return fmt.Sprintf("apiVersion: v1\nkind: Secret\nmetadata: {name: k%d, namespace: attacker}\ntype: kubernetes.io/tls\nstringData: {tls.crt: %q, tls.key: %q}\n---\n", i, strings.Repeat(certificate, oneOf(r, 1, 20)), key)
	})
}

// bombs are policies with expressions of CEL, for the routes of regexes.
func bombs(r *rand.Rand) string {
	return texts(8, func(i int) string {
		cel := func(int) string {
			n := oneOf(r, 100, 499, 501, 4000)
			return "\"" + oneOf(r, strings.Repeat("!a||", n)+"true", strings.Repeat("(", n)+"true"+strings.Repeat(")", n), "request.path.matches('"+strings.Repeat("[a-z]{1,50}", n/8)+"')", "request.path in ["+strings.Repeat("'/a', ", n)+"'/b']") + "\""
		}
		return hostileObject("TrafficPolicy", fmt.Sprint("cel", i), "", "targetSelectors: [{group: gateway.networking.k8s.io, kind: HTTPRoute, matchLabels: {app: re}}], rbac: {action: "+oneOf(r, "Allow", "Deny")+", policy: {matchExpressions: ["+list(16, cel)+"]}}")
	})
}

// regexes are routes with regular expressions that take much memory.
func regexes(r *rand.Rand) string {
	return texts(oneOf(r, 2, 16), func(i int) string {
		pattern := oneOf(r, `/%d/\PL{1000}`, `/[ab]*a[ab]{14}x%d`, `/%d((a{1,10}){1,10}){1,10}`, `/%d.*-[a-z0-9-]{1,40}x`, `/(?!%d)`)
		return hostileObject("HTTPRoute", fmt.Sprint("re", i), "", "PARENT, hostnames: [re.attacker.test], rules: ["+list(16, func(j int) string {
			return "{matches: [" + list(8, func(k int) string {
				return fmt.Sprintf("{path: {type: RegularExpression, value: '"+pattern+"'}}", i*1000+j*10+k)
			}) + "], EVIL}"
		})+"]")
	})
}

// copies are routes of many hosts and matches, and one of which each copy is so large that it has more than a team may have.
func copies(r *rand.Rand) string {
	route := func(name string, rules int, filters string) string {
		return hostileObject("HTTPRoute", name, "", "PARENT, hostnames: ["+list(oneOf(r, 4, 16), func(h int) string { return fmt.Sprintf("h%d.attacker.test", h) })+"], rules: ["+list(rules, func(i int) string {
			return "{matches: [" + list(8, func(j int) string { return fmt.Sprintf("{path: {value: /%s/%d/%d}}", name, i, j) }) + "], " + filters + "EVIL}"
		})+"]")
	}
	headers := list(16, func(i int) string { return fmt.Sprintf("{name: h%d, value: %s}", i, strings.Repeat("x", 4096)) })
	return route("copyfat", 8, "filters: [{type: RequestHeaderModifier, requestHeaderModifier: {set: ["+headers+"]}}], ") +
		texts(oneOf(r, 5, 15), func(i int) string { return route(fmt.Sprint("copy", i), 16, "") })
}

// hosts are routes for all hosts, for wildcards around those of others, and for hosts and objects of others.
func (b *besieged) hosts(r *rand.Rand) string {
	return texts(4, func(i int) string {
		hosts := oneOf(r, "", ", hostnames: ['*.test']", ", hostnames: ['*.innocent.test']")
		weight := oneOf(r, "", `kgateway.dev/route-weight: "1000"`, `kgateway.dev/route-weight: "2147483647"`)
		return hostileObject("HTTPRoute", fmt.Sprint("host", i), weight, "PARENT"+hosts+", rules: [{matches: [{path: {value: "+oneOf(r, "/", "/open", "/private")+"}}], EVIL}]")
	}) + oneOf(r, "",
		"apiVersion: v1\nkind: Namespace\nmetadata: {name: innocent, annotations: {gatefold.io/paths: attacker/**, gatefold.io/hostnames: none.test}}\n---\n",
		b.route("edited", "innocent.test", "/edited", "evil"), b.route("zz", "innocent.test", "/open", "evil"),
		"apiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\nmetadata: {name: aa, namespace: attacker}\nspec: {gatewayClassName: gatefold, addresses: [{value: "+b.host+"}], listeners: [{name: http, port: "+fmt.Sprint(b.ports[0])+", protocol: HTTP}]}\n---\n")
}

// grpcHosts are GRPCRoutes for the hosts of others.
func grpcHosts(r *rand.Rand) string {
	return texts(4, func(i int) string {
		return hostileObject("GRPCRoute", fmt.Sprint("grpc", i), "", "PARENT"+oneOf(r, "", ", hostnames: [innocent.test, shared.test]", ", hostnames: ['*.test']", ", hostnames: [again.innocent.test]")+", rules: [{EVIL}]")
	})
}

const child = "parentRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: root, namespace: default, sectionName: at}]"

// identities are policies and extensions that write the names of headers that the innocent team writes, reads and gets.
func identities(r *rand.Rand) string {
	name := func() string { return oneOf(r, "x-client", "x-key", "x-session", "authorization", "host", "X-Session") }
	return hostileObject("HTTPRoute", "id", "", child+", rules: [{matches: [{path: {value: /at/id}}], EVIL}, {matches: [{path: {value: /in/kid}}], EVIL}]") +
		hostileObject("HTTPRoute", "id-own", "", "PARENT, hostnames: [id.attacker.test, '*.test'], rules: [{backendRefs: [{group: gateway.kgateway.dev, kind: Backend, name: a, namespace: innocent}]}]") +
		"{apiVersion: v1, kind: Secret, metadata: {name: keys, namespace: attacker}, stringData: {root: k}}\n---\n" +
		texts(6, func(i int) string {
			return hostileObject("TrafficPolicy", fmt.Sprint("id", i), "", "targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: "+oneOf(r, "id", "id-own", "root", "open", "kid")+"}], "+oneOf(r,
				"apiKeyAuth: {secretRef: {name: keys}, keySources: [{header: x-session}], clientIdHeader: "+name()+"}",
				"jwtAuth: {extensionRef: {name: ext}}", "extAuth: {extensionRef: {name: ext}}", "acl: {defaultAction: deny}", "zz: 1"))
		}) +
		hostileObject("GatewayExtension", "ext", "", oneOf(r,
			"jwt: {providers: [{name: p, claimsToHeaders: [{name: c, header: "+name()+"}], jwks: {local: {inline: x}}}]}",
			"extAuth: {httpService: {backendRef: {group: gateway.kgateway.dev, kind: Backend, name: evil}, authorizationResponse: {headersToBackend: ["+name()+"]}}}"))
}

// weights are routes below the platform's root with weights, and with annotations that are to insist on something.
func weights(r *rand.Rand) string {
	return texts(8, func(i int) string {
		annotation := oneOf(r, `kgateway.dev/route-weight: "2147483647"`, `kgateway.dev/route-weight: "x"`, `delegation.kgateway.dev/inherit-parent-matcher: "true"`,
			"kgateway.dev/inherited-policy-priority: ShallowMergePreferParent", "kgateway.dev/inherited-policy-prioritty: x", `gatefold.io/hostnames: "*"`, `gatefold.io/delegation-from: "*"`)
		return hostileObject("HTTPRoute", fmt.Sprint("weight", i), annotation, child+", rules: [{matches: [{path: {value: "+oneOf(r, "/", "/in/kid", "/at", "/at/own")+"}}], EVIL}]")
	})
}

// deputies are backends that are the Gateway's own listeners, also as mirrors, for requests with the innocent team's host.
func (b *besieged) deputies(r *rand.Rand) string {
	address := func() (host, port string) {
		return oneOf(r, b.host, "127.0.0.1", "0.0.0.0", "localhost"), fmt.Sprint(b.ports[r.IntN(2)])
	}
	host, port := address()
	text := hostileObject("Backend", "deputy", "", "type: Static, static: {hosts: ["+list(3, func(int) string {
		host, port := address()
		return "{host: '" + host + "', port: " + port + "}"
	})+", {host: "+b.host+", port: "+fmt.Sprint(b.ports[0])+"}]}") +
		hostileObject("Service", "deputy", "", oneOf(r, "type: ExternalName, externalName: '"+host+"', ", "")+"ports: [{port: "+port+"}]")
	if ip := net.ParseIP(host); ip != nil {
		text += fmt.Sprintf("{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: deputy, namespace: attacker, labels: {kubernetes.io/service-name: deputy}}, addressType: IPv4, ports: [{port: %s}], endpoints: [{addresses: [%s]}]}\n---\n", port, ip)
	}
	const ref, service = "{group: gateway.kgateway.dev, kind: Backend, name: deputy}", "{name: deputy, port: PORT}"
	rewrite := func(path string) string {
		return "{type: URLRewrite, urlRewrite: {hostname: innocent.test, path: {type: ReplacePrefixMatch, replacePrefixMatch: " + path + "}}}"
	}
	return text + strings.ReplaceAll(hostileObject("HTTPRoute", "deputy", "", "PARENT, hostnames: [deputy.attacker.test], rules: ["+
		"{matches: [{path: {value: /deputy}}], filters: ["+rewrite("/")+"], backendRefs: ["+ref+"]}, "+
		"{matches: [{path: {value: /service}}], filters: ["+rewrite("/")+"], backendRefs: ["+service+"]}, "+
		"{matches: [{path: {value: /mirror}}], filters: [{type: RequestMirror, requestMirror: {backendRef: "+ref+"}}, {type: RequestMirror, requestMirror: {backendRef: "+service+"}}], EVIL}]"), "PORT", port)
}

// reach are routes, policies and grants that name objects of others.
func reach(r *rand.Rand) string {
	const to = "{group: gateway.networking.k8s.io, kind: HTTPRoute, name: "
	return hostileObject("HTTPRoute", "reach", "", "PARENT, hostnames: [reach.attacker.test], rules: [{matches: [{path: {value: /in}}], backendRefs: ["+to+oneOf(r, "kid", "'*'")+", namespace: innocent}]}, {matches: [{path: {value: /b}}], backendRefs: [{group: gateway.kgateway.dev, kind: Backend, name: a, namespace: innocent}]}]") +
		hostileObject("HTTPRoute", "mesh", "", child+", rules: [{matches: [{path: {value: /at}}], backendRefs: ["+list(16, func(int) string { return to + "'*', namespace: attacker}" })+"]}]") +
		hostileObject("ReferenceGrant", "reach", "", "from: [{group: gateway.networking.k8s.io, kind: HTTPRoute, namespace: attacker}], to: [{group: gateway.kgateway.dev, kind: Backend}]") +
		strings.ReplaceAll(hostileObject("ReferenceGrant", "reach", "", "from: [{group: gateway.networking.k8s.io, kind: HTTPRoute, namespace: attacker}], to: [{group: gateway.kgateway.dev, kind: Backend}]"), "namespace: attacker, labels", "namespace: innocent, labels") +
		strings.Replace(hostileObject("TrafficPolicy", "reach", "", "targetRefs: ["+to+"open}], acl: {defaultAction: deny}"), "namespace: attacker", "namespace: "+oneOf(r, "innocent", "attacker"), 1)
}

// rivalHosts are routes of a team with bounded hostnames for the hosts of others.
func rivalHosts(r *rand.Rand) string {
	return strings.ReplaceAll(texts(4, func(i int) string {
		return hostileObject("HTTPRoute", fmt.Sprint("host", i), `kgateway.dev/route-weight: "2147483647"`, "PARENT, hostnames: ["+oneOf(r, "innocent.test", "shared.test, innocent.test", "again.innocent.test", "'*.test'")+"], rules: [{matches: [{path: {type: Exact, value: "+oneOf(r, "/open", "/edited", "/in/kid", "/")+"}}], EVIL}]")
	}), "namespace: attacker", "namespace: rival")
}

// listeners are those of ListenerSets at the Gateway's ports and at one more, for own hosts and for those of others: as the
// file changes, they come and go.
func (b *besieged) listeners(r *rand.Rand) string {
	set := hostileObject("ListenerSet", "set", "", "parentRef: {name: eg, namespace: default}, listeners: ["+list(6, func(i int) string {
		at := r.IntN(len(b.ports))
		protocol := []string{"HTTP", oneOf(r, "HTTPS, tls: {certificateRefs: [{name: x}]}", "TLS, tls: {mode: Passthrough}"), "HTTP"}[at]
		return fmt.Sprintf("{name: l%d, port: %d, protocol: %s, hostname: %s}", i, b.ports[at], protocol, oneOf(r, "x.rival.test", "y.rival.test", "innocent.test", "'*.test'", "'*.rival.test'"))
	})+"]") + hostileObject("HTTPRoute", "set", "", "parentRefs: [{kind: ListenerSet, name: set}], rules: [{EVIL}]")
	return b.certificate("x", "rival", "x.rival.test") + strings.ReplaceAll(set, "namespace: attacker", "namespace: rival")
}
