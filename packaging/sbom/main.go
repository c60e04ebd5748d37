// Command sbom prints the bill of materials (SBOM) of a Go program, as CycloneDX 1.6 JSON. It lists the modules
// that the linker recorded in the program, with versions and hashes. The output for the same program is always
// the same.
package main

import (
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: sbom PROGRAM VERSION")
		os.Exit(2)
	}
	info, err := buildinfo.ReadFile(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(bomOf(info, os.Args[2])); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

// bom is a CycloneDX document: https://cyclonedx.org/docs/1.6/json/.
type bom struct {
	Format       string       `json:"bomFormat"`
	SpecVersion  string       `json:"specVersion"`
	Version      int          `json:"version"`
	Metadata     metadata     `json:"metadata"`
	Components   []component  `json:"components"`
	Dependencies []dependency `json:"dependencies"`
}

type metadata struct {
	Component component `json:"component"`
}

type component struct {
	Type    string `json:"type"`
	Ref     string `json:"bom-ref"`
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	PURL    string `json:"purl"`
	Hashes  []sum  `json:"hashes,omitempty"`
}

type sum struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

type dependency struct {
	Ref       string   `json:"ref"`
	DependsOn []string `json:"dependsOn"`
}

// bomOf returns the bill of materials of a program with this version: its modules, and Go's standard library.
func bomOf(info *debug.BuildInfo, version string) bom {
	own := componentOf("application", &debug.Module{Path: info.Main.Path, Version: version})
	all := []component{componentOf("library", &debug.Module{Path: "stdlib", Version: strings.TrimPrefix(info.GoVersion, "go")})}
	for _, module := range info.Deps {
		if module.Replace != nil {
			module = module.Replace
		}
		all = append(all, componentOf("library", module))
	}
	refs := []string{}
	for _, c := range all {
		refs = append(refs, c.Ref)
	}
	return bom{
		Format: "CycloneDX", SpecVersion: "1.6", Version: 1,
		Metadata: metadata{own}, Components: all, Dependencies: []dependency{{Ref: own.Ref, DependsOn: refs}},
	}
}

// componentOf returns the component for a Go module. kind is "application" or "library". Hashes is empty for a
// module without a sum.
func componentOf(kind string, module *debug.Module) component {
	ref := purl(module.Path, module.Version)
	c := component{Type: kind, Ref: ref, Name: module.Path, Version: module.Version, PURL: ref}
	// The sum of a Go module is a SHA-256 over the list of the module's files.
	if raw, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(module.Sum, "h1:")); err == nil && len(raw) > 0 {
		c.Hashes = []sum{{"SHA-256", hex.EncodeToString(raw)}}
	}
	return c
}

// purl returns the package URL of a Go module. Without a version, the URL has no version.
func purl(path, version string) string {
	if version == "" {
		return "pkg:golang/" + path
	}
	return "pkg:golang/" + path + "@" + strings.ReplaceAll(version, "+", "%2B")
}
