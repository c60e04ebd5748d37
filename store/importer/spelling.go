package importer

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/gatefold/gatefold/store/manifest"
)

// Envoy matches a path as it is written. It only resolves dot segments and decodes characters that need no
// escape. ingress-nginx and Traefik read // as /, and nginx decodes %2F before it selects a location. So a
// request could get around a path with protection. If the paths of a host have different protection, a rule
// before all others answers 500 for ambiguous paths.

// plainPathText matches text of slashes and of the characters that need no escape in a path.
var plainPathText = regexp.MustCompile(`^[A-Za-z0-9._~/-]*$`)

// spellings returns a regular expression for ambiguous paths, which gateways may normalize differently. It matches
// paths that contain //, and paths that contain the escape of a special character, such as %2F for a slash. The
// parameter paths has the paths of a host. The parameter expressions is true if some of these paths are regular
// expressions. Which characters are special depends on both:
//   - If expressions is false, the special characters are the slash, and all characters in paths that plainPathText
//     does not match. ok is false if a path has a space, a "%", a control character or a character outside ASCII.
//   - If expressions is true, all ASCII punctuation except "_" and "~" is special. ok is true.
func spellings(paths []string, expressions bool) (expression string, ok bool) {
	if expressions {
		return `(?i).*(?://|%(?:2[1-9a-f]|3[a-f]|40|5[b-e]|60|7[b-d])).*`, true
	}
	escaped := []string{"2f"}
	for _, path := range paths {
		for _, c := range []byte(path) {
			mark := fmt.Sprintf("%02x", c)
			switch {
			case c <= ' ' || c == '%' || c >= 0x7f:
				return "", false
			case !plainPathText.Match([]byte{c}) && !strings.Contains(strings.Join(escaped, " "), mark):
				escaped = append(escaped, mark)
			}
		}
	}
	return `(?i).*(?://|%(?:` + strings.Join(escaped, "|") + `)).*`, true
}

// spellingsTold is the message of the verdict about the rule for ambiguous paths.
const spellingsTold = "answers 500 where a path has // or an escaped /, as the paths of the host are protected differently and Envoy does not read those as /"

// spellingsReason is the reason of the rule for ambiguous paths, in the file.
const spellingsReason = "paths with // or an escaped / are closed: the gateway before may have read them as /, which Envoy does not, so that they would get past the protection of other rules"

// spelled returns a further location for the host. This location answers 500 to requests with an ambiguous path,
// such as a path with //, which gateways may normalize differently. spelled returns nil if all paths of the host
// have the same protection, or if the whole host answers 500 already. If a path of the host has characters that
// spellings cannot handle, spelled sets host.closed, so that the whole host answers 500, and returns nil.
func spelled(r *report, host *ingressHost, all []*location) *location {
	var first *location
	var paths []string
	for _, l := range all {
		if !slices.Contains(host.paths, l.ingressPath) {
			continue // a redirect that appRoots added
		}
		paths = append(paths, l.path)
		if first == nil && guard(l) != guard(&location{ingressPath: host.paths[0]}) {
			first = l
		}
	}
	if first == nil || host.closed != "" {
		return nil
	}
	expression, ok := spellings(paths, first.ordered)
	if !ok {
		host.closed = "its paths are protected differently, and have letters that a request may write in several ways"
		return nil
	}
	r.add(Different, first.ingress.place, first.ingress.name(), spellingsTold, first.field)
	return &location{ingressPath: &ingressPath{host: host.name, closed: spellingsReason, settings: &settings{}}, matches: []any{pathMatch("RegularExpression", expression)}}
}

// clusterSpellingsTold is the message of the verdict of closeSpellings.
const clusterSpellingsTold = "answers 500 where a path has // or an escaped /: rules of the route are closed, and the gateway of the cluster may have read those as /, which Envoy does not"

// closeSpellings adds a rule to each HTTPRoute that has rules that fail closed. The new rule answers 500 if the path
// of the request is ambiguous, such as a path with //. The old gateway, from which the user imports, may have
// normalized such a path, so that a rule that fails closed matched it. Envoy does not normalize it, and without the
// new rule another route could serve the request. Two kinds of routes need no new rule: routes that answer 500 to all
// requests, and routes of kgateway, which matches paths as gatefold does. If a route already has maxRules rules, the
// import is blocked.
func closeSpellings(r *report, objects *collection) {
	for _, route := range objects.all {
		if route.left || !route.refusing || !route.is("HTTPRoute") || ofKgateway(objects, route) {
			continue
		}
		rules := list(route.spec()["rules"])
		if route.closed && slices.ContainsFunc(rules, takesAll) {
			continue
		}
		if len(rules) == maxRules {
			r.block(route.place, route.name(), fmt.Sprintf("it needs a rule for paths with // or an escaped /, as rules of it are closed, and has %d already", maxRules), "split the route in two in the export")
			continue
		}
		expression, ok := spellings(pathsOf(rules))
		if !ok {
			expression, _ = spellings(nil, true)
		}
		route.spec()["rules"] = slices.Insert(rules, 0, any(map[string]any{"matches": []any{pathMatch("RegularExpression", expression)}}))
		shutRule(route, 0, spellingsReason)
		r.add(Different, route.place, route.name(), clusterSpellingsTold)
	}
}

// takesAll reports whether an HTTPRoute rule matches every request: it has no matches, or one of its matches is
// empty or only the PathPrefix /.
func takesAll(rule any) bool {
	matches := list(at(rule, "matches"))
	return len(matches) == 0 || slices.ContainsFunc(matches, func(match any) bool {
		fields, _ := match.(map[string]any)
		path, limited := fields["path"]
		return len(fields) == 0 || len(fields) == 1 && limited && text(at(path, "type")) == "PathPrefix" && text(at(path, "value")) == "/"
	})
}

// pathsOf returns the paths in the matches of rules. expressions is true if at least one of the paths is a
// regular expression.
func pathsOf(rules []any) (paths []string, expressions bool) {
	for _, rule := range rules {
		for _, match := range list(at(rule, "matches")) {
			path := at(match, "path")
			paths = append(paths, text(at(path, "value")))
			expressions = expressions || text(at(path, "type")) == "RegularExpression"
		}
	}
	return paths, expressions
}

// ofKgateway reports whether kgateway served a route in the cluster: each parent of the route is an HTTPRoute,
// or a Gateway with a class of kgateway. A parent that is an HTTPRoute counts, because only kgateway delegates.
func ofKgateway(objects *collection, route *item) bool {
	return !slices.ContainsFunc(list(route.spec()["parentRefs"]), func(ref any) bool {
		if text(at(ref, "kind")) == "HTTPRoute" {
			return false
		}
		namespace := cmp.Or(text(at(ref, "namespace")), route.key.Namespace)
		gateway := objects.find(manifest.Key{Group: gatewayGroup, Kind: "Gateway", Namespace: namespace, Name: text(at(ref, "name"))})
		return gateway == nil || !classOfKgateway(objects, gateway.class)
	})
}

// classOfKgateway reports whether a GatewayClass belongs to kgateway. If the class is not in the input, its
// name decides.
func classOfKgateway(objects *collection, name string) bool {
	class := objects.find(manifest.Key{Group: gatewayGroup, Kind: "GatewayClass", Name: name})
	return class == nil && name == "kgateway" || class != nil && strings.HasPrefix(text(class.spec()["controllerName"]), "kgateway.dev/")
}
