package cases

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/txtar"
)

// exampleGateway and exampleHost are texts in the files of example folders. Both contain an address of this machine.
// The function example removes exampleGateway. In exampleHost, it replaces the address by an address that begins with
// the constant Network.
const (
	exampleGateway = "  addresses:\n  - type: IPAddress\n    value: 127.0.0.1\n"
	exampleHost    = "host: 127.0.0.1"
)

// Examples returns the cases of the example folders directly below the folder root. Folders without a file named
// requests are skipped. A folder may also have a file named options. The two files have the syntax of cases.
// Addresses of backends are replaced by addresses that begin with the constant Network. Addresses of Gateways are
// removed, so that the tests choose them. Examples returns an error if a folder cannot be read, or if a case is
// invalid.
func Examples(root string) ([]*Case, error) {
	paths, err := filepath.Glob(filepath.Join(root, "*", "requests"))
	if err != nil {
		return nil, fmt.Errorf("list examples: %w", err)
	}
	var out []*Case
	for _, path := range paths {
		c, err := example(filepath.Dir(path))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		out = append(out, c)
	}
	return out, nil
}

// example returns the case of an example folder. It returns an error if a file cannot be read, or if the case
// is invalid.
func example(folder string) (*Case, error) {
	files, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	archive := &txtar.Archive{}
	for _, file := range files {
		text, err := os.ReadFile(filepath.Join(folder, file.Name()))
		if err != nil {
			return nil, err
		}
		moved := strings.ReplaceAll(string(text), exampleHost, "host: "+Network+"0.1")
		moved = strings.ReplaceAll(moved, exampleGateway, "")
		name := file.Name()
		if strings.HasSuffix(name, ".yaml") {
			name = "in/" + name
		}
		archive.Files = append(archive.Files, txtar.File{Name: name, Data: []byte(moved)})
	}
	return newCase("example-"+filepath.Base(folder), "", archive)
}
