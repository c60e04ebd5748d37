package translate_test

import (
	"encoding/asn1"
	"encoding/base64"
	"fmt"
	"math/big"
	"math/rand/v2"
	"strings"
)

// hostileCounts write the documents of attacks whose costs are counted before the work (store/counted, store/keypair), or
// that concern what a neighbour sends, weighs and reaches, by the name of the attack.
func hostileCounts() map[string]func(r *rand.Rand, name string) string {
	return map[string]func(r *rand.Rand, name string) string{
		"keys": hostileKeys, "expressions": hostileExpressions, "identity names": hostileIdentities,
		"weights": hostileWeights, "annotations": hostileAnnotations, "endpoints of others": hostileEndpoints,
	}
}

const hostileBelow = "parentRefs: [{kind: HTTPRoute, name: root, namespace: infra, sectionName: at}]"

// hostileChild is a route of the attacker below the platform's root, beside that of the innocent team.
func hostileChild(name, annotations, rules string) string {
	text := hostileObject(hostileGateway, "HTTPRoute", name, "{"+hostileBelow+", rules: "+rules+"}")
	return strings.Replace(text, "labels: {app: x}", "labels: {app: x}, annotations: {"+annotations+"}", 1)
}

// hostileKeys are Secrets with private keys near and over what is accepted, for listeners.
func hostileKeys(r *rand.Rand, name string) string {
	n := around(r, 8)
	number := func(bits int) *big.Int {
		text := make([]byte, max(1, bits/8))
		for i := range text {
			text[i] = byte(r.IntN(256))
		}
		text[0], text[len(text)-1] = text[0]|0x80, text[len(text)-1]|1
		return new(big.Int).SetBytes(text)
	}
	key := func(bits int) string {
		numbers := []*big.Int{number(bits), big.NewInt(65537), number(bits), number(bits / 2), number(bits / 2), number(bits / 2), number(bits / 2), number(bits / 2)}
		body, err := asn1.Marshal(struct {
			Version                  int
			N, E, D, P, Q, D1, D2, I *big.Int
		}{r.IntN(2), numbers[0], numbers[1], numbers[2], numbers[3], numbers[4], numbers[5], numbers[6], numbers[7]})
		if err != nil {
			panic(err)
		}
		return base64.StdEncoding.EncodeToString(body)
	}
	return documents(n, func(i int) string {
		kind := pick(r, "RSA PRIVATE KEY", "RSA PRIVATE KEY", "PRIVATE KEY", "EC PRIVATE KEY")
		return fmt.Sprintf("apiVersion: v1\nkind: Secret\nmetadata: {name: %s-%d, namespace: attacker}\ntype: kubernetes.io/tls\nstringData:\n  tls.crt: x\n  tls.key: \"-----BEGIN %s-----\\n%s\\n-----END %[3]s-----\\n\"", name, i, kind, key(around(r, 8192)))
	}) + "---\n" + hostileObject(hostileGateway, "ListenerSet", name, "{parentRef: {name: eg, namespace: infra}, listeners: "+list(n, func(i int) string {
		return fmt.Sprintf("{name: l%d, port: %d, protocol: HTTPS, hostname: k%d.attacker.example.com, tls: {certificateRefs: [{name: %s-%d}]}}", i, 9000+i, i, name, i)
	})+"}")
}

