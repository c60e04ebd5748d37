package store

import (
	"bytes"
	"maps"
	"slices"
	"strings"

	apischema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/schema"
)

// If a policy is invalid, its targets must answer an error. So gatefold looks for policies and their targets
// also in documents that it cannot read as objects. Such a document has YAML mistakes, or a kind or version
// that is probably misspelt.

// reject records an invalid object of the kind k as a rejectedObject. The parameter findings has the mistakes in the
// object, and the parameter problems has the reports to users about these mistakes. If the object is a policy, reject
// also records the targets of the policy, because they must answer an error.
func (d *documentReader) reject(at fieldPath, object map[string]any, k *kind, findings []schema.Finding, problems []finding) {
	r := rejectedObject{key: keyOf(object), place: d.nameAt(at), cause: causeOf(problems), portless: portless(object, findings)}
	if k.policy() {
		raw := d.written(at)
		metadata, _ := raw["metadata"].(map[string]any)
		r.invalid = k.closing(raw, metadata, mistakesOf(findings))
		r.key = r.invalid.Key
	} else {
		r.invalid = newInvalid(object, d.written(at), findings)
	}
	d.rejected = append(d.rejected, r)
}

// maxUnserved limits the records of policies that gatefold does not serve: at most maxUnserved policies are
// recorded for each kind, and at most maxUnserved targets for each policy.
const maxUnserved = 64

// written returns the object at a path as it is written. Unlike the validated object, it has fields that are
// not in the schema. It returns nil if the value at the path is no object.
func (d *documentReader) written(at fieldPath) map[string]any {
	object, _ := d.valueAt(at).(map[string]any)
	return object
}

// loosely returns the value of the document as readLoosely reads it.
func (d *documentReader) loosely() any {
	if d.raw == nil {
		d.raw = readLoosely(d.root)
	}
	return d.raw
}

// valueAt returns the value at a path as it is written.
func (d *documentReader) valueAt(at fieldPath) any {
	value := d.loosely()
	for _, s := range at {
		switch v := value.(type) {
		case map[string]any:
			value = v[s.key]
		case []any:
			value = v[s.index]
		}
	}
	return value
}

// salvageObject records the policies in an object whose kind is missing or not known, for example misspelt. If the
// object itself is meant as a policy, salvageObject records this policy, with the given problems as its mistakes.
// Otherwise, if the object has no kind, salvageObject searches for policies in its items.
func (d *documentReader) salvageObject(at fieldPath, problems []finding) {
	object := d.written(at)
	if !d.closeFor(at, object, problems) && len(valuesOf(object, "kind")) == 0 {
		d.salvage(at, object, 0)
	}
}

// maxSalvageDepth limits how deep the method salvage descends into lists in lists.
const maxSalvageDepth = 6

// salvage records the policies in a value, which is an object, a list of objects, or a List, and cannot be read as such.
// The parameter at is the path of the value. If depth is more than maxSalvageDepth, salvage does nothing.
func (d *documentReader) salvage(at fieldPath, value any, depth int) {
	if depth > maxSalvageDepth {
		return
	}
	switch v := value.(type) {
	case []any:
		for i, element := range v {
			d.salvage(append(slices.Clip(at), step{index: i}), element, depth+1)
		}
	case map[string]any:
		if d.closeFor(at, v, d.problems) || len(valuesOf(v, "kind")) > 0 && !isList(v) {
			return
		}
		for _, items := range valuesOf(v, "items") {
			d.salvageItems(append(slices.Clip(at), step{named: true, key: "items"}), v, items, depth)
		}
	}
}

// salvageItems records the policies among the items of a list, or in items itself if that is an object. The parameter
// at is the path of items.
func (d *documentReader) salvageItems(at fieldPath, list map[string]any, items any, depth int) {
	switch v := items.(type) {
	case map[string]any:
		d.salvage(at, itemOf(list, v), depth+1)
	case []any:
		for i, element := range v {
			if item, ok := element.(map[string]any); ok {
				element = itemOf(list, item)
			}
			d.salvage(append(slices.Clip(at), step{index: i}), element, depth+1)
		}
	}
}

// isList reports whether the kind of an object ends in "List".
func isList(object map[string]any) bool {
	name, _ := object["kind"].(string)
	return strings.HasSuffix(strings.ToLower(name), "list")
}

