package schema

import (
	"strings"

	"sigs.k8s.io/yaml"
)

// describedFile has descriptions of fields that no CRD describes: the fields of metadata, and the fields of built-in
// kinds of Kubernetes, such as Service. The schemas of these fields come from Kubernetes' Go types, and have no
// descriptions.
const describedFile = "described.yaml"

// notUsed is the description of a field for which described.yaml has no description.
const notUsed = "Kubernetes has the field. gatefold takes it, and does not use it."

// described adds the missing descriptions to the parameter out, the JSON Schema of the kind k. The fields
// apiVersion and kind get fixed texts. The fields of metadata get the texts of described.yaml, or notUsed if
// the file has none for a field. For a kind of Kubernetes, which has no CRD with descriptions, all other fields
// also get the texts of described.yaml, or notUsed.
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
	if k.crd == nil {
		out.describe("", words[k.Kind])
	}
}

// describe adds a description to each field in s, at any depth, that has no description. The map words has the
// descriptions by the path of the field. A field whose path is not in words gets notUsed. The parameter path is
// the path of s; it is "" for a whole object.
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