// hostileExpressions are policies with CEL and regular expressions near and over what is accepted.
func hostileExpressions(r *rand.Rand, name string) string {
	rules, parts := around(r, 16), around(r, 500)
	cel := func() string {
		return pick(r,
			strings.Repeat("true || ", parts)+"true", strings.Repeat("(", parts)+"true"+strings.Repeat(")", parts), strings.Repeat("!", parts)+"true",
			"request.path.matches('"+strings.Repeat("[a-z]{1,50}", parts/8)+"')", "request.path in ["+strings.Repeat("'/a', ", parts)+"'/b']", "'"+strings.Repeat("x", 16_384-around(r, 4))+"' == request.path",
			"request.headers['x-a'] == 'a' && "+strings.Repeat("request.path != '/' && ", parts/6)+"true", strings.Repeat("[", parts)+strings.Repeat("]", parts)+" == []", "'")
	}
	regex := func() string {
		return pick(r, strings.Repeat("(a|b)?", parts/4), "[ab]*a[ab]{"+fmt.Sprint(around(r, 14))+"}x", `\PL{`+fmt.Sprint(around(r, 1000))+`}`, strings.Repeat("x", around(r, 1024)), "((a{1,10}){1,10}){1,10}", "(", "(?!a)b")
	}
	return documents(around(r, 8), func(i int) string {
		set := pick(r,
			"rbac: {action: "+pick(r, "Allow", "Deny")+", policy: {matchExpressions: "+list(rules, func(int) string { return "\"" + cel() + "\"" })+"}}",
			"csrf: {additionalOrigins: "+list(rules, func(int) string { return "{safeRegex: '" + regex() + "'}" })+"}")
		return hostileObject(hostileGroup, "TrafficPolicy", fmt.Sprint(name, i), "{targetSelectors: [{group: gateway.networking.k8s.io, kind: HTTPRoute, matchLabels: {app: x}}], "+set+"}")
	}) + documents(2, func(i int) string {
		return hostileChild(fmt.Sprint(name, i), "", list(rules, func(j int) string {
			return fmt.Sprintf("{matches: [{path: {type: RegularExpression, value: '/%d%s'}, headers: [{name: x, type: RegularExpression, value: '%s'}]}]}", j, regex(), regex())
		}))
	})
}

// hostileIdentities are policies and extensions that write identity headers: those that the innocent team writes, reads or
// gets, and more than a namespace may have.
func hostileIdentities(r *rand.Rand, name string) string {
	length := around(r, 200)
	header := func(i int) string {
		return pick(r, "x-innocent", "X-Innocent-Key", "x-session", fmt.Sprintf("x-%d-%s", i, strings.Repeat("n", length)), "authorization", "host", "x-a:b")
	}
	names := around(r, 16)
	return "---\n" + hostileChild(name, "", "[{matches: [{path: {value: /own}}]}]") + "\n---\n" +
		hostileHTTP(name+"-own", "[n.attacker.example.com]", "[{backendRefs: [{name: s, namespace: innocent, port: 80}]}]") + "\n" +
		documents(around(r, 16), func(i int) string {
			target := "targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: " + pick(r, name, name+"-own") + "}]"
			set := pick(r,
				"apiKeyAuth: {secretRef: {name: "+pick(r, "none", "keys")+"}, clientIdHeader: '"+header(i)+"', keySources: [{header: x-session}]}",
				fmt.Sprintf("jwtAuth: {extensionRef: {name: %s%d}}", name, i), fmt.Sprintf("extAuth: {extensionRef: {name: %s%d}}", name, i+1))
			return hostileObject(hostileGroup, "TrafficPolicy", fmt.Sprint(name, i), "{"+target+", "+set+pick(r, "", "", ", zz: 1")+"}")
		}) +
		documents(around(r, 8), func(i int) string {
			spec := pick(r,
				"jwt: {providers: [{name: p, claimsToHeaders: "+list(names, func(j int) string { return fmt.Sprintf("{name: c%d, header: '%s'}", j, header(j)) })+", jwks: {local: {inline: x}}}]}",
				"extAuth: {httpService: {backendRef: {group: gateway.kgateway.dev, kind: Backend, name: b, namespace: innocent}, authorizationResponse: {headersToBackend: "+list(names, func(j int) string { return "'" + header(j) + "'" })+"}}}")
			return hostileObject(hostileGroup, "GatewayExtension", fmt.Sprint(name, i), "{"+spec+pick(r, "", "", ", zz: 1")+"}")
		})
}

// hostileWeights are routes with weights, of hosts of the attacker and below the platform's root.
func hostileWeights(r *rand.Rand, name string) string {
	weight := func() string {
		return "kgateway.dev/route-weight: \"" + pick(r, "0", "1", "1000", "-1000", "2147483647", "-2147483648", "99999999999", "x", "") + "\""
	}
	rules := around(r, 16)
	return documents(around(r, 16), func(i int) string {
		child := hostileChild(fmt.Sprint(name, i), weight(), list(rules, func(j int) string {
			return fmt.Sprintf("{matches: [{path: {type: %s, value: %s}}]}", pick(r, "Exact", "PathPrefix"), pick(r, "/", "/in/kid", "/own", fmt.Sprint("/own/", j)))
		}))
		if r.IntN(2) == 0 {
			return strings.Replace(child, hostileBelow, hostileParent+", hostnames: ["+pick(r, "w.attacker.example.com", "www.example.com", "innocent.example.com")+"]", 1)
		}
		return child
	})
}

