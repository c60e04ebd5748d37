package schema

import (
	"strings"

	"sigs.k8s.io/yaml"
)

// describedFile has the descriptions of fields whose schema is a Go type of Kubernetes.
const describedFile = "described.yaml"

// notUsed describes the other fields of these types.
const notUsed = "Kubernetes has the field. gatefold takes it, and does not use it."

// described adds descriptions to the fields of an object that have none: where the schema is a Go type, and below metadata.
func (k *kind) described(out JSONSchema) {
	text, err := crds.ReadFile(describedFile)
	must(err, describedFile)
	words := map[string]map[string]string{}
	must(yaml.UnmarshalStrict(text, &words), describedFile)
	fields := out["properties"].(JSONSchema)
	for name, say := range map[string]string{"apiVersion": "The version of the API that the object is written for.", "kind": "The kind of the object."} {
		if fields[name] == nil {
			fields[name] = JSONSchema{"type": "string"}
		}
		fields[name].(JSONSchema)["description"] = say
	}
	metadata := JSONSchema{"properties": JSONSchema{"metadata": fields["metadata"]}}
	metadata.describe("", words[""])
	if k.file == "" {
		out.describe("", words[k.Kind])
	}
}

// describe gives the fields below a path the words for them, where they have none.
func (s JSONSchema) describe(path string, words map[string]string) {
	fields, _ := s["properties"].(JSONSchema)
	for name, field := range fields {
		field, at := field.(JSONSchema), strings.TrimPrefix(path+"."+name, ".")
		if field["description"] == nil {
			field["description"] = notUsed
			if words[at] != "" {
				field["description"] = words[at]
			}
		}
		field.describe(at, words)
		if items, _ := field["items"].(JSONSchema); items != nil {
			items.describe(at+"[]", words)
		}
	}
}
