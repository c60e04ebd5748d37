package store

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/store/schema"
)

// notServed reports an object of a kind that gatefold knows and does not serve: as an error if k.Error is true,
// otherwise as a warning. It does not mark the document as broken, because nothing in it is invalid.
func (d *documentReader) notServed(at fieldPath, object map[string]any, k schema.KindNotServed) {
	p := manifest.Problem{
		Code: schema.NotServed, Severity: manifest.Warning, Field: "kind", Hint: cmp.Or(k.Instead, "remove the object"),
	}
	if k.Error {
		p.Severity = manifest.Error
	}
	if k.Targets {
		words, unserved := servedWithout(object)
		k.Meaning = cmp.Or(words, k.Meaning, "its targets are served without it")
		if unserved != nil {
			p.Unserved = &[]manifest.Unserved{*unserved}
		}
	}
	if fields := settingsOf(object["spec"], "spec", 0); k.Parameters && len(fields) > 0 {
		k.Meaning += "; these fields have no effect: " + shortList(fields)
	}
	p.Message = fmt.Sprintf("%s has the kind %s; gatefold does not serve it: %s", cmp.Or(k.Of, "kgateway"), k.Kind, k.Meaning)
	broken := d.broken
	d.report(at, object, p)
	d.broken = broken
}

// maxSettingDepth is how deep settingsOf descends below spec: to spec.kube.envoyContainer.image, for example.
const maxSettingDepth = 3

// settingsOf returns the paths of the fields in a value, sorted. The parameter path is the path of the value, and depth is
// 0 for the spec of an object. It returns none for a value without fields.
func settingsOf(value any, path string, depth int) (paths []string) {
	fields, _ := value.(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		below := path + "." + clean(name)
		if deeper := settingsOf(fields[name], below, depth+1); depth+1 < maxSettingDepth && len(deeper) > 0 {
			paths = append(paths, deeper...)
			continue
		}
		paths = append(paths, below)
	}
	return paths
}

// maxSettings is how many fields shortList names.
const maxSettings = 10

// shortList returns the first maxSettings names as text, and how many more there are.
func shortList(names []string) string {
	text := strings.Join(names[:min(len(names), maxSettings)], ", ")
	if more := len(names) - maxSettings; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
