package importer

import (
	"fmt"

	"github.com/gatefold/gatefold/store"
)

// Read returns the documents of a YAML or JSON file, within the limits for files of the folder. If a document
// cannot be read, it returns an error about the first such document, because it is unknown what that document
// protects.
func Read(name string, content []byte) ([]Input, error) {
	values, problems := store.Values(content)
	if len(problems) > 0 {
		p := problems[0]
		p.File = name
		return nil, fmt.Errorf("%s: %s: %s", p.Position(), p.Code, p.Message)
	}
	inputs := make([]Input, len(values))
	for i, value := range values {
		inputs[i] = Input{File: name, Line: value.Line, Value: value.Any}
	}
	return inputs, nil
}
