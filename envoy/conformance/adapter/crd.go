package adapter

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apimachinery/pkg/util/yaml"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
)

const crdKind = "CustomResourceDefinition"

// readCRDs adds the kinds of all CRDs in Options.CRDs. The error names the file that is invalid.
func (a *Adapter) readCRDs() error {
	names, err := fs.Glob(a.options.CRDs, "*.yaml")
	if err != nil {
		return err
	}
	for _, name := range names {
		text, err := fs.ReadFile(a.options.CRDs, name)
		if err != nil {
			return err
		}
		if err := a.readCRDFile(text); err != nil {
			return fmt.Errorf("%s: %w", path.Base(name), err)
		}
	}
	return nil
}

// readCRDFile adds the kinds of the CRDs in a YAML file. It ignores documents of other kinds. It returns an
// error if a document is invalid.
func (a *Adapter) readCRDFile(text []byte) error {
	documents := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
	for {
		var content map[string]any
		err := documents.Decode(&content)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if content["kind"] != crdKind {
			continue
		}
		if err := a.addCRD(content); err != nil {
			return err
		}
	}
}

// addCRD adds the kind that a CRD defines. content is the CRD. It returns an error if the CRD or its schema is
// invalid.
func (a *Adapter) addCRD(content map[string]any) error {
	var crd apiextensionsv1.CustomResourceDefinition
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(content, &crd); err != nil {
		return err
	}
	r := &resource{
		group: crd.Spec.Group, kind: crd.Spec.Names.Kind, plural: crd.Spec.Names.Plural, singular: crd.Spec.Names.Singular,
		namespaced: crd.Spec.Scope == apiextensionsv1.NamespaceScoped, filed: true, checks: map[string]*check{},
	}
	for _, version := range crd.Spec.Versions {
		if !version.Served {
			continue
		}
		made, err := newCheck(version.Schema)
		if err != nil {
			return fmt.Errorf("version %s: %w", version.Name, err)
		}
		r.versions = append(r.versions, version.Name)
		r.checks[version.Name] = made
	}
	slices.SortFunc(r.versions, newerFirst)
	a.resources = append(a.resources, r)
	metadata := metadataOf(content)
	metadata["uid"], metadata["resourceVersion"] = string(uuid.NewUUID()), "1"
	metadata["creationTimestamp"] = now()
	delete(content, "status")
	a.crds = append(a.crds, content)
	return nil
}

// newCheck compiles the schema of one version of a CRD. It returns an error if the schema is invalid.
func newCheck(v1schema *apiextensionsv1.CustomResourceValidation) (*check, error) {
	var internal apiextensions.CustomResourceValidation
	err := apiextensionsv1.Convert_v1_CustomResourceValidation_To_apiextensions_CustomResourceValidation(v1schema, &internal, nil)
	if err != nil {
		return nil, err
	}
	structural, err := structuralschema.NewStructural(internal.OpenAPIV3Schema)
	if err != nil {
		return nil, err
	}
	values, _, err := validation.NewSchemaValidator(internal.OpenAPIV3Schema)
	if err != nil {
		return nil, err
	}
	return &check{
		structural: structural,
		values:     values,
		// Rules are compiled when the first object is checked, because compiling all rules would slow down the
		// start.
		rules: sync.OnceValue(func() *cel.Validator { return cel.NewValidator(structural, true, celconfig.PerCallLimit) }),
	}, nil
}

// crd returns the CRD with this name as a client reads it. It returns false if there is none.
func (a *Adapter) crd(name string) (map[string]any, bool) {
	at := slices.IndexFunc(a.crds, func(c map[string]any) bool { return metadataOf(c)["name"] == name })
	if at < 0 {
		return nil, false
	}
	return a.crds[at], true
}

// groupVersions returns all groups with their versions, without the core group. Newer versions come first.
func (a *Adapter) groupVersions() []schema.GroupVersion {
	var all []schema.GroupVersion
	for _, r := range a.resources {
		for _, version := range r.versions {
			gv := schema.GroupVersion{Group: r.group, Version: version}
			if r.group != "" && !slices.Contains(all, gv) {
				all = append(all, gv)
			}
		}
	}
	slices.SortStableFunc(all, func(x, y schema.GroupVersion) int { return newerFirst(x.Version, y.Version) })
	return all
}

// now returns the current time in the format of a creationTimestamp.
func now() string { return metav1.Now().UTC().Format("2006-01-02T15:04:05Z") }
