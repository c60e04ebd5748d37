package cases

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/txtar"
)

// The addresses in example folders are those of one machine; a case has others.
const (
	exampleGateway = "  addresses:\n  - type: IPAddress\n    value: 127.0.0.1\n"
	exampleHost    = "host: 127.0.0.1"
)

// Examples reads the example folders below root that have a file requests, with the syntax of
// cases, and possibly a file options. Addresses of backends are moved to Network, and Gateways
// to where the tests listen.
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
