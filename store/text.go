package store

import (
	"bytes"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apischema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/gatefold/gatefold/store/manifest"
)

// textOf returns value if it is a text. It returns "" for other values.
func textOf(value any) string {
	s, _ := value.(string)
	return s
}

// secretive reports whether a text may have a Secret, or a policy with users and password hashes, even in a
// comment. It only searches for words, because the text may be one that cannot be parsed. In doubt it returns
// true, so that nothing of the text is shown.
func secretive(text []byte) bool {
	return containsAny(text, "ecret", "SECRET", "stringData", "PRIVATE KEY", "tls.key", "assword") || listsUsers(text)
}

// listsUsers reports whether a text may be that of a TrafficPolicy with users and password hashes.
func listsUsers(text []byte) bool { return containsAny(text, "asicAuth", "{SHA}", "$apr1$", "$2") }

func containsAny(text []byte, words ...string) bool {
	return slices.ContainsFunc(words, func(word string) bool { return bytes.Contains(text, []byte(word)) })
}

// describe returns the type of a value in words, such as "a list".
func describe(value any) string {
	switch value.(type) {
	case nil:
		return "empty"
	case map[string]any:
		return "an object"
	case []any:
		return "a list"
	case string:
		return "text"
	case bool:
		return "true or false"
	}
	return "a number"
}

// keyOf returns the key of an object. If an object of a namespaced kind has no namespace, the key has the
// namespace "default". keyOf returns the zero Key if the apiVersion is invalid, if the kind is not in the table
// kinds, or if the name is missing. It also returns the zero Key if the name or namespace is too long, so that
// no problem repeats a name of megabytes.
func keyOf(object map[string]any) manifest.Key {
	apiVersion, _ := object["apiVersion"].(string)
	name, _ := object["kind"].(string)
	gv, err := apischema.ParseGroupVersion(apiVersion)
	metadata, _ := object["metadata"].(map[string]any)
	key := manifest.Key{Group: gv.Group, Kind: name}
	key.Name, _ = metadata["name"].(string)
	key.Namespace, _ = metadata["namespace"].(string)
	k := kindOf(key.GroupKind())
	if err != nil || k == nil || key.Name == "" {
		return manifest.Key{}
	}
	if k.cluster {
		key.Namespace = ""
	} else if key.Namespace == "" {
		key.Namespace = metav1.NamespaceDefault
	}
	if len(key.Name) > validation.DNS1123SubdomainMaxLength || len(key.Namespace) > validation.DNS1123LabelMaxLength {
		return manifest.Key{}
	}
	return key
}
