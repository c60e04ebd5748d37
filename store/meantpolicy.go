package store

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	apischema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/schema"
)

// If a policy is invalid, its targets must answer an error. So documents that can be parsed, but not read as objects, are
// searched for objects that are meant as policies. The targets of such a policy close if all of them can be read.
// Otherwise the words of the object count (wordsOf).

// reject records an invalid object of the kind k as a rejectedObject. The parameter findings has the mistakes in the
// object, and the parameter problems has the reports to users about these mistakes. If the object is a policy, reject
// also records the targets of the policy, because they must answer an error.
func (d *documentReader) reject(at fieldPath, object map[string]any, k *kind, findings []schema.Finding, problems []finding) {
	if k.policy() {
		d.rejectPolicy(at, d.written(at), k, mistakesOf(findings), causeOf(problems))
		d.rejected[len(d.rejected)-1].portless = portless(object, findings)
		return
	}
	raw, read := d.written(at), object
	if k.hasMatches() {
		raw, read = k.asMeant(raw), maps.Clone(object)
		read["metadata"] = raw["metadata"]
		if spec, _ := object["spec"].(map[string]any); spec["parentRefs"] == nil {
			read["spec"] = raw["spec"]
		}
	}
	d.rejected = append(d.rejected, rejectedObject{keyOf(read), newInvalid(read, raw, findings), d.nameAt(at), causeOf(problems), portless(object, findings)})
}

// rejectPolicy records a policy of the kind k as a rejectedObject. The parameter raw is the policy as it is written. If
// its targets cannot be read, or may stand elsewhere, its words count, too. If it has no namespace, its targets count in
// other namespaces, too: the namespace may be lost. A BackendConfigPolicy protects nothing.
func (d *documentReader) rejectPolicy(at fieldPath, raw map[string]any, k *kind, mistakes []Mistake, cause spotOfError) {
	i := k.closing(raw, mistakes)
	elsewhere := len(i.Targets) == 0 && namesTargetsElsewhere(raw)
	i.Lost = i.Lost || elsewhere
	d.rejected = append(d.rejected, rejectedObject{i.Key, i, d.nameAt(at), cause, nil})
	if k.name != api.KindBackendConfigPolicy {
		d.closeByWords(at, raw, i, cause)
	}
}

// closeByWords has the words of a policy count that is not served, if its targets or its namespace may be lost. The
// parameter raw is the policy as it is written, and i has what can be read of it.
func (d *documentReader) closeByWords(at fieldPath, raw map[string]any, i *Invalid, cause spotOfError) {
	if !i.Lost && writtenFor(raw, "namespace") != "" {
		return
	}
	w := readWords(d.textAt(at))
	w.place, w.cause, w.backends = d.nameAt(at), cause, w.backends || i.Key.Kind == kindBackendTLSPolicy
	if w.astray = !i.Lost; w.astray {
		w.named = nil
		for _, t := range i.Targets {
			w.named = slices.AppendSeq(append(w.named, t.Name), maps.Values(t.Labels))
		}
		w.named = slices.DeleteFunc(w.named, func(word string) bool { return word == "" })
	}
	d.unreadable = append(d.unreadable, w)
}

// maxUnserved limits the records of policies that gatefold does not serve: at most maxUnserved policies are
// recorded for each kind, and at most maxUnserved targets for each policy.
const maxUnserved = 64

// textAt returns the text of the object at a path: that of the document, or that of one item of a list.
func (d *documentReader) textAt(at fieldPath) []byte {
	if len(at) == 0 {
		return d.text
	}
	text, _ := json.Marshal(d.written(at))
	return text
}

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

// maxListDepth limits how deep closeItems descends into lists in lists.
const maxListDepth = 6

// closeItems records the policies in a value, which is an object, a list of objects, or a List, and cannot be read as such.
// The parameter at is the path of the value. The problems are the mistakes of the policies.
func (d *documentReader) closeItems(at fieldPath, value any, problems []finding) {
	if len(at) > 2*maxListDepth {
		return
	}
	switch v := value.(type) {
	case []any:
		for i, element := range v {
			d.closeItems(append(slices.Clip(at), step{index: i}), element, problems)
		}
	case map[string]any:
		if d.closeFor(at, v, problems) || d.rejectRoute(at, v, problems) || d.closeMisspelt(at, v, problems) || wordOfKind(v) != "" && !isList(v) && !listsObjects(v) {
			return
		}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if !strings.EqualFold(key, "items") && !(isList(v) && strings.EqualFold(key, "item")) {
				continue
			}
			items := v[key]
			if one, isOne := items.(map[string]any); isOne {
				items = []any{one}
			}
			list, _ := items.([]any)
			for i, element := range list {
				if item, isObject := element.(map[string]any); isObject {
					element = itemOf(v, item)
				}
				d.closeItems(append(slices.Clip(at), step{named: true, key: key}, step{index: i}), element, problems)
			}
		}
	}
}

