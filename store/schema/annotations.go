package schema

import (
	"slices"
	"strings"

	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/store/tenancy"
)

// ownPrefix is the prefix of the annotations that only gatefold reads.
const ownPrefix = "gatefold.io"

// annotationsOf returns the annotations of gatefold (with the prefix gatefold.io/) that objects of a kind can
// have. It returns nil if objects of the kind can have none.
func annotationsOf(kind string) []string {
	switch kind {
	case "Gateway":
		return []string{api.AnnotationAccessLog, api.AnnotationProxyProtocol}
	case "Namespace":
		return tenancy.Annotations()
	case api.KindGatewayExtension:
		return []string{tenancy.AnnotationUsers}
	}
	return nil
}

// kindWithAnnotation returns the kind whose objects can have an annotation of gatefold. The parameter name is
// the whole name of the annotation, such as gatefold.io/x. The result is "" if no kind can have the annotation.
func kindWithAnnotation(name string) string {
	for _, kind := range []string{"Gateway", "Namespace", api.KindGatewayExtension} {
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
		if value == nil && slices.Contains(known, name) {
			m.addAt(InvalidValue, "metadata.annotations["+name+"]", "the annotation has no value", "write a value, or remove the annotation")
		} else if !slices.Contains(known, name) && m.seemsOwn(name) {
			m.addAt(UnknownField, "metadata.annotations["+name+"]", "unknown annotation "+shown(name), m.annotationHint(name))
		} else if text, ok := value.(string); ok && name == tenancy.AnnotationUsers {
			if _, err := tenancy.ParseNamespaces(text); err != nil {
				m.addAt(InvalidValue, "metadata.annotations["+name+"]", err.Error(), "")
			}
		}
	}
	for name := range entries(metadata, "labels") {
		if kindWithAnnotation(name) != "" {
			m.addAt(UnknownField, "metadata.labels["+name+"]", shown(name)+" is an annotation, and means nothing as a label", "move it to metadata.annotations")
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
