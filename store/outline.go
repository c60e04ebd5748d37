package store

import (
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gatefold/gatefold/store/manifest"
)

// Outline has the hosts, parents and rules of a route, as far as its document can be read. The route may be
// invalid. Nothing in an Outline is validated.
type Outline struct {
	// Found is false if no document defines the route, if the document cannot be parsed, or if Outlines reached its
	// limit before this route.
	Found bool
	// Hosts are spec.hostnames, in lower case.
	Hosts []string
	// Parents are the objects that spec.parentRefs names.
	Parents []manifest.Key
	Rules   []RuleOutline
}

// RuleOutline is one rule of an Outline.
type RuleOutline struct {
	// Paths are the paths of spec.rules[].matches, one for each match. If the list of matches is empty or
	// cannot be read, Paths are the texts in the rule that begin with "/", at most maxOutline. Texts in the rule's
	// filters and backendRefs do not count.
	Paths []PathOutline
	// Children are the routes that backendRefs name. The name "*" means every route of the namespace. A
	// reference by label has the kind "label".
	Children []manifest.Key
}

// PathOutline is the path of one match.
type PathOutline struct {
	Type  string // as written, such as "Exact"; "" means a prefix
	Value string
}

// maxOutlineBytes is how many bytes of documents one call of Outlines reads.
const maxOutlineBytes = 8 << 20

// If the matches of a rule cannot be read, texts in the rule that look like paths take their place
// (RuleOutline.Paths). maxOutline is the largest number of these texts. maxOutlineDepth is how deep inside the rule
// they may be nested.
const maxOutline, maxOutlineDepth = 100, 16

// Outlines returns the Outline (hosts, parents and rules) of each route, in the order of keys. It parses the
// documents of the routes again, but not more than maxOutlineBytes in total. From the first document that would
// exceed this limit on, Outlines reads nothing, and the remaining routes have Found false.
func (s *Store) Outlines(keys []manifest.Key) []Outline {
	values, bytes := map[*document]any{}, 0
	out := make([]Outline, len(keys))
	for i, key := range keys {
		d := s.serving.documentOf(key)
		if d == nil {
			continue
		}
		value, read := values[d]
		if !read {
			if bytes += len(d.text); bytes > maxOutlineBytes {
				break
			}
			value = d.value()
			values[d] = value
		}
		if object := objectIn(value, key); object != nil {
			out[i] = outlineOf(object, key.Namespace)
		}
	}
	return out
}

// Labels returns the labels of each object, in the order of keys. The labels are nil for an object that is not
// served.
func (s *Store) Labels(keys []manifest.Key) []map[string]string {
	out := make([]map[string]string, len(keys))
	for i, key := range keys {
		if at, ok := s.serving.served[key]; ok {
			out[i] = at.object.Value.GetLabels()
		}
	}
	return out
}

// objectIn returns the object with the key from the value of a document. It searches the items of a list, and
// does not compare the group of the key. It returns nil if the document does not have the object.
func objectIn(value any, key manifest.Key) map[string]any {
	object, _ := value.(map[string]any)
	metadata, _ := object["metadata"].(map[string]any)
	if namespace, _ := metadata["namespace"].(string); object["kind"] == key.Kind && metadata["name"] == key.Name &&
		(namespace == key.Namespace || namespace == "" && key.Namespace == metav1.NamespaceDefault) {
		return object
	}
	items, _ := object["items"].([]any)
	for _, item := range items {
		if found := objectIn(item, key); found != nil {
			return found
		}
	}
	return nil
}

// outlineOf returns the outline of a route in the given namespace.
func outlineOf(object map[string]any, namespace string) Outline {
	out := Outline{Found: true}
	spec, _ := object["spec"].(map[string]any)
	hosts, _ := spec["hostnames"].([]any)
	for _, host := range hosts {
		if text, ok := host.(string); ok {
			out.Hosts = append(out.Hosts, strings.ToLower(text))
		}
	}
	out.Parents = refKeys(spec["parentRefs"], "Gateway", namespace)
	rules, _ := spec["rules"].([]any)
	for _, rule := range rules {
		out.Rules = append(out.Rules, ruleOutline(rule, namespace))
	}
	return out
}

// refKeys returns the keys of the objects in a list of references. The parameters kind and namespace are the
// defaults for references without these fields. The default group is that of the Gateway API.
func refKeys(value any, kind, namespace string) (out []manifest.Key) {
	refs, _ := value.([]any)
	for _, ref := range refs {
		fields, _ := ref.(map[string]any)
		key := manifest.Key{Group: gatewayGroup, Kind: kind, Namespace: namespace}
		for name, to := range map[string]*string{"group": &key.Group, "kind": &key.Kind, "namespace": &key.Namespace, "name": &key.Name} {
			if text, ok := fields[name].(string); ok {
				*to = text
			}
		}
		out = append(out, key)
	}
	return out
}

// ruleOutline returns the outline of a rule of a route in the given namespace.
func ruleOutline(value any, namespace string) (out RuleOutline) {
	rule, _ := value.(map[string]any)
	for _, key := range refKeys(rule["backendRefs"], "Service", namespace) {
		if key.Kind == "HTTPRoute" || key.Kind == "GRPCRoute" || key.Kind == "label" {
			out.Children = append(out.Children, key)
		}
	}
	matches, _ := rule["matches"].([]any)
	for _, match := range matches {
		fields, _ := match.(map[string]any)
		out.Paths = append(out.Paths, pathOutline(fields))
	}
	if len(matches) == 0 {
		for _, name := range slices.Sorted(maps.Keys(rule)) {
			if name != "filters" && name != "backendRefs" {
				out.looseTexts(rule[name], 0)
			}
		}
	}
	return out
}

// pathOutline returns the path of a match of an HTTPRoute, or the path of the gRPC method in a match of a
// GRPCRoute. It is the prefix "/" if the match has neither a path nor the service of a gRPC method.
func pathOutline(match map[string]any) PathOutline {
	path, _ := match["path"].(map[string]any)
	if value, ok := path["value"].(string); ok {
		kind, _ := path["type"].(string)
		return PathOutline{Type: kind, Value: value}
	}
	method, _ := match["method"].(map[string]any)
	service, _ := method["service"].(string)
	name, _ := method["method"].(string)
	switch {
	case service == "":
		return PathOutline{Value: "/"}
	case name == "":
		return PathOutline{Value: "/" + service}
	}
	return PathOutline{Type: "Exact", Value: "/" + service + "/" + name}
}

// looseTexts searches a value in a rule whose matches cannot be read. Each text that begins with "/" may be meant as
// a path, so looseTexts adds it to r.Paths. It stops at maxOutline paths, and it searches no deeper than
// maxOutlineDepth. The parameter depth is how deep inside the rule the value is.
func (r *RuleOutline) looseTexts(value any, depth int) {
	if depth == maxOutlineDepth || len(r.Paths) == maxOutline {
		return
	}
	switch value := value.(type) {
	case string:
		if strings.HasPrefix(value, "/") {
			r.Paths = append(r.Paths, PathOutline{Value: value})
		}
	case []any:
		for _, item := range value {
			r.looseTexts(item, depth+1)
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(value)) {
			r.looseTexts(value[name], depth+1)
		}
	}
}
