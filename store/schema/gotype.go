package schema

import (
	"encoding/base64"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// fromType returns the node of a Go type of the Kubernetes API, by its json tags. The type must not be
// recursive.
func fromType(t reflect.Type) *node {
	switch t {
	case reflect.TypeFor[metav1.Time]():
		n := &node{typ: "string"}
		n.format("date-time")
		return n
	case reflect.TypeFor[intstr.IntOrString](), reflect.TypeFor[resource.Quantity]():
		return &node{intOrString: true}
	case reflect.TypeFor[[]byte]():
		return &node{typ: "string", valid: isBase64}
	case reflect.TypeFor[metav1.FieldsV1]():
		return &node{typ: "object", preserve: true}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return fromType(t.Elem())
	case reflect.Slice:
		return &node{typ: "array", items: fromType(t.Elem())}
	case reflect.Map:
		return &node{typ: "object", values: fromType(t.Elem())}
	case reflect.Struct:
		n := &node{typ: "object"}
		n.addFields(t)
		return n
	}
	return fromScalar(t)
}

// fromScalar returns the node of a string, a boolean or an integer. It panics for other types.
func fromScalar(t reflect.Type) *node {
	switch t.Kind() {
	case reflect.String:
		return &node{typ: "string"}
	case reflect.Bool:
		return &node{typ: "boolean"}
	case reflect.Int32:
		n := &node{typ: "integer"}
		n.limits.Format = "int32"
		return n
	case reflect.Int64:
		return &node{typ: "integer"}
	}
	panic("no schema for Go type " + t.String())
}

// addFields adds the fields of a struct to n, and those of inlined structs. It leaves out status.
func (n *node) addFields(t reflect.Type) {
	for field := range t.Fields() {
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case name == "-", name == "status":
		case name == "" && strings.Contains(options, "inline"):
			n.addFields(field.Type)
		default:
			n.add(name, fromType(field.Type))
		}
	}
}

// isBase64 returns what is wrong with a text that is not base64. It returns "" for base64.
func isBase64(s string) string {
	if _, err := base64.StdEncoding.DecodeString(s); err != nil {
		return "is not base64; plain text belongs in stringData of a Secret, data of a ConfigMap"
	}
	return ""
}
