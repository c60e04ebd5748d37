package store

import (
	"maps"
	"slices"
	"strings"

	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
)

// maxIdentities limits how many names of headers are read from an invalid object. maxHeaderName is the length, in
// characters, that the schema allows for one name (api.HeaderName).
const (
	maxIdentities = 2048
	maxHeaderName = 256
)

// identityReader finds the headers that an invalid TrafficPolicy or GatewayExtension writes, and the
// GatewayExtensions that a TrafficPolicy names. Nothing in the object needs to be valid.
type identityReader struct {
	namespace          string
	headers, forwarded []string
	extensions         []manifest.Key
}

// identitiesIn returns the names of the request headers in which an object tells backends who sent a request, in lower
// case: clientIdHeader of apiKeyAuth, claimsToHeaders of jwt and headersToBackend of extAuth. It leaves out names that
// the object also has in headersToForward, because clients send these. It also returns the GatewayExtensions that the
// object names (extensionRef). The parameter object is a TrafficPolicy or a GatewayExtension as it is written, and
// namespace is its namespace. identitiesIn searches the whole object, also under misspelt and duplicate keys.
func identitiesIn(object map[string]any, namespace string) (headers []string, extensions []manifest.Key) {
	r := &identityReader{namespace: namespace}
	r.search(withoutHistory(object))
	headers = slices.DeleteFunc(r.headers, func(name string) bool { return slices.Contains(r.forwarded, name) })
	slices.Sort(headers)
	headers = slices.Compact(headers)
	slices.SortFunc(r.extensions, manifest.CompareKeys)
	return headers[:min(len(headers), maxIdentities)], slices.Compact(r.extensions)
}

// search adds what value writes, and what the values in it write.
func (r *identityReader) search(value any) {
	switch v := value.(type) {
	case []any:
		for _, item := range v {
			r.search(item)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			switch {
			case means(key, "clientIdHeader"), means(key, "headersToBackend"):
				r.headers = append(r.headers, headerNamesIn(v[key])...)
			case means(key, "claimsToHeaders"):
				r.claims(v[key])
			case means(key, "headersToForward"):
				r.forwarded = append(r.forwarded, headerNamesIn(v[key])...)
			case means(key, "extensionRef"):
				r.extension(v[key])
			default:
				r.search(v[key])
			}
		}
	}
}

// claims adds the headers of claimsToHeaders. For an entry without a readable header, every text in the entry counts.
func (r *identityReader) claims(value any) {
	list, isList := value.([]any)
	if !isList {
		list = []any{value}
	}
	for _, item := range list {
		fields, _ := item.(map[string]any)
		if headers := headerNamesIn(valuesOf(fields, "header")); len(headers) > 0 {
			r.headers = append(r.headers, headers...)
			continue
		}
		r.headers = append(r.headers, headerNamesIn(item)...)
	}
}

// extension adds the GatewayExtension that a value names: a mapping with name and namespace, or a text.
func (r *identityReader) extension(value any) {
	key := manifest.Key{Group: api.Group, Kind: api.KindGatewayExtension, Namespace: r.namespace}
	names := value
	if fields, ok := value.(map[string]any); ok {
		names = valuesOf(fields, "name")
		if namespaces := namesIn(valuesOf(fields, "namespace")); len(namespaces) > 0 {
			key.Namespace = namespaces[0]
		}
	}
	for _, name := range namesIn(names) {
		key.Name = name
		r.extensions = append(r.extensions, key)
	}
}

// headerNamesIn returns the texts in a value that can be names of headers, in lower case. It also searches lists and
// mappings.
func headerNamesIn(value any) (names []string) {
	switch v := value.(type) {
	case []any:
		for _, item := range v {
			names = append(names, headerNamesIn(item)...)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			names = append(names, headerNamesIn(v[key])...)
		}
	default:
		name := strings.ToLower(strings.TrimSpace(textOf(value)))
		if name != "" && len(name) <= maxHeaderName && strings.Trim(name, headerCharacters) == "" {
			names = append(names, name)
		}
	}
	return names
}

// headerCharacters are the characters of header names in lower case (RFC 9110, section 5.6.2).
const headerCharacters = "abcdefghijklmnopqrstuvwxyz0123456789!#$%&'*+-.^_`|~"