// itemOf returns an item of a list. If the item has no kind, and the list has a kind such as TrafficPolicyList,
// it returns a copy of the item. The copy has the kind TrafficPolicy and, if the item has no apiVersion, the
// list's apiVersion.
func itemOf(list, item map[string]any) map[string]any {
	name, _ := list["kind"].(string)
	name, typed := strings.CutSuffix(name, kindList)
	if !typed || name == "" || len(valuesOf(item, "kind")) > 0 {
		return item
	}
	item = maps.Clone(item)
	item["kind"] = name
	if item["apiVersion"] == nil {
		item["apiVersion"] = list["apiVersion"]
	}
	return item
}

// maxSalvaged is the length in bytes of the longest text that salvageText searches for policies. Policies are short.
const maxSalvaged = 16 << 10

// salvageText looks for policies in a text that is not YAML, in about ten variants of the text (readings).
// The policies that it finds cannot be read, and their mistakes are the problems of the text (the parameter
// problems). It returns nil for a text longer than maxSalvaged, or if no policy has targets.
func (r reader) salvageText(text []byte, problems []finding) (found []rejectedObject) {
	lower := bytes.ToLower(text)
	if len(text) > maxSalvaged || !bytes.Contains(lower, []byte("polic")) || !bytes.Contains(lower, []byte("target")) {
		return nil
	}
	defer func() {
		if recover() != nil { // the text has a problem already
			found = nil
		}
	}()
	for near := range readings(text) {
		root, err := parseYAML([]byte(near))
		if err != nil || root == nil {
			continue
		}
		d := &documentReader{reader: r, text: text, root: root, result: &result{}, remarks: remarks{problems: problems}}
		d.salvage(nil, d.loosely(), 0)
		if slices.ContainsFunc(d.rejected, func(r rejectedObject) bool { return r.invalid != nil && len(r.invalid.Targets) > 0 }) {
			return d.rejected
		}
	}
	return nil
}

// closeFor records an object that is meant as a policy and cannot be read because of the given problems. The
// targets of the policy then answer an error, and closeFor returns true. If the object is not meant as a
// policy, or is of a kind that gatefold does not serve, closeFor does nothing and returns false.
func (d *documentReader) closeFor(at fieldPath, object map[string]any, problems []finding) bool {
	k, metadata := d.meantPolicy(object)
	if k == nil || d.isNotServed(object) {
		return false
	}
	var mistakes []Mistake
	for _, p := range problems {
		mistakes = append(mistakes, Mistake{p.Field, p.text()})
	}
	if len(mistakes) == 0 { // a syntax error, or more problems than are listed
		mistakes = []Mistake{{Message: "its document cannot be read"}}
	}
	i := k.closing(object, metadata, mistakes)
	d.rejected = append(d.rejected, rejectedObject{i.Key, i, d.nameAt(at), causeOf(problems), nil})
	return true
}

// text returns the message of the finding. If the message has the number of another line, text returns a
// message without that number, because the number counts from the beginning of the document and not of the
// file.
func (f finding) text() string {
	if f.other == 0 {
		return f.Message
	}
	return quote(f.Field) + " is written twice"
}

// meantPolicy returns the kind of policy that an object is, or was probably meant to be, and the metadata of the
// policy. k is nil if the object is not meant as a policy. An object may have several kinds, versions and metadata,
// for example because two objects are in one document (see valuesOf). The first kind of a policy counts; if there is
// none, kindByTargets guesses the kind. If there are as many metadata as kinds, the result has the metadata at the
// position of the kind. Otherwise it has the first metadata.
func (d *documentReader) meantPolicy(object map[string]any) (k *kind, metadata map[string]any) {
	all := valuesOf(object, "metadata")
	names := valuesOf(object, "kind")
	if len(all)+len(names) == 0 {
		return nil, nil
	}
	versions := versionsOf(object)
	for i, name := range names {
		if k = policyKind(kindWord(name), versions); k == nil {
			continue
		}
		if len(all) != len(names) {
			i = 0
		}
		if i < len(all) {
			metadata, _ = all[i].(map[string]any)
		}
		return k, metadata
	}
	if slices.ContainsFunc(kinds, func(other kind) bool { return strings.EqualFold(other.name, wordOfKind(object)) }) {
		return nil, nil
	}
	if k = d.kindByTargets(object, versions); k != nil && len(all) > 0 {
		metadata, _ = all[0].(map[string]any)
	}
	return k, metadata
}

