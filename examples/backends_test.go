package examples

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"go.yaml.in/yaml/v3"
)

// TestEchoBackendsHaveTheNamesOfTheExamples compares the echo backends that the examples and docker-compose.yaml start
// with the Backends of the YAML: name and address are the same. `gatefold test --against` compares these names.
func TestEchoBackendsHaveTheNamesOfTheExamples(t *testing.T) {
	files, err := filepath.Glob("*/backends.yaml")
	if err != nil || len(files) < 5 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		folder := filepath.Dir(file)
		wanted := backendsOf(t, file)
		starts := map[string]string{file: read(t, file)}
		if folder == "compose" {
			starts = map[string]string{"docker-compose.yaml": composedBackends(t)}
		}
		for from, text := range starts {
			started := map[string]bool{}
			for _, found := range regexp.MustCompile(`[a-z-]+=[0-9a-z.-]+:\d+`).FindAllString(text, -1) {
				started[found] = true
				if !wanted[found] {
					t.Errorf("%s starts %s, and the Backends of %s are %v", from, found, file, wanted)
				}
			}
			for backend := range wanted {
				if !started[backend] && folder != "protect" { // which sends to an identity provider, too
					t.Errorf("%s does not start %s", from, backend)
				}
			}
		}
	}
}

// backendsOf returns the Backends of a file with an address of this machine or of a service of docker-compose.yaml,
// as NAME=HOST:PORT.
func backendsOf(t *testing.T, file string) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	for decoder := yaml.NewDecoder(bytes.NewBufferString(read(t, file))); ; {
		var backend struct {
			Metadata struct{ Name string }
			Spec     struct {
				Static struct {
					Hosts []struct {
						Host string
						Port int
					}
				}
			}
		}
		if err := decoder.Decode(&backend); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(file, err)
		}
		for _, host := range backend.Spec.Static.Hosts {
			all[fmt.Sprintf("%s=%s:%d", backend.Metadata.Name, host.Host, host.Port)] = true
		}
	}
}

// composedBackends returns the echo backends of docker-compose.yaml, as NAME=SERVICE:PORT, one in each line.
func composedBackends(t *testing.T) (text string) {
	t.Helper()
	var project struct {
		Services map[string]struct {
			Image   string
			Command []string
		}
	}
	if err := yaml.Unmarshal([]byte(read(t, "../docker-compose.yaml")), &project); err != nil {
		t.Fatal(err)
	}
	for name, service := range project.Services {
		if service.Image == "gatefold-echo" {
			text += service.Command[1] + "=" + name + service.Command[3] + "\n"
		}
	}
	return text
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
