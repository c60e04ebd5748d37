package schema

import (
	"embed"
	"encoding/json"
	"fmt"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
)

// crds has the embedded files. The folder crds has the versions of the CRDs of sigs.k8s.io/gateway-api and of
// store/api, each as JSON in a file of its own. So a process parses only the versions that it checks, and a
// JSON parser takes a fraction of the time of a YAML parser (docs/design/libraries.md). A test compares the
// files with the CRDs. The other files are the names of kgateway, the lists of what only one of the two serves, and
// descriptions of fields.
//
//go:embed crds kgateway notserved.yaml onlyhere.yaml described.yaml
var crds embed.FS

type version = apiextensionsv1.CustomResourceDefinitionVersion

// readVersion parses an embedded file with a version of a CRD. It panics if that fails.
func readVersion(file string) (v version) {
	text, err := crds.ReadFile(file)
	must(err, file)
	must(json.Unmarshal(text, &v), file)
	return v
}

// internalSchema returns a copy of the schema of a CRD version, in the API server's internal type, which can be
// compiled. The copy has no status: files do not set status, and its rules would take time to compile.
func internalSchema(v version) *apiextensions.JSONSchemaProps {
	internal := &apiextensions.JSONSchemaProps{}
	err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(v.Schema.OpenAPIV3Schema, internal, nil)
	must(err, v.Name)
	delete(internal.Properties, "status")
	return internal
}

// compileVersion returns the checker for one version of a CRD. If the function patch is not nil, it edits the
// schema before the schema is compiled.
func compileVersion(v version, patch func(*apiextensions.JSONSchemaProps)) *checker {
	internal := internalSchema(v)
	if patch != nil {
		patch(internal)
	}
	full, err := structural.NewStructural(internal)
	must(err, v.Name)
	c := compiler{scalars: map[string]func() []rule{}}
	root, err := c.node(full, true)
	must(err, v.Name)
	return &checker{root: root, deprecated: deprecation(v)}
}

// deprecation returns the warning of a deprecated version. It returns "" if the version is not deprecated.
func deprecation(v version) string {
	switch {
	case !v.Deprecated:
		return ""
	case v.DeprecationWarning != nil:
		return *v.DeprecationWarning
	}
	return "the version " + v.Name + " is deprecated"
}

// must panics if err is not nil. It is only for embedded files, in which an error is a bug in gatefold. The
// parameter what names the file or the part of the schema for the panic message.
func must(err error, what string) {
	if err != nil {
		panic(fmt.Errorf("embedded schema %s: %w", what, err))
	}
}
