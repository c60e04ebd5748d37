package schema

import (
	"embed"
	"fmt"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"sigs.k8s.io/yaml"
)

// crds holds copies of the CRDs of sigs.k8s.io/gateway-api, unchanged (a test
// compares), our own, and the list of what they leave out.
//
//go:embed crds notserved.yaml described.yaml
var crds embed.FS

type version = apiextensionsv1.CustomResourceDefinitionVersion

// parseCRD reads the CRD in an embedded file.
func parseCRD(file string) *apiextensionsv1.CustomResourceDefinition {
	text, err := crds.ReadFile(file)
	must(err, file)
	crd := &apiextensionsv1.CustomResourceDefinition{}
	must(yaml.UnmarshalStrict(text, crd), file)
	return crd
}

// readCRD returns the versions of the CRD in an embedded file.
func readCRD(file string) map[string]version {
	versions := map[string]version{}
	for _, v := range parseCRD(file).Spec.Versions {
		versions[v.Name] = v
	}
	return versions
}

// internalSchema returns the schema of a version in the form that it is compiled
// from, a copy. Status is left out: files do not have it, and compiling its rules would
// take time for nothing.
func internalSchema(v version) *apiextensions.JSONSchemaProps {
	internal := &apiextensions.JSONSchemaProps{}
	err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(v.Schema.OpenAPIV3Schema, internal, nil)
	must(err, v.Name)
	delete(internal.Properties, "status")
	return internal
}

// compileVersion makes a version of a CRD ready to check objects, after patch
// has changed its schema; nil leaves it as it is.
func compileVersion(v version, patch func(*apiextensions.JSONSchemaProps)) *checker {
	internal := internalSchema(v)
	if patch != nil {
		patch(internal)
	}
	full, err := structural.NewStructural(internal)
	must(err, v.Name)
	c := compiler{scalars: map[string][]rule{}}
	root, err := c.node(full, true)
	must(err, v.Name)
	return &checker{root: root, deprecated: deprecation(v)}
}

func deprecation(v version) string {
	switch {
	case !v.Deprecated:
		return ""
	case v.DeprecationWarning != nil:
		return *v.DeprecationWarning
	}
	return "the version " + v.Name + " is deprecated"
}

// must panics: what is embedded was wrong when it was built in.
func must(err error, what string) {
	if err != nil {
		panic(fmt.Errorf("embedded schema %s: %w", what, err))
	}
}
