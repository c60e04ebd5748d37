package schema

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/store/tenancy"
)

// ownPrefix is the prefix of the annotations that only gatefold reads.
const ownPrefix = "gatefold.io"

// kgatewayPrefix ends the prefixes of the annotations and labels of kgateway.
const kgatewayPrefix = "kgateway.dev"

// annotationsOf returns the annotations of gatefold (with the prefix gatefold.io/) that objects of a kind can
// have. It returns nil if objects of the kind can have none.
func annotationsOf(kind string) (all []string) {
	if slices.Contains(onErrorKinds(), kind) {
		all = append(all, api.AnnotationOnError)
	}
	switch kind {
	case "Gateway":
		return append(all, api.AnnotationAccessLog, api.AnnotationProxyProtocol)
	case "Namespace":
		return tenancy.Annotations()
	case "HTTPRoute", "GRPCRoute":
		return append(all, api.AnnotationClosed)
	case api.KindGatewayExtension:
		return append(all, tenancy.AnnotationUsers)
	}
	return all
}

// kindWithAnnotation returns the kind whose objects can have an annotation of gatefold. The parameter name is
// the whole name of the annotation, such as gatefold.io/x. The result is "" if no kind can have the annotation.
func kindWithAnnotation(name string) string {
	for _, kind := range append(onErrorKinds(), "Namespace") {
		if slices.Contains(annotationsOf(kind), name) {
			return kind
		}
	}
	return ""
}

// ownAnnotations reports unknown annotations of an object that the user probably meant for gatefold (see
// seemsOwn). A misspelt annotation has no effect, and without this finding the user would not notice. It also
// reports annotations of gatefold without a value, and labels that have the name of an annotation of gatefold.
func (m *mistakes) ownAnnotations(object map[string]any) {
	metadata, _ := object["metadata"].(map[string]any)
	known := annotationsOf(m.kind)
	for name, value := range entries(metadata, "annotations") {
		switch {
		case value == nil && slices.Contains(known, name):
			m.addAt(InvalidValue, "metadata.annotations["+name+"]", "the annotation has no value", "write a value, or remove the annotation")
		case name == IgnoreAnnotation:
			m.ignoreHasNoEffect()
		case !slices.Contains(known, name) && m.seemsOwn(name):
			m.addAt(UnknownField, "metadata.annotations["+name+"]", "unknown annotation "+shown(name), m.annotationHint(name))
		case name == tenancy.AnnotationUsers:
			m.users(name, value)
		case name == api.AnnotationClosed:
			m.closedRules(value, object)
		case name == api.AnnotationOnError && value != api.OnErrorClose:
			m.addAt(InvalidValue, "metadata.annotations["+name+"]", fmt.Sprintf("the value %s is not known", shown(fmt.Sprint(value))), "write "+api.OnErrorClose+", or remove the annotation")
		default:
			m.notServedAnnotation(name)
		}
	}
	for name := range entries(metadata, "labels") {
		if kindWithAnnotation(name) != "" {
			m.addAt(UnknownField, "metadata.labels["+name+"]", shown(name)+" is an annotation, and means nothing as a label", "move it to metadata.annotations")
		}
	}
	for _, list := range []string{"annotations", "labels"} {
		for name := range entries(metadata, list) {
			m.nearKgateway(list, name)
		}
	}
}

// ignoreHasNoEffect warns of IgnoreAnnotation at an object of a kind that gatefold serves.
func (m *mistakes) ignoreHasNoEffect() {
	if len(m.found) < maxFindings {
		m.found = append(m.found, Finding{
			Code: "NoEffect", Field: "metadata.annotations[" + IgnoreAnnotation + "]", Hint: "remove the annotation", Warning: true,
			Message: "the annotation is for policies of kinds that gatefold does not serve; gatefold serves the kind " + m.kind,
		})
	}
}

// nearKgateway reports a name that is nearly an annotation or label of kgateway that gatefold reads: under another
// prefix, misspelt, or in the other of the two lists. It has no effect, also where it should protect. The parameter
// list is annotations or labels. No other name of kgateway 2.5 is near one of these.
func (m *mistakes) nearKgateway(list, name string) {
	prefix, local, prefixed := strings.Cut(strings.ToLower(name), "/")
	if !prefixed {
		prefix, local = kgatewayPrefix, prefix
	}
	if manifest.Distance(prefix, kgatewayPrefix) > 2 && !strings.HasSuffix(prefix, "."+kgatewayPrefix) {
		return
	}
	for _, known := range Annotations() {
		of, own, _ := strings.Cut(known.Name, "/")
		switch in := listOf(known); {
		case !strings.HasSuffix(of, kgatewayPrefix), name == known.Name && in == list, !prefixed && local != own, !near(local, own):
		case name == known.Name:
			m.addAt(UnknownField, "metadata."+list+"["+name+"]", shown(name)+" means nothing among the "+list, "move it to metadata."+in)
			return
		default:
			m.addAt(UnknownField, "metadata."+list+"["+name+"]", fmt.Sprintf("%s means nothing: its name is nearly %s", shown(name), known.Name), "did you mean "+shown(known.Name)+" in metadata."+in+"?")
			return
		}
	}
}

