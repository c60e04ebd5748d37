package page

import (
	"encoding/json"
	"net/url"
	"regexp"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
)

// maxExcerpt limits the bytes of an object's YAML that a page shows.
const maxExcerpt = 60_000

// notShown replaces a text that may be a credential.
const notShown = "[not shown]"

// excerpt returns a served object as YAML, with default values and without its status. Of the metadata, only the
// fields that the function metadata returns are shown. Values that may be credentials are replaced. If the YAML is
// longer than maxExcerpt, the result text is only its beginning, and the result cut is true. text is "" if the
// object cannot be written as YAML.
func excerpt(o *manifest.Object) (text string, cut bool) {
	var object map[string]any
	data, err := json.Marshal(o.Value)
	if err == nil {
		err = json.Unmarshal(data, &object)
	}
	if err != nil {
		return "", false
	}
	delete(object, "status")
	object["kind"] = o.Key.Kind
	object["metadata"] = metadata(object["metadata"])
	for _, content := range []string{"data", "stringData", "binaryData"} { // of Secrets and ConfigMaps
		hideAll(object[content])
	}
	written, err := yaml.Marshal(hide(object))
	if err != nil {
		return "", false
	}
	shown := cutTo(string(written), maxExcerpt)
	return shown, len(written) > maxExcerpt
}

// metadata returns the name, the namespace, the labels and the annotations of an object's metadata (the parameter
// value). It replaces by notShown the values of annotations of other programs, such as last-applied-configuration.
func metadata(value any) map[string]any {
	all, _ := value.(map[string]any)
	shown := map[string]any{}
	for _, name := range []string{"name", "namespace", "labels", "annotations"} {
		if all[name] != nil {
			shown[name] = all[name]
		}
	}
	annotations, _ := shown["annotations"].(map[string]any)
	for name := range annotations {
		domain, _, _ := strings.Cut(name, "/")
		if domain != "gatefold.io" && !strings.HasSuffix("."+domain, ".kgateway.dev") {
			annotations[name] = notShown
		}
	}
	return shown
}

// hideAll replaces every value of a map by notShown. It does nothing if value is not a map.
func hideAll(value any) {
	all, _ := value.(map[string]any)
	for name := range all {
		all[name] = notShown
	}
}

// hide returns a decoded JSON value, in which texts that may be credentials are replaced by notShown, at any depth.
// It changes maps and lists in place.
func hide(value any) any {
	switch v := value.(type) {
	case string:
		return hideText(v)
	case []any:
		for i := range v {
			v[i] = hide(v[i])
		}
	case map[string]any:
		for name, below := range v {
			if secretField(name) && isText(below) {
				v[name] = notShown
				continue
			}
			v[name] = hide(below)
		}
		for _, name := range []string{"name", "key", "header"} {
			if text, ok := v[name].(string); ok && v["value"] != nil && ir.NamesCredential(text) {
				v["value"] = notShown
			}
		}
	}
	return value
}

// isText reports whether a value is a string, or a list that begins with a string.
func isText(value any) bool {
	if list, ok := value.([]any); ok {
		return len(list) > 0 && isText(list[0])
	}
	_, ok := value.(string)
	return ok
}

// secretField reports whether a field with this name may contain a credential. It returns false for a field
// that only refers to one, such as secretRef.
func secretField(name string) bool {
	for _, end := range []string{"Ref", "Refs", "Endpoint", "URI", "Path", "Prefix", "Name", "Names", "Header", "Headers"} {
		if strings.HasSuffix(name, end) {
			return false
		}
	}
	return name == "inline" || name == "users" || ir.NamesCredential(name)
}

// userInfo matches user and password in a URL. parameter matches a query parameter. credential matches the
// typical texts of credentials.
var (
	userInfo   = regexp.MustCompile(`(://)[^/?#\s@]*@`)
	parameter  = regexp.MustCompile(`[?&;#][^=&;?#\s]+=[^&;?#\s]+`)
	credential = regexp.MustCompile(`(?i)\b(bearer|basic|digest|negotiate|apikey|token)\s+\S{4,}|PRIVATE KEY|\{SHA\}|\$apr1\$|\$2[abxy]?\$|eyJ[A-Za-z0-9_-]{8,}\.`)
)

// hideText returns notShown if the text looks like a credential. Otherwise it returns the text, in which user
// and password and the values of secret query parameters are replaced by notShown.
func hideText(text string) string {
	if credential.MatchString(text) {
		return notShown
	}
	return parameter.ReplaceAllStringFunc(userInfo.ReplaceAllString(text, "$1"+notShown+"@"), func(pair string) string {
		name, _, _ := strings.Cut(pair, "=")
		if plain, err := url.QueryUnescape(name[1:]); err == nil && !ir.NamesCredential(plain) {
			return pair
		}
		return name + "=" + notShown
	})
}
