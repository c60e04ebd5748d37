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
	of := cmp.Or(k.Of, "kgateway")
	metadata, _ := object["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	closes := k.Closes && annotations[schema.IgnoreAnnotation] != "true"
	if k.Closes && !closes {
		p.Severity = manifest.Warning
	}
	words := ""
	if closes {
		words = d.closeUnserved(at, object, fmt.Sprintf("%s has the kind %s, which gatefold does not serve", of, k.Kind))
		k.Meaning = cmp.Or(words, k.Meaning)
		p.Hint += fmt.Sprintf("; if its targets are to be served without it, give the object the annotation %s: \"true\"", schema.IgnoreAnnotation)
	}
	if closes && words == "" && k.Targets {
		k.Meaning = "its targets cannot be read"
	} else if k.Targets && words == "" {
		words, unserved := servedWithout(object)
		k.Meaning = cmp.Or(words, k.Meaning, "its targets are served without it")
		if unserved != nil {
			p.Unserved = &[]manifest.Unserved{*unserved}
		}
	}
	if k.Parameters {
		var all settings
		all.add(object["spec"], []string{"spec"})
		if len(all.protecting) > 0 {
			p.Severity = manifest.Error
		}
		if fields := append(all.protecting, all.others...); len(fields) > 0 {
			k.Meaning += "; these fields have no effect: " + shortList(fields)
		}
	}
	p.Message = fmt.Sprintf("%s has the kind %s; gatefold does not serve it: %s", of, k.Kind, k.Meaning)
	broken := d.broken
	d.report(at, object, p)
	d.broken = broken
}

// settings has the paths of the fields in parameters of Gateways.
type settings struct {
	protecting []string // fields that limit clients
	others     []string // a field deeper than maxSettingDepth counts as a part of the field above it
}

// maxSettingDepth is how many names are below spec in the paths of settings.others, such as
// spec.kube.envoyContainer.image.
const maxSettingDepth = 3

// limitsClients is the field, at any depth, that limits the addresses of clients: spec.kube.service has it, and so may an
// overlay.
const limitsClients = "loadBalancerSourceRanges"

// add adds the fields of a value in the order of their names. The parameter path has the names on the path of the value.
// If the value has no fields, add adds the value.
func (s *settings) add(value any, path []string) {
	fields, _ := value.(map[string]any)
	last, below := path[len(path)-1], len(path)-1
	switch ranges, _ := value.([]any); {
	case last == limitsClients && len(ranges) > 0:
		s.protecting = withPath(s.protecting, path)
	case below > 0 && len(fields) == 0 && below <= maxSettingDepth, below == maxSettingDepth:
		s.others = withPath(s.others, path)
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		s.add(fields[name], append(path, clean(name)))
	}
}

// withPath returns the paths with one more, which has the given names. A path that shortList never names is "".
func withPath(paths, names []string) []string {
	if len(paths) >= maxSettings {
		return append(paths, "")
	}
	return append(paths, strings.Join(names, "."))
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
