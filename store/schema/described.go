package schema

import (
	"strings"

	"sigs.k8s.io/yaml"
)

// describedFile has the descriptions of fields whose schema is a Go type of Kubernetes.
const describedFile = "described.yaml"

// notUsed is the description of a field that describedFile does not have.
const notUsed = "Kubernetes has the field. gatefold takes it, and does not use it."

// described sets the descriptions of apiVersion and kind in out. It also describes metadata and its fields, as
// far as they have no description. If the schema of the kind is a Go type, it does so for all fields. These
// descriptions are those of describedFile, or notUsed.
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

// describe adds descriptions to the fields in s that have none. The map words has the descriptions by path; for
// a field without one, describe adds notUsed. The parameter path is the path of s.
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