// hostileAnnotations are objects with annotations that decide about others, right and misspelt.
func hostileAnnotations(r *rand.Rand, name string) string {
	annotation := func() string {
		key := pick(r, "kgateway.dev/inherited-policy-priority", "kgateway.dev/inherited-policy-prioritty", "delegation.kgateway.dev/inherited-policy-priority", "kgateway.dev/policy-weight",
			"gatefold.io/delegation-from", "gatefold.io/used-by", "gatefold.io/hostnames", "gatefold.io/paths", "gatefold.io/backends", "gatefold.io/bakends", "gatefold.io/written", "delegation.kgateway.dev/inherit-parent-matcher")
		return key + ": \"" + pick(r, "*", "true", "ShallowMergePreferParent", "DeepMergePreferParent", "PreferParent", "innocent", "innocent, infra", "2000-01-01T00:00:00Z", "-5", strings.Repeat("x, ", around(r, 64))) + "\""
	}
	set := strings.Replace(hostileObject(hostileGateway, "ListenerSet", name, "{parentRef: {name: eg, namespace: infra}, listeners: [{name: l, port: 9000, protocol: HTTP, hostname: a.attacker.example.com}]}"),
		"labels: {app: x}", "labels: {app: x}, annotations: {"+annotation()+"}", 1)
	return "---\n" + set + "\n" + documents(around(r, 8), func(i int) string {
		return hostileChild(fmt.Sprint(name, i), annotation(), "[{matches: [{path: {value: /own}}]}]")
	}) + documents(2, func(int) string {
		return fmt.Sprintf("apiVersion: v1\nkind: Namespace\nmetadata: {name: %s, annotations: {%s}}", pick(r, "attacker", "innocent"), annotation())
	}) + documents(4, func(i int) string {
		policy := hostileObject(hostileGroup, "TrafficPolicy", fmt.Sprint(name, i), "{targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: "+pick(r, name+"0", "root", "kid", "r")+"}], acl: {defaultAction: deny}}")
		return strings.Replace(policy, "labels: {app: x}", "labels: {app: x}, annotations: {"+annotation()+"}", 1)
	})
}

// hostileEndpoints are backends at addresses of others: the Gateway's own listener, and the innocent team's endpoints.
func hostileEndpoints(r *rand.Rand, name string) string {
	address := func() (host string, port int) {
		return pick(r, "127.0.0.1", "10.0.0.1", "10.0.0.3", "0.0.0.0", "::1", "localhost", "s.innocent.svc.cluster.local", "169.254.169.254", "10.1.0.1"), pick(r, 8080, 9000, 3000, 80, 1)
	}
	hosts := around(r, 8)
	return documents(around(r, 8), func(i int) string {
		return hostileObject(hostileGroup, "Backend", fmt.Sprint(name, i), "{type: Static, static: {hosts: "+list(hosts, func(int) string {
			host, port := address()
			return fmt.Sprintf("{host: '%s', port: %d}", host, port)
		})+"}}")
	}) + documents(3, func(i int) string {
		host, port := address()
		return hostileObject("v1", "Service", fmt.Sprint(name, i), "{"+pick(r, "type: ExternalName, externalName: '"+host+"', ", "")+"ports: [{port: 80}]}") + "\n---\n" +
			fmt.Sprintf("apiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\nmetadata: {name: %s%d, namespace: %s, labels: {kubernetes.io/service-name: %s}}\naddressType: IPv4\nports: [{port: %d}]\nendpoints: [{addresses: ['%s']}]",
				name, i, pick(r, "attacker", "attacker", "innocent"), pick(r, fmt.Sprint(name, i), "s"), port, host)
	}) + "---\n" + hostileHTTP(name, "[e.attacker.example.com]", list(16, func(i int) string {
		ref := pick(r, fmt.Sprintf("{group: gateway.kgateway.dev, kind: Backend, name: %s%d}", name, i%8), fmt.Sprintf("{name: %s%d, port: 80}", name, i%3), "{name: s, namespace: innocent, port: 80}")
		return fmt.Sprintf("{matches: [{path: {value: /e%d}}], backendRefs: [%s], filters: [{type: RequestMirror, requestMirror: {backendRef: %s}}]}", i, ref, ref)
	}))
}
