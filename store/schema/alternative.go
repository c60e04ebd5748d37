package schema

import (
	"slices"
	"strings"
)

// alternative returns the candidate that the user probably meant by writing the parameter name, which is a wrong
// field name or a wrong value. First it looks for a candidate that differs from name only by an ending s, es, Ref or
// Refs; case does not matter. Then it looks for a candidate among words[name]. The keys of the map words are in lower
// case. It returns "" if no candidate fits.
func alternative(name string, candidates []string, words map[string][]string) string {
	name = strings.ToLower(name)
	for _, candidate := range candidates {
		long, short := strings.ToLower(candidate), name
		if len(long) < len(short) {
			long, short = short, long
		}
		if long == short+"s" || long == short+"es" || long == short+"ref" || long == short+"refs" {
			return candidate
		}
	}
	for _, word := range words[name] {
		if slices.Contains(candidates, word) {
			return word
		}
	}
	return ""
}

// fieldWords returns the fields that a user may mean by a wrong field name. The keys are wrong names in lower
// case, which come from other gateways and from older versions of the API.
func fieldWords() map[string][]string {
	return map[string][]string{
		"host":               {"hostnames", "hostname"},
		"hosts":              {"hostnames"},
		"domain":             {"hostnames", "hostname"},
		"domains":            {"hostnames"},
		"gateway":            {"parentRefs", "parentRef"},
		"gateways":           {"parentRefs"},
		"class":              {"gatewayClassName"},
		"classname":          {"gatewayClassName"},
		"ingressclassname":   {"gatewayClassName"},
		"controller":         {"controllerName"},
		"condition":          {"matches"},
		"conditions":         {"matches"},
		"query":              {"queryParams"},
		"queries":            {"queryParams"},
		"queryparameters":    {"queryParams"},
		"methods":            {"method"},
		"forwardto":          {"backendRefs"},
		"service":            {"backendRefs"},
		"services":           {"backendRefs"},
		"servicename":        {"name"},
		"serviceport":        {"port"},
		"backend":            {"backendRefs"},
		"backends":           {"backendRefs"},
		"upstream":           {"backendRefs"},
		"upstreams":          {"backendRefs"},
		"destination":        {"backendRefs"},
		"destinations":       {"backendRefs"},
		"certificate":        {"certificateRefs"},
		"certificates":       {"certificateRefs"},
		"secret":             {"certificateRefs", "secretRef"},
		"secretname":         {"certificateRefs", "name"},
		"credentialname":     {"certificateRefs"},
		"cafile":             {"caCertificateRefs"},
		"cacertificates":     {"caCertificateRefs"},
		"redirect":           {"requestRedirect"},
		"rewrite":            {"urlRewrite"},
		"mirror":             {"requestMirror"},
		"requestheaders":     {"requestHeaderModifier"},
		"responseheaders":    {"responseHeaderModifier"},
		"policytargetref":    {"targetRefs"},
		"namespaceselector":  {"namespaces", "selector"},
		"maxattempts":        {"attempts"},
		"numretries":         {"attempts"},
		"retryon":            {"codes", "retryOn"},
		"defaultretrypolicy": {"retry"},
	}
}

// valueWords returns the enum values that a user may mean by a wrong text. The keys are wrong texts in lower
// case.
func valueWords() map[string][]string {
	return map[string][]string{
		"prefix":         {"PathPrefix"},
		"startswith":     {"PathPrefix"},
		"pathexact":      {"Exact"},
		"equal":          {"Exact"},
		"equals":         {"Exact"},
		"full":           {"Exact"},
		"regex":          {"RegularExpression"},
		"regexp":         {"RegularExpression"},
		"pathregex":      {"RegularExpression"},
		"suffix":         {"PathPostfix"},
		"pathsuffix":     {"PathPostfix"},
		"postfix":        {"PathPostfix"},
		"rewrite":        {"URLRewrite"},
		"redirect":       {"RequestRedirect"},
		"mirror":         {"RequestMirror"},
		"headermodifier": {"RequestHeaderModifier"},
		"extension":      {"ExtensionRef"},
		"ip":             {"IPAddress"},
		"dns":            {"Hostname"},
		"termination":    {"Terminate"},
		"any":            {"All"},
		"samenamespace":  {"Same"},
		"namespace":      {"Same"},
		"fullpath":       {"ReplaceFullPath"},
		"replaceprefix":  {"ReplacePrefixMatch"},
		"prefixmatch":    {"ReplacePrefixMatch"},
		"label":          {"Selector"},
		"labels":         {"Selector"},
	}
}