// near reports whether a text is a word, perhaps misspelt.
func near(text, word string) bool { return manifest.Nearest(text, []string{word}) != "" }

// listOf returns the list of metadata that has an annotation or label.
func listOf(a Annotation) string {
	if a.Label {
		return "labels"
	}
	return "annotations"
}

// users reports an invalid value of tenancy.AnnotationUsers. The parameter name is the name of the annotation.
func (m *mistakes) users(name string, value any) {
	text, _ := value.(string)
	if _, err := tenancy.ParseNamespaces(text); err != nil {
		m.addAt(InvalidValue, "metadata.annotations["+name+"]", err.Error(), "")
	}
}

// closedRules reports a value of api.AnnotationClosed that cannot be read, or that names a rule that the route (the
// parameter object) does not have. Without the finding, a rule would be served if its name changes.
func (m *mistakes) closedRules(value any, object map[string]any) {
	const field = "metadata.annotations[" + api.AnnotationClosed + "]"
	text, _ := value.(string)
	closed, err := api.ParseClosed(text)
	if err != nil {
		m.addAt(InvalidValue, field, err.Error(), "write a line RULE: REASON for each closed rule, or remove the annotation when no rule is closed any more")
		return
	}
	spec, _ := object["spec"].(map[string]any)
	rules, _ := spec["rules"].([]any)
	for _, rule := range slices.Sorted(maps.Keys(closed)) {
		named := func(other any) bool {
			fields, _ := other.(map[string]any)
			return fields["name"] == rule
		}
		if !slices.ContainsFunc(rules, named) {
			m.addAt(InvalidValue, field, "no rule of the route has the name "+shown(rule),
				"if the rule was renamed, write its new name; if it was removed, remove its line from the annotation")
		}
	}
}

// seemsOwn reports whether the user probably meant an annotation for gatefold. The parameter name is the name
// of the annotation. The result is true in these cases:
//   - The prefix of name is gatefold.io or similar.
//   - name has no prefix, and is gatefold or begins with "gatefold." or "gatefold_".
//   - name has no prefix, and gatefold.io/ followed by name is an annotation that the object's kind can have.
func (m *mistakes) seemsOwn(name string) bool {
	prefix, _, prefixed := strings.Cut(strings.ToLower(name), "/")
	rest, begins := strings.CutPrefix(prefix, "gatefold")
	switch {
	case begins && (rest == "" || rest[0] == '.' || rest[0] == '_'), strings.HasSuffix(prefix, "."+ownPrefix):
		return true
	case prefixed:
		return manifest.Distance(prefix, ownPrefix) <= 2
	}
	return slices.Contains(annotationsOf(m.kind), ownPrefix+"/"+prefix)
}

// annotationHint returns the hint for an unknown annotation. If the object's kind can have an annotation with a
// similar name, the hint asks "did you mean …?". Otherwise the hint names the kind that can have the
// annotation. If no kind can, the hint lists the gatefold annotations of the object's kind, or says that there
// are none.
func (m *mistakes) annotationHint(name string) string {
	local := strings.ToLower(name)
	if _, after, prefixed := strings.Cut(local, "/"); prefixed {
		local = after
	}
	known := annotationsOf(m.kind)
	var locals []string
	for _, annotation := range known {
		locals = append(locals, strings.TrimPrefix(annotation, ownPrefix+"/"))
	}
	if like := manifest.Nearest(local, locals); like != "" {
		return "did you mean " + shown(ownPrefix+"/"+like) + "?"
	}
	if kind := kindWithAnnotation(ownPrefix + "/" + local); kind != "" {
		return "remove it: the annotation belongs on a " + kind
	}
	if len(known) == 0 {
		return "remove it: gatefold reads no annotation of " + ownPrefix + " on a " + m.kind
	}
	return "the annotations of a " + m.kind + " are " + strings.Join(known, ", ")
}
