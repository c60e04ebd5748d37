package schema

import (
	"strings"

	"sigs.k8s.io/yaml"
)

// describedFile has the descriptions of fields whose schema is a Go type of Kubernetes.
const describedFile = "described.yaml"

// notUsed is the description of a field that describedFile does not have.
const notUsed = "Kubernetes has the field. gatefold takes it, and does not use it."

// described adds descriptions to out, the JSON Schema of the kind. It sets fixed texts for apiVersion and kind.
// It fills in missing descriptions of metadata and its fields. If the schema comes from a Go type and not from a
// CRD, it fills in those of all fields. Missing descriptions come from described.yaml; a field that is not there
// gets notUsed.
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

// describe adds a description to each field in s, at any depth, that has none. words has the descriptions by the
// path of the field; a field that is not there gets notUsed. path is the path of s, "" for a whole object.
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
