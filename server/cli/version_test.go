package cli

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestEveryPlaceNamesOneVersion: what is fetched, what runs in containers and
// what `gatefold version` says are the same minor version of Envoy, and one Go builds it all.
func TestEveryPlaceNamesOneVersion(t *testing.T) {
	found := func(path, pattern string) string {
		t.Helper()
		text, err := os.ReadFile("../../" + path)
		if err != nil {
			t.Fatal(err)
		}
		match := regexp.MustCompile(pattern).FindSubmatch(text)
		if match == nil {
			t.Fatalf("%s has no %s", path, pattern)
		}
		return string(match[1])
	}
	for path, pattern := range map[string]string{
		"envoy/get-envoy": `(?m)^VERSION = "(.+)"$`,
		"go.mod":          `github.com/envoyproxy/go-control-plane/envoy v(\S+)`,
	} {
		if version := found(path, pattern); version != envoyVersion {
			t.Errorf("%s names Envoy %s, `gatefold version` %s", path, version, envoyVersion)
		}
	}
	// Containers may have a newer patch of the same minor version.
	minor := envoyVersion[:strings.LastIndexByte(envoyVersion, '.')]
	if version := found("docker-compose.yaml", `(?m)image: envoyproxy/envoy:v(\S+)$`); !strings.HasPrefix(version, minor+".") {
		t.Errorf("docker-compose.yaml names Envoy %s, which is no patch of %s", version, minor)
	}
	if docker, module := found("Dockerfile", `golang:(\d+\.\d+) `), found("go.mod", `(?m)^go (\d+\.\d+)`); docker != module {
		t.Errorf("Dockerfile builds with Go %s, go.mod asks for %s", docker, module)
	}
}