// kindByTargets returns the kind of policy that an object whose kind is missing or unknown is meant to be. The object
// must have targets in spec.targetRefs, spec.targetRef or spec.targetSelectors, and the result is the first kind of policy that can
// have one of them. If the object's group is not that of the kind, or nearly that, the object must also have a field
// of the policy beside the targets. The result is nil if the object is no policy: names anywhere else in the files of
// other programs are no targets.
func (d *documentReader) kindByTargets(object map[string]any, versions []apischema.GroupVersion) *kind {
	grouped := slices.ContainsFunc(versions, func(gv apischema.GroupVersion) bool { return gv.Group != "" })
	var policies []*kind
	all := &targetReader{seen: map[string]bool{}}
	for i := range kinds {
		if k := &kinds[i]; k.policy() && (grouped && k.mayBe(object, versions) || !grouped && d.hasFieldOf(k, object)) {
			policies = append(policies, k)
			all.kinds = append(all.kinds, k.policyTargets()...)
		}
	}
	all.searchSpec(object)
	for _, k := range policies {
		if slices.ContainsFunc(all.found, func(t Target) bool { return slices.Contains(k.policyTargets(), t.GroupKind) }) {
			return k
		}
	}
	return nil
}

// hasFieldOf reports whether the spec of an object has a field of the policies of kind k, beside the targets.
func (d *documentReader) hasFieldOf(k *kind, object map[string]any) bool {
	return slices.ContainsFunc(valuesOf(object, "spec"), func(spec any) bool {
		fields, _ := spec.(map[string]any)
		for name := range fields {
			if !MayNameTargets(name) && d.schemas.HasSpecField(apischema.GroupKind{Group: k.group, Kind: k.name}, name) {
				return true
			}
		}
		return false
	})
}

// mayBe reports whether an object whose kind is missing or unknown, and whose apiVersion has a group, may be meant as
// a policy of the kind k. The group decides (see meansKgateway). In the Gateway API's own group, which has many
// kinds, the kind must be missing, or contain "tls".
func (k *kind) mayBe(object map[string]any, versions []apischema.GroupVersion) bool {
	if k.group == api.Group {
		return slices.ContainsFunc(versions, func(gv apischema.GroupVersion) bool { return meansKgateway(gv.Group) })
	}
	word := wordOfKind(object)
	return (word == "" || strings.Contains(strings.ToLower(word), "tls")) &&
		slices.ContainsFunc(versions, func(gv apischema.GroupVersion) bool { return nearGroup(k.group, gv.Group) })
}

// wordOfKind returns the first name in the kind of an object (see kindWord), "" if there is none.
func wordOfKind(object map[string]any) string {
	for _, value := range valuesOf(object, "kind") {
		if word := kindWord(value); word != "" {
			return word
		}
	}
	return ""
}

// kindWord returns the name in value, the value of a field "kind". It leaves out blanks and the group: the result for
// "Traffic Policy.example.com" is "TrafficPolicy". It returns "" if value contains no valid name.
func kindWord(value any) string {
	for _, text := range textsIn(value) {
		word, _, _ := strings.Cut(text, ".")
		if word = strings.ReplaceAll(word, " ", ""); len(validation.IsDNS1123Label(strings.ToLower(word))) == 0 {
			return word
		}
	}
	return ""
}

// isNotServed reports whether an object is of a kind that gatefold knows and does not serve.
func (d *documentReader) isNotServed(object map[string]any) bool {
	versions := versionsOf(object)
	return slices.ContainsFunc(valuesOf(object, "kind"), func(name any) bool {
		return slices.ContainsFunc(versions, func(gv apischema.GroupVersion) bool {
			_, known := d.schemas.KindNotServed(gv.WithKind(kindWord(name)).GroupKind())
			return known
		})
	})
}

// versionsOf returns the valid versions in the apiVersion of an object, also under a misspelt or repeated key.
func versionsOf(object map[string]any) (versions []apischema.GroupVersion) {
	for _, value := range valuesOf(object, "apiVersion") {
		for _, text := range textsIn(value) {
			if gv, err := apischema.ParseGroupVersion(text); err == nil && !gv.Empty() && !strings.Contains(text, "{{") {
				versions = append(versions, gv)
			}
		}
	}
	return versions
}

// policyKind returns the policy kind with the given name in the group of one of the versions. It tries the versions
// in order, and for each group without this name also a similar policy kind (see similarKind). Without versions,
// policyKind looks in every group, ignoring case. The result is nil if nothing is found.
func policyKind(name string, versions []apischema.GroupVersion) *kind {
	for _, gv := range versions {
		gvk := gv.WithKind(name)
		if k := kindOf(gvk.GroupKind()); k.policy() {
			return k
		}
		if k := similarKind(gvk); kindOf(gvk.GroupKind()) == nil && k.policy() {
			return k
		}
	}
	i := slices.IndexFunc(kinds, func(k kind) bool { return k.policy() && strings.EqualFold(k.name, name) })
	if len(versions) > 0 || i < 0 {
		return nil
	}
	return &kinds[i]
}
