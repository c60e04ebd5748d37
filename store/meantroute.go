package store

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	apischema "k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/gatefold/gatefold/store/schema"
)

// A route that cannot be read must not leave its requests to another route. So an object that is meant as an HTTPRoute or
// GRPCRoute counts as an invalid one (Invalid.Route).

// rejectRoute records an object that is meant as an HTTPRoute or GRPCRoute and cannot be read because of the given
// problems, and returns true. It returns false for any other object, and for a route without a name.
func (d *documentReader) rejectRoute(at fieldPath, object map[string]any, problems []finding) bool {
	k := routeMeantAs(object)
	if k == nil {
		return false
	}
	var findings []schema.Finding
	for _, p := range problems {
		findings = append(findings, schema.Finding{Code: p.Code, Field: p.Field, Message: p.text()})
	}
	if len(findings) == 0 { // more problems than are listed
		findings = []schema.Finding{{Message: "its document cannot be read"}}
	}
	raw := k.asMeant(object)
	i := newInvalid(raw, raw, findings)
	if i == nil {
		return false
	}
	d.rejected = append(d.rejected, rejectedObject{i.Key, i, d.nameAt(at), causeOf(problems), nil})
	return true
}

// routeMeantAs returns the kind, HTTPRoute or GRPCRoute, that an object may be meant as, nil for none. Its kind is nearly
// that, or is missing, and its spec has rules or hostnames. Its group is nearly one of ours, or one of Kubernetes, or
// missing.
func routeMeantAs(object map[string]any) *kind {
	foreign := func(gv apischema.GroupVersion) bool {
		return gv.Group != "" && !isOwnGroup(gv.Group) && !kubernetesGroup(gv.Group)
	}
	word := wordOfKind(object)
	spec, _ := object["spec"].(map[string]any)
	of := func(name string) *kind { return kindOf(apischema.GroupKind{Group: gatewayGroup, Kind: name}) }
	switch {
	case word == "" && spec["rules"] == nil && spec["hostnames"] == nil:
	case slices.ContainsFunc(versionsOf(object), foreign):
	case word == "":
		if slices.ContainsFunc(slices.Collect(maps.Keys(spec)), isTargetField) {
			return nil
		}
		calls := func(m readableMatch) bool { return m.rpc != nil }
		if slices.ContainsFunc(readableRules(spec), func(r readableRule) bool { return slices.ContainsFunc(r.matches, calls) }) {
			return of("GRPCRoute")
		}
		return of("HTTPRoute")
	case slices.ContainsFunc(kinds, func(k kind) bool { return strings.EqualFold(k.name, word) && !k.hasMatches() }):
	case isNearly(word, "GRPCRoute"):
		return of("GRPCRoute")
	case isNearly(word, "HTTPRoute"):
		return of("HTTPRoute")
	}
	return nil
}

// hasMatches reports whether the kind is one of the routes for requests.
func (k *kind) hasMatches() bool {
	return k.group == gatewayGroup && (k.name == "HTTPRoute" || k.name == "GRPCRoute")
}

// asMeant returns a route as it is probably meant: of the kind k, with the name and namespace that are written near the
// place for them (writtenFor), and with the fields of routeSpec.
func (k *kind) asMeant(object map[string]any) map[string]any {
	out := maps.Clone(object)
	metadata := map[string]any{}
	for _, fields := range mappingsOf(object, "metadata") {
		maps.Copy(metadata, fields)
	}
	metadata["name"], metadata["namespace"] = writtenFor(object, "name"), writtenFor(object, "namespace")
	out["apiVersion"], out["kind"], out["metadata"], out["spec"] = k.apiVersions()[0], k.name, metadata, routeSpec(object)
	return out
}

// routeSpec returns the spec of a route, with the fields that are written beside it.
func routeSpec(object map[string]any) map[string]any {
	out := map[string]any{}
	for _, fields := range slices.Concat(mappingsOf(object, "spec"), []map[string]any{object}, mappingsOf(object, "metadata")) {
		for _, name := range []string{"parentRefs", "hostnames", "rules"} {
			if values := valuesOf(fields, name); out[name] == nil && len(values) > 0 {
				out[name] = values[0]
			}
		}
	}
	for _, fields := range mappingsOf(object, "spec") {
		for name, value := range fields {
			if out[name] == nil {
				out[name] = value
			}
		}
	}
	return out
}

// mappingsOf returns the values of a field that are mappings, also those under misspelt keys.
func mappingsOf(fields map[string]any, name string) (all []map[string]any) {
	for _, value := range valuesOf(fields, name) {
		if mapping, ok := value.(map[string]any); ok {
			all = append(all, mapping)
		}
	}
	return all
}

// writtenFor returns the text of a field of an object's metadata. Its key may be misspelt, or be where a wrong indentation
// leaves it: outside of metadata, in spec, or among the labels or annotations. The result is "" if there is none.
func writtenFor(object map[string]any, name string) string {
	metadata := mappingsOf(object, "metadata")
	places := slices.Concat(metadata, []map[string]any{object}, mappingsOf(object, "spec"))
	for _, fields := range metadata {
		places = slices.Concat(places, mappingsOf(fields, "labels"), mappingsOf(fields, "annotations"))
	}
	for _, fields := range places {
		if text := firstText(fields, name); text != "" {
			return text
		}
	}
	return ""
}

// generationOf returns metadata.generation of an object, 0 if there is none.
func generationOf(metadata map[string]any) int64 {
	if generation, ok := metadata["generation"].(int64); ok {
		return generation
	}
	generation, _ := strconv.ParseInt(textOf(metadata["generation"]), 10, 64)
	return generation
}
