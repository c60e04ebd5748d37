package schema

import (
	"reflect"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
)

// metadataNode returns the schema of metadata of a kind: the fields of ObjectMeta, with the API server's checks
// of the name, namespace, labels and annotations.
func metadataNode(gk schema.GroupKind) *node {
	n := fromType(reflect.TypeFor[metav1.ObjectMeta]())
	n.limits.Required = []string{"name"}
	n.at("name").valid = worded(validation.IsDNS1123Subdomain)
	if gk.Group == "" && (gk.Kind == "Namespace" || gk.Kind == "Service") {
		n.at("name").valid = worded(validation.IsDNS1123Label)
	}
	n.at("namespace").valid = func(s string) string {
		if s == "" {
			return "" // the same as no namespace
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

// worded returns a function that runs a Kubernetes check on a text. This function returns "" if the check
// passes. Otherwise it returns the first error of the check as a sentence, without the regular expression at
// the error's end.
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
