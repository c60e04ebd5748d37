package store

import (
	"fmt"

	"go.yaml.in/yaml/v3"

	"github.com/gatefold/gatefold/store/manifest"
)

// Value is the value of one document of a file. Any has the types of decoded JSON: maps, slices, strings,
// bools, nil, int64 and float64.
type Value struct {
	Line int // the line of the file at which the document begins, from 1
	Any  any
	root *yaml.Node
}

// LineOf returns the line of the file, from 1, with the field at a path inside the value. If the field does not exist,
// it returns the line of the innermost field on the path that does.
func (v *Value) LineOf(field string) int {
	return v.Line + findKey(v.root, parsePath(field)).line - 1
}

// Values returns the values of the documents of a YAML or JSON file, without reading them as Kubernetes
// objects. The limits are the default limits for files of the folder. A document that cannot be read has no
// value, but a problem with its line in the file. If the file has too many documents, Values returns the values
// up to the limit, and a problem.
func Values(content []byte) (values []Value, problems []manifest.Problem) {
	const maxDocuments = 20_000
	for i, part := range splitDocuments(content) {
		if i == maxDocuments {
			return values, append(problems, manifest.Problem{
				Code: "TooManyDocuments", Severity: manifest.Error, Line: part.line,
				Message: fmt.Sprintf("the file has more than %d documents", maxDocuments), Hint: "split the file",
			})
		}
		value, root, wrong := valueOf(part.text)
		for _, f := range wrong {
			f.Severity = manifest.Error
			problems = append(problems, f.in(part.line))
		}
		if len(wrong) == 0 && value != nil {
			values = append(values, Value{Line: part.line, Any: value, root: root})
		}
	}
	return values, problems
}

// valueOf returns the value of one document and its root node, nil for an empty one. If it returns problems, the
// value is incomplete.
func valueOf(text []byte) (value any, root *yaml.Node, problems []finding) {
	if p, unfit := unfitText(text); unfit {
		return nil, nil, []finding{{Problem: p}}
	}
	root, err := parseYAML(text)
	if err != nil {
		return nil, nil, []finding{explainSyntax(text, err)}
	}
	if root == nil {
		return nil, nil, nil
	}
	correctLines(root, text)
	value, problems = decodeYAML(root)
	return value, root, problems
}
