package schema

import (
	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/tenancy"
)

// Annotation is an annotation that gatefold reads, or a label if Label is true.
type Annotation struct {
	Name    string
	Label   bool
	Kinds   []string // the kinds of objects on which gatefold reads it
	Values  []string // the allowed values; nil if there are too many to list
	Meaning string   // what it does, for users
}

// Annotations returns all annotations and labels that gatefold reads (docs/reference/annotations.md).
func Annotations() []Annotation {
	return []Annotation{
		{api.AnnotationAccessLog, false, []string{"Gateway"}, []string{"json", "text", "off"}, "The form of the access log on Envoy's standard output; json when it is not set."},
		{api.AnnotationClosed, false, []string{"HTTPRoute", "GRPCRoute"}, nil, "A line RULE: REASON for each rule that is closed: the rule with this name answers 500, or UNAVAILABLE for a GRPCRoute, whatever else it says. gatefold import writes it."},
		{api.AnnotationOnError, false, onErrorKinds(), []string{api.OnErrorClose}, "An edit of the object takes effect although it has an error: it is served as a new object would be, which answers 500 where it has the error. Without the annotation, the version before the edit is still served."},
		{api.AnnotationProxyProtocol, false, []string{"Gateway"}, []string{"true", "false"}, "\"true\": listeners expect the PROXY protocol in front of each connection."},
		{tenancy.AnnotationPaths, false, []string{"Namespace"}, nil, "The files that may define objects of the namespace, with --cluster-paths: globs from the root of the folder, separated by commas or spaces."},
		{tenancy.AnnotationPorts, false, []string{"Namespace"}, nil, "The ports that Gateways and ListenerSets of the namespace may open: ports and ranges, such as \"8443, 9000-9100\"."},
		{tenancy.AnnotationHosts, false, []string{"Namespace"}, nil, "The hostnames that the namespace may serve, as in a listener; at most 64."},
		{tenancy.AnnotationDelegation, false, []string{"Namespace"}, nil, "With --cluster-paths, the namespaces whose HTTPRoutes may delegate to routes of this one that have no parentRefs: names, separated by commas or spaces, or *."},
		{tenancy.AnnotationUsers, false, []string{api.KindGatewayExtension}, nil, "With --cluster-paths, the namespaces whose policies may use the extension: names, separated by commas or spaces, or *."},
		{tenancy.AnnotationBackends, false, []string{"Namespace"}, nil, "The endpoints of objects of the namespace, with --cluster-paths: networks, addresses and names, each with ports or not, such as \"10.3.0.0/16:8000-8999, [fd00::/8]:443, *.svc.example\"."},
		{"delegation.kgateway.dev/inherit-parent-matcher", false, []string{"HTTPRoute"}, []string{"true", "false"}, "\"true\": the route, where another one delegates to it, adds its matches to those of the parent."},
		{api.AnnotationPolicyPriority, false, []string{"Gateway", "ListenerSet", "HTTPRoute"}, []string{"ShallowMergePreferChild", "ShallowMergePreferParent", "DeepMergePreferChild", "DeepMergePreferParent"},
			"Which side wins where policies of this object and policies below it set the same field; ShallowMergePreferChild when it is not set. Below a Gateway are its listeners, its ListenerSets and all routes."},
		{api.AnnotationPolicyWeight, false, []string{"TrafficPolicy", "BackendConfigPolicy"}, nil, "A whole number. Of several policies of one target the one with the higher weight comes first."},
		{"kgateway.dev/http-redirect-status-code", false, []string{"HTTPRoute"}, nil,
			"The status of redirects, in place of statusCode of the filter RequestRedirect: 301, 302, 303, 307 or 308 for all rules of the route, or NAME=STATUS for each rule by its name, separated by commas; the first entry for a rule counts."},
		{"kgateway.dev/route-weight", false, []string{"HTTPRoute"}, nil, "A whole number of 32 bits: the precedence of the route, with --weighted-route-precedence."},
		{"delegation.kgateway.dev/label", true, []string{"HTTPRoute"}, nil, "Another route selects the routes that it delegates to by the value of this label."},
	}
}

// onErrorKinds returns the kinds whose objects can have api.AnnotationOnError: those that answer an error where they have
// a mistake.
func onErrorKinds() []string {
	return []string{"HTTPRoute", "GRPCRoute", "TCPRoute", "TLSRoute", "UDPRoute", "Gateway", "ListenerSet", api.KindTrafficPolicy, "BackendTLSPolicy", api.KindGatewayExtension}
}
