package schema

import (
	"reflect"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
)

// metadataNode is the schema of the metadata of a kind's objects: ObjectMeta's
// fields, a name as the API server wants it, and sound labels.
func metadataNode(gk schema.GroupKind) *node {
	n := fromType(reflect.TypeFor[metav1.ObjectMeta]())
	n.limits.Required = []string{"name"}
	n.at("name").valid = worded(validation.IsDNS1123Subdomain)
	if gk.Group == "" && (gk.Kind == "Namespace" || gk.Kind == "Service") {
		n.at("name").valid = worded(validation.IsDNS1123Label)
	}
	n.at("namespace").valid = func(s string) string {
		if s == "" {
			return "" // the same as none
		}
		return worded(validation.IsDNS1123Label)(s)
	}
	n.at("labels").keys = worded(validation.IsQualifiedName)
	n.at("labels").values.valid = worded(validation.IsValidLabelValue)
	n.at("annotations").keys = func(s string) string {
		return worded(validation.IsQualifiedName)(strings.ToLower(s))
	}
	return n
}

// worded makes a sentence of what one of Kubernetes' checks says first, without
// the regular expression it ends in.
func worded(check func(string) []string) func(string) string {
	return func(s string) string {
		wrong := check(s)
		if len(wrong) == 0 {
			return ""
		}
		sentence, _, _ := strings.Cut(wrong[0], " (e.g.")
		return "is not valid: " + sentence
	}
}
