package cli

import "strings"

// helpedFolder is a folder with one warning, of route weights that are off. The mistakes edit it.
const helpedFolder = `apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata:
  name: edge
spec:
  gatewayClassName: gatefold
  allowedListeners:
    namespaces:
      from: Same
  listeners:
  - name: web
    port: 8080
    protocol: HTTP
    allowedRoutes:
      namespaces:
        from: All
---
apiVersion: gateway.kgateway.dev/v1alpha1
kind: Backend
metadata:
  name: shop
spec:
  static:
    hosts:
    - host: 192.0.2.1
      port: 80
---
apiVersion: v1
kind: Service
metadata:
  name: plain
spec:
  ports:
  - port: 80
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata:
  name: plain
  labels:
    kubernetes.io/service-name: plain
addressType: IPv4
ports:
- port: 80
endpoints:
- addresses: [192.0.2.2]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata:
  name: cart
  annotations:
    kgateway.dev/route-weight: "1"
spec:
  parentRefs:
  - name: edge
    sectionName: web
  rules:
  - name: first
    matches:
    - path:
        type: PathPrefix
        value: /cart
    filters:
    - type: URLRewrite
      urlRewrite:
        path:
          type: ReplaceFullPath
          replaceFullPath: /new
    backendRefs:
    - group: gateway.kgateway.dev
      kind: Backend
      name: shop
---
apiVersion: gateway.kgateway.dev/v1alpha1
kind: TrafficPolicy
metadata:
  name: office
spec:
  targetRefs:
  - group: gateway.networking.k8s.io
    kind: HTTPRoute
    name: cart
    sectionName: first
  acl:
    defaultAction: deny
    rules:
    - name: own
      action: allow
      cidrs:
      - 10.1.0.0/16
`

const childRoute = `apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata:
  name: child
spec:
  rules:
  - matches:
    - path:
        value: /cart/child
    backendRefs:
    - name: plain
      port: 80
`

const oldListenerSet = `apiVersion: gateway.networking.x-k8s.io/v1alpha1
kind: XListenerSet
metadata:
  name: more
spec:
  parentRef:
    name: edge
  listeners:
  - name: more
    port: 8081
    protocol: HTTP
`

// mistake is an edit of helpedFolder: right becomes wrong.
type mistake struct{ right, wrong string }