// isList reports whether the kind of an object ends in "List".
func isList(object map[string]any) bool {
	return strings.HasSuffix(strings.ToLower(textOf(object["kind"])), "list")
}

// itemOf returns an item of a list. If the item has no kind, and the list has a kind such as TrafficPolicyList,
// it returns a copy of the item. The copy has the kind TrafficPolicy and, if the item has no apiVersion, the
// list's apiVersion.
func itemOf(list, item map[string]any) map[string]any {
	name, typed := strings.CutSuffix(textOf(list["kind"]), kindList)
	if !typed || name == "" || item["kind"] != nil {
		return item
	}
	item = maps.Clone(item)
	item["kind"] = name
	if item["apiVersion"] == nil {
		item["apiVersion"] = list["apiVersion"]
	}
	return item
}

// closeFor records an object that is meant as a policy and cannot be read because of the given problems, and returns
// true. If the object is not meant as a policy, or is of a kind that gatefold does not serve, it does nothing and returns
// false. Of several kinds of policies that are possible, the first counts of which the targets can be read.
func (d *documentReader) closeFor(at fieldPath, object map[string]any, problems []finding) bool {
	possible := d.meantAs(object)
	if len(possible) == 0 {
		return false
	}
	var mistakes []Mistake
	for _, p := range problems {
		mistakes = append(mistakes, Mistake{p.Field, p.text()})
	}
	if len(mistakes) == 0 { // more problems than are listed
		mistakes = []Mistake{{Message: "its document cannot be read"}}
	}
	i := slices.IndexFunc(possible, func(k *kind) bool {
		targets, lost := k.readTargets(object, "")
		return len(targets) > 0 && !lost
	})
	d.rejectPolicy(at, object, possible[max(i, 0)], mistakes, causeOf(problems))
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

// meantAs returns the kinds of policies that an object may be meant as. Its kind is nearly one of them, and its group is
// nearly one of ours, or missing. If its kind is missing or unknown, its group must be nearly that of a policy, or
// missing; and its spec must have targets, and without a group also another field of the policy. An object of a group of
// policies without a kind needs no targets: it has a field of the policy, or no spec that is a mapping.
func (d *documentReader) meantAs(object map[string]any) (possible []*kind) {
	names, versions := writtenAs(object, "kind"), versionsOf(object)
	spec, isMapping := object["spec"].(map[string]any)
	targeted := slices.ContainsFunc(slices.Collect(maps.Keys(spec)), isTargetField)
	for i := range kinds {
		k := &kinds[i]
		if !k.policy() {
			continue
		}
		near := slices.ContainsFunc(names, func(name any) bool { return isNearly(kindWord(name), k.name) })
		ours := slices.ContainsFunc(versions, func(gv apischema.GroupVersion) bool {
			return gv.Group != "" && (nearGroup(k.group, gv.Group) || k.group == api.Group && meansKgateway(gv.Group))
		})
		own := slices.ContainsFunc(versions, func(gv apischema.GroupVersion) bool { return isOwnGroup(gv.Group) })
		grouped := slices.ContainsFunc(versions, func(gv apischema.GroupVersion) bool { return gv.Group != "" })
		switch {
		case d.isServedOtherwise(object, near):
		case near && (own || !grouped), ours && targeted, !grouped && targeted && d.hasFieldOf(k, spec),
			ours && wordOfKind(object) == "" && (!isMapping || d.hasFieldOf(k, spec)):
			possible = append(possible, k)
		}
	}
	return possible
}

// isServedOtherwise reports whether an object is none of a policy, though it may have the fields of one: it is of a kind
// that gatefold knows and does not serve, or of a kind of the table that is no policy. The parameter near says whether
// its kind is nearly that of a policy.
func (d *documentReader) isServedOtherwise(object map[string]any, near bool) bool {
	return slices.ContainsFunc(writtenAs(object, "kind"), func(name any) bool {
		if !near && slices.ContainsFunc(kinds, func(other kind) bool { return strings.EqualFold(other.name, kindWord(name)) }) {
			return true
		}
		return slices.ContainsFunc(versionsOf(object), func(gv apischema.GroupVersion) bool {
			_, known := d.schemas.KindNotServed(gv.WithKind(kindWord(name)).GroupKind())
			return known
		})
	})
}

// hasFieldOf reports whether a spec has a field of the policies of kind k, beside the targets.
func (d *documentReader) hasFieldOf(k *kind, spec map[string]any) bool {
	for name := range spec {
		if !isTargetField(name) && d.schemas.HasSpecField(apischema.GroupKind{Group: k.group, Kind: k.name}, name) {
			return true
		}
	}
	return false
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
