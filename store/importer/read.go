package importer

import (
	"fmt"

	"github.com/gatefold/gatefold/store"
)

// Read returns the documents of a YAML or JSON file. The parameter name is the file's name for verdicts and
// errors. The size limits are those for files that gatefold serves. If one document cannot be read, Read returns
// no documents, and an error about that document. An import without the unreadable document could lose a policy
// that protects routes.
func Read(name string, content []byte) ([]Input, error) {
	values, problems := store.Values(content)
	if len(problems) > 0 {
		p := problems[0]
		p.File = name
		return nil, fmt.Errorf("%s: %s: %s", p.Position(), p.Code, p.Message)
	}
	inputs := make([]Input, len(values))
	for i := range values {
		inputs[i] = Input{File: name, Value: values[i].Any, source: &values[i]}
	}
	return inputs, nil
}