func mistakes() []mistake {
	return []mistake{
		{"  name: edge\nspec", "  name: edge\n  namespace: infra\nspec"},
		{"    - group: gateway.kgateway.dev\n      kind: Backend\n      name: shop\n", "    - kind: HTTPRoute\n      name: child\n---\n" + childRoute},
		{"    - group: gateway.kgateway.dev\n      kind: Backend\n      name: shop\n", "    - group: gateway.networking.k8s.io\n      name: child\n---\n" + childRoute},
		{"apiVersion: v1\nkind: Service", oldListenerSet + "---\napiVersion: v1\nkind: Service"},
		{"kind: Gateway\nmetadata:", "kind: list\nmetadata:"},
		{"      kind: Backend\n      name: shop", "      kind: Backend\n      name: shop\n    - group: delegation.kgateway.dev\n      name: x\n      kind: labl"},
		{"  acl:\n    defaultAction: deny", "  rbac:\n    action: Deny\n    policy:\n      blockedCIDRs: [10.0.0.0/8]\n  acl:\n    defaultAction: deny"},
		{"  name: edge\nspec", "  name: edge\n  annotations:\n    gatefold.io/proxy-protocol: \"yes\"\nspec"},
		{"        type: PathPrefix\n        value: /cart", "        type: RegularExpression\n        value: cart/.*"},
		{"        value: /cart", "        value: /%63art"},
		{"        value: /cart", "        value: /%63" + strings.Repeat("art", 40)},
		{"    protocol: HTTP\n", "    protocol: HTTP3\n"},
		{"    protocol: HTTP\n", "    protocol: HTPP\n"},
		{"  - name: web\n    port: 8080", "  - name: web\n    port:8080"},
		{"    hosts:\n    - host: 192.0.2.1\n      port: 80", "    hosts:\n      host: 192.0.2.1\n      port: 80"},
		{"parentRefs:", "parentRef:"},
		{"    protocol: HTTP\n", "    protocol: http\n"},
		{"kind: HTTPRoute\nmeta", "kind: HttpRoute\nmeta"},
		{"kind: HTTPRoute\nmeta", "kind: HTTPRout\nmeta"},
		{"apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute", "apiVersion: networking.k8s.io/v1\nkind: HTTPRoute"},
		{"apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute", "apiVersion: gateway.networking.k8s.io/v2\nkind: HTTPRoute"},
		{"apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute", "kind: HTTPRoute"},
		{"apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute", "apiversion: gateway.networking.k8s.io/v1\nkind: HTTPRoute"},
		{"  - name: edge\n    sectionName: web", "  - name: edge\n    sectionName: wep"},
		{"  - name: edge\n    sectionName: web", "  - name: edgee\n    sectionName: web"},
		{"      name: shop\n---", "      name: shopp\n---"},
		{"replaceFullPath: /new", "replaceFullPath: new"},
		{"    - group: gateway.kgateway.dev\n      kind: Backend\n      name: shop", "    - name: shop"},
		{"    - group: gateway.kgateway.dev\n      kind: Backend\n      name: shop", "    - kind: Backend\n      name: shop"},
		{"    - group: gateway.kgateway.dev\n      kind: Backend\n      name: shop", "    - kind: Service\n      group: core\n      name: plain\n      port: 80"},
		{"10.1.0.0/16", "10.1.0.1/16"},
		{"10.1.0.0/16", "::ffff:10.1.0.1"},
		{"kgateway.dev/route-weight: \"1\"", "kgateway.dev/route-wieght: \"1\""},
		{"kgateway.dev/route-weight: \"1\"", "kgateway.dev/inherited-policy-priority: preferChild"},
		{"kgateway.dev/route-weight: \"1\"", "kgateway.dev/route-weight: 1"},
		{"    port: 8080", "    port: \"8080\""},
		{"  gatewayClassName: gatefold", "  gatewayClassName: gatefoldd"},
		{"    kind: HTTPRoute\n    name: cart", "    kind: HTTPRoute\n    name: card"},
		{"    sectionName: first", "    sectionName: frist"},
		{"  - name: edge\n    sectionName: web", "  - name: edge\n    kind: Gatway\n    sectionName: web"},
		{"    defaultAction: deny", "    defaultAction: Deny"},
	}
}

// unfollowed are the texts of helps that no test follows, and why.
func unfollowed() map[string]string {
	return map[string]string{
		"add port: ": "the schema asks for the port first",
		"%s hands requests to this route: add namespace: %s to the parentRef":                             "it takes routes of two namespaces",
		"a Service needs a port; if it is a Backend, write group: gateway.kgateway.dev and kind: Backend": "where the Backend exists, another help names it",
		"an HTTPRoute has that name; to attach to it, write kind: HTTPRoute into the parentRef":           "it takes a second route: the script inclusion",
		"%d namespaces are more than %d: write \"*\" for all":                                             "about an annotation of a Namespace, which --cluster-paths alone reads",
		"%q ends before it begins: write %d-%d":                                                           "about an annotation of a Namespace, which --cluster-paths alone reads",
		"%q has bits behind its length: write %s":                                                         "about an annotation of a Namespace, which --cluster-paths alone reads",
		"%q is not a hostname: write %s":                                                                  "about an annotation of a Namespace, which --cluster-paths alone reads",
		"the value is empty: write %s":                                                                    "what follows says what may be written, in words",
		"%q is not a method that clients send: methods are in capitals, write %s":                         "about an argument of explain",
		"%s has bits behind the prefix; write %s":                                                         "about a flag of serve",
		"a route of another namespace has it: correct the namespace, or write namespace: %s for all":      "it takes routes of two namespaces",
		"did you mean sectionName: %s?":                                                                   "it takes routes below routes",
		"write \"key: value\" with a blank":                                                               "it is about the line above the one that is marked",
		"write \"key:\" above an object":                                                                  "it is about the line above the one that is marked",
		"write PEM: the certificate of the server first, then those that signed it":                       "no value: what to write into a Secret",
		"write type: kubernetes.io/tls, with tls.crt and tls.key":                                         "it is about the Secret, at the listener that names it",
		"write forwardCredential: true, or have clients send the key in a header":                         "the field goes into the object above the one that is marked",
		"write forwardToken: true, or have clients send the token in a header":                            "the field goes into the object above the one that is marked",
	}
}
